//! Events: with fields, without, retired, private.

use outbox_runtime::DomainEvent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "parcel.sent", version = 1)]
pub struct ParcelSent {
    pub to: String,
    pub grams: Option<u32>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(version = 1, type = "parcel.lost")]
pub struct ParcelLost {}

#[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "parcel.weighed-v1.kg_2", version = 1, retired)]
pub struct ParcelWeighed {
    pub kilograms: u8,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "parcel.scanned", version = 1)]
struct ParcelScanned {
    r#type: String,
}

/// An event may be defined inside a function.
pub fn in_a_function() -> &'static str {
    #[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
    #[event(type = "parcel.opened", version = 1)]
    struct ParcelOpened {}

    let scanned = ParcelScanned { r#type: String::new() };
    drop(scanned.r#type);
    <ParcelOpened as outbox_runtime::Payload>::TYPE
}
