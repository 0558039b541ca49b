use outbox_runtime::{EventSet, RawEvent};

struct Plain;

fn main() {
    let _ = <Plain as EventSet>::decode(&RawEvent::new("order.placed", 1, Default::default()));
}
