//! A run: many aggregates at once, several programs of one name, stops and drops.

use std::sync::{Arc, Mutex};

use outbox_runtime::{ConsumeError, Consumer, Delivery, Source, SourceError, Tx};
use sea_orm::ConnectionTrait;
use tokio::sync::{Semaphore, oneshot};

use super::fixture::*;
use crate::support::{TestDb, each_database};

each_database! {
    async fn one_name_in_two_programs_gives_one_effect_in_order(db: TestDb) {
        make_ledger(&db.conn).await;
        let mut brokers = Vec::new();
        let mut runs = Vec::new();
        for _ in 0..2 {
            let consumer = Consumer::builder(db.connect().await, "billing").retries(soon().max_attempts(20)).on(
                async |event: Added, delivery: Delivery, tx: &Tx| {
                    let stumbles = delivery.aggregate_sequence() % 3 == 0 && delivery.attempt() == 1;
                    add(event, delivery, tx).await?;
                    if stumbles { Err("not the first time")? }
                    Ok(())
                },
            );
            let status = consumer.status();
            let (broker, source) = Broker::new();
            runs.push((tokio::spawn(consumer.run(source)), status));
            brokers.push(broker);
        }
        let events: Vec<_> = (1..=10).flat_map(|sequence| ["a", "b", "c"].map(|of| event(of, sequence))).collect();
        for event in &events {
            for broker in &brokers {
                broker.deliver(event).await;
            }
        }
        for broker in &mut brokers {
            for _ in &events {
                broker.acknowledged().await;
            }
        }
        let (_, mut second) = runs.pop().expect("two runs");
        let (_, first) = runs.pop().expect("two runs");
        let mut first_seen = first.clone();
        within(async {
            loop {
                if first.borrow().applied + second.borrow().applied == 30 { break }
                tokio::select! { changed = first_seen.changed() => changed, changed = second.changed() => changed }.expect("runs");
            }
        })
        .await;
        for aggregate in ["a", "b", "c"] {
            assert_eq!(effects(&db.conn, aggregate).await, (1..=10).collect::<Vec<_>>());
            assert!(parked(&db.conn, aggregate).await.is_empty());
        }
    }
}

each_database! {
    async fn aggregates_do_not_wait_for_each_other_and_each_keeps_its_order(db: TestDb) {
        make_ledger(&db.conn).await;
        let gate = Arc::new(Semaphore::new(0));
        let began = Arc::new(Mutex::new(Vec::new()));
        let (opened, log) = (Arc::clone(&gate), Arc::clone(&began));
        // Without a transaction open in the handler, so that SQLite's one writer does not hide the concurrency.
        let consumer = Consumer::builder(db.conn.clone(), "billing").concurrency(2).on(
            async move |_: Added, delivery: Delivery, _: &Tx| {
                log.lock().expect("log").push((delivery.aggregate_id().to_owned(), delivery.aggregate_sequence()));
                if delivery.aggregate_id() == "slow" {
                    opened.acquire().await?.forget();
                }
                Ok(())
            },
        );
        let (mut broker, source) = Broker::new();
        tokio::spawn(consumer.run(source));
        if db.conn.get_database_backend() == sea_orm::DbBackend::Postgres {
            let (slow_1, slow_2) = (event("slow", 1), event("slow", 2));
            broker.deliver(&slow_1).await;
            broker.deliver(&slow_2).await;
            broker.settle(&event("quick", 1)).await;
            broker.settle(&event("quick", 2)).await;
            assert!(!began.lock().expect("log").contains(&("slow".into(), 2)), "one delivery of an aggregate at a time");
            gate.add_permits(2);
            assert_eq!(broker.acknowledged().await, slow_1.context.event_id);
            assert_eq!(broker.acknowledged().await, slow_2.context.event_id);
        } else {
            gate.add_permits(1);
            broker.settle(&event("slow", 1)).await;
        }
    }
}

each_database! {
    async fn a_dropped_run_loses_nothing(db: TestDb) {
        make_ledger(&db.conn).await;
        let one = event("a", 1);
        let (entered, inside) = oneshot::channel();
        let entered = Arc::new(Mutex::new(Some(entered)));
        let stuck = Consumer::builder(db.connect().await, "billing").on(
            async move |event: Added, delivery: Delivery, tx: &Tx| {
                add(event, delivery, tx).await?;
                let entered = entered.lock().expect("entered").take();
                if let Some(entered) = entered { let _ = entered.send(()); }
                std::future::pending().await
            },
        );
        let (mut broker, source) = Broker::new();
        let run = tokio::spawn(stuck.run(source));
        broker.deliver(&one).await;
        within(inside).await.expect("the handler runs");
        run.abort();
        assert!(within(run).await.expect_err("aborted").is_cancelled());
        assert!(broker.heard_all(), "nothing was acknowledged");

        let (mut broker, source) = Broker::new();
        tokio::spawn(Consumer::builder(db.conn.clone(), "billing").on(add::<1>).run(source));
        broker.settle(&one).await;
        assert_eq!(effects(&db.conn, "a").await, [1]);
    }
}

