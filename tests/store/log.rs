//! Log and queue as others see them.

use outbox_runtime::{Tx, prelude::*};
use sea_orm::{Database, EntityTrait as _};

use crate::{
    models::{
        self,
        payload::{Everything, Parcel, ParcelEvent},
        tally::Tally,
    },
    support::{Failed, Kind, TestDb, each_database, publisher::Recorder},
};

each_database! {
    async fn the_view_says_pending_and_then_published(db: TestDb) {
        models::create_tables(&db).await;
        let mut tally = Tally::open(1, 0);
        tally.raise(1);
        let ids: Vec<_> = tally.pending().iter().map(|event| event.event_id().to_string()).collect();
        tally.save(&db.conn).await.unwrap();
        let states = "SELECT state || ' ' || CAST(event_id AS text) || ' ' || CAST(attempts AS text) FROM outbox_status ORDER BY aggregate_sequence";
        assert_eq!(db.texts(states).await, [format!("pending {} 0", ids[0]), format!("pending {} 0", ids[1])]);
        let recorder = Recorder::new();
        let relay = Relay::builder(db.conn.clone(), recorder.clone()).start().await.unwrap();
        recorder.wait_for(2).await;
        relay.stop().await.unwrap();
        assert_eq!(db.texts(states).await, [format!("published {} 0", ids[0]), format!("published {} 0", ids[1])]);
        assert_eq!(db.stored("tallies").await, [1, 2, 0, 1], "the log stays");
    }
}

/// O1: positions are drawn before the commit, so a later one may be visible first.
#[tokio::test]
async fn o1_an_event_committed_late_is_not_passed_over() {
    let db = TestDb::new(Kind::Postgres).await;
    models::create_tables(&db).await;
    let slow = db.begin().await;
    Tally::open(1, 0).save(&slow).await.unwrap();
    let recorder = Recorder::new();
    let relay = Relay::builder(db.conn.clone(), recorder.clone()).start().await.unwrap();
    Tally::open(2, 0).save(&db.conn).await.unwrap();
    recorder.wait_for(1).await;
    assert_eq!(recorder.log()[0].context.aggregate_id, "2");
    slow.commit().await.unwrap();
    recorder.wait_for(2).await;
    assert_eq!(recorder.log()[1].context.aggregate_id, "1");
    relay.stop().await.unwrap();
}

/// N8: as behind a pooler that knows no prepared statements.
#[tokio::test]
async fn n8_payloads_are_the_same_without_a_statement_cache() {
    let db = TestDb::new(Kind::Postgres).await;
    models::create_tables(&db).await;
    let pool = Database::connect(format!("{}?statement-cache-capacity=0", db.url)).await.unwrap();
    let event = Everything { text: "{\"a\": 'b'}".into(), signed: i64::MIN, double: 0.1, ..Default::default() };
    let mut parcel = Parcel::of(event.clone());
    parcel.emit(event.clone());
    parcel.save(&pool).await.unwrap();
    parcel.emit(event.clone());
    parcel.save(&pool).await.unwrap();
    for row in db.log().await {
        assert!(matches!(&row.decode()[..], [ParcelEvent::Everything(read)] if *read == event));
    }
    assert_eq!(db.count("SELECT count(*) FROM outbox_events WHERE jsonb_typeof(payload) = 'object'").await, 3);
}

each_database! {
    async fn a_rolled_back_number_is_not_missing_from_the_log(db: TestDb) {
        models::create_tables(&db).await;
        Tally::open(1, 0).save(&db.conn).await.unwrap();
        for round in 0..20 {
            let outcome = transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
                let mut tally = Tally::load(tx, 1).await?;
                tally.raise(1);
                tally.save(tx).await?;
                if round % 2 == 0 { Err(Failed::OnPurpose) } else { Ok(()) }
            })
            .await;
            assert_eq!(outcome.is_ok(), round % 2 == 1);
        }
        let sequences: Vec<_> = db.log().await.iter().map(|event| event.sequence).collect();
        assert_eq!(sequences, (1..=11).collect::<Vec<_>>());
        let row = models::tally::Entity::find_by_id(1).one(&db.conn).await.unwrap().unwrap();
        assert_eq!(row.total, 10);
        // The queue stands in the order of the log.
        let queued = db.texts("SELECT CAST(e.aggregate_sequence AS text) FROM outbox_pending p \
            JOIN outbox_events e ON e.event_id = p.event_id ORDER BY p.position").await;
        assert_eq!(queued, (1..=11).map(|n| n.to_string()).collect::<Vec<_>>());
    }
}
