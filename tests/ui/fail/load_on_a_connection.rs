use outbox_ui_tests::new_format_above::Order;

async fn load(db: &sea_orm::DatabaseConnection) {
    let _ = Order::load(db, sea_orm::prelude::Uuid::nil()).await;
}

fn main() {
    let _ = load;
}
