//! The older entity format, the derive below `#[aggregate]`; a relation in its own enum.

use outbox_runtime::{DomainEvent, aggregate};
use schemars::JsonSchema;
use sea_orm::entity::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "room.booked", version = 1)]
pub struct RoomBooked {}

#[aggregate(root = Room, name = "room", events(RoomBooked))]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "rooms")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    pub hotel_id: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {
    #[sea_orm(belongs_to = "Entity", from = "Column::HotelId", to = "Column::Id")]
    Hotel,
}

impl ActiveModelBehavior for ActiveModel {}
