//! A joined save that stops between its row and its events, in a transaction that commits all the same.

use outbox_runtime::{OutboxTransaction, PayloadError, SaveError, Tx, TxError, prelude::*};

use crate::{
    models::{
        self,
        customer::Customer,
        payload::{Everything, Parcel},
        tally::Tally,
    },
    support::{Failed, TestDb, drop_after, each_database},
};

const WAYS: [&str; 5] = ["after_save", "emit_with", "save_all", "key", "stored_already"];

/// Fails after it has written at least one row.
async fn fail_half_way<T: OutboxTransaction>(way: &str, tx: &T, stored: &Tally) -> SaveError {
    match way {
        "after_save" => {
            let error = Customer::register("late").save(tx).await.unwrap_err();
            assert!(matches!(error, SaveError::Db { aggregate: "customer", .. }));
            error
        }
        "emit_with" => {
            let mut parcel = Parcel::with_id("bad");
            parcel.emit_with(|_| Everything { double: f64::NAN, ..Default::default() });
            let error = parcel.save(tx).await.unwrap_err();
            assert!(matches!(error, SaveError::Payload { source: PayloadError::NotFinite { .. }, .. }));
            error
        }
        "save_all" => {
            let mut customers = [Customer::register("first"), Customer::register("late")];
            save_all(&mut customers, tx).await.unwrap_err()
        }
        "key" => {
            let error = Parcel::with_id("k".repeat(256)).save(tx).await.unwrap_err();
            assert!(matches!(error, SaveError::Key { aggregate: "parcel", .. }));
            error
        }
        _ => {
            // A clone of what was saved before: its row is updated once more, its events are refused.
            let error = stored.clone().save(tx).await.unwrap_err();
            assert!(matches!(error, SaveError::AlreadyCommitted { aggregate: "tally", .. }), "{error:?}");
            error
        }
    }
}

/// A root whose next save will update its row and find its event stored.
async fn twice(db: &TestDb) -> Tally {
    let mut tally = Tally::open(77, 0);
    tally.save(&db.conn).await.unwrap();
    tally.raise(5);
    let clone = tally.clone();
    tally.save(&db.conn).await.unwrap();
    db.run("UPDATE tallies SET total = 1").await;
    clone
}

async fn assert_only_the_beginning(db: &TestDb, way: &str) {
    assert_eq!(db.stored("tallies").await, [1, 2, 2, 1], "{way}");
    assert_eq!(db.count("SELECT total FROM tallies").await, 1, "{way}: the row was written without its event");
    assert_eq!((db.rows("customers").await, db.rows("parcels").await), (0, 0), "{way}");
}

each_database! {
    async fn a_swallowed_half_way_save_is_not_committed_by_transact_and_not_reported_as_committed(db: TestDb) {
        models::create_tables(&db).await;
        let stored = twice(&db).await;
        for way in WAYS {
            let outcome = transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
                Tally::open(1, 0).save(tx).await?;
                fail_half_way(way, tx, &stored).await;
                Ok(())
            })
            .await;
            // Were this `Ok`, the caller would take the first save for stored.
            assert!(matches!(outcome, Err(Failed::Tx(TxError::Aborted))), "{way}: {outcome:?}");
            assert_only_the_beginning(&db, way).await;
        }
        stored.discard();
    }
}

each_database! {
    async fn a_swallowed_half_way_save_undone_by_a_savepoint_leaves_the_rest(db: TestDb) {
        use sea_orm::{TransactionSession as _, TransactionTrait as _};
        models::create_tables(&db).await;
        let stored = twice(&db).await;
        for (id, way) in (1..).zip(WAYS) {
            transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
                Tally::open(id, 0).save(tx).await?;
                let savepoint = tx.begin().await?;
                fail_half_way(way, &savepoint, &stored).await;
                savepoint.rollback().await?;
                Ok(())
            })
            .await
            .unwrap();
            assert_eq!(db.stored("tallies").await, [1 + id, 2 + id, 2 + id, 1 + id], "{way}");
            assert_eq!((db.rows("customers").await, db.rows("parcels").await), (0, 0), "{way}");
        }
        stored.discard();
    }
}

each_database! {
    async fn a_swallowed_half_way_save_is_not_committed_by_the_users_own_transaction(db: TestDb) {
        models::create_tables(&db).await;
        let stored = twice(&db).await;
        for way in WAYS {
            let tx = db.begin().await;
            fail_half_way(way, &tx, &stored).await;
            // PostgreSQL answers this COMMIT with success and stores nothing.
            tx.commit().await.unwrap();
            assert_only_the_beginning(&db, way).await;
        }
        stored.discard();
    }
}

each_database! {
    async fn a_save_dropped_half_way_in_transact_is_unfinished(db: TestDb) {
        models::create_tables(&db).await;
        Tally::open(1, 0).save(&db.conn).await.unwrap();
        let (mut dropped, mut saved) = (0, 0);
        // How many polls a save takes depends on the machine; every number of them must be safe.
        for polls in (1..8).cycle().take(2_000) {
            let finished = std::sync::atomic::AtomicBool::new(false);
            let outcome = transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
                let mut tally = Tally::load(tx, 1).await?;
                tally.raise(1);
                let saved = drop_after(polls, polls % 2 == 0, tally.save(tx)).await;
                finished.store(saved.is_some(), std::sync::atomic::Ordering::SeqCst);
                saved.transpose()?;
                tally.discard();
                Ok(())
            })
            .await;
            if finished.into_inner() {
                outcome.unwrap();
                saved += 1;
            } else {
                assert!(matches!(outcome, Err(Failed::Tx(TxError::Unfinished))), "{outcome:?}");
                dropped += 1;
            }
            assert_eq!(db.stored("tallies").await, [1, 1 + saved, 1 + saved, 1]);
            assert_eq!(db.count("SELECT total FROM tallies").await, saved);
            if dropped >= 10 && saved >= 3 {
                return;
            }
        }
        panic!("{dropped} saves were dropped half-way, {saved} were not");
    }
}
