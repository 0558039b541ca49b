//! A key of a type of its own.

use outbox_runtime::{DomainEvent, aggregate};
use schemars::JsonSchema;
use sea_orm::entity::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Hash, DeriveValueType, Serialize, Deserialize)]
pub struct TicketId(pub String);

impl sea_orm::TryFromU64 for TicketId {
    fn try_from_u64(_: u64) -> Result<Self, DbErr> {
        Err(DbErr::Custom("a ticket id is no number".into()))
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "ticket.sold", version = 1)]
pub struct TicketSold {}

#[aggregate(root = Ticket, name = "ticket", events(TicketSold))]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "tickets")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: TicketId,
}

impl ActiveModelBehavior for ActiveModel {}
