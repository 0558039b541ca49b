#![allow(unused_imports)]

use outbox_runtime::aggregate;
use outbox_ui_tests::new_format_above::OrderPlaced;

/// No further error, neither for the keys nor for what is missing beside it.
#[derive(Clone, Debug)]
#[aggregate(root = Order, name = "an order", events(OrderPlaced), version = number)]
#[derive(PartialEq)]
pub struct Model {
    pub id: i64,
}

fn main() {
    let _ = Model { id: 1 } == Model { id: 2 };
}
