//! The consumer `tiers`: how often each tier was reached. The end of the chain.

use outbox_runtime::prelude::*;
use sea_orm::{
    Set,
    entity::prelude::*,
    sea_query::{Expr, ExprTrait as _, OnConflict},
};

use crate::{
    check::Fact,
    journal,
    loyalty::{LoyaltyAccountEvent, Tier, TierRaised},
};

pub const NAME: &str = "tiers";

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "tier_counts")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub tier: Tier,
    pub raised: i64,
}

impl ActiveModelBehavior for ActiveModel {}

pub async fn count(event: LoyaltyAccountEvent, delivery: Delivery, tx: &Tx) -> Result<(), HandlerError> {
    let LoyaltyAccountEvent::TierRaised(TierRaised { customer, tier, spent_cents }) = event;
    let add =
        OnConflict::column(Column::Tier).value(Column::Raised, Expr::col((Entity, Column::Raised)).add(1)).to_owned();
    let first = ActiveModel { tier: Set(tier), raised: Set(1) };
    Entity::insert(first).on_conflict(add).exec_without_returning(tx).await?;
    journal::note(tx, delivery.consumer(), Fact::raise(customer, tier, spent_cents)).await?;
    Ok(())
}
