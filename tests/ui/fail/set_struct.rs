use outbox_runtime::EventSet;

#[derive(EventSet)]
struct CustomerEvent {
    name: String,
}

fn main() {}
