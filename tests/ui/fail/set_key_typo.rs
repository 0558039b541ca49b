use outbox_runtime::{BoxError, EventContext, EventSet};
use outbox_ui_tests::event_set::{CustomerDetailsChanged, CustomerMoved};

#[derive(EventSet)]
#[event(splt(CustomerDetailsChanged, with = split_details))]
enum CustomerEvent {
    Moved(CustomerMoved),
}

fn split_details(_: CustomerDetailsChanged, _: &EventContext) -> Result<Vec<CustomerEvent>, BoxError> {
    Ok(Vec::new())
}

fn main() {
    let raw = outbox_runtime::RawEvent::new("customer.moved", 1, Default::default());
    // No further error: the enum counts as a set.
    let _ = CustomerEvent::decode(&raw);
    let _ = CustomerEvent::from(CustomerMoved { address: String::new() });
}
