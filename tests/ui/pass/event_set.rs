//! A closed set of events of one's own, with an old event that now stands for several.

use outbox_runtime::{BoxError, DomainEvent, EventContext, EventSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "customer.renamed", version = 1)]
pub struct CustomerRenamed {
    pub name: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "customer.moved", version = 1)]
pub struct CustomerMoved {
    pub address: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "customer.details_changed", version = 1, retired)]
pub struct CustomerDetailsChanged {
    pub name: String,
    pub address: Option<String>,
}

#[derive(Debug, EventSet)]
#[event(split(CustomerDetailsChanged, with = split_details))]
pub enum CustomerEvent {
    Renamed(CustomerRenamed),
    Moved(CustomerMoved),
}

fn split_details(old: CustomerDetailsChanged, _: &EventContext) -> Result<Vec<CustomerEvent>, BoxError> {
    if old.name.is_empty() {
        return Err("a customer without a name".into());
    }
    let mut new = vec![CustomerRenamed { name: old.name }.into()];
    new.extend(old.address.map(|address| CustomerMoved { address }.into()));
    Ok(new)
}

/// A set of one, and an empty one.
#[derive(Debug, EventSet)]
pub enum OnlyMoves {
    Moved(CustomerMoved),
}

#[derive(Debug, EventSet)]
pub enum Nothing {}
