//! Names of the standard library that the user gave to other things: generated code does not mind.

#![allow(non_camel_case_types, dead_code, unused_macros)]

use ::outbox_runtime::{DomainEvent, aggregate};
use schemars::JsonSchema;
use sea_orm::entity::prelude::{
    ActiveModelBehavior, DeriveEntityModel, DerivePrimaryKey, DeriveRelation, EntityTrait, EnumIter, PrimaryKeyTrait,
};
use serde::{Deserialize, Serialize};

mod core {}
mod outbox_runtime {}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "trap.sprung", version = 1)]
pub struct TrapSprung {}

#[aggregate(root = Trap, name = "trap", events(TrapSprung))]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "traps")]
pub struct Model {
    #[sea_orm(primary_key)]
    pub id: i64,
    /// Not the fields of the root.
    pub row: i64,
    pub state: i64,
    pub pending: i64,
}

#[derive(Copy, Clone, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

impl Trap {
    pub fn fields(&self) -> (&sea_orm::ActiveValue<i64>, &sea_orm::ActiveValue<i64>, &sea_orm::ActiveValue<i64>) {
        (&self.row, &self.state, &self.pending)
    }
}
