//! Stop, drop, takeover: who publishes a lane next, and what is published twice.

use std::{collections::BTreeSet, time::Duration};

use uuid::Uuid;

use super::{lane_of, orders, pending, quick};
use crate::{
    models,
    support::{
        TestDb, each_database,
        publisher::{Gated, Recorder},
    },
};

each_database! {
    async fn stop_ends_what_is_in_flight_and_gives_the_lanes_back(db: TestDb) {
        models::create_tables(&db).await;
        let ids = orders(&db, 10, 3).await;
        let gated = Gated::new();
        let relay = quick(&db.conn, gated.clone()).start().await.unwrap();
        gated.wait_for_arrivals(10).await;
        let mut status = relay.status();
        let stopping = tokio::spawn(relay.stop());
        status.wait_for(|status| status.stopping).await.unwrap();
        gated.let_through(1_000);
        stopping.await.unwrap().unwrap();
        // The heads were on their way; nothing was sent after them.
        assert_eq!(gated.recorder.log().len(), 10);
        assert_eq!(pending(&db).await, 20);
        assert_eq!(db.count("SELECT count(*) FROM outbox_lanes WHERE claimed_by IS NOT NULL").await, 0);
        let next = quick(&db.conn, gated.clone()).start().await.unwrap();
        gated.recorder.wait_for(30).await;
        for id in ids {
            assert_eq!(gated.recorder.sequences(&id.to_string()), [1, 2, 3]);
        }
        next.stop().await.unwrap();
    }
}

each_database! {
    /// X1, X5: acknowledged and not marked, or not sent at all.
    async fn a_dropped_relays_events_are_published_by_the_next_with_the_same_ids(db: TestDb) {
        models::create_tables(&db).await;
        orders(&db, 20, 5).await;
        let first = Recorder::new();
        let dying = quick(&db.conn, first.clone()).start().await.unwrap();
        first.wait_for(30).await;
        drop(dying);
        let second = Recorder::new();
        let relay = quick(&db.conn, second.clone()).start().await.unwrap();
        relay.status().wait_for(|status| status.caught_up && status.lanes == 64).await.unwrap();
        assert_eq!(pending(&db).await, 0);
        let all: BTreeSet<Uuid> = first.ids().into_iter().chain(second.ids()).collect();
        assert_eq!(all.len(), 100, "nothing is lost, and a duplicate has the id of the first copy");
        relay.stop().await.unwrap();
    }
}

each_database! {
    async fn a_second_relay_has_its_half_within_two_renewals(db: TestDb) {
        models::create_tables(&db).await;
        let ids = orders(&db, 100, 20).await;
        let recorder = Recorder::new();
        let lease = Duration::from_secs(6);
        let first = quick(&db.conn, recorder.clone()).lease(lease).relay_id("first").start().await.unwrap();
        assert_eq!(first.status().wait_for(|status| status.lanes > 0).await.unwrap().lanes, 64);
        let other = db.connect().await;
        let started = std::time::Instant::now();
        let second = quick(&other, recorder.clone()).lease(lease).relay_id("second").start().await.unwrap();
        second.status().wait_for(|status| status.lanes == 32).await.unwrap();
        assert!(started.elapsed() < lease / 3 * 2, "it took {:?}", started.elapsed());
        first.status().wait_for(|status| status.lanes == 32).await.unwrap();
        assert_eq!(db.count("SELECT count(*) FROM outbox_lanes WHERE claimed_by = 'second'").await, 32);
        first.status().wait_for(|status| status.caught_up).await.unwrap();
        second.status().wait_for(|status| status.caught_up).await.unwrap();
        for id in ids {
            assert_eq!(recorder.sequences(&id.to_string()), (1..=20).collect::<Vec<_>>(), "a drained lane is handed over without duplicates");
        }
        // The one that stays takes all again.
        second.stop().await.unwrap();
        first.status().wait_for(|status| status.lanes == 64).await.unwrap();
        first.stop().await.unwrap();
    }
}

each_database! {
    async fn a_relay_whose_lane_was_taken_over_marks_nothing_and_stops(db: TestDb) {
        models::create_tables(&db).await;
        let id = orders(&db, 1, 3).await[0];
        let lane = lane_of(&db, id).await;
        let gated = Gated::new();
        let relay = quick(&db.conn, gated.clone()).start().await.unwrap();
        gated.wait_for_arrivals(1).await;
        // What a takeover does, while the first event is on its way.
        let far = match db.kind {
            crate::support::Kind::Postgres => "clock_timestamp() + interval '1 hour'",
            crate::support::Kind::Sqlite => "9999999999999999",
        };
        db.run(&format!(
            "UPDATE outbox_lanes SET claimed_by = 'successor', claim_until = {far}, fence = fence + 1 WHERE lane = {lane}"
        ))
        .await;
        gated.let_through(100);
        let mut status = relay.status();
        status.wait_for(|status| status.lost_lanes == 1 && status.in_memory == 0).await.unwrap();
        assert_eq!(status.borrow().published, 0);
        assert_eq!(pending(&db).await, 3, "the row of the acknowledged event is left to the successor");
        assert!(gated.recorder.sequences(&id.to_string()).len() <= 3);
        relay.stop().await.unwrap();
        assert_eq!(
            db.texts(&format!("SELECT claimed_by FROM outbox_lanes WHERE lane = {lane}")).await,
            ["successor"],
            "stopping gives back what is ours, and only that"
        );
    }
}

each_database! {
    /// L5: a publish that lasts longer than the lease. Renewals go on beside it.
    async fn a_slow_publish_does_not_cost_the_lease(db: TestDb) {
        models::create_tables(&db).await;
        orders(&db, 1, 1).await;
        let gated = Gated::new();
        let relay = quick(&db.conn, gated.clone())
            .lease(Duration::from_millis(300))
            .publish_timeout(Duration::from_millis(200))
            .start()
            .await
            .unwrap();
        // Three leases' time of tries, each cut by the publish time-out.
        gated.wait_for_arrivals(4).await;
        assert_eq!(relay.status().borrow().lost_lanes, 0);
        assert_eq!(relay.status().borrow().lanes, 64);
        gated.let_through(1);
        relay.status().wait_for(|status| status.published == 1).await.unwrap();
        assert_eq!(gated.recorder.log().len(), 1);
        relay.stop().await.unwrap();
    }
}
