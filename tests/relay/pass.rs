//! Passes of reading: what is committed behind the cursor while a pass goes on is not overtaken.

use std::time::Duration;

use sea_orm::{ConnectionTrait as _, TransactionTrait as _};
use uuid::Uuid;

use super::quick;
use crate::{
    models::{self, order::Order},
    support::{Kind, TestDb, publisher::Gated},
};

/// An event of any aggregate, by plain SQL.
fn event(nth: u32, name: &str, id: &str, sequence: u32) -> [String; 2] {
    let event_id = format!("00000000-0000-7000-8000-{nth:012}");
    [
        format!(
            "INSERT INTO outbox_events (event_id, aggregate_type, aggregate_id, aggregate_sequence, event_type, schema_version, payload, occurred_at)
             VALUES ('{event_id}', '{name}', '{id}', {sequence}, 'order.raised', 1, '{{}}', now())"
        ),
        format!("INSERT INTO outbox_pending (lane, event_id) VALUES (0, '{event_id}')"),
    ]
}

/// The predecessor draws its position first and commits when the pass has gone by; `name` is what it was stored under.
async fn the_predecessor_comes_first(name: &str) {
    let db = TestDb::with_one_lane(Kind::Postgres).await;
    let late = db.conn.begin().await.unwrap();
    for sql in event(0, name, "x", 1) {
        late.execute_unprepared(&sql).await.unwrap();
    }
    for nth in 1..=200 {
        for sql in event(nth, "order", &format!("filler {nth}"), 1) {
            db.run(&sql).await;
        }
    }
    let gated = Gated::new();
    let relay = quick(&db.conn, gated.clone()).batch(8).start().await.unwrap();
    // The pass is on its way, and behind it the late one commits.
    gated.wait_for_arrivals(8).await;
    late.commit().await.unwrap();
    for sql in event(300, "order", "x", 2) {
        db.run(&sql).await;
    }
    gated.let_through(1_000);
    gated.recorder.wait_for(202).await;
    assert_eq!(gated.recorder.sequences("x"), [1, 2]);
    relay.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_committed_behind_the_cursor_is_not_overtaken_by_its_successor() {
    the_predecessor_comes_first("order").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nor_is_one_that_stands_under_a_former_name_of_its_aggregate() {
    the_predecessor_comes_first("purchase").await;
}

/// A read had left out what was in memory; then the lane was drained for another relay, and wanted again when that left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_a_read_from_before_a_lane_was_emptied_are_not_taken() {
    let db = TestDb::new(Kind::Postgres).await;
    models::create_tables(&db).await;
    let gated = Gated::new();
    let relay = |publisher: Gated| {
        quick(&db.conn, publisher).lease(Duration::from_secs(6)).publish_timeout(Duration::from_secs(4))
    };
    let first = relay(gated.clone()).start().await.unwrap();
    // In the half that is handed over.
    let in_upper_half =
        |id: &Uuid| outbox_runtime::lane_of("order", &id.to_string(), 64).is_some_and(|lane| lane >= 40);
    let id = std::iter::repeat_with(Uuid::now_v7).find(in_upper_half).unwrap();
    let mut order = Order::place_as(id, 0);
    (1..4).for_each(|by| order.raise(by));
    order.save(&db.conn).await.unwrap();
    gated.wait_for_arrivals(1).await;
    let mut status = first.status();
    status.wait_for(|status| status.in_memory == 4).await.unwrap();
    let other = db.connect().await;
    let tx = other.begin().await.unwrap();
    tx.execute_unprepared("LOCK TABLE outbox_pending IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let mut order = Order::load(&tx, id).await.unwrap();
    order.raise(5);
    order.save(&tx).await.unwrap();
    // The save has hinted; the read that follows waits for the table.
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'outbox_pending'::regclass";
    while db.count(waiting).await == 0 {}
    let second = relay(Gated::new()).start().await.unwrap();
    status.wait_for(|status| status.in_memory == 1).await.unwrap();
    gated.let_through(1);
    gated.recorder.wait_for(1).await;
    second.stop().await.unwrap();
    status.wait_for(|status| status.live_relays == 1).await.unwrap();
    tx.commit().await.unwrap();
    gated.let_through(100);
    gated.recorder.wait_for(5).await;
    assert_eq!(gated.recorder.sequences(&id.to_string()), [1, 2, 3, 4, 5]);
    first.stop().await.unwrap();
}
