//! Handlers that fail and events that cannot be read: rolled back, parked, tried again, quarantined.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use outbox_runtime::{Consumer, Delivery, Tx};
use sea_orm::{ConnectionTrait, TransactionSession, TransactionTrait};

use super::fixture::*;
use crate::support::{Kind, TestDb, each_database};

each_database! {
    async fn a_failing_handler_is_tried_again_and_its_followers_wait(db: TestDb) {
        make_ledger(&db.conn).await;
        let attempts = Arc::new(AtomicU32::new(0));
        let seen = Arc::clone(&attempts);
        let consumer = Consumer::builder(db.conn.clone(), "billing").retries(soon()).on(
            async move |event: Added, delivery: Delivery, tx: &Tx| {
                let attempt = delivery.attempt();
                add(event, delivery.clone(), tx).await?;
                if delivery.aggregate_sequence() == 2 {
                    seen.store(attempt, Ordering::SeqCst);
                    if attempt < 3 { Err(format!("not at attempt {attempt}"))? }
                }
                Ok(())
            },
        );
        let mut status = consumer.status();
        let (mut broker, source) = Broker::new();
        tokio::spawn(consumer.run(source));
        for sequence in 1..=4 {
            broker.settle(&event("a", sequence)).await;
        }
        broker.settle(&event("b", 1)).await;
        let status = until(&mut status, |status| status.applied == 5).await;
        assert_eq!((status.failures, status.quarantined), (2, 0));
        assert_eq!(attempts.load(Ordering::SeqCst), 3);
        assert_eq!(effects(&db.conn, "a").await, [1, 2, 3, 4]);
        assert!(parked(&db.conn, "a").await.is_empty());
    }
}

each_database! {
    async fn after_the_last_attempt_the_aggregate_is_quarantined_and_a_repair_lets_it_go_on(db: TestDb) {
        make_ledger(&db.conn).await;
        let works = Arc::new(AtomicU32::new(0));
        let is_repaired = Arc::clone(&works);
        let consumer = Consumer::builder(db.conn.clone(), "billing").retries(soon()).on(
            async move |event: Added, delivery: Delivery, tx: &Tx| {
                if delivery.aggregate_id() == "a" && is_repaired.load(Ordering::SeqCst) == 0 {
                    Err("no\0good")?;
                }
                add(event, delivery, tx).await
            },
        );
        let mut status = consumer.status();
        let (mut broker, source) = Broker::new();
        tokio::spawn(consumer.run(source));
        broker.settle(&event("a", 1)).await;
        until(&mut status, |status| status.quarantined == 1).await;
        broker.settle(&event("a", 2)).await;
        broker.settle(&event("b", 1)).await;
        assert_eq!(parked(&db.conn, "a").await, ["1 quarantined 3", "2 behind_parked 0"]);
        assert_eq!(last_errors(&db.conn, "a").await, ["no\u{fffd}good", ""]);
        assert_eq!(effects(&db.conn, "b").await, [1]);
        assert_eq!(inbox_rows(&db.conn).await, 1);

        works.store(1, Ordering::SeqCst);
        let now = match db.conn.get_database_backend() {
            sea_orm::DbBackend::Postgres => "clock_timestamp()",
            _ => "0",
        };
        let retry_now = format!("UPDATE consumer_parked SET retry_at = {now} WHERE reason = 'quarantined'");
        db.conn.execute_unprepared(&retry_now).await.expect("repair");
        until(&mut status, |status| status.applied == 3).await;
        assert_eq!(effects(&db.conn, "a").await, [1, 2]);
    }
}

each_database! {
    async fn a_panic_is_a_failure_of_its_event_only(db: TestDb) {
        make_ledger(&db.conn).await;
        let consumer = Consumer::builder(db.conn.clone(), "billing").retries(soon().max_attempts(1)).on(
            async |event: Added, delivery: Delivery, tx: &Tx| {
                assert_ne!(delivery.aggregate_id(), "a", "this one is cursed");
                add(event, delivery, tx).await
            },
        );
        let (mut broker, source) = Broker::new();
        tokio::spawn(consumer.run(source));
        broker.settle(&event("a", 1)).await;
        broker.settle(&event("b", 1)).await;
        assert_eq!(effects(&db.conn, "b").await, [1]);
        assert!(last_errors(&db.conn, "a").await[0].contains("this one is cursed"));
    }
}

