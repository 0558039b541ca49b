//! Publishers that fail, databases that fail: nothing is lost, nothing is sent out of order.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use outbox_runtime::{Envelope, PublishError, Publisher};

use super::{lane_of, orders, pending, quick};
use crate::{
    models::{self, order::Order},
    support::{
        Kind, TestDb, each_database,
        publisher::{Failing, Gated, Recorder},
    },
};

each_database! {
    async fn o2_a_later_event_is_not_sent_past_a_failed_earlier_one(db: TestDb) {
        models::create_tables(&db).await;
        let ids = orders(&db, 20, 5).await;
        let tries: Arc<Mutex<HashMap<(String, i64), u32>>> = Arc::default();
        let seen = Arc::clone(&tries);
        let attempts: Arc<Mutex<Vec<(String, i64)>>> = Arc::default();
        let tried = Arc::clone(&attempts);
        let publisher = Failing {
            recorder: Recorder::new(),
            // Each second event fails twice, one kind of failure after the other.
            judge: move |event: &Envelope| {
                let of = (event.context.aggregate_id.clone(), event.context.aggregate_sequence);
                tried.lock().unwrap().push(of.clone());
                let mut tries = seen.lock().unwrap();
                let nth = tries.entry(of.clone()).or_default();
                *nth += 1;
                match (of.1 % 2, *nth) {
                    (0, 1) => Err(PublishError::unavailable("down")),
                    (0, 2) => Err(PublishError::rejected("not now")),
                    _ => Ok(()),
                }
            },
        };
        let relay = quick(&db.conn, publisher.clone()).start().await.unwrap();
        publisher.recorder.wait_for(100).await;
        for id in ids {
            let id = id.to_string();
            assert_eq!(publisher.recorder.sequences(&id), [1, 2, 3, 4, 5]);
            let tried: Vec<i64> =
                attempts.lock().unwrap().iter().filter(|(of, _)| *of == id).map(|(_, sequence)| *sequence).collect();
            assert_eq!(tried, [1, 2, 2, 2, 3, 4, 4, 4, 5]);
        }
        relay.stop().await.unwrap();
        assert_eq!(pending(&db).await, 0);
    }
}

each_database! {
    async fn a_failing_event_blocks_its_lane_and_no_other(db: TestDb) {
        models::create_tables(&db).await;
        let ids = orders(&db, 60, 2).await;
        let bad = ids[0].to_string();
        let lane = lane_of(&db, ids[0]).await;
        let mut elsewhere = Vec::new();
        for id in &ids {
            if lane_of(&db, *id).await != lane {
                elsewhere.push(id.to_string());
            }
        }
        let mended = Arc::new(AtomicBool::new(false));
        let (is_mended, of) = (Arc::clone(&mended), bad.clone());
        let publisher = Failing {
            recorder: Recorder::new(),
            judge: move |event: &Envelope| {
                if event.context.aggregate_id == of && !is_mended.load(Ordering::SeqCst) {
                    Err(PublishError::rejected("poison"))
                } else {
                    Ok(())
                }
            },
        };
        let relay = quick(&db.conn, publisher.clone()).start().await.unwrap();
        publisher.recorder.wait_for(elsewhere.len() * 2).await;
        let status = relay.status().wait_for(|status| status.last_error.is_some()).await.unwrap().clone();
        assert!(status.last_error.unwrap().contains("poison"));
        assert!(publisher.recorder.sequences(&bad).is_empty());
        mended.store(true, Ordering::SeqCst);
        publisher.recorder.wait_for(120).await;
        assert_eq!(publisher.recorder.sequences(&bad), [1, 2]);
        relay.stop().await.unwrap();
        assert_eq!(pending(&db).await, 0);
    }
}

each_database! {
    async fn a_publisher_that_hangs_is_cut_and_tried_again(db: TestDb) {
        models::create_tables(&db).await;
        let id = orders(&db, 1, 2).await[0].to_string();
        let gated = Gated::new();
        let relay = quick(&db.conn, gated.clone()).publish_timeout(Duration::from_millis(50)).start().await.unwrap();
        gated.wait_for_arrivals(3).await;
        assert!(relay.status().borrow().last_error.as_deref().unwrap().contains("no acknowledgement within 50 ms"));
        gated.let_through(2);
        gated.recorder.wait_for(2).await;
        assert_eq!(gated.recorder.sequences(&id), [1, 2]);
        relay.stop().await.unwrap();
    }
}

