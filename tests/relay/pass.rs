//! Passes of reading: what is committed behind the cursor while a pass goes on is not overtaken.

use sea_orm::{ConnectionTrait as _, TransactionTrait as _};

use super::quick;
use crate::support::{Kind, TestDb, publisher::Gated};

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