each_database! {
    async fn a_newer_version_waits_for_the_next_program(db: TestDb) {
        make_ledger(&db.conn).await;
        let old = Consumer::builder(db.conn.clone(), "billing").on(add::<1>);
        let (mut broker, source) = Broker::new();
        let run = tokio::spawn(old.run(source));
        broker.settle(&event("a", 1)).await;
        broker.settle(&event_of("ledger.added", 2, "a", 2)).await;
        broker.settle(&event("a", 3)).await;
        assert_eq!(parked(&db.conn, "a").await, ["2 newer_version 0", "3 behind_parked 0"]);
        drop(broker);
        within(run).await.expect("no panic").expect("closed");

        // Restarted as it was: looked at again, and no attempt burnt.
        let same = Consumer::builder(db.conn.clone(), "billing").on(add::<1>);
        let (mut broker, source) = Broker::new();
        let run = tokio::spawn(same.run(source));
        broker.settle(&event("a", 4)).await;
        drop(broker);
        within(run).await.expect("no panic").expect("closed");
        assert_eq!(parked(&db.conn, "a").await, ["2 newer_version 0", "3 behind_parked 0", "4 behind_parked 0"]);

        let upgraded = Consumer::builder(db.conn.clone(), "billing").on(add::<2>);
        let mut status = upgraded.status();
        let (_broker, source) = Broker::new();
        tokio::spawn(upgraded.run(source));
        until(&mut status, |status| status.applied == 3).await;
        assert_eq!(effects(&db.conn, "a").await, [1, 2, 3, 4]);
    }
}

each_database! {
    async fn an_unreadable_event_is_quarantined_at_once(db: TestDb) {
        make_ledger(&db.conn).await;
        let consumer = Consumer::builder(db.conn.clone(), "billing").on(add::<1>);
        let mut status = consumer.status();
        let (mut broker, source) = Broker::new();
        tokio::spawn(consumer.run(source));
        let mut unreadable = event("a", 1);
        unreadable.payload = serde_json::json!({ "amount": "much" });
        broker.settle(&unreadable).await;
        let status = until(&mut status, |status| status.quarantined == 1).await;
        assert_eq!(status.parked, 1);
        assert_eq!(parked(&db.conn, "a").await, ["1 quarantined 1"]);
        assert!(last_errors(&db.conn, "a").await[0].contains("amount"));
    }
}

each_database! {
    async fn a_swallowed_failed_statement_is_a_failure(db: TestDb) {
        make_ledger(&db.conn).await;
        let consumer = Consumer::builder(db.conn.clone(), "billing").retries(soon().max_attempts(1)).on(
            async |event: Added, delivery: Delivery, tx: &Tx| {
                add(event, delivery, tx).await?;
                let _ = tx.execute_unprepared("INSERT INTO no_such_table VALUES (1)").await;
                Ok(())
            },
        );
        let (mut broker, source) = Broker::new();
        tokio::spawn(consumer.run(source));
        broker.settle(&event("a", 1)).await;
        assert_eq!(parked(&db.conn, "a").await, ["1 quarantined 1"]);
        assert!(last_errors(&db.conn, "a").await[0].contains("a statement failed inside the transaction"));
        assert!(effects(&db.conn, "a").await.is_empty());
        assert_eq!(inbox_rows(&db.conn).await, 0);
    }
}

