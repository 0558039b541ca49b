//! Events that wait on a root: what becomes of them, and who is told.

use std::{
    io,
    sync::{Arc, Mutex},
};

use outbox_runtime::{SaveError, prelude::*};
use sea_orm::Set;

use crate::{
    models::{
        self,
        customer::Customer,
        order::{Order, OrderRaised},
        seat::{Seat, SeatTaken},
        tally::Tally,
    },
    support::{Failed, Kind, TestDb, each_database},
};

each_database! {
    async fn a_save_with_events_but_no_changed_column_stores_them(db: TestDb) {
        models::create_tables(&db).await;
        let mut order = Order::place(1);
        order.save(&db.conn).await.unwrap();
        order.emit(OrderRaised { by_cents: 0 });
        let saved = order.save(&db.conn).await.unwrap();
        assert_eq!((saved.total_cents, saved.events[0].aggregate_sequence), (1, 2));
        assert_eq!(db.stored("orders").await, [1, 2, 2, 1]);
    }
}

each_database! {
    async fn a_save_without_events_writes_the_row_only(db: TestDb) {
        models::create_tables(&db).await;
        let mut order = Order::place(1);
        let event = order.pending()[0].event_id();
        assert!(order.retract(event));
        assert!(!order.retract(event), "it is gone already");
        assert!(order.save(&db.conn).await.unwrap().events.is_empty());
        order.total_cents = Set(9);
        assert!(order.save(&db.conn).await.unwrap().events.is_empty());
        assert_eq!(db.stored("orders").await, [1, 0, 0, 0]);
        assert_eq!(db.count("SELECT total_cents FROM orders").await, 9);
    }
}

each_database! {
    async fn a_retracted_event_is_not_stored_and_the_others_are(db: TestDb) {
        models::create_tables(&db).await;
        let mut tally = Tally::open(1, 0);
        tally.raise(1);
        tally.raise(2);
        let wrong = tally.pending()[1].event_id();
        assert!(tally.retract(wrong));
        let saved = tally.save(&db.conn).await.unwrap();
        assert_eq!(saved.events.iter().map(|event| event.aggregate_sequence).collect::<Vec<_>>(), [1, 2]);
        let log = db.log().await;
        assert!(log.iter().all(|event| event.event_id != wrong.to_string()));
        assert_eq!(log[1].payload["by"], 2);
    }
}

each_database! {
    async fn a_delete_carries_its_events_and_the_sequence_goes_on_after_a_new_birth(db: TestDb) {
        models::create_tables(&db).await;
        let mut seat = Seat::take("hamlet", 7, "ana");
        seat.save(&db.conn).await.unwrap();
        seat.emit(SeatTaken { by: "nobody".into() });
        assert_eq!(seat.delete(&db.conn).await.unwrap().events[0].aggregate_sequence, 2);
        assert!(matches!(seat.delete(&db.conn).await, Err(SaveError::Deleted { aggregate: "seat" })));
        assert_eq!(db.stored("seats").await, [0, 2, 2, 1]);
        assert_eq!(Seat::take("hamlet", 7, "zed").save(&db.conn).await.unwrap().events[0].aggregate_sequence, 3);
        assert_eq!(db.stored("seats").await, [1, 3, 3, 1]);
    }
}

each_database! {
    async fn emit_with_needs_a_row_and_a_delete_has_none(db: TestDb) {
        models::create_tables(&db).await;
        let mut customer = Customer::register("Ana");
        assert!(customer.pending()[0].payload().is_none());
        let id = customer.save(&db.conn).await.unwrap().id;
        assert_eq!(db.log().await[0].payload, serde_json::json!({ "id": id, "name": "Ana" }));
        customer.emit_with(|row| crate::models::customer::CustomerRegistered { id: row.id, name: "x".into() });
        let refused = customer.delete(&db.conn).await;
        assert!(matches!(refused, Err(SaveError::NoRow { event_type: "customer.registered" })));
        assert_eq!(db.stored("customers").await, [1, 1, 1, 1]);
        // The root is as good as before.
        customer.save(&db.conn).await.unwrap();
        customer.promote();
        customer.delete(&db.conn).await.unwrap();
        assert_eq!(db.stored("customers").await, [0, 3, 3, 1]);
    }
}

each_database! {
    async fn hooks_of_the_users_own_see_the_transaction_and_may_refuse(db: TestDb) {
        models::create_tables(&db).await;
        for name in ["", "late"] {
            let mut customer = Customer::register(name);
            assert!(matches!(customer.save(&db.conn).await, Err(SaveError::Db { aggregate: "customer", .. })));
            assert_eq!(customer.pending().len(), 1);
            assert_eq!(db.stored("customers").await, [0; 4]);
            customer.name = Set(" Ana ".into());
            assert_eq!(customer.save(&db.conn).await.unwrap().name, "Ana");
            customer.delete(&db.conn).await.unwrap();
            db.run("DELETE FROM outbox_events").await;
            db.run("DELETE FROM outbox_pending").await;
            db.run("DELETE FROM outbox_sequences").await;
        }
    }
}

/// Runs `work` on this thread and returns what was logged.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink {
    fn lines(&self) -> String {
        String::from_utf8(std::mem::take(&mut self.0.lock().unwrap())).unwrap()
    }
}

/// One thread: the subscriber is this thread's.
#[tokio::test]
async fn a_root_dropped_with_events_that_were_never_saved_is_warned_of() {
    let sink = Sink::default();
    let writer = sink.clone();
    let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false).finish();
    let _guard = tracing_subscriber::util::SubscriberInitExt::set_default(subscriber);
    let db = TestDb::new(Kind::Sqlite).await;
    models::create_tables(&db).await;
    sink.lines();

    drop(Order::place(4_321));
    let warned = sink.lines();
    assert!(warned.contains("WARN") && warned.contains("never saved") && warned.contains("order.placed"), "{warned}");
    assert!(!warned.contains("4321"), "payloads may hold personal data: {warned}");

    Order::place(1).discard();
    let mut saved = Order::place(1);
    saved.save(&db.conn).await.unwrap();
    drop(saved.clone());
    // A save that was tried has told its caller.
    let mut refused = Customer::register("");
    assert!(refused.save(&db.conn).await.is_err());
    drop(refused);
    let failed = transact(&db.conn, TxPolicy::default(), async |tx| -> Result<(), Failed> {
        Order::place(1).save(tx).await?;
        Err(Failed::OnPurpose)
    })
    .await;
    assert!(failed.is_err());
    assert_eq!(sink.lines(), "");

    // But what was emitted since the failed try was not tried.
    let mut refused = Customer::register("");
    assert!(refused.save(&db.conn).await.is_err());
    refused.promote();
    drop(refused);
    saved.raise(1);
    drop(saved);
    assert_eq!(sink.lines().matches("never saved").count(), 2);
}
