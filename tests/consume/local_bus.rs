//! The in-process broker: acknowledged when every declared consumer has committed or parked.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use outbox_runtime::{Consumer, Delivery, LocalBus, LocalBusError, PublishError, Publisher, Source, Tx};

use super::fixture::*;
use crate::support::{TestDb, each_database};

#[test]
fn consumers_are_declared_once_each() {
    assert_eq!(LocalBus::new(Vec::<String>::new()).err(), Some(LocalBusError::NoConsumers));
    assert_eq!(LocalBus::new(["a", "b", "a"]).err(), Some(LocalBusError::DeclaredTwice("a".into())));
    let bus = LocalBus::new(["a"]).expect("one");
    assert_eq!(bus.source("b").err(), Some(LocalBusError::Unknown("b".into())));
}

#[tokio::test]
async fn it_is_unavailable_until_each_consumer_runs_and_when_one_has_gone() {
    let bus = LocalBus::new(["a", "b"]).expect("two");
    let mut a = bus.source("a").expect("free");
    assert!(matches!(bus.publish(&event("x", 1)).await, Err(PublishError::Unavailable { .. })));
    let ready = tokio::spawn({
        let bus = bus.clone();
        async move { bus.ready().await }
    });
    let b = bus.source("b").expect("free");
    within(ready).await.expect("ready");

    let publishing = tokio::spawn({
        let bus = bus.clone();
        async move { bus.publish(&event("x", 1)).await }
    });
    let copy = within(a.next()).await.expect("open").expect("a copy");
    drop(b); // has not read its copy
    assert!(matches!(within(publishing).await.expect("no panic"), Err(PublishError::Unavailable { .. })));
    drop(copy);

    let mut b = bus.source("b").expect("free again");
    let publishing = tokio::spawn({
        let bus = bus.clone();
        async move { bus.publish(&event("x", 1)).await }
    });
    within(a.next()).await.expect("open").expect("a copy").acknowledge().await.expect("acknowledged");
    drop(within(b.next()).await.expect("open").expect("a copy")); // not done
    assert!(matches!(within(publishing).await.expect("no panic"), Err(PublishError::Unavailable { .. })));

    drop(bus);
    assert!(within(a.next()).await.expect("open").is_none(), "the last bus is gone");
}

#[tokio::test]
async fn a_dropped_publish_leaves_no_copy_behind() {
    let bus = LocalBus::new(["a"]).expect("one");
    let mut a = bus.source("a").expect("free");
    let (first, second) = (event("x", 1), event("x", 2));
    for _ in 0..1_000 {
        let publishing = bus.publish(&first);
        let dropped = tokio::select! { biased; _ = publishing => false, () = std::future::ready(()) => true };
        assert!(dropped);
    }
    let publishing = tokio::spawn(async move { bus.publish(&second).await.map(|()| second) });
    let copy = within(a.next()).await.expect("open").expect("a copy");
    assert_eq!(copy.envelope().context.aggregate_sequence, 2);
    copy.acknowledge().await.expect("acknowledged");
    within(publishing).await.expect("no panic").expect("published");
}

each_database! {
    async fn one_consumers_failure_is_its_own(db: TestDb) {
        make_ledger(&db.conn).await;
        let bus = LocalBus::new(["billing", "loyalty"]).expect("two");
        let billing = Consumer::builder(db.conn.clone(), "billing").on(add::<1>);
        let fails = Arc::new(AtomicBool::new(true));
        let failing = Arc::clone(&fails);
        let loyalty = Consumer::builder(db.conn.clone(), "loyalty").retries(soon().max_attempts(100)).on(
            async move |event: Added, delivery: Delivery, tx: &Tx| {
                if failing.load(Ordering::SeqCst) { Err("not yet")? }
                add(event, delivery, tx).await
            },
        );
        let (mut first, mut second) = (billing.status(), loyalty.status());
        let runs = [
            tokio::spawn(billing.run(bus.source("billing").expect("free"))),
            tokio::spawn(loyalty.run(bus.source("loyalty").expect("free"))),
        ];
        within(bus.ready()).await;
        for sequence in 1..=3 {
            within(bus.publish(&event("a", sequence))).await.expect("committed or parked by both");
        }
        let status = until(&mut first, |status| status.applied == 3).await;
        assert_eq!(status.duplicates, 0);
        until(&mut second, |status| status.failures > 0).await;
        fails.store(false, Ordering::SeqCst);
        until(&mut second, |status| status.applied == 3).await;
        drop(bus);
        for run in runs {
            within(run).await.expect("no panic").expect("the bus is gone");
        }
        assert_eq!(effects(&db.conn, "a").await.len(), 6);
    }
}
