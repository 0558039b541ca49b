use outbox_runtime::DomainEvent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "order.placed", version = 1)]
struct OrderPlaced<T> {
    total: T,
}

fn main() {}
