//! Two relays never hold a lane at the same fence, and only the database's clock decides.

use std::collections::BTreeSet;

use super::{orders, quick};
use crate::{
    models,
    support::{TestDb, each_database, publisher::Recorder},
};

each_database! {
    async fn four_relays_that_start_at_once_share_the_lanes(db: TestDb) {
        models::create_tables(&db).await;
        let recorder = Recorder::new();
        let mut pools = Vec::new();
        for _ in 0..4 {
            pools.push(db.connect_with(3).await);
        }
        let starts = pools.iter().map(|pool| quick(pool, recorder.clone()).start());
        let relays: Vec<_> = futures_util::future::join_all(starts).await.into_iter().map(Result::unwrap).collect();
        for relay in &relays {
            relay.status().wait_for(|status| status.lanes == 16 && status.live_relays == 4).await.unwrap();
        }
        let owners = db.texts("SELECT claimed_by FROM outbox_lanes ORDER BY lane").await;
        assert_eq!(owners.len(), 64);
        let expected: BTreeSet<String> = relays.iter().map(|relay| relay.id().to_owned()).collect();
        assert_eq!(owners.into_iter().collect::<BTreeSet<_>>(), expected);
        orders(&db, 50, 2).await;
        recorder.wait_for(100).await;
        for relay in relays {
            relay.stop().await.unwrap();
        }
    }
}

each_database! {
    async fn the_fence_rises_with_every_claim(db: TestDb) {
        models::create_tables(&db).await;
        for round in 1..=3 {
            let relay = quick(&db.conn, Recorder::new()).start().await.unwrap();
            assert_eq!(db.count("SELECT min(fence) FROM outbox_lanes").await, round);
            assert_eq!(db.count("SELECT max(fence) FROM outbox_lanes").await, round);
            relay.stop().await.unwrap();
        }
    }
}

each_database! {
    /// L2: the lease of a relay that vanished is free after one lease of the database's time, not before.
    async fn lanes_of_a_vanished_relay_are_free_when_the_lease_ends(db: TestDb) {
        models::create_tables(&db).await;
        let relay = quick(&db.conn, Recorder::new()).start().await.unwrap();
        relay.status().wait_for(|status| status.lanes == 64).await.unwrap();
        drop(relay);
        let left = match db.kind {
            crate::support::Kind::Postgres =>
                "SELECT CAST(EXTRACT(EPOCH FROM max(claim_until) - clock_timestamp()) * 1000 AS bigint) FROM outbox_lanes",
            crate::support::Kind::Sqlite =>
                "SELECT (max(claim_until) - CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) * 1000) / 1000 FROM outbox_lanes",
        };
        let left = db.count(left).await;
        assert!((1..=1_500).contains(&left), "{left} ms are left");
        let next = quick(&db.conn, Recorder::new()).start().await.unwrap();
        next.status().wait_for(|status| status.lanes == 64).await.unwrap();
        assert_eq!(db.count("SELECT min(fence) FROM outbox_lanes").await, 2);
        next.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c3_a_database_that_is_serializable_by_default_changes_nothing() {
    let db = TestDb::new(crate::support::Kind::Postgres).await;
    models::create_tables(&db).await;
    let name = db.texts("SELECT current_database()::text").await.remove(0);
    db.run(&format!("ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")).await;
    let pool = db.connect().await;
    let recorder = Recorder::new();
    let relays = [
        quick(&pool, recorder.clone()).start().await.unwrap(),
        quick(&db.connect().await, recorder.clone()).start().await.unwrap(),
    ];
    orders(&db, 100, 5).await;
    recorder.wait_for(500).await;
    for relay in &relays {
        relay.status().wait_for(|status| status.caught_up).await.unwrap();
    }
    assert_eq!(super::pending(&db).await, 0);
    for relay in relays {
        relay.stop().await.unwrap();
    }
}
