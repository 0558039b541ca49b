use outbox_runtime::DomainEvent;

#[derive(DomainEvent)]
#[event(type = "order.placed", version = 1)]
struct OrderPlaced {}

fn main() {}
