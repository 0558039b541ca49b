use outbox_ui_tests::{new_format_above::Order, old_format_derive_above::SeatTaken};

fn main() {
    let mut order = Order::place(1);
    order.emit_with(|_| SeatTaken { by: "Ada".into() });
    order.discard();
}
