#![allow(unused_imports)]

use outbox_runtime::aggregate;
use outbox_ui_tests::new_format_above::OrderPlaced;
use sea_orm::entity::prelude::*;

#[aggregate(root = shop::Order, name = "order", events(OrderPlaced))]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "orders")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
}

impl ActiveModelBehavior for ActiveModel {}

fn main() {}
