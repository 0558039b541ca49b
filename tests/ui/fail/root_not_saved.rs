#![deny(unused_must_use)]

use outbox_ui_tests::new_format_above::Order;

fn main() {
    Order::place(1);
}
