use outbox_ui_tests::new_format_above::OrderEvent;

fn total(event: OrderEvent) -> i64 {
    match event {
        OrderEvent::OrderPlaced(placed) => placed.total_cents,
    }
}

fn main() {
    let _ = total;
}
