//! One aggregate that emits whatever payload a test needs.

use std::collections::BTreeMap;

use chrono::{DateTime, FixedOffset, Utc};
use outbox_runtime::prelude::*;
use sea_orm::{Set, entity::prelude::*};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "payload.empty", version = 1)]
pub struct Empty {}

/// Every kind of value that a payload can hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "payload.everything", version = 1)]
pub struct Everything {
    pub text: String,
    pub signed: i64,
    pub unsigned: u64,
    pub double: f64,
    pub single: f32,
    pub flag: bool,
    pub letter: Option<char>,
    pub nested: Option<Option<Box<Everything>>>,
    pub map: BTreeMap<String, Option<i32>>,
    pub numbered: BTreeMap<u32, String>,
    pub list: Vec<Vec<String>>,
    pub decimal: String,
    pub utc: Option<DateTime<Utc>>,
    pub local: Option<DateTime<FixedOffset>>,
    pub id: Uuid,
    pub json: Option<serde_json::Value>,
}

/// `Serialize` of the key's type decides whether this can be stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "payload.keyed", version = 1)]
pub struct Keyed {
    pub map: BTreeMap<(i32, i32), String>,
}

#[aggregate(root = Parcel, name = "parcel", events(Empty, Everything, Keyed))]
#[sea_orm::model]
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "parcels")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: String,
}

impl ActiveModelBehavior for ActiveModel {}

impl Parcel {
    pub fn with_id(id: impl Into<String>) -> Self {
        Self::new(ActiveModel { id: Set(id.into()) })
    }

    pub fn of<E: outbox_runtime::EventOf<Self>>(event: E) -> Self {
        let mut parcel = Self::with_id(Uuid::now_v7().to_string());
        parcel.emit(event);
        parcel
    }
}
