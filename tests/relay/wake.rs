//! How soon a commit is seen. A signal may be lost; polling finds everything.

use std::time::{Duration, Instant};

use outbox_runtime::{BoxError, TxPolicy, transact};
use sea_orm::TransactionTrait as _;

use super::quick;
use crate::{
    models::{self, order::Order},
    support::{Kind, TestDb, each_database, publisher::Recorder},
};

const NEVER: Duration = Duration::from_hours(1);

each_database! {
    async fn commits_of_this_process_wake_a_relay_that_hardly_polls(db: TestDb) {
        models::create_tables(&db).await;
        let recorder = Recorder::new();
        let relay = quick(&db.conn, recorder.clone()).lease(NEVER).poll(NEVER, NEVER).start().await.unwrap();
        relay.status().wait_for(|status| status.caught_up).await.unwrap();
        let started = Instant::now();
        for round in 1..=10 {
            Order::place(1).save(&db.conn).await.unwrap();
            recorder.wait_for(2 * round - 1).await;
            transact(&db.conn, TxPolicy::default(), async |tx| {
                Order::place(1).save(tx).await?;
                Ok::<_, BoxError>(())
            })
            .await
            .unwrap();
            recorder.wait_for(2 * round).await;
        }
        assert!(started.elapsed() < Duration::from_secs(20));
        relay.stop().await.unwrap();
    }
}

each_database! {
    async fn a_joined_save_arms_quick_polls(db: TestDb) {
        models::create_tables(&db).await;
        let recorder = Recorder::new();
        let relay = quick(&db.conn, recorder.clone())
            .lease(NEVER)
            .poll(Duration::from_millis(5), NEVER)
            .start()
            .await
            .unwrap();
        relay.status().wait_for(|status| status.caught_up).await.unwrap();
        for round in 1..=5 {
            let tx = db.conn.begin().await.unwrap();
            Order::place(1).save(&tx).await.unwrap();
            tx.commit().await.unwrap();
            recorder.wait_for(round).await;
        }
        relay.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_program_commits_is_found_by_polling() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let db = TestDb::new(kind).await;
        let recorder = Recorder::new();
        let relay = quick(&db.conn, recorder.clone()).start().await.unwrap();
        relay.status().wait_for(|status| status.caught_up).await.unwrap();
        // Plain SQL: no signal is given in this process.
        let (id, json) = ("00000000-0000-7000-8000-0000000000aa", "'{\"by_cents\": 1}'");
        let now = if kind == Kind::Postgres { "now()" } else { "0" };
        db.run(&format!(
            "INSERT INTO outbox_events (event_id, aggregate_type, aggregate_id, aggregate_sequence, event_type, schema_version, payload, occurred_at)
             VALUES ('{id}', 'order', 'x', 1, 'order.raised', 1, {json}, {now})"
        ))
        .await;
        db.run(&format!("INSERT INTO outbox_pending (lane, event_id) VALUES (3, '{id}')")).await;
        recorder.wait_for(1).await;
        relay.stop().await.unwrap();
    }
}
