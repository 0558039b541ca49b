//! A closure that passes over an error and returns `Ok`: nothing is committed unless a savepoint has undone it.

use outbox_runtime::{Tx, TxError, prelude::*};
use sea_orm::{ConnectionTrait as _, TransactionSession as _, TransactionTrait as _};

use crate::{
    models::{self, tally::Tally},
    support::{Failed, Kind, TestDb, each_database},
};

const BROKEN: &str = "SELECT nothing FROM nowhere";

each_database! {
    async fn a_swallowed_statement_error_is_aborted_and_nothing_is_committed(db: TestDb) {
        models::create_tables(&db).await;
        let kept = std::sync::Mutex::new(None);
        let outcome = transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
            let mut tally = Tally::open(1, 0);
            tally.save(tx).await?;
            assert!(tx.execute_unprepared(BROKEN).await.is_err());
            *kept.lock().unwrap() = Some(tally);
            Ok(())
        })
        .await;
        assert!(matches!(outcome, Err(Failed::Tx(TxError::Aborted))), "{outcome:?}");
        assert_eq!(db.stored("tallies").await, [0; 4]);
        let mut tally = kept.into_inner().unwrap().unwrap();
        assert!(matches!(tally.save(&db.conn).await, Err(outbox_runtime::SaveError::Spent { .. })));
    }
}

each_database! {
    async fn a_statement_error_undone_by_a_savepoint_does_not_stop_the_commit(db: TestDb) {
        models::create_tables(&db).await;
        transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
            Tally::open(1, 0).save(tx).await?;
            let savepoint = tx.begin().await?;
            Tally::open(2, 0).save(&savepoint).await?;
            assert!(savepoint.execute_unprepared(BROKEN).await.is_err());
            savepoint.rollback().await?;
            // A savepoint that is dropped is rolled back as well.
            let savepoint = tx.begin().await?;
            assert!(savepoint.execute_unprepared(BROKEN).await.is_err());
            drop(savepoint);
            // And the form with a callback.
            let undone = tx
                .transaction::<_, (), Failed>(|savepoint| {
                    Box::pin(async move {
                        Tally::open(4, 0).save(savepoint).await?;
                        savepoint.execute_unprepared(BROKEN).await?;
                        Ok(())
                    })
                })
                .await;
            assert!(undone.is_err());
            Tally::open(3, 0).save(tx).await?;
            Ok(())
        })
        .await
        .unwrap();
        assert_eq!(db.stored("tallies").await, [2, 2, 2, 2]);
    }
}

each_database! {
    async fn a_savepoint_committed_with_a_failure_inside_is_never_half_stored(db: TestDb) {
        models::create_tables(&db).await;
        let outcome = transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
            Tally::open(1, 0).save(tx).await?;
            let savepoint = tx.begin().await?;
            Tally::open(2, 0).save(&savepoint).await?;
            assert!(savepoint.execute_unprepared(BROKEN).await.is_err());
            savepoint.commit().await?;
            Ok(())
        })
        .await;
        match db.kind {
            // RELEASE of an aborted savepoint is an error itself.
            Kind::Postgres => assert!(matches!(outcome, Err(Failed::Db(_))), "{outcome:?}"),
            Kind::Sqlite => assert!(matches!(outcome, Err(Failed::Tx(TxError::Aborted))), "{outcome:?}"),
        }
        assert_eq!(db.stored("tallies").await, [0; 4]);
    }
}

each_database! {
    async fn a_savepoint_left_open_is_unfinished(db: TestDb) {
        models::create_tables(&db).await;
        let left = std::sync::Mutex::new(None);
        let outcome = transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
            Tally::open(1, 0).save(tx).await?;
            let savepoint = tx.begin().await?;
            Tally::open(2, 0).save(&savepoint).await?;
            *left.lock().unwrap() = Some(savepoint);
            Ok(())
        })
        .await;
        assert!(matches!(outcome, Err(Failed::Tx(TxError::Unfinished))), "{outcome:?}");
        drop(left);
        assert_eq!(db.stored("tallies").await, [0; 4]);
    }
}

/// `PostgreSQL` only: `SQLite` has no aborted state that plain SQL could leave again.
#[tokio::test]
async fn a_savepoint_in_plain_sql_heals_on_postgres() {
    let db = TestDb::new(Kind::Postgres).await;
    models::create_tables(&db).await;
    transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
        Tally::open(1, 0).save(tx).await?;
        tx.execute_unprepared("SAVEPOINT mine").await?;
        assert!(tx.execute_unprepared(BROKEN).await.is_err());
        tx.execute_unprepared("ROLLBACK TO SAVEPOINT mine").await?;
        Tally::open(2, 0).save(tx).await?;
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(db.stored("tallies").await, [2, 2, 2, 2]);
}

