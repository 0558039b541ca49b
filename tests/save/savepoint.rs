//! Savepoints: what is written on the outer transaction while one is open would be undone with it.

use outbox_runtime::{LoadError, SaveError, Tx, TxError, prelude::*};
use sea_orm::{ConnectionTrait as _, TransactionSession as _, TransactionTrait as _};

use crate::{
    models::{self, account::Account, tally::Tally},
    support::{Failed, Kind, TestDb, crank::drop_after, each_database, proxy::Wiretap},
};

fn refused<T>(outcome: Result<T, SaveError>) -> bool {
    matches!(outcome, Err(SaveError::SavepointOpen { aggregate: "tally" }))
}

each_database! {
    async fn a_save_on_the_outer_transaction_is_refused_while_a_savepoint_is_open(db: TestDb) {
        models::create_tables(&db).await;
        Tally::open(1, 0).save(&db.conn).await.unwrap();
        transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
            let (mut new, mut stored) = (Tally::open(2, 0), Tally::load(tx, 1).await?);
            stored.close();
            let savepoint = tx.begin().await?;
            assert!(refused(new.save(tx).await));
            assert!(refused(save_all(std::slice::from_mut(&mut new), tx).await));
            assert!(refused(stored.delete(tx).await));
            savepoint.rollback().await?;
            // The roots and the transaction are as before.
            new.save(tx).await?;
            stored.delete(tx).await?;
            Ok(())
        })
        .await
        .unwrap();
        assert_eq!(db.stored("tallies").await, [1, 3, 3, 2]);
    }
}

each_database! {
    async fn a_root_that_was_refused_is_saved_on_the_savepoint(db: TestDb) {
        models::create_tables(&db).await;
        transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
            let [mut first, mut second, mut third] = [1, 2, 3].map(|id| Tally::open(id, 0));
            let savepoint = tx.begin().await?;
            let inner = savepoint.begin().await?;
            assert!(refused(first.save(tx).await));
            assert!(refused(first.save(&savepoint).await));
            first.save(&inner).await?;
            inner.commit().await?;
            assert!(refused(second.save(tx).await));
            second.save(&savepoint).await?;
            savepoint.commit().await?;
            third.save(tx).await?;
            // Also when one is only dropped.
            drop(tx.begin().await?);
            third.raise(1);
            third.save(tx).await?;
            Ok(())
        })
        .await
        .unwrap();
        assert_eq!(db.stored("tallies").await, [3, 4, 4, 3]);
    }
}

each_database! {
    async fn a_row_is_not_locked_on_the_outer_transaction_while_a_savepoint_is_open(db: TestDb) {
        models::create_tables(&db).await;
        Tally::open(1, 0).save(&db.conn).await.unwrap();
        Account::open(1).save(&db.conn).await.unwrap();
        transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
            let savepoint = tx.begin().await?;
            let refused = Tally::load(tx, 1).await;
            assert!(matches!(refused, Err(LoadError::SavepointOpen { aggregate: "tally" })), "{refused:?}");
            assert!(matches!(Tally::find(tx, 1).await, Err(LoadError::SavepointOpen { .. })));
            let _ = Tally::load(&savepoint, 1).await?;
            // This one locks nothing: its version is looked at when it is saved.
            let _ = Account::load(tx, 1).await?;
            savepoint.rollback().await?;
            let _ = Tally::load(tx, 1).await?;
            Ok(())
        })
        .await
        .unwrap();
    }
}

each_database! {
    async fn a_plain_statement_on_the_outer_transaction_is_undone_with_the_savepoint(db: TestDb) {
        models::create_tables(&db).await;
        transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
            let savepoint = tx.begin().await?;
            tx.execute_unprepared("INSERT INTO tallies VALUES (1, 0, false)").await?;
            savepoint.rollback().await?;
            tx.execute_unprepared("INSERT INTO tallies VALUES (2, 0, false)").await?;
            Ok(())
        })
        .await
        .unwrap();
        assert_eq!(db.count("SELECT CAST(sum(id) AS bigint) FROM tallies").await, 2);
    }
}

