use outbox_ui_tests::new_format_above::Order;

struct Plain;

fn main() {
    let mut order = Order::place(1);
    order.emit(Plain);
    order.discard();
}
