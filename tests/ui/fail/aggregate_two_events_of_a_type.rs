use outbox_runtime::{BoxError, DomainEvent, EventContext, aggregate};
use outbox_ui_tests::new_format_above::OrderPlaced;
use schemars::JsonSchema;
use sea_orm::entity::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "order.paid", version = 1)]
pub struct OrderPaid {}

pub mod old {
    use super::*;

    #[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
    #[event(type = "order.paid", version = 1, retired)]
    pub struct OrderSettled {}

    #[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
    #[event(type = "order.placed", version = 1, retired)]
    pub struct OrderMade {}
}

#[aggregate(
    root = Order,
    name = "order",
    events(OrderPlaced, OrderPaid),
    reads(old::OrderSettled, split(old::OrderMade, with = split_made)),
)]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "orders")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
}

impl ActiveModelBehavior for ActiveModel {}

fn split_made(_: old::OrderMade, _: &EventContext) -> Result<Vec<OrderEvent>, BoxError> {
    Ok(Vec::new())
}

fn main() {
    // No further error: the root is there.
    let row: ActiveModel = Default::default();
    let mut order = Order::new(row);
    order.emit(OrderPlaced { total_cents: 1 });
    order.discard();
}