/// The driver ends levels, not savepoints: ending the outer one undoes the inner one in its place.
async fn outlives(db: &TestDb, by_drop: bool) {
    let left = std::sync::Mutex::new(None);
    let outcome = transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
        Tally::open(1, 0).save(tx).await?;
        let savepoint = tx.begin().await?;
        Tally::open(2, 0).save(&savepoint).await?;
        let inner = savepoint.begin().await?;
        if by_drop {
            drop(savepoint);
        } else {
            savepoint.rollback().await?;
        }
        assert!(Tally::open(3, 0).save(tx).await.is_err());
        assert!(tx.execute_unprepared("INSERT INTO tallies VALUES (4, 0, false)").await.is_err());
        *left.lock().unwrap() = Some(inner);
        Ok(())
    })
    .await;
    assert!(matches!(outcome, Err(Failed::Tx(TxError::Aborted))), "{outcome:?}");
    drop(left);
    assert_eq!(db.stored("tallies").await, [0; 4]);
}

each_database! {
    async fn after_a_savepoint_ended_before_one_inside_it_nothing_is_let_through(db: TestDb) {
        models::create_tables(&db).await;
        for by_drop in [false, true] {
            outlives(&db, by_drop).await;
        }
        // The connection is as good as new.
        for id in 10..30 {
            Tally::open(id, 0).save(&db.conn).await.unwrap();
        }
        assert_eq!(db.stored("tallies").await, [20; 4]);
    }
}

/// `PostgreSQL` only: there is a wire to listen on.
#[tokio::test]
async fn a_save_is_refused_before_any_statement() {
    let db = TestDb::new(Kind::Postgres).await;
    models::create_tables(&db).await;
    let (tap, pool) = Wiretap::on(&db).await;
    transact(&pool, TxPolicy::default(), async move |tx: &Tx| -> Result<(), Failed> {
        let savepoint = tx.begin().await?;
        let (mut tally, mut loaded) =
            (Tally::open(1, 0), Tally::from(models::tally::Model { id: 2, total: 0, paid: false }));
        tap.take();
        assert!(refused(tally.save(tx).await));
        assert!(refused(loaded.delete(tx).await));
        assert!(Tally::load(tx, 1).await.is_err());
        assert!(tap.take().is_empty());
        tally.discard();
        savepoint.commit().await?;
        Ok(())
    })
    .await
    .unwrap();
}

each_database! {
    /// Savepoints are a stack: ending one of two neighbours would end the other.
    async fn a_second_savepoint_beside_an_open_one_is_refused(db: TestDb) {
        models::create_tables(&db).await;
        transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
            let one = tx.begin().await?;
            assert!(tx.begin().await.is_err());
            Tally::open(1, 0).save(&one).await?;
            one.commit().await?;
            let two = tx.begin().await?;
            Tally::open(2, 0).save(&two).await?;
            two.rollback().await?;
            Ok(())
        })
        .await
        .unwrap();
        assert_eq!(db.stored("tallies").await, [1; 4]);
    }
}

each_database! {
    /// Wherever a save and the commit of its savepoint are dropped: all is stored, or nothing.
    async fn a_savepoints_dropped_commit_does_not_hide_a_dropped_save(db: TestDb) {
        models::create_tables(&db).await;
        for save_polls in 1..8 {
            for commit_polls in 1..4 {
                let id = save_polls * 10 + commit_polls;
                let _ = transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
                    let nested = tx.begin().await?;
                    let polls = |polls: i64| usize::try_from(polls).unwrap();
                    drop_after(polls(save_polls), false, Tally::open(id, 0).save(&nested)).await;
                    drop_after(polls(commit_polls), false, nested.commit()).await;
                    Ok(())
                })
                .await;
                let [rows, events, ..] = db.stored("tallies").await;
                assert_eq!(rows, events, "save dropped at {save_polls}, commit at {commit_polls}");
            }
        }
    }
}
