use outbox_runtime::DomainEvent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "order.placed", version = 1, retired = false)]
struct OrderPlaced {
    total_cents: i64,
}

fn needs<E: outbox_runtime::DomainEvent>(_: E) {}

fn main() {
    // No further error: the event counts as one.
    needs(OrderPlaced { total_cents: 1 });
}
