//! The older entity format, the derive above `#[aggregate]`; a composite key.

use outbox_runtime::{DomainEvent, aggregate};
use schemars::JsonSchema;
use sea_orm::{Set, entity::prelude::*};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "seat.taken", version = 1)]
pub struct SeatTaken {
    pub by: String,
}

#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[aggregate(root = Seat, name = "seat", events(SeatTaken))]
#[sea_orm(table_name = "seats")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub show: String,
    #[sea_orm(primary_key, auto_increment = false)]
    pub number: i32,
    pub taken_by: String,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl Seat {
    pub fn take(show: &str, number: i32, by: &str) -> Self {
        let mut seat = Seat::new(ActiveModel { show: Set(show.into()), number: Set(number), taken_by: Set(by.into()) });
        seat.emit(SeatTaken { by: by.into() });
        seat
    }

    pub async fn seat_a1<T: outbox_runtime::OutboxTransaction>(tx: &T) -> Result<Self, outbox_runtime::LoadError> {
        Seat::load(tx, ("A".to_owned(), 1)).await
    }
}
