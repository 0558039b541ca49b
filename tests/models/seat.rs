//! The entity format of SeaORM 1, a composite key.

use outbox_runtime::prelude::*;
use sea_orm::{Set, entity::prelude::*};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, DomainEvent)]
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
        let mut seat = Self::new(ActiveModel { show: Set(show.into()), number: Set(number), taken_by: Set(by.into()) });
        seat.emit(SeatTaken { by: by.into() });
        seat
    }
}