each_database! {
    async fn a_broken_database_is_waited_out(db: TestDb) {
        models::create_tables(&db).await;
        let recorder = Recorder::new();
        let relay = quick(&db.conn, recorder.clone()).start().await.unwrap();
        orders(&db, 5, 2).await;
        recorder.wait_for(10).await;
        db.run("ALTER TABLE outbox_lanes RENAME TO hidden_lanes").await;
        db.run("ALTER TABLE outbox_pending RENAME TO hidden_pending").await;
        let mut status = relay.status();
        status.wait_for(|status| status.last_error.as_deref().is_some_and(|e| e.contains("renewed"))).await.unwrap();
        status.wait_for(|status| status.last_error.as_deref().is_some_and(|e| e.contains("read"))).await.unwrap();
        db.run("ALTER TABLE hidden_lanes RENAME TO outbox_lanes").await;
        db.run("ALTER TABLE hidden_pending RENAME TO outbox_pending").await;
        orders(&db, 5, 2).await;
        recorder.wait_for(20).await;
        relay.stop().await.unwrap();
        assert_eq!(pending(&db).await, 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_connections_are_opened_again() {
    let db = TestDb::new(Kind::Postgres).await;
    models::create_tables(&db).await;
    let recorder = Recorder::new();
    let pool = db.connect().await;
    let relay = quick(&pool, recorder.clone()).start().await.unwrap();
    for round in 1..=5 {
        orders(&db, 4, 3).await;
        db.count("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
            .await;
        recorder.wait_for(round * 12).await;
    }
    relay.status().wait_for(|status| status.caught_up).await.unwrap();
    relay.stop().await.unwrap();
    assert_eq!(pending(&db).await, 0);
}

each_database! {
    async fn a_pending_row_without_its_event_is_reported_and_stops_nobody(db: TestDb) {
        models::create_tables(&db).await;
        db.run("INSERT INTO outbox_pending (lane, event_id) SELECT lane, '00000000-0000-7000-8000-000000000001' FROM outbox_lanes WHERE lane = 7").await;
        orders(&db, 100, 2).await;
        let recorder = Recorder::new();
        let relay = quick(&db.conn, recorder.clone()).start().await.unwrap();
        recorder.wait_for(200).await;
        let status = relay.status().wait_for(|status| status.last_error.is_some()).await.unwrap().clone();
        assert!(status.last_error.unwrap().contains("the log has no such event"));
        relay.stop().await.unwrap();
        assert_eq!(pending(&db).await, 1, "it is held, not dropped");
    }
}

each_database! {
    async fn an_unreadable_event_holds_its_aggregate_and_nobody_else(db: TestDb) {
        models::create_tables(&db).await;
        let ids = orders(&db, 30, 3).await;
        let bad = ids[3];
        db.run(&format!("UPDATE outbox_events SET headers = '[1]' WHERE aggregate_id = '{bad}' AND aggregate_sequence = 2")).await;
        let recorder = Recorder::new();
        let relay = quick(&db.conn, recorder.clone()).start().await.unwrap();
        recorder.wait_for(88).await;
        assert_eq!(recorder.sequences(&bad.to_string()), [1]);
        db.run(&format!("UPDATE outbox_events SET headers = '{{}}' WHERE aggregate_id = '{bad}' AND aggregate_sequence = 2")).await;
        recorder.wait_for(90).await;
        assert_eq!(recorder.sequences(&bad.to_string()), [1, 2, 3]);
        relay.stop().await.unwrap();
    }
}

/// Counts its futures that are alive.
#[derive(Clone, Default)]
struct Alive(Arc<Mutex<(usize, usize)>>);

impl Publisher for Alive {
    async fn publish(&self, _: &Envelope) -> Result<(), PublishError> {
        struct Guard(Alive);
        impl Drop for Guard {
            fn drop(&mut self) {
                self.0.0.lock().unwrap().0 -= 1;
            }
        }
        {
            let mut alive = self.0.lock().unwrap();
            alive.0 += 1;
            alive.1 = alive.1.max(alive.0);
        }
        let _guard = Guard(self.clone());
        tokio::task::yield_now().await;
        Ok(())
    }
}

each_database! {
    async fn no_more_events_are_on_their_way_than_allowed(db: TestDb) {
        models::create_tables(&db).await;
        orders(&db, 100, 2).await;
        let alive = Alive::default();
        let relay = quick(&db.conn, alive.clone()).max_in_flight(7).start().await.unwrap();
        relay.status().wait_for(|status| status.published >= 200).await.unwrap();
        relay.stop().await.unwrap();
        let (now, most) = *alive.0.lock().unwrap();
        assert_eq!((now, most), (0, 7));
    }
}

each_database! {
    async fn p4_a_dead_broker_is_not_asked_in_a_hot_loop(db: TestDb) {
        models::create_tables(&db).await;
        Order::place(1).save(&db.conn).await.unwrap();
        let attempts = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&attempts);
        let down = tokio::sync::watch::Sender::new(0);
        let count = down.clone();
        let publisher = Failing {
            recorder: Recorder::new(),
            judge: move |_: &Envelope| {
                log.lock().unwrap().push(std::time::Instant::now());
                count.send_modify(|n| *n += 1);
                Err(PublishError::unavailable("down"))
            },
        };
        let relay = quick(&db.conn, publisher)
            .backoff(Duration::from_millis(50), Duration::from_mins(1))
            .start()
            .await
            .unwrap();
        down.subscribe().wait_for(|n| *n >= 4).await.unwrap();
        let attempts = attempts.lock().unwrap().clone();
        let waits: Vec<Duration> = attempts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for (nth, wait) in waits.iter().enumerate() {
            assert!(*wait >= Duration::from_millis(50 << nth), "attempt {} came after {wait:?}", nth + 2);
        }
        drop(relay);
    }
}
