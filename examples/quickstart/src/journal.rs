//! What consumers write down: one line per effect, only ever added, in the transaction of the effect.
//!
//! Nothing here is unique on purpose. An effect that happened twice, late, wrongly or never stands in it as such,
//! and [`crate::check`] finds it.

use anyhow::Result;
use sea_orm::{ActiveValue::NotSet, DatabaseConnection, QueryOrder as _, Set, entity::prelude::*};

use crate::check::{Book, Fact, Kind};

#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "journal")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub consumer: String,
    pub customer: i32,
    pub number: i32,
    pub cents: i64,
}

impl ActiveModelBehavior for ActiveModel {}

/// Adds one line.
pub async fn note<C: ConnectionTrait>(db: &C, consumer: &str, fact: Fact) -> Result<(), DbErr> {
    let Fact { customer, number, cents, .. } = fact;
    let line = ActiveModel {
        id: NotSet,
        consumer: Set(consumer.to_owned()),
        customer: Set(customer),
        number: Set(number),
        cents: Set(cents),
    };
    Entity::insert(line).exec_without_returning(db).await.map(drop)
}

/// One consumer's lines, in the order in which they were written.
pub async fn read(db: &DatabaseConnection, consumer: &str, kind: Kind) -> Result<Book> {
    let lines = Entity::find().filter(Column::Consumer.eq(consumer)).order_by_asc(Column::Id).all(db).await?;
    let fact = |line: Model| Fact { kind, customer: line.customer, number: line.number, cents: line.cents };
    Ok(Book { kind, effects: lines.into_iter().map(fact).collect() })
}
