//! From the outbox to a publisher.

mod failure;
mod handover;
mod lease;
mod pass;
mod publish;
mod regression;
mod settings;
mod wake;

use std::time::Duration;

use outbox_runtime::{Publisher, Relay, RelayBuilder};
use sea_orm::DatabaseConnection;
use uuid::Uuid;

use crate::{models::order::Order, support::TestDb};

/// A relay whose leases are short, so that tests of hand-over need not wait.
pub fn quick<P: Publisher>(db: &DatabaseConnection, publisher: P) -> RelayBuilder<P> {
    Relay::builder(db.clone(), publisher)
        .lease(Duration::from_millis(1_500))
        .publish_timeout(Duration::from_secs(1))
        .backoff(Duration::from_millis(10), Duration::from_millis(100))
        .poll(Duration::from_millis(5), Duration::from_millis(100))
}

/// Saves `orders` new orders with `events` events each; their ids.
pub async fn orders(db: &TestDb, orders: usize, events: i64) -> Vec<Uuid> {
    let mut roots: Vec<Order> = (0..orders)
        .map(|_| {
            let mut order = Order::place(0);
            (1..events).for_each(|by| order.raise(by));
            order
        })
        .collect();
    outbox_runtime::save_all(&mut roots, &db.conn).await.unwrap().iter().map(|saved| saved.id).collect()
}

/// `lane` of an aggregate's pending rows.
pub async fn lane_of(db: &TestDb, id: Uuid) -> i64 {
    db.count(&format!(
        "SELECT CAST(max(p.lane) AS bigint) FROM outbox_pending p JOIN outbox_events e ON e.event_id = p.event_id WHERE e.aggregate_id = '{id}'"
    ))
    .await
}

pub async fn pending(db: &TestDb) -> i64 {
    db.count("SELECT count(*) FROM outbox_pending").await
}
