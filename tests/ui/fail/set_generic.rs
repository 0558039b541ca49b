use outbox_runtime::EventSet;
use outbox_ui_tests::event_set::CustomerMoved;

#[derive(EventSet)]
enum CustomerEvent<T> {
    Moved(CustomerMoved),
    Other(T),
}

fn main() {}
