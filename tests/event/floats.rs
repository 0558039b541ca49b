//! Finite floats come back bit for bit.

use std::sync::Arc;

use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};

use crate::{
    models::{
        self,
        payload::{Everything, Parcel, ParcelEvent},
    },
    support::{Kind, TestDb, each_database},
};

/// One parcel with an event per pair, read back in the order of emission.
async fn through(db: &TestDb, pairs: &[(f64, f32)]) -> Vec<(f64, f32)> {
    let mut parcel = Parcel::with_id(uuid::Uuid::now_v7());
    for (double, single) in pairs {
        parcel.emit(Everything {
            double: *double,
            single: *single,
            json: Some(serde_json::json!([double])),
            ..Default::default()
        });
    }
    let id = parcel.save(&db.conn).await.unwrap().aggregate_id;
    let log = db.log().await;
    let mine = log.iter().filter(|row| row.aggregate_id == id);
    mine.map(|row| match row.decode().remove(0) {
        ParcelEvent::Everything(read) => {
            let inner = read.json.unwrap()[0].as_f64().unwrap();
            assert_eq!(inner.to_bits(), read.double.to_bits());
            (read.double, read.single)
        }
        other => panic!("{other:?}"),
    })
    .collect()
}

fn assert_same_bits(sent: &[(f64, f32)], read: &[(f64, f32)]) {
    assert_eq!(sent.len(), read.len());
    for ((double, single), (read_double, read_single)) in sent.iter().zip(read) {
        assert_eq!(double.to_bits(), read_double.to_bits(), "{double:e} came back as {read_double:e}");
        assert_eq!(single.to_bits(), read_single.to_bits(), "{single:e} came back as {read_single:e}");
    }
}

each_database! {
    async fn the_ends_of_the_scale_come_back_bit_for_bit(db: TestDb) {
        models::create_tables(&db).await;
        let doubles = [
            0.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE, -f64::MIN_POSITIVE, f64::EPSILON, 5e-324, -5e-324,
            f64::MIN_POSITIVE / 3.0, 0.1, 1.0 / 3.0, 9_007_199_254_740_993.0, 1e17, 1.234_567_890_123_456_7e18, 1e22, 1e23,
            18_446_744_073_709_551_616.0, -9_223_372_036_854_775_808.0, 123_456_789.123_456_79, 2.225_073_858_507_201e-308,
        ];
        let singles = [0.0, f32::MAX, f32::MIN, f32::MIN_POSITIVE, f32::from_bits(1), 0.1, 16_777_217.0, 1e-45];
        let pairs: Vec<_> = doubles.into_iter().zip(singles.into_iter().cycle()).collect();
        assert_same_bits(&pairs, &through(&db, &pairs).await);
    }
}

each_database! {
    async fn random_finite_floats_come_back_bit_for_bit(db: TestDb) {
        models::create_tables(&db).await;
        let finite = (
            any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |f| f.is_finite() && *f != 0.0),
            any::<u32>().prop_map(f32::from_bits).prop_filter("finite", |f| f.is_finite() && *f != 0.0),
        );
        let db = Arc::new(db);
        let runtime = tokio::runtime::Handle::current();
        let runner = move || {
            let config = Config { cases: 12, failure_persistence: None, ..Config::default() };
            TestRunner::new(config).run(&prop::collection::vec(finite, 100..200), |pairs| {
                assert_same_bits(&pairs, &runtime.block_on(through(&db, &pairs)));
                Ok(())
            })
        };
        tokio::task::spawn_blocking(runner).await.unwrap().unwrap();
    }
}

each_database! {
    async fn negative_zero_keeps_its_sign_on_sqlite_and_loses_it_on_postgres(db: TestDb) {
        models::create_tables(&db).await;
        let read = through(&db, &[(-0.0, -0.0)]).await[0];
        assert_eq!(read, (0.0, 0.0));
        let kept = db.kind == Kind::Sqlite;
        assert_eq!((read.0.is_sign_negative(), read.1.is_sign_negative()), (kept, kept), "jsonb has no -0.0");
    }
}
