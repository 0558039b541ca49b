use outbox_runtime::DomainEvent;

#[derive(DomainEvent)]
#[event(type = "order.placed", version = 1)]
union OrderPlaced {
    a: u8,
    b: i8,
}

fn main() {}
