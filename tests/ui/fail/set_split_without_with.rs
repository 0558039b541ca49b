#![allow(unused_imports)]

use outbox_runtime::EventSet;
use outbox_ui_tests::event_set::{CustomerDetailsChanged, CustomerMoved};

#[derive(EventSet)]
#[event(split(CustomerDetailsChanged))]
enum CustomerEvent {
    Moved(CustomerMoved),
}

fn main() {
    let raw = outbox_runtime::RawEvent::new("customer.moved", 1, Default::default());
    // No further error: the enum counts as a set.
    let _ = CustomerEvent::decode(&raw);
    let _ = CustomerEvent::from(CustomerMoved { address: String::new() });
}
