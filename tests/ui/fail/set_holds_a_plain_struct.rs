use outbox_runtime::EventSet;
use outbox_ui_tests::event_set::CustomerMoved;

#[derive(EventSet)]
enum CustomerEvent {
    Moved(CustomerMoved),
    Other(Plain),
}

struct Plain;

fn main() {}
