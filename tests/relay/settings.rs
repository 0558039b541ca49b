//! A relay that would break a promise does not start.

use std::time::Duration;

use outbox_runtime::{Envelope, PublishError, Publisher, Relay, RelayError, StoreError};

use crate::support::{Kind, TestDb, each_database, publisher::Recorder};

struct Patient;

impl Publisher for Patient {
    async fn publish(&self, _: &Envelope) -> Result<(), PublishError> {
        Ok(())
    }
    fn client_timeout(&self) -> Option<Duration> {
        Some(Duration::from_secs(5))
    }
}

each_database! {
    async fn time_outs_that_do_not_fit_are_refused_by_name(db: TestDb) {
        let refused = |error: RelayError| match error {
            RelayError::Setting(text) => text,
            other => panic!("{other:?}"),
        };
        let builder = || Relay::builder(db.conn.clone(), Patient).lease(Duration::from_secs(10));
        let text = refused(builder().publish_timeout(Duration::from_secs(8)).start().await.unwrap_err());
        assert!(text.contains("5s") && text.contains("8s") && text.contains("10s"), "{text}");
        let text = refused(builder().publish_timeout(Duration::from_secs(5)).start().await.unwrap_err());
        assert!(text.contains("client"), "{text}");
        builder().publish_timeout(Duration::from_millis(7_999)).start().await.unwrap().stop().await.unwrap();
        refused(Relay::builder(db.conn.clone(), Patient).lease(Duration::from_millis(99)).start().await.unwrap_err());
        let too_long = Relay::builder(db.conn.clone(), Recorder::new()).lease(Duration::MAX).start().await.unwrap_err();
        assert!(refused(too_long).contains("a day is the longest"));
        refused(Relay::builder(db.conn.clone(), Patient).relay_id("").start().await.unwrap_err());
    }
}

each_database! {
    async fn another_number_of_lanes_is_refused(db: TestDb) {
        let relay = Relay::builder(db.conn.clone(), Recorder::new());
        let error = relay.clone().expect_lanes(16).start().await.unwrap_err().to_string();
        assert!(error.contains("64 lanes, 16 were expected"), "{error}");
        relay.expect_lanes(64).start().await.unwrap().stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_tables_are_named() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let db = TestDb::empty(kind).await;
        let error = Relay::builder(db.conn.clone(), Recorder::new()).start().await.unwrap_err();
        assert!(matches!(error, RelayError::Store(StoreError::NotMigrated)), "{error:?}");
    }
}
