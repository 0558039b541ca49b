//! Payloads that no database takes.

use std::collections::BTreeMap;

use outbox_runtime::prelude::*;
use sea_orm::{Set, entity::prelude::*};
use serde::Serializer;

/// Says no to whoever asks.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Stubborn {}

impl Serialize for Stubborn {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("no, and no again"))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum Inner {
    Wide(u128),
    Narrow(i128),
    Stubborn(Vec<Stubborn>),
    Floats(Option<Vec<Option<f64>>>),
    Singles { map: BTreeMap<String, f32> },
    Pair(f64, f32),
    Letters(Vec<char>),
    Keys(BTreeMap<char, i32>),
    Texts(BTreeMap<String, Option<String>>),
    Pairs(Vec<((i32, i32), BTreeMap<Option<i32>, i32>)>),
    Within(Box<Inner>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "odd.found", version = 1)]
pub struct Found {
    pub what: Inner,
}

#[aggregate(root = Odd, name = "odd", events(Found))]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "oddities")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: i64,
}

impl ActiveModelBehavior for ActiveModel {}

impl Odd {
    pub fn with_id(id: i64) -> Self {
        Self::new(ActiveModel { id: Set(id) })
    }
}
