#![allow(unused_imports)]

use outbox_runtime::aggregate;
use outbox_ui_tests::new_format_above::OrderPlaced;
use sea_orm::entity::prelude::*;

#[aggregate(root = Order, name = "order", events(OrderPlaced, shop::OrderPlaced))]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "orders")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
}

impl ActiveModelBehavior for ActiveModel {}

mod shop {
    pub use outbox_ui_tests::string_key::CountryRenamed as OrderPlaced;
}

fn main() {
    // No further error: the root is there.
    let row: ActiveModel = Default::default();
    let mut order = Order::new(row);
    order.emit(OrderPlaced { total_cents: 1 });
    order.discard();
}
