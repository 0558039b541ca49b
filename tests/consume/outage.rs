//! The database goes away: nothing is acknowledged, and the consumer goes on when it is back.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use outbox_runtime::{ConsumeError, Consumer, Delivery, Tx};
use sea_orm::ConnectionTrait;

use super::fixture::*;
use crate::support::{Kind, TestDb, each_database};

const HANG_UP: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
    WHERE datname = current_database() AND pid <> pg_backend_pid()";

each_database! {
    async fn a_run_without_tables_says_what_to_do(db: TestDb) {
        db.conn.execute_unprepared("DROP TABLE consumer_parked").await.expect("dropped");
        let (_broker, source) = Broker::new();
        let ended = within(Consumer::builder(db.conn.clone(), "billing").on(add::<1>).run(source)).await;
        assert!(matches!(&ended, Err(error @ ConsumeError::Tables(_)) if error.to_string().contains("Migrator")));
    }
}

each_database! {
    async fn a_closed_pool_ends_the_run_and_acknowledges_nothing(db: TestDb) {
        make_ledger(&db.conn).await;
        let pool = db.connect().await;
        let consumer = Consumer::builder(pool.clone(), "billing").on(add::<1>);
        let (mut broker, source) = Broker::new();
        let run = tokio::spawn(consumer.run(source));
        broker.settle(&event("a", 1)).await;
        pool.close().await.expect("closed");
        broker.deliver(&event("a", 2)).await;
        let ended = within(run).await.expect("no panic");
        assert!(matches!(ended, Err(ConsumeError::Closed(_))), "{ended:?}");
        assert!(broker.heard_all());
        assert_eq!(effects(&db.conn, "a").await, [1]);
    }
}

each_database! {
    async fn statements_that_are_refused_for_a_while_cost_nothing(db: TestDb) {
        make_ledger(&db.conn).await;
        let consumer = Consumer::builder(db.connect().await, "billing").retries(soon().max_attempts(1)).on(add::<1>);
        let mut status = consumer.status();
        let (mut broker, source) = Broker::new();
        tokio::spawn(consumer.run(source));
        until(&mut status, |status| status.running).await;
        db.conn.execute_unprepared("ALTER TABLE consumer_positions RENAME TO away").await.expect("renamed");
        let one = event("a", 1);
        broker.deliver(&one).await;
        broker.deliver(&event("b", 1)).await;
        assert!(broker.heard_all());
        db.conn.execute_unprepared("ALTER TABLE away RENAME TO consumer_positions").await.expect("renamed");
        until(&mut status, |status| status.applied == 2).await;
        broker.acknowledged().await;
        broker.acknowledged().await;
        assert_eq!((effects(&db.conn, "a").await, effects(&db.conn, "b").await), (vec![1], vec![1]));
    }
}

/// `SQLite` runs inside this program.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_hangs_up_is_waited_for() {
    let db = TestDb::new(Kind::Postgres).await;
    make_ledger(&db.conn).await;
    let consumer = Consumer::builder(db.connect().await, "billing").retries(soon().max_attempts(1)).on(add::<1>);
    let mut status = consumer.status();
    let (mut broker, source) = Broker::new();
    tokio::spawn(consumer.run(source));
    broker.settle(&event("a", 1)).await;
    for sequence in 2..=20 {
        db.conn.execute_unprepared(HANG_UP).await.expect("hung up");
        broker.settle(&event("a", sequence)).await;
    }
    let status = until(&mut status, |status| status.applied == 20).await;
    assert_eq!((status.failures, status.parked), (0, 0), "no attempt is burnt");
    assert_eq!(effects(&db.conn, "a").await, (1..=20).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_breaks_in_a_handler_burns_no_attempt() {
    let db = TestDb::new(Kind::Postgres).await;
    make_ledger(&db.conn).await;
    let breaks = Arc::new(AtomicBool::new(true));
    let consumer = Consumer::builder(db.connect().await, "billing").retries(soon().max_attempts(1)).on(
        async move |event: Added, delivery: Delivery, tx: &Tx| {
            if breaks.swap(false, Ordering::SeqCst) {
                tx.execute_unprepared("SELECT pg_terminate_backend(pg_backend_pid())").await?;
            }
            add(event, delivery, tx).await
        },
    );
    let mut status = consumer.status();
    let (mut broker, source) = Broker::new();
    tokio::spawn(consumer.run(source));
    broker.settle(&event("a", 1)).await;
    let status = until(&mut status, |status| status.applied + status.parked == 1).await;
    assert_eq!((status.applied, status.failures), (1, 0));
    assert_eq!(effects(&db.conn, "a").await, [1]);
}
