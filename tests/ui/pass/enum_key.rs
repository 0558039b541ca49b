//! A key that is an enum.

use outbox_runtime::{DomainEvent, aggregate};
use schemars::JsonSchema;
use sea_orm::entity::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, DeriveActiveEnum)]
#[sea_orm(rs_type = "String", db_type = "String(StringLen::None)")]
pub enum Warehouse {
    #[sea_orm(string_value = "north")]
    North,
    #[sea_orm(string_value = "south")]
    South,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "stock.counted", version = 1)]
pub struct StockCounted {
    pub pieces: u32,
}

#[aggregate(root = Stock, name = "stock", events(StockCounted))]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "stock")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub warehouse: Warehouse,
    pub pieces: i32,
}

impl ActiveModelBehavior for ActiveModel {}
