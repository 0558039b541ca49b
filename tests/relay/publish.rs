//! The plain path: everything that was committed is published, in order.

use outbox_runtime::prelude::*;

use crate::{
    models::{self, order::Order},
    support::{TestDb, each_database, publisher::Recorder},
};

each_database! {
    async fn publishes_what_was_committed_in_sequence_order(db: TestDb) {
        models::create_tables(&db).await;
        let mut order = Order::place(100);
        let id = order.save(&db.conn).await.unwrap().aggregate_id.clone();
        let recorder = Recorder::new();
        let relay = Relay::builder(db.conn.clone(), recorder.clone()).start().await.unwrap();
        for by in 1..=20 {
            order.raise(by);
            order.save(&db.conn).await.unwrap();
        }
        recorder.wait_for(21).await;
        assert_eq!(recorder.sequences(&id), (1..=21).collect::<Vec<_>>());
        relay.stop().await.unwrap();
        assert_eq!(db.count("SELECT count(*) FROM outbox_pending").await, 0);
        assert_eq!(db.count("SELECT count(*) FROM outbox_lanes WHERE claimed_by IS NOT NULL").await, 0);
        assert_eq!(db.count("SELECT count(*) FROM outbox_relays").await, 0);
    }
}
