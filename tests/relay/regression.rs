//! Faults that were found once, each with the test that would have found it.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use outbox_runtime::{Envelope, PublishError, Publisher as _, RelayError, save_all};

use super::{lane_of, orders, pending, quick};
use crate::{
    models::{self, order::Order},
    support::{
        Kind, TestDb, each_database,
        proxy::Wiretap,
        publisher::{Failing, Gated, Recorder},
    },
};

const NEVER: Duration = Duration::from_hours(1);

each_database! {
    /// The second commit of a pair came while a read was under way that could not see it.
    async fn a_commit_during_a_read_is_seen_by_the_next(db: TestDb) {
        models::create_tables(&db).await;
        let recorder = Recorder::new();
        let relay = quick(&db.conn, recorder.clone()).lease(NEVER).poll(NEVER, NEVER).start().await.unwrap();
        for pair in 1..=150 {
            Order::place(1).save(&db.conn).await.unwrap();
            Order::place(2).save(&db.conn).await.unwrap();
            recorder.wait_for(2 * pair).await;
        }
        relay.stop().await.unwrap();
    }
}

each_database! {
    /// A pass that restarted came by rows that were in memory already.
    async fn without_a_failure_nothing_is_sent_twice(db: TestDb) {
        models::create_tables(&db).await;
        let mut hot = Order::place(0);
        (1..1_500).for_each(|by| hot.raise(by));
        hot.save(&db.conn).await.unwrap();
        orders(&db, 300, 5).await;
        let recorder = Recorder::new();
        let relay = quick(&db.conn, recorder.clone()).batch(60).start().await.unwrap();
        let status = relay.status().wait_for(|status| status.published >= 3_000 && status.caught_up).await.unwrap().clone();
        assert_eq!((recorder.log().len(), status.published), (3_000, 3_000));
        relay.stop().await.unwrap();
    }
}

/// Every success beside it in the lane used to let a poison event be tried again at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn successes_in_the_same_lane_do_not_shorten_the_back_off() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let db = TestDb::with_one_lane(kind).await;
        models::create_tables(&db).await;
        let bad = orders(&db, 1, 1).await[0].to_string();
        let tries = Arc::new(Mutex::new(Vec::new()));
        let count = tokio::sync::watch::Sender::new(0);
        let (log, counter) = (Arc::clone(&tries), count.clone());
        let publisher = Failing {
            recorder: Recorder::new(),
            judge: move |event: &Envelope| {
                if event.context.aggregate_id != bad {
                    return Ok(());
                }
                log.lock().unwrap().push(Instant::now());
                counter.send_modify(|n| *n += 1);
                Err(PublishError::rejected("poison"))
            },
        };
        let relay = quick(&db.conn, publisher.clone())
            .backoff(Duration::from_millis(40), Duration::from_secs(10))
            .start()
            .await
            .unwrap();
        let traffic = {
            let db = db.conn.clone();
            tokio::spawn(async move {
                loop {
                    Order::place(1).save(&db).await.unwrap();
                }
            })
        };
        count.subscribe().wait_for(|n| *n >= 5).await.unwrap();
        traffic.abort();
        let tries = tries.lock().unwrap().clone();
        for (nth, pair) in tries.windows(2).enumerate() {
            let wait = pair[1] - pair[0];
            assert!(wait >= Duration::from_millis(40 << nth), "{kind:?}: try {} came after {wait:?}", nth + 2);
        }
        assert!(!publisher.recorder.log().is_empty(), "others of the lane go on in between");
        drop(relay);
    }
}

each_database! {
    /// The events of lanes that wait after a failure filled the memory, and no other lane was read.
    async fn poison_in_one_lane_does_not_starve_the_others(db: TestDb) {
        models::create_tables(&db).await;
        let all = orders(&db, 200, 30).await;
        let lane = lane_of(&db, all[0]).await;
        let mut poison = std::collections::BTreeSet::new();
        for id in &all {
            if lane_of(&db, *id).await == lane {
                poison.insert(id.to_string());
            }
        }
        let refused = poison.clone();
        let publisher = Failing {
            recorder: Recorder::new(),
            judge: move |event: &Envelope| {
                if refused.contains(&event.context.aggregate_id) { Err(PublishError::rejected("poison")) } else { Ok(()) }
            },
        };
        // A batch smaller than what is poisoned.
        let relay = quick(&db.conn, publisher.clone()).batch(20).start().await.unwrap();
        publisher.recorder.wait_for((all.len() - poison.len()) * 30).await;
        assert!(!relay.status().borrow().caught_up);
        drop(relay);
    }
}

/// Each pass through the backlog of an aggregate whose line is full started the next.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_line_is_not_read_in_a_busy_loop() {
    let db = TestDb::new(Kind::Postgres).await;
    models::create_tables(&db).await;
    let mut hot = Order::place(0);
    (1..3_000).for_each(|by| hot.raise(by));
    save_all(std::slice::from_mut(&mut hot), &db.conn).await.unwrap();
    let (tap, pool) = Wiretap::on(&db).await;
    let gated = Gated::new();
    let relay =
        quick(&pool, gated.clone()).publish_timeout(Duration::from_millis(400)).batch(200).start().await.unwrap();
    // About a second and a half.
    gated.wait_for_arrivals(4).await;
    let reads = tap.take().iter().filter(|sql| sql.contains("CROSS JOIN LATERAL")).count();
    assert!(reads < 400, "{reads} reads while nothing could be taken");
    gated.let_through(10_000);
    gated.recorder.wait_for(3_000).await;
    relay.stop().await.unwrap();
}

each_database! {
    /// It ended the relay without a word.
    async fn a_publisher_that_panics_is_a_failed_publish(db: TestDb) {
        models::create_tables(&db).await;
        let id = orders(&db, 1, 3).await[0].to_string();
        let calls = Arc::new(AtomicU32::new(0));
        let publisher = Failing {
            recorder: Recorder::new(),
            judge: move |_: &Envelope| {
                assert!(calls.fetch_add(1, Ordering::SeqCst) != 1, "a bug in the publisher");
                Ok(())
            },
        };
        let relay = quick(&db.conn, publisher.clone()).start().await.unwrap();
        publisher.recorder.wait_for(3).await;
        assert_eq!(publisher.recorder.sequences(&id), [1, 2, 3]);
        let error = relay.status().borrow().last_error.clone().unwrap();
        assert!(error.contains("the publisher panicked: a bug in the publisher"), "{error}");
        relay.stop().await.unwrap();
    }
}

each_database! {
    async fn a_closed_pool_ends_the_relay_with_a_typed_error(db: TestDb) {
        models::create_tables(&db).await;
        let pool = db.connect().await;
        let recorder = Recorder::new();
        let relay = quick(&pool, recorder.clone()).start().await.unwrap();
        orders(&db, 2, 2).await;
        recorder.wait_for(4).await;
        relay.status().wait_for(|status| status.caught_up).await.unwrap();
        pool.close().await.unwrap();
        relay.status().wait_for(|status| !status.running).await.unwrap();
        assert!(matches!(relay.stop().await, Err(RelayError::Closed(_))));
        // Nothing is lost: the next one goes on.
        orders(&db, 2, 2).await;
        let next = quick(&db.conn, recorder.clone().boxed()).start().await.unwrap();
        recorder.wait_for(8).await;
        next.stop().await.unwrap();
        assert_eq!(pending(&db).await, 0);
    }
}