/// `PostgreSQL` refuses a savepoint in an aborted transaction; the driver then rolls back one level too many,
/// and what followed would have been committed statement by statement.
#[tokio::test]
async fn after_a_savepoint_could_not_be_opened_nothing_is_let_through() {
    let db = TestDb::new(Kind::Postgres).await;
    models::create_tables(&db).await;
    let outcome = transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
        Tally::open(1, 0).save(tx).await?;
        assert!(tx.execute_unprepared(BROKEN).await.is_err());
        assert!(tx.begin().await.is_err());
        assert!(tx.execute_unprepared("INSERT INTO tallies VALUES (2, 0, false)").await.is_err());
        assert!(Tally::open(3, 0).save(tx).await.is_err());
        assert!(tx.begin().await.is_err());
        Ok(())
    })
    .await;
    assert!(matches!(outcome, Err(Failed::Tx(TxError::Aborted))), "{outcome:?}");
    assert_eq!(db.stored("tallies").await, [0; 4]);
}

/// A savepoint whose opening is dropped half-way has the same effect in the driver.
#[tokio::test]
async fn after_the_opening_of_a_savepoint_was_dropped_nothing_is_let_through() {
    let db = TestDb::new(Kind::Postgres).await;
    models::create_tables(&db).await;
    let outcome = transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
        Tally::open(1, 0).save(tx).await?;
        // The server may answer within one poll.
        while let Some(opened) = crate::support::drop_after(1, false, tx.begin()).await {
            opened?.commit().await?;
        }
        assert!(tx.execute_unprepared("INSERT INTO tallies VALUES (2, 0, false)").await.is_err());
        assert!(Tally::open(3, 0).save(tx).await.is_err());
        Ok(())
    })
    .await;
    assert!(matches!(outcome, Err(Failed::Tx(TxError::Aborted))), "{outcome:?}");
    assert_eq!(db.stored("tallies").await, [0; 4]);
}

/// `SQLite` ends a transaction by itself when its disk is full; here a trigger asks for the same.
#[tokio::test]
async fn after_the_database_ended_the_transaction_nothing_is_let_through() {
    let db = TestDb::new(Kind::Sqlite).await;
    models::create_tables(&db).await;
    db.run("CREATE TRIGGER full BEFORE INSERT ON outbox_events WHEN NEW.aggregate_id = '2' BEGIN SELECT RAISE(ROLLBACK, 'full'); END")
        .await;
    let outcome = transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
        Tally::open(1, 0).save(tx).await?;
        assert!(Tally::open(2, 0).save(tx).await.is_err());
        assert!(tx.execute_unprepared("INSERT INTO tallies VALUES (3, 0, false)").await.is_err());
        assert!(Tally::open(4, 0).save(tx).await.is_err());
        Ok(())
    })
    .await;
    assert!(matches!(outcome, Err(Failed::Tx(TxError::Aborted))), "{outcome:?}");
    assert_eq!(db.stored("tallies").await, [0; 4]);
    // The connection is as good as new.
    for id in 10..30 {
        Tally::open(id, 0).save(&db.conn).await.unwrap();
    }
    assert!(Tally::open(2, 0).save(&db.conn).await.is_err());
    assert_eq!(db.stored("tallies").await, [20; 4]);
}

/// The same by a plain statement.
#[tokio::test]
async fn after_a_statement_ended_the_transaction_nothing_is_let_through() {
    let db = TestDb::new(Kind::Sqlite).await;
    models::create_tables(&db).await;
    db.run("CREATE TRIGGER full BEFORE INSERT ON tallies WHEN NEW.id = 2 BEGIN SELECT RAISE(ROLLBACK, 'full'); END")
        .await;
    let outcome = transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
        Tally::open(1, 0).save(tx).await?;
        let insert = |id: i32| format!("INSERT INTO tallies VALUES ({id}, 0, false)");
        assert!(tx.execute_unprepared(&insert(2)).await.is_err());
        assert!(tx.execute_unprepared(&insert(3)).await.is_err());
        assert!(Tally::open(4, 0).save(tx).await.is_err());
        Ok(())
    })
    .await;
    assert!(matches!(outcome, Err(Failed::Tx(TxError::Aborted))), "{outcome:?}");
    assert_eq!(db.stored("tallies").await, [0; 4]);
    for id in 10..30 {
        Tally::open(id, 0).save(&db.conn).await.unwrap();
    }
    assert_eq!(db.stored("tallies").await, [20; 4]);
}
