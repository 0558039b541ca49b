//! The plain path: everything that was committed is published, in order.

use std::collections::{BTreeMap, BTreeSet};

use sea_orm::TransactionTrait as _;
use uuid::Uuid;

use super::{orders, pending, quick};
use crate::{
    models::{self, order::Order},
    support::{
        TestDb, each_database,
        publisher::{Gated, Recorder},
    },
};

each_database! {
    async fn publishes_what_was_committed_in_sequence_order(db: TestDb) {
        models::create_tables(&db).await;
        let mut order = Order::place(100);
        let id = order.save(&db.conn).await.unwrap().aggregate_id.clone();
        let recorder = Recorder::new();
        let relay = quick(&db.conn, recorder.clone()).start().await.unwrap();
        for by in 1..=20 {
            order.raise(by);
            order.save(&db.conn).await.unwrap();
        }
        recorder.wait_for(21).await;
        assert_eq!(recorder.sequences(&id), (1..=21).collect::<Vec<_>>());
        relay.stop().await.unwrap();
        assert_eq!(pending(&db).await, 0);
        assert_eq!(db.count("SELECT count(*) FROM outbox_lanes WHERE claimed_by IS NOT NULL").await, 0);
        assert_eq!(db.count("SELECT count(*) FROM outbox_relays").await, 0);
    }
}

each_database! {
    async fn a_backlog_over_many_aggregates_arrives_once_and_in_order(db: TestDb) {
        models::create_tables(&db).await;
        let ids = orders(&db, 300, 10).await;
        let recorder = Recorder::new();
        let relay = quick(&db.conn, recorder.clone()).batch(100).start().await.unwrap();
        relay.status().wait_for(|status| status.published >= 3_000 && status.caught_up).await.unwrap();
        let log = recorder.log();
        assert_eq!(log.len(), 3_000, "without a failure nothing is published twice");
        assert_eq!(recorder.ids().into_iter().collect::<BTreeSet<Uuid>>().len(), 3_000);
        for id in ids {
            assert_eq!(recorder.sequences(&id.to_string()), (1..=10).collect::<Vec<_>>());
        }
        relay.stop().await.unwrap();
    }
}

each_database! {
    async fn one_aggregate_with_a_long_backlog_arrives_in_order(db: TestDb) {
        models::create_tables(&db).await;
        let ids = orders(&db, 1, 2_000).await;
        let recorder = Recorder::new();
        let relay = quick(&db.conn, recorder.clone()).batch(50).start().await.unwrap();
        recorder.wait_for(2_000).await;
        assert_eq!(recorder.sequences(&ids[0].to_string()), (1..=2_000).collect::<Vec<_>>());
        relay.stop().await.unwrap();
        assert_eq!(pending(&db).await, 0);
    }
}

each_database! {
    async fn a_slow_aggregate_delays_only_itself(db: TestDb) {
        models::create_tables(&db).await;
        // Far more than a relay keeps of one aggregate, and before everything else in the queue.
        let slow = orders(&db, 1, 500).await[0].to_string();
        let others = orders(&db, 200, 2).await;
        let gated = Gated::new();
        let publisher = Slow { slow: slow.clone(), gated: gated.clone(), others: Recorder::new() };
        let relay = quick(&db.conn, publisher.clone())
            .publish_timeout(std::time::Duration::from_millis(1_100)).batch(20).start().await.unwrap();
        publisher.others.wait_for(400).await;
        for id in others {
            assert_eq!(publisher.others.sequences(&id.to_string()), [1, 2]);
        }
        gated.let_through(10_000);
        gated.recorder.wait_for(500).await;
        let mut seen = gated.recorder.sequences(&slow);
        seen.dedup();
        assert_eq!(seen, (1..=500).collect::<Vec<_>>());
        relay.stop().await.unwrap();
    }
}

#[derive(Clone)]
struct Slow {
    slow: String,
    gated: Gated,
    others: Recorder,
}

impl outbox_runtime::Publisher for Slow {
    async fn publish(&self, event: &outbox_runtime::Envelope) -> Result<(), outbox_runtime::PublishError> {
        if event.context.aggregate_id == self.slow {
            self.gated.publish(event).await
        } else {
            self.others.publish(event).await
        }
    }
}

/// The queue's positions are drawn before commits, and a cursor over them would skip the late one. Not on `SQLite`:
/// with one writer at a time positions and commits cannot cross.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o1_a_late_commit_with_a_lower_position_is_published() {
    let db = TestDb::new(crate::support::Kind::Postgres).await;
    models::create_tables(&db).await;
    let recorder = Recorder::new();
    let relay = quick(&db.conn, recorder.clone()).start().await.unwrap();
    let late = db.conn.begin().await.unwrap();
    let first = Order::place(1).save(&late).await.unwrap().events[0].event_id;
    let second = Order::place(2).save(&db.conn).await.unwrap().events[0].event_id;
    recorder.wait_for(1).await;
    assert_eq!(recorder.ids(), [second]);
    late.commit().await.unwrap();
    recorder.wait_for(2).await;
    assert_eq!(recorder.ids(), [second, first]);
    relay.stop().await.unwrap();
}

each_database! {
    async fn sixteen_writers_and_two_relays_keep_every_aggregates_order(db: TestDb) {
        models::create_tables(&db).await;
        let ids = orders(&db, 8, 1).await;
        let recorder = Recorder::new();
        let relays = [
            quick(&db.conn, recorder.clone()).start().await.unwrap(),
            quick(&db.connect().await, recorder.clone()).start().await.unwrap(),
        ];
        let each = if db.kind == crate::support::Kind::Sqlite { 10 } else { 40 };
        let writers: Vec<_> = (0..16)
            .map(|writer: usize| {
                let (db, id) = (db.conn.clone(), ids[writer % ids.len()]);
                tokio::spawn(async move {
                    for _ in 0..each {
                        outbox_runtime::transact(&db, outbox_runtime::TxPolicy::default(), async |tx| {
                            let mut order = Order::load(tx, id).await?;
                            order.raise(1);
                            order.save(tx).await?;
                            Ok::<_, outbox_runtime::BoxError>(())
                        })
                        .await
                        .unwrap();
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
        recorder.wait_for(8 + 16 * each).await;
        let mut firsts: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        for event in recorder.log() {
            let seen = firsts.entry(event.context.aggregate_id).or_default();
            if !seen.contains(&event.context.aggregate_sequence) {
                seen.push(event.context.aggregate_sequence);
            }
        }
        let expected: Vec<i64> = (1..=1 + i64::try_from(2 * each).unwrap()).collect();
        assert!(firsts.values().all(|seen| *seen == expected), "an order was broken: {firsts:?}");
        for relay in relays {
            relay.stop().await.unwrap();
        }
        assert_eq!(pending(&db).await, 0);
    }
}
