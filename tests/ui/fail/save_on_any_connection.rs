use outbox_ui_tests::new_format_above::Order;

async fn save<C: sea_orm::ConnectionTrait>(db: &C) {
    let _ = Order::place(1).save(db).await;
}

fn main() {
    let _ = save::<sea_orm::DatabaseConnection>;
}
