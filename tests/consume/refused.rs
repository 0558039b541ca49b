//! What the database will not store while it takes everything else: it costs its own aggregate, and no other.

use outbox_runtime::{Consumer, Delivery, Tx};

use super::fixture::*;
use crate::support::{Kind, TestDb, each_database};

each_database! {
    async fn a_u0000_of_a_foreign_producer_survives_parking(db: TestDb) {
        make_ledger(&db.conn).await;
        let consumer = Consumer::builder(db.conn.clone(), "billing").retries(soon()).on(
            async |event: Added, delivery: Delivery, tx: &Tx| {
                assert_eq!(delivery.headers()["note"], "a\0b\\u0000c");
                if delivery.attempt() < 3 {
                    return Err("not yet".into());
                }
                add(event, delivery, tx).await
            },
        );
        let mut status = consumer.status();
        let (mut broker, source) = Broker::new();
        tokio::spawn(consumer.run(source));
        let mut zero = event("a", 1);
        zero.context.headers.insert("note".into(), "a\0b\\u0000c".into());
        zero.payload["note\0"] = "\0".into();
        broker.settle(&zero).await;
        let status = until(&mut status, |status| status.applied == 1).await;
        assert_eq!((status.parked, status.failures, status.refused), (1, 2, 0));
        assert_eq!(effects(&db.conn, "a").await, [1]);
    }
}

each_database! {
    async fn a_damaged_parked_row_is_quarantined_and_a_repair_lets_it_go_on(db: TestDb) {
        make_ledger(&db.conn).await;
        let old = Consumer::builder(db.conn.clone(), "billing").on(add::<1>);
        let (mut broker, source) = Broker::new();
        let run = tokio::spawn(old.run(source));
        broker.settle(&event_of("ledger.added", 2, "a", 1)).await;
        drop(broker);
        within(run).await.expect("no panic").expect("closed");
        db.run("CREATE TABLE kept AS SELECT envelope FROM consumer_parked").await;
        db.run("UPDATE consumer_parked SET envelope = '{\"event_id\": 7}'").await;

        let new = Consumer::builder(db.conn.clone(), "billing").on(add::<2>);
        let mut status = new.status();
        let (mut broker, source) = Broker::new();
        tokio::spawn(new.run(source));
        until(&mut status, |status| status.quarantined == 1).await;
        broker.settle(&event("a", 2)).await;
        broker.settle(&event("b", 1)).await;
        assert_eq!(parked(&db.conn, "a").await, ["1 quarantined 0", "2 behind_parked 0"]);
        assert!(last_errors(&db.conn, "a").await[0].contains("consumer_parked"));
        assert_eq!(effects(&db.conn, "b").await, [1]);

        let now = db.either("0", "clock_timestamp()");
        let repair = format!(
            "UPDATE consumer_parked SET envelope = (SELECT envelope FROM kept), retry_at = {now} WHERE reason = 'quarantined'"
        );
        db.run(&repair).await;
        until(&mut status, |status| status.applied == 3).await;
        assert_eq!(effects(&db.conn, "a").await, [1, 2]);
    }
}

each_database! {
    /// More of them than deliveries may be in work at once.
    async fn refused_events_are_not_acknowledged_and_others_go_on(db: TestDb) {
        make_ledger(&db.conn).await;
        // An aggregate's position cannot be written, whatever the reason: here, a rule of the table.
        match db.kind {
            Kind::Sqlite => {
                db.run(
                    "CREATE TRIGGER odd BEFORE INSERT ON consumer_positions WHEN NEW.aggregate_id LIKE 'odd%' \
                     BEGIN SELECT RAISE(ABORT, 'odd'); END",
                )
                .await;
            }
            Kind::Postgres => {
                db.run("ALTER TABLE consumer_positions ADD CONSTRAINT odd CHECK (aggregate_id NOT LIKE 'odd%')").await;
            }
        }
        let consumer = Consumer::builder(db.conn.clone(), "billing").concurrency(4).on(add::<1>);
        let mut status = consumer.status();
        let (mut broker, source) = Broker::new();
        tokio::spawn(consumer.run(source));
        let odd: Vec<_> = (0..20).map(|nth| event(&format!("odd{nth}"), 1)).collect();
        for event in &odd {
            broker.deliver(event).await;
        }
        // Its copies join it, its follower waits behind it.
        let follower = event("odd0", 2);
        broker.deliver(&follower).await;
        for _ in 0..3 {
            broker.deliver(&odd[0]).await;
        }
        for sequence in 1..=10 {
            broker.settle(&event("a", sequence)).await;
        }
        until(&mut status, |status| status.refused >= 40).await;
        assert!(broker.heard_all());
        assert_eq!(effects(&db.conn, "a").await, (1..=10).collect::<Vec<_>>());

        db.run(db.either("DROP TRIGGER odd", "ALTER TABLE consumer_positions DROP CONSTRAINT odd")).await;
        let status = until(&mut status, |status| status.applied == 31).await;
        assert_eq!((status.failures, status.parked), (0, 0), "no attempt is burnt");
        for _ in 0..24 {
            broker.acknowledged().await;
        }
        assert_eq!(effects(&db.conn, "odd0").await, [1, 2]);
    }
}

/// `text` refuses U+0000, so nothing of such an aggregate can be stored at all.
#[tokio::test]
async fn a_u0000_in_an_aggregates_id_stops_nobody_else() {
    let db = TestDb::new(Kind::Postgres).await;
    make_ledger(&db.conn).await;
    let consumer = Consumer::builder(db.conn.clone(), "billing").on(add::<1>);
    let mut status = consumer.status();
    let (mut broker, source) = Broker::new();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let run = tokio::spawn(consumer.run_until(source, stopped));
    for nth in 0..20 {
        broker.deliver(&event(&format!("{nth}\0"), 1)).await;
    }
    broker.settle(&event("b", 1)).await;
    until(&mut status, |status| status.refused >= 20).await;
    assert!(broker.heard_all());
    assert_eq!(effects(&db.conn, "b").await, [1]);
    // They do not keep the run from its end.
    drop(stop);
    within(run).await.expect("no panic").expect("stopped");
}