each_database! {
    async fn a_failed_statement_undone_by_a_savepoint_is_none(db: TestDb) {
        make_ledger(&db.conn).await;
        let consumer = Consumer::builder(db.conn.clone(), "billing").on(
            async |event: Added, delivery: Delivery, tx: &Tx| {
                let attempt = tx.begin().await?;
                if attempt.execute_unprepared("INSERT INTO no_such_table VALUES (1)").await.is_err() {
                    attempt.rollback().await?;
                }
                add(event, delivery, tx).await
            },
        );
        let (mut broker, source) = Broker::new();
        tokio::spawn(consumer.run(source));
        broker.settle(&event("a", 1)).await;
        assert_eq!(effects(&db.conn, "a").await, [1]);
    }
}

each_database! {
    async fn what_commit_refuses_is_the_handlers_failure(db: TestDb) {
        make_ledger(&db.conn).await;
        db.conn.execute_unprepared("CREATE TABLE account (id integer PRIMARY KEY)").await.expect("account");
        db.conn
            .execute_unprepared(
                "CREATE TABLE entry (account integer REFERENCES account (id) DEFERRABLE INITIALLY DEFERRED)",
            )
            .await
            .expect("entry");
        let consumer = Consumer::builder(db.conn.clone(), "billing").retries(soon()).on(
            async |event: Added, delivery: Delivery, tx: &Tx| {
                if delivery.aggregate_id() == "a" && delivery.attempt() < 3 {
                    tx.execute_unprepared("INSERT INTO entry VALUES (7)").await?;
                }
                add(event, delivery, tx).await
            },
        );
        let mut status = consumer.status();
        let (mut broker, source) = Broker::new();
        tokio::spawn(consumer.run(source));
        broker.settle(&event("a", 1)).await;
        broker.settle(&event("b", 1)).await;
        let status = until(&mut status, |status| status.applied == 2).await;
        assert_eq!(status.failures, 2);
        assert_eq!((effects(&db.conn, "a").await, effects(&db.conn, "b").await), (vec![1], vec![1]));
    }
}

/// `SQLite` has one writer, and BEGIN IMMEDIATE waits for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_serialization_failure_burns_no_attempt() {
    let db = TestDb::new(Kind::Postgres).await;
    make_ledger(&db.conn).await;
    let calls = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&calls);
    let consumer = Consumer::builder(db.conn.clone(), "billing").retries(soon().max_attempts(1)).on(
        async move |event: Added, delivery: Delivery, tx: &Tx| {
            assert_eq!(delivery.attempt(), 1);
            add(event, delivery, tx).await?;
            match count.fetch_add(1, Ordering::SeqCst) {
                // Passed on, and swallowed.
                0 => tx.execute_unprepared(SERIALIZATION_FAILURE).await.map(drop)?,
                1 => drop(tx.execute_unprepared(SERIALIZATION_FAILURE).await),
                _ => {}
            }
            Ok(())
        },
    );
    let mut status = consumer.status();
    let (mut broker, source) = Broker::new();
    tokio::spawn(consumer.run(source));
    broker.settle(&event("a", 1)).await;
    let status = until(&mut status, |status| status.applied == 1).await;
    assert_eq!((status.failures, status.parked, calls.load(Ordering::SeqCst)), (0, 0, 3));
    assert_eq!(effects(&db.conn, "a").await, [1]);
}

const SERIALIZATION_FAILURE: &str = "DO $$ BEGIN RAISE EXCEPTION 'as if' USING ERRCODE = '40001'; END $$";

each_database! {
    /// An interval that the database cannot add to its clock.
    async fn the_longest_wait_is_stored(db: TestDb) {
        make_ledger(&db.conn).await;
        let forever = outbox_runtime::RetryPolicy::default().delays(std::time::Duration::MAX, std::time::Duration::MAX);
        let consumer = Consumer::builder(db.conn.clone(), "billing")
            .retries(forever)
            .on(async |_: Added, _: Delivery, _: &Tx| Err("never".into()));
        let mut status = consumer.status();
        let (mut broker, source) = Broker::new();
        tokio::spawn(consumer.run(source));
        broker.settle(&event("a", 1)).await;
        let status = until(&mut status, |status| status.failures == 1).await;
        assert_eq!((status.parked, status.refused), (1, 0));
    }
}
