use outbox_ui_tests::new_format_above::Order;

fn main() {
    let order = Order::place(1);
    let _ = order.__outbox_state;
}
