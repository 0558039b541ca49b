use outbox_runtime::DomainEvent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(tpye = "order placed", version = "1", topic)]
#[changed(in = 2)]
struct OrderPlaced {
    total_cents: i64,
}

fn main() {}
