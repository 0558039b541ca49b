#![allow(unused_imports)]

use outbox_runtime::aggregate;
use outbox_ui_tests::new_format_above::{OrderPaid, OrderPlaced};
use sea_orm::entity::prelude::*;

#[aggregate(
    root = "Order",
    nmae = "order",
    events(OrderPlaced, 5),
    reads(merge(OrderPaid)),
    table = "orders",
)]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "orders")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
}

impl ActiveModelBehavior for ActiveModel {}

fn main() {}
