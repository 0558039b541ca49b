//! What no database takes is a typed error at `save`, before any SQL, and the root stays usable.

use std::collections::BTreeMap;

use outbox_runtime::{MAX_PAYLOAD_DEPTH, PayloadError, SaveError, prelude::*};
use serde_json::json;

use super::round_trip::nest;
use crate::{
    models::{
        self,
        odd::{Found, Inner, Odd, Stubborn},
        payload::{Everything, Keyed, Parcel},
    },
    support::{Kind, TestDb, each_database, proxy::Wiretap},
};

/// Every odd value, with the kind of error and the path that it must name.
fn oddities() -> Vec<(Inner, &'static str, &'static str)> {
    let map = |key: &str, value| BTreeMap::from([(key.to_owned(), value)]);
    let mut all = vec![
        (Inner::Wide(u128::from(u64::MAX) + 1), "Serialize", "what"),
        (Inner::Narrow(i128::from(i64::MIN) - 1), "Serialize", "what"),
        (Inner::Stubborn(vec![Stubborn {}]), "Serialize", "what"),
        (Inner::Pairs(vec![((1, 1), BTreeMap::from([(Some(1), 1), (None, 1)]))]), "Serialize", "what"),
        (Inner::Letters(vec!['a', '\0']), "Nul", "what.Letters[1]"),
        (Inner::Keys(BTreeMap::from([('\0', 1)])), "Nul", "what.Keys"),
        (Inner::Texts(map("a\0b", None)), "Nul", "what.Texts"),
        (Inner::Texts(map("key", Some("\0".into()))), "Nul", "what.Texts.key"),
        (Inner::Texts(map("key", Some("tail\0".into()))), "Nul", "what.Texts.key"),
        (Inner::Within(Box::new(Inner::Texts(map("key", Some("\0".into()))))), "Nul", "what.Within.Texts.key"),
    ];
    for bad in [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        #[allow(clippy::cast_possible_truncation, reason = "the point is the same value as `f32`")]
        let single = bad as f32;
        all.extend([
            (Inner::Floats(Some(vec![None, Some(1.0), Some(bad)])), "NotFinite", "what"),
            (Inner::Singles { map: BTreeMap::from([("key".into(), single)]) }, "NotFinite", "what"),
            (Inner::Pair(bad, 1.0), "NotFinite", "what"),
            (Inner::Pair(1.0, single), "NotFinite", "what"),
            (Inner::Within(Box::new(Inner::Pair(1.0, single))), "NotFinite", "what"),
        ]);
    }
    all
}

fn kind_and_path(error: &PayloadError) -> (&'static str, String) {
    match error {
        PayloadError::NotFinite { path } => ("NotFinite", path.clone()),
        PayloadError::Nul { path } => ("Nul", path.clone()),
        PayloadError::TooDeep { path } => ("TooDeep", path.clone()),
        PayloadError::Serialize { path, .. } => ("Serialize", path.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_odd_value_is_named_with_its_place() {
    for (what, kind, path) in oddities() {
        let mut odd = Odd::with_id(1);
        odd.emit(Found { what: what.clone() });
        let problem = odd.pending()[0].problem().unwrap_or_else(|| panic!("{what:?} was taken"));
        let (found, place) = kind_and_path(problem);
        assert_eq!(found, kind, "{what:?}: {problem}");
        assert!(place == path || (kind != "Nul" && place.starts_with(path)), "{what:?}: {place}");
        assert!(odd.pending()[0].payload().is_none());
        odd.discard();
    }
}

each_database! {
    async fn s11_a_payload_that_cannot_be_stored_is_refused_and_the_root_goes_on(db: TestDb) {
        models::create_tables(&db).await;
        db.create_table(models::odd::Entity).await;
        for (id, (what, kind, _)) in (0..).zip(oddities()) {
            let mut odd = Odd::with_id(id);
            odd.emit(Found { what: Inner::Pair(1.0, 1.0) });
            odd.emit(Found { what });
            let bad = odd.pending()[1].event_id();
            let tx = db.begin().await;
            for error in [odd.save(&db.connect_with(1).await).await.unwrap_err(), odd.save(&tx).await.unwrap_err(), odd.delete(&tx).await.unwrap_err()] {
                match error {
                    SaveError::Payload { event_type: "odd.found", event_id, source } => {
                        assert_eq!((event_id, kind_and_path(&source).0), (bad, kind));
                    }
                    other => panic!("{other:?}"),
                }
            }
            // The transaction is usable, and so is the root without that event.
            assert!(odd.retract(bad));
            odd.save(&tx).await.unwrap();
            tx.commit().await.unwrap();
            assert_eq!(db.stored("oddities").await, [id + 1; 4]);
        }
    }
}

/// On a wire that is listened to, nothing is said.
#[tokio::test]
async fn d4_a_payload_that_cannot_be_stored_costs_no_statement() {
    let db = TestDb::new(Kind::Postgres).await;
    models::create_tables(&db).await;
    db.create_table(models::odd::Entity).await;
    let (tap, pool) = Wiretap::on(&db).await;
    for (what, ..) in oddities() {
        let mut odd = Odd::with_id(1);
        odd.emit(Found { what });
        assert!(matches!(odd.save(&pool).await, Err(SaveError::Payload { .. })));
        assert!(matches!(save_all(&mut [odd.clone()], &pool).await, Err(SaveError::Payload { .. })));
    }
    let mut parcel = Parcel::of(Keyed { map: BTreeMap::from([((1, 2), String::new())]) });
    assert!(matches!(parcel.save(&pool).await, Err(SaveError::Payload { source: PayloadError::Serialize { .. }, .. })));
    assert_eq!(tap.take(), Vec::<String>::new());
    Parcel::of(Everything::default()).save(&pool).await.unwrap();
    assert_eq!(tap.take().len(), 4);
}

each_database! {
    async fn one_level_deeper_than_the_limit_is_refused(db: TestDb) {
        models::create_tables(&db).await;
        for deep in [nest(MAX_PAYLOAD_DEPTH), nest(MAX_PAYLOAD_DEPTH + 1), json!([nest(MAX_PAYLOAD_DEPTH + 20), 1])] {
            let mut parcel = Parcel::of(Everything { json: Some(deep), ..Default::default() });
            let refused = parcel.save(&db.conn).await;
            assert!(matches!(refused, Err(SaveError::Payload { source: PayloadError::TooDeep { .. }, .. })), "{refused:?}");
        }
        assert_eq!(db.stored("parcels").await, [0; 4]);
    }
}

each_database! {
    async fn a_payload_built_from_the_row_is_checked_as_well(db: TestDb) {
        models::create_tables(&db).await;
        let mut parcel = Parcel::with_id("p");
        parcel.emit_with(|row| Everything { text: format!("{}\0", row.id), ..Default::default() });
        let bad = parcel.pending()[0].event_id();
        let refused = parcel.save(&db.conn).await;
        assert!(matches!(&refused, Err(SaveError::Payload { source: PayloadError::Nul { path }, event_id, .. }) if path == "text" && *event_id == bad));
        assert_eq!(db.stored("parcels").await, [0; 4]);
        parcel.retract(bad);
        parcel.emit_with(|row| Everything { text: row.id.clone(), ..Default::default() });
        parcel.save(&db.conn).await.unwrap();
        assert_eq!(db.log().await[0].payload["text"], "p");
    }
}
