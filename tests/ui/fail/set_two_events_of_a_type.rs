use outbox_runtime::{BoxError, DomainEvent, EventContext, EventSet};
use outbox_ui_tests::event_set::CustomerMoved;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
#[event(type = "customer.moved", version = 1)]
struct CustomerRelocated {}

mod old {
    use super::*;

    #[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
    #[event(type = "customer.moved", version = 1, retired)]
    pub struct CustomerMoved {}
}

#[derive(EventSet)]
#[event(split(old::CustomerMoved, with = split_moved))]
enum CustomerEvent {
    Moved(CustomerMoved),
    Relocated(CustomerRelocated),
}

fn split_moved(_: old::CustomerMoved, _: &EventContext) -> Result<Vec<CustomerEvent>, BoxError> {
    Ok(Vec::new())
}

fn main() {
    let raw = outbox_runtime::RawEvent::new("customer.moved", 1, Default::default());
    // No further error: the enum counts as a set.
    let _ = CustomerEvent::decode(&raw);
    let _ = CustomerEvent::from(CustomerMoved { address: String::new() });
}
