//! What a consumer decodes is what was emitted, through both databases.

use std::collections::BTreeMap;

use chrono::{DateTime, FixedOffset, Utc};
use outbox_runtime::{DomainEvent, EventOf, EventSet as _, MAX_PAYLOAD_DEPTH, prelude::*};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    models::{
        self,
        payload::{Empty, Everything, Parcel, ParcelEvent},
    },
    support::{TestDb, each_database, publisher::Recorder},
};

/// Saves the event and reads it back from its row.
async fn through<E: DomainEvent + EventOf<Parcel>>(db: &TestDb, event: E) -> ParcelEvent {
    let mut parcel = Parcel::of(event);
    let saved = parcel.save(&db.conn).await.unwrap();
    let log = db.log().await;
    let row = log.iter().find(|row| row.aggregate_id == saved.aggregate_id).unwrap();
    assert_eq!((row.event_type.as_str(), row.version), (E::TYPE, i32::from(E::VERSION)));
    row.decode().remove(0)
}

async fn assert_comes_back(db: &TestDb, event: Everything) {
    match through(db, event.clone()).await {
        ParcelEvent::Everything(read) => assert_eq!(*Box::new(read), event),
        other => panic!("{other:?}"),
    }
}

pub fn samples() -> Vec<Everything> {
    let text = |text: &str| Everything { text: text.into(), ..Default::default() };
    let mut samples = vec![
        Everything::default(),
        text(&"ü€🦀".repeat(120_000)),
        text("👩‍👩‍👧‍👦 e\u{301} \u{1F1EE}\u{1F1F3} \u{202E}abc \u{FEFF}\u{FFFF}\u{10FFFF} \u{1}\u{7F}\t\r\n\"\\/'"),
        Everything { letter: Some('\u{10FFFF}'), id: Uuid::max(), ..Default::default() },
        Everything {
            nested: Some(Some(Box::new(Everything {
                nested: Some(Some(Box::default())),
                list: vec![vec![], vec![String::new(), "x".into()]],
                ..Default::default()
            }))),
            ..Default::default()
        },
        Everything {
            map: BTreeMap::from([(String::new(), None), ("a.b[0]".into(), Some(-1)), ("🦀".into(), Some(i32::MIN))]),
            numbered: BTreeMap::from([(0, String::new()), (u32::MAX, "most".into())]),
            ..Default::default()
        },
        Everything { decimal: "79228162514264337593543950335.0000000000000000001".into(), ..Default::default() },
        Everything {
            utc: Some("2026-12-01T05:00:00.123456789Z".parse::<DateTime<Utc>>().unwrap()),
            // D6: the offset is part of the payload.
            local: Some("2023-01-01T00:00:00.000000001+07:00".parse::<DateTime<FixedOffset>>().unwrap()),
            ..Default::default()
        },
        Everything {
            json: Some(json!({ "b": [1, null, { "": "" }], "a": 1.5, "n": 9_007_199_254_740_993_u64 })),
            ..Default::default()
        },
    ];
    let integers = [i64::MIN, i64::MIN + 1, -1, (1 << 53) + 1, -(1 << 53) - 1, i64::MAX - 1, i64::MAX];
    samples.extend(integers.map(|signed| Everything { signed, ..Default::default() }));
    let integers = [u64::MAX, u64::MAX - 1, (1 << 53) + 1, (1 << 63) + 1];
    samples.extend(integers.map(|unsigned| Everything { unsigned, ..Default::default() }));
    samples
}

each_database! {
    async fn every_value_comes_back_as_it_was_emitted(db: TestDb) {
        models::create_tables(&db).await;
        for sample in samples() {
            assert_comes_back(&db, sample).await;
        }
        assert!(matches!(through(&db, Empty {}).await, ParcelEvent::Empty(Empty {})));
    }
}

each_database! {
    async fn d6_an_offset_is_kept_and_its_text_is_the_same(db: TestDb) {
        models::create_tables(&db).await;
        let local = Some("2023-01-01T00:00:00+07:00".parse().unwrap());
        through(&db, Everything { local, ..Default::default() }).await;
        assert_eq!(db.log().await[0].payload["local"], "2023-01-01T00:00:00+07:00");
    }
}

each_database! {
    async fn a_relay_reads_the_same_values(db: TestDb) {
        models::create_tables(&db).await;
        let samples = samples();
        let mut parcel = Parcel::with_id("p");
        for sample in &samples {
            parcel.emit(sample.clone());
        }
        let instants: Vec<_> = parcel.pending().iter().map(outbox_runtime::PendingEvent::occurred_at).collect();
        parcel.save(&db.conn).await.unwrap();
        let recorder = Recorder::new();
        let relay = Relay::builder(db.conn.clone(), recorder.clone()).start().await.unwrap();
        recorder.wait_for(samples.len()).await;
        relay.stop().await.unwrap();
        for ((envelope, sample), instant) in recorder.log().into_iter().zip(samples).zip(instants) {
            assert_eq!(envelope.context.occurred_at, instant, "fixed at emit, in whole microseconds");
            // Once more through the envelope's own JSON, as publishers send it.
            let sent = serde_json::to_string(&envelope).unwrap();
            let received: Envelope = serde_json::from_str(&sent).unwrap();
            match ParcelEvent::decode(&received.into_raw()).unwrap().remove(0) {
                ParcelEvent::Everything(read) => assert_eq!(read, sample),
                other => panic!("{other:?}"),
            }
        }
    }
}

/// `depth` objects and arrays inside each other, the payload itself and `json` not counted.
pub fn nest(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, nth| if nth % 2 == 0 { json!([inner]) } else { json!({ "in": inner }) })
}

each_database! {
    async fn nesting_at_the_limit_comes_back_through_envelope_and_relay(db: TestDb) {
        models::create_tables(&db).await;
        // The payload itself is the first level.
        let deepest = Everything { json: Some(nest(MAX_PAYLOAD_DEPTH - 1)), ..Default::default() };
        assert_comes_back(&db, deepest.clone()).await;
        let recorder = Recorder::new();
        let relay = Relay::builder(db.conn.clone(), recorder.clone()).start().await.unwrap();
        recorder.wait_for(1).await;
        relay.stop().await.unwrap();
        let sent = serde_json::to_string(&recorder.log()[0]).unwrap();
        let received: Envelope = serde_json::from_str(&sent).unwrap();
        assert_eq!(received, recorder.log()[0]);
        assert!(matches!(&ParcelEvent::decode(&received.into_raw()).unwrap()[..], [ParcelEvent::Everything(read)] if *read == deepest));
    }
}
