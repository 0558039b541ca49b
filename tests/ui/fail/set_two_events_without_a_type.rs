use outbox_runtime::{DomainEvent, EventSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(version = 1)]
struct CustomerMoved {}

#[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(version = 1)]
struct CustomerRenamed {}

/// No further error: neither has a type yet.
#[derive(EventSet)]
enum CustomerEvent {
    Moved(CustomerMoved),
    Renamed(CustomerRenamed),
}

fn main() {}