each_database! {
    async fn a_graceful_stop_ends_what_is_in_work_and_gives_the_rest_back(db: TestDb) {
        make_ledger(&db.conn).await;
        let gate = Arc::new(Semaphore::new(0));
        let opened = Arc::clone(&gate);
        let (entered, inside) = oneshot::channel();
        let entered = Arc::new(Mutex::new(Some(entered)));
        let consumer = Consumer::builder(db.conn.clone(), "billing").on(
            async move |event: Added, delivery: Delivery, tx: &Tx| {
                let entered = entered.lock().expect("entered").take();
                if let Some(entered) = entered { let _ = entered.send(()); }
                opened.acquire().await?.forget();
                add(event, delivery, tx).await
            },
        );
        let mut status = consumer.status();
        let (mut broker, source) = Broker::new();
        let (stop, stopped) = oneshot::channel::<()>();
        let run = tokio::spawn(consumer.run_until(source, stopped));
        let (one, two) = (event("a", 1), event("a", 2));
        broker.deliver(&one).await;
        broker.deliver(&two).await;
        within(inside).await.expect("the handler runs");
        assert!(status.borrow_and_update().running);
        stop.send(()).expect("it listens");
        gate.add_permits(5);
        within(run).await.expect("no panic").expect("stopped gracefully");
        assert!(!status.borrow().running);
        assert_eq!(broker.acknowledged().await, one.context.event_id);
        assert!(broker.heard_all());
        assert_eq!(effects(&db.conn, "a").await, [1]);
    }
}

each_database! {
    async fn what_waited_for_the_last_event_of_a_killed_run_is_applied_by_the_next(db: TestDb) {
        make_ledger(&db.conn).await;
        let (entered, inside) = oneshot::channel();
        let entered = Arc::new(Mutex::new(Some(entered)));
        let consumer = Consumer::builder(db.connect().await, "billing").on(
            async move |event: Added, delivery: Delivery, tx: &Tx| {
                if delivery.aggregate_sequence() == 3 {
                    let entered = entered.lock().expect("entered").take();
                    if let Some(entered) = entered { let _ = entered.send(()); }
                    return std::future::pending().await;
                }
                add(event, delivery, tx).await
            },
        );
        let (mut broker, source) = Broker::new();
        let run = tokio::spawn(consumer.run(source));
        for sequence in [1, 3, 4, 2] {
            broker.settle(&event("a", sequence)).await;
        }
        within(inside).await.expect("the handler runs");
        run.abort();
        assert!(within(run).await.expect_err("aborted").is_cancelled());
        assert_eq!(effects(&db.conn, "a").await, [1, 2]);

        let next = Consumer::builder(db.conn.clone(), "billing").on(add::<1>);
        let mut status = next.status();
        let (_broker, source) = Broker::new();
        tokio::spawn(next.run(source));
        until(&mut status, |status| status.applied == 2).await;
        assert_eq!(effects(&db.conn, "a").await, [1, 2, 3, 4]);
        assert!(parked(&db.conn, "a").await.is_empty());
    }
}

struct Broken(u32);

impl Source for Broken {
    async fn next(&mut self) -> Result<Option<outbox_runtime::Incoming>, SourceError> {
        self.0 += 1;
        if self.0 < 3 { Err(SourceError::unavailable("for now")) } else { Err(SourceError::broken("for good")) }
    }
}

each_database! {
    async fn a_source_that_is_away_is_asked_again_and_one_that_is_broken_ends_the_run(db: TestDb) {
        let run = tokio::spawn(Consumer::builder(db.conn.clone(), "billing").on(add::<1>).run(Broken(0)));
        let ended = within(run).await.expect("no panic");
        assert!(matches!(ended, Err(ConsumeError::Source(SourceError::Broken { .. }))));
    }
}

/// Compiles: the run that a function returns can be spawned, whatever its handlers capture.
#[allow(dead_code)]
fn audit(
    db: sea_orm::DatabaseConnection,
    source: impl Source + 'static,
) -> impl Future<Output = Result<(), ConsumeError>> + Send {
    let (greeting, counter) = (String::from("seen"), Arc::new(Mutex::new(0)));
    Consumer::builder(db, "audit")
        .on(add::<1>)
        .on(async |_: Added<2>, _: Delivery, _: &Tx| Ok(()))
        .on(async move |_: Added<3>, _: Delivery, tx: &Tx| {
            *counter.lock().expect("counter") += greeting.len();
            tx.execute_unprepared("SELECT 1").await?;
            "7".parse::<u32>()?;
            Ok(())
        })
        .run(source)
}
#[allow(dead_code)]
fn spawned(db: sea_orm::DatabaseConnection, source: outbox_runtime::LocalSource) {
    tokio::spawn(audit(db, source));
}

each_database! {
    /// Compiles, above all: closures, several of them, in a block that the caller wrote.
    async fn a_run_can_be_spawned_from_any_async_block(db: TestDb) {
        make_ledger(&db.conn).await;
        let consumer = Consumer::builder(db.conn.clone(), "billing")
            .on(async |event: Added, delivery: Delivery, tx: &Tx| add(event, delivery, tx).await)
            .on(async |_: Added<2>, _: Delivery, _: &Tx| Ok(()));
        let (mut broker, source) = Broker::new();
        let run = tokio::spawn(async move { consumer.run(source).await });
        broker.settle(&event("a", 1)).await;
        drop(broker);
        within(run).await.expect("no panic").expect("closed");

        let consumer = Consumer::builder(db.conn.clone(), "billing")
            .on(async |event: Added, delivery: Delivery, tx: &Tx| add(event, delivery, tx).await);
        let (mut broker, source) = Broker::new();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let run = tokio::spawn(async move { consumer.run_until(source, stopped).await });
        broker.settle(&event("a", 2)).await;
        drop(stop);
        within(run).await.expect("no panic").expect("stopped");
        assert_eq!(effects(&db.conn, "a").await, [1, 2]);
    }
}
