//! The consumer `revenue`: what came in, month by month.

use outbox_runtime::prelude::*;
use sea_orm::{
    Set,
    entity::prelude::*,
    sea_query::{Expr, ExprTrait as _, OnConflict},
};

use crate::{
    check::Fact,
    customer::{CustomerEvent, PurchaseMade},
    journal,
};

pub const NAME: &str = "revenue";

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "monthly_revenue")]
pub struct Model {
    /// As in `1997-01`.
    #[sea_orm(primary_key, auto_increment = false)]
    pub month: String,
    pub purchases: i64,
    pub cents: i64,
}

impl ActiveModelBehavior for ActiveModel {}

/// Runs inside the inbox transaction: a duplicate does not get here, an error rolls everything back.
pub async fn book(event: CustomerEvent, delivery: Delivery, tx: &Tx) -> Result<(), HandlerError> {
    let CustomerEvent::PurchaseMade(PurchaseMade { number, customer, date, cents, .. }) = event;
    let first = ActiveModel { month: Set(date.format("%Y-%m").to_string()), purchases: Set(1), cents: Set(cents) };
    // One statement: customers are handled beside each other, and their purchases meet in one month.
    let add = OnConflict::column(Column::Month)
        .value(Column::Purchases, Expr::col((Entity, Column::Purchases)).add(1))
        .value(Column::Cents, Expr::col((Entity, Column::Cents)).add(cents))
        .to_owned();
    Entity::insert(first).on_conflict(add).exec_without_returning(tx).await?;
    journal::note(tx, delivery.consumer(), Fact::purchase(customer, number, cents)).await?;
    Ok(())
}
