#![deny(unused_must_use)]

use outbox_ui_tests::new_format_above::Order;

fn save(order: &mut Order, db: &sea_orm::DatabaseConnection) {
    order.save(db);
}

fn main() {
    let _ = save;
}
