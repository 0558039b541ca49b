use outbox_ui_tests::new_format_above::Order;
use sea_orm::{ActiveModelTrait, DatabaseConnection};

async fn bypass(order: Order, db: &DatabaseConnection) {
    let _ = order.insert(db).await;
}

fn main() {
    let _ = bypass;
}
