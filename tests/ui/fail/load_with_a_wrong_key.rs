use outbox_ui_tests::new_format_above::Order;

async fn load(tx: &sea_orm::DatabaseTransaction) {
    let _ = Order::load(tx, 5).await;
}

fn main() {
    let _ = load;
}
