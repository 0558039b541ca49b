//! What generated code may name. Not part of the public interface.
#![allow(missing_docs)]

pub use inventory;
pub use schemars;
pub use sea_orm::{ActiveModelTrait, ColumnTrait, DatabaseTransaction, DbErr, EntityTrait, PrimaryKeyTrait};
pub use serde;
use serde::de::DeserializeOwned;
pub use uuid::Uuid;

pub use crate::aggregate::generated::*;
use crate::event::{DecodeError, Payload, RawEvent};

/// Reads `raw` as exactly version `P::VERSION`.
pub fn parse<P: Payload + DeserializeOwned>(raw: &RawEvent) -> Result<P, DecodeError> {
    crate::event::parse(raw)
}

/// Whether two events have the same wire name. An empty one is no name: such an event was refused already.
pub const fn same_text(a: &str, b: &str) -> bool {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    if a.is_empty() {
        return false;
    }
    while let ([first, rest @ ..], [other, others @ ..]) = (a, b) {
        if *first != *other {
            return false;
        }
        (a, b) = (rest, others);
    }
    a.is_empty() && b.is_empty()
}

/// The schema of what is written: `skip_serializing_if` changes the wire, and only this contract shows it.
pub fn schema_of<T: schemars::JsonSchema>() -> schemars::Schema {
    schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}
