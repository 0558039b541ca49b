//! One delivery: applied once, in order, or parked.

use outbox_runtime::{Consumer, Delivery, Tx};

use super::fixture::*;
use crate::support::{TestDb, each_database};

each_database! {
    async fn a_duplicate_has_no_second_effect(db: TestDb) {
        make_ledger(&db.conn).await;
        let consumer = Consumer::builder(db.conn.clone(), "billing").on(add::<1>);
        let mut status = consumer.status();
        let (mut broker, source) = Broker::new();
        tokio::spawn(consumer.run(source));
        let (one, two) = (event("a", 1), event("a", 2));
        for delivery in [&one, &one, &two, &one, &two] {
            broker.settle(delivery).await;
        }
        let status = until(&mut status, |status| status.duplicates == 3).await;
        assert_eq!((status.applied, status.parked), (2, 0));
        assert_eq!(effects(&db.conn, "a").await, [1, 2]);
        assert_eq!((inbox_rows(&db.conn).await, mark(&db.conn, "a").await), (2, Some(2)));
    }
}

each_database! {
    async fn an_event_is_redelivered_to_a_later_run_without_effect(db: TestDb) {
        make_ledger(&db.conn).await;
        let one = event("a", 1);
        for _ in 0..2 {
            let (mut broker, source) = Broker::new();
            let run = tokio::spawn(Consumer::builder(db.connect().await, "billing").on(add::<1>).run(source));
            broker.settle(&one).await;
            drop(broker);
            within(run).await.expect("no panic").expect("the source was closed");
        }
        assert_eq!(effects(&db.conn, "a").await, [1]);
    }
}

each_database! {
    async fn consumers_of_other_names_have_inboxes_of_their_own(db: TestDb) {
        make_ledger(&db.conn).await;
        let one = event("a", 1);
        for name in ["billing", "loyalty"] {
            let (mut broker, source) = Broker::new();
            tokio::spawn(Consumer::builder(db.conn.clone(), name).on(add::<1>).run(source));
            broker.settle(&one).await;
        }
        assert_eq!(effects(&db.conn, "a").await, [1, 1]);
    }
}

each_database! {
    async fn a_gap_waits_parked_for_the_missing_event(db: TestDb) {
        make_ledger(&db.conn).await;
        let consumer = Consumer::builder(db.conn.clone(), "billing").on(add::<1>);
        let mut status = consumer.status();
        let (mut broker, source) = Broker::new();
        tokio::spawn(consumer.run(source));
        for sequence in [7, 10, 9, 11] {
            broker.settle(&event("a", sequence)).await;
        }
        assert_eq!(effects(&db.conn, "a").await, [7], "the first event seen sets the mark");
        assert_eq!(parked(&db.conn, "a").await, ["9 gap 0", "10 gap 0", "11 behind_parked 0"]);
        broker.settle(&event("a", 8)).await;
        until(&mut status, |status| status.applied == 5).await;
        assert_eq!(effects(&db.conn, "a").await, [7, 8, 9, 10, 11]);
        assert!(parked(&db.conn, "a").await.is_empty());
        assert_eq!(mark(&db.conn, "a").await, Some(11));
    }
}

each_database! {
    async fn a_gap_that_is_not_filled_raises_one_alarm_and_goes_on_waiting(db: TestDb) {
        make_ledger(&db.conn).await;
        let (mut broker, source) = Broker::new();
        let consumer = Consumer::builder(db.conn.clone(), "ledger")
            .gap_alarm(std::time::Duration::from_millis(20))
            .on(add::<1>);
        let mut status = consumer.status();
        let run = tokio::spawn(consumer.run(source));
        broker.settle(&event("a", 1)).await;
        broker.settle(&event("a", 3)).await;
        within(status.wait_for(|status| status.overdue_gaps == 1)).await.unwrap();
        assert_eq!(parked(&db.conn, "a").await, ["3 gap 0"]);
        broker.settle(&event("a", 2)).await;
        within(status.wait_for(|status| status.applied == 3)).await.unwrap();
        assert_eq!(effects(&db.conn, "a").await, [1, 2, 3]);
        assert_eq!(status.borrow().overdue_gaps, 1);
        drop(broker);
        within(run).await.unwrap().unwrap();
    }
}

each_database! {
    async fn a_parked_event_is_a_duplicate_when_it_comes_again(db: TestDb) {
        make_ledger(&db.conn).await;
        let consumer = Consumer::builder(db.conn.clone(), "billing").on(add::<1>);
        let mut status = consumer.status();
        let (mut broker, source) = Broker::new();
        tokio::spawn(consumer.run(source));
        let (one, three, four) = (event("a", 1), event("a", 3), event("a", 4));
        for delivery in [&one, &three, &four, &three, &four, &one] {
            broker.settle(delivery).await;
        }
        until(&mut status, |status| status.duplicates == 3).await;
        assert_eq!(parked(&db.conn, "a").await, ["3 gap 0", "4 behind_parked 0"]);
    }
}

each_database! {
    async fn a_number_that_was_passed_by_another_event_is_a_conflict(db: TestDb) {
        make_ledger(&db.conn).await;
        let consumer = Consumer::builder(db.conn.clone(), "billing").on(add::<1>);
        let mut status = consumer.status();
        let (mut broker, source) = Broker::new();
        tokio::spawn(consumer.run(source));
        let (one, two, stranger) = (event("a", 1), event("a", 2), event("a", 1));
        for delivery in [&one, &two, &stranger, &stranger, &two, &event("a", 3)] {
            broker.settle(delivery).await;
        }
        until(&mut status, |status| status.conflicts == 1 && status.duplicates == 2).await;
        assert_eq!(effects(&db.conn, "a").await, [1, 2]);
        assert_eq!(parked(&db.conn, "a").await, ["1 sequence_conflict 0", "3 behind_parked 0"]);
    }
}

each_database! {
    async fn unknown_and_empty_events_advance_the_mark(db: TestDb) {
        make_ledger(&db.conn).await;
        let consumer = Consumer::builder(db.conn.clone(), "billing").on(add::<1>);
        let mut status = consumer.status();
        let (mut broker, source) = Broker::new();
        tokio::spawn(consumer.run(source));
        broker.settle(&event_of("somebody.else", 9, "a", 1)).await;
        broker.settle(&event_of("ledger.nothing", 1, "a", 2)).await;
        broker.settle(&event_of("ledger.added_twice", 1, "a", 3)).await;
        until(&mut status, |status| status.ignored == 1 && status.applied == 2).await;
        assert_eq!(effects(&db.conn, "a").await, [3, 3]);
        assert_eq!(mark(&db.conn, "a").await, Some(3));
    }
}

each_database! {
    async fn each_set_that_knows_an_event_gets_it_in_one_transaction(db: TestDb) {
        make_ledger(&db.conn).await;
        let consumer = Consumer::builder(db.conn.clone(), "billing")
            .retries(soon().max_attempts(1))
            .on(add::<1>)
            .on(async |event: Added<2>, _: Delivery, _: &Tx| {
                if event.amount == 2 { Err("the second says no")? }
                Ok(())
            });
        let (mut broker, source) = Broker::new();
        tokio::spawn(consumer.run(source));
        broker.settle(&event("a", 1)).await;
        broker.settle(&event("a", 2)).await;
        assert_eq!(effects(&db.conn, "a").await, [1], "the first handler's effect goes with the second's");
        assert_eq!(parked(&db.conn, "a").await, ["2 quarantined 1"]);
    }
}
