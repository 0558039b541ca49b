//! When `transact` runs its closure again, and when it must not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use outbox_runtime::{SaveError, Tx, TxError, prelude::*};
use sea_orm::{ConnectionTrait as _, IsolationLevel, SqliteTransactionMode, TransactionOptions, TransactionTrait as _};
use tokio::sync::Barrier;

use crate::{
    models::{self, account::Account, tally::Tally},
    support::{Failed, Kind, TestDb, each_database},
};

fn quick() -> TxPolicy {
    TxPolicy::default().delays(Duration::from_millis(1), Duration::from_millis(5))
}

async fn two_tallies(db: &TestDb) {
    models::create_tables(db).await;
    db.find_deadlocks_quickly().await;
    save_all(&mut [Tally::open(1, 10), Tally::open(2, 10)], &db.conn).await.unwrap();
}

each_database! {
    async fn an_error_of_the_closure_is_returned_as_it_is_and_runs_once(db: TestDb) {
        models::create_tables(&db).await;
        let runs = AtomicU32::new(0);
        let outcome = transact(&db.conn, quick(), async |tx: &Tx| -> Result<(), Failed> {
            runs.fetch_add(1, Ordering::SeqCst);
            Tally::open(1, 0).save(tx).await?;
            Err(Failed::OnPurpose)
        })
        .await;
        assert!(matches!(outcome, Err(Failed::OnPurpose)));
        let outcome = transact(&db.conn, quick(), async |tx: &Tx| -> Result<(), Failed> {
            runs.fetch_add(1, Ordering::SeqCst);
            tx.execute_unprepared("SELECT nothing FROM nowhere").await?;
            Ok(())
        })
        .await;
        assert!(matches!(outcome, Err(Failed::Db(_))));
        assert_eq!(runs.into_inner(), 2);
        assert_eq!(db.stored("tallies").await, [0; 4]);
    }
}

each_database! {
    async fn a_conflict_reruns_as_often_as_the_policy_says(db: TestDb) {
        models::create_tables(&db).await;
        let mut account = Account::open(1);
        account.save(&db.conn).await.unwrap();
        let mut stale = account.clone();
        account.credit(1);
        account.save(&db.conn).await.unwrap();
        stale.credit(1);
        for attempts in [1, 3] {
            let runs = AtomicU32::new(0);
            let outcome = transact(&db.conn, quick().max_attempts(attempts), async |tx: &Tx| -> Result<(), Failed> {
                runs.fetch_add(1, Ordering::SeqCst);
                stale.clone().save(tx).await?;
                Ok(())
            })
            .await;
            assert!(matches!(outcome, Err(Failed::Save(SaveError::Conflict { .. }))), "{outcome:?}");
            assert_eq!(runs.into_inner(), attempts);
        }
        // Also when the closure says it in words of its own.
        let runs = AtomicU32::new(0);
        transact(&db.conn, quick(), async |tx: &Tx| -> Result<(), Failed> {
            let mut account = if runs.fetch_add(1, Ordering::SeqCst) == 0 { stale.clone() } else { Account::load(tx, 1).await? };
            if account.pending().is_empty() { account.credit(1) }
            account.save(tx).await.map_err(|_| Failed::OnPurpose)?;
            Ok(())
        })
        .await
        .unwrap();
        assert_eq!(runs.into_inner(), 2);
        assert_eq!(db.stored("accounts").await, [1, 2, 2, 1]);
        stale.discard();
    }
}

each_database! {
    async fn works_in_a_spawned_task_with_a_borrowed_environment(db: TestDb) {
        models::create_tables(&db).await;
        let conn = db.conn.clone();
        let ids = vec![1, 2, 3];
        let task = tokio::spawn(async move {
            let (ids, name) = (ids, String::from("raise"));
            let (borrowed, word) = (&ids, name.as_str());
            transact(&conn, quick(), async |tx: &Tx| -> Result<usize, Failed> {
                for id in borrowed {
                    Tally::open(*id, 0).save(tx).await?;
                }
                Ok(word.len())
            })
            .await
        });
        assert_eq!(task.await.unwrap().unwrap(), 5);
        assert_eq!(db.stored("tallies").await, [3; 4]);
    }
}

/// Judged by SQLSTATE: the text says the opposite.
#[tokio::test]
async fn c3_reruns_are_judged_by_code_and_never_by_text() {
    let db = TestDb::new(Kind::Postgres).await;
    let raise =
        |text: &str, code: &str| format!("DO $$ BEGIN RAISE EXCEPTION '{text}' USING ERRCODE = '{code}'; END $$");
    for (code, text, expected) in [
        ("40001", "alles in bester Ordnung", 4),
        ("40P01", "rien", 4),
        ("55P03", "ok", 4),
        ("P0001", "deadlock detected, could not serialize access, database is locked", 1),
        ("23505", "deadlock detected", 1),
    ] {
        let runs = AtomicU32::new(0);
        let outcome = transact(&db.conn, quick().max_attempts(4), async |tx: &Tx| -> Result<(), Failed> {
            runs.fetch_add(1, Ordering::SeqCst);
            tx.execute_unprepared(&raise(text, code)).await?;
            Ok(())
        })
        .await;
        assert!(matches!(outcome, Err(Failed::Db(_))));
        assert_eq!(runs.into_inner(), expected, "{code}");

        // Swallowed: rolled back, and run again only where that may help.
        let runs = AtomicU32::new(0);
        let outcome = transact(&db.conn, quick().max_attempts(4), async |tx: &Tx| -> Result<(), Failed> {
            runs.fetch_add(1, Ordering::SeqCst);
            let _ = tx.execute_unprepared(&raise(text, code)).await;
            Ok(())
        })
        .await;
        assert!(matches!(outcome, Err(Failed::Tx(TxError::Aborted))));
        assert_eq!(runs.into_inner(), expected, "{code}");

        // Met in a savepoint that the error's `?` drops.
        let runs = AtomicU32::new(0);
        let outcome = transact(&db.conn, quick().max_attempts(4), async |tx: &Tx| -> Result<(), Failed> {
            runs.fetch_add(1, Ordering::SeqCst);
            let savepoint = tx.begin().await?;
            savepoint.execute_unprepared(&raise(text, code)).await?;
            Ok(())
        })
        .await;
        assert!(matches!(outcome, Err(Failed::Db(_))));
        assert_eq!(runs.into_inner(), expected, "{code} in a savepoint");
    }
}

#[tokio::test]
async fn serializable_write_skew_is_refused_at_commit_and_rerun() {
    let db = TestDb::new(Kind::Postgres).await;
    two_tallies(&db).await;
    let (barrier, runs) = (Arc::new(Barrier::new(2)), Arc::new(AtomicU32::new(0)));
    let take = |mine: i64| {
        let (conn, barrier, runs) = (db.conn.clone(), Arc::clone(&barrier), Arc::clone(&runs));
        tokio::spawn(async move {
            let policy = quick().isolation(IsolationLevel::Serializable);
            transact(&conn, policy, async move |tx: &Tx| -> Result<bool, Failed> {
                let first_two = runs.fetch_add(1, Ordering::SeqCst) < 2;
                let row = tx.query_one_raw(sea_orm::Statement::from_string(
                    tx.get_database_backend(),
                    "SELECT CAST(sum(total) AS bigint), current_setting('transaction_isolation') FROM tallies",
                ));
                let row = row.await?.unwrap();
                assert_eq!(row.try_get_by_index::<String>(1)?, "serializable");
                let enough = row.try_get_by_index::<i64>(0)? >= 20;
                if enough {
                    let mut tally = Tally::load(tx, mine).await?;
                    tally.raise(-15);
                    tally.save(tx).await?;
                }
                if first_two {
                    // Both have written before one of them commits.
                    barrier.wait().await;
                }
                Ok(enough)
            })
            .await
        })
    };
    let (first, second) = tokio::join!(take(1), take(2));
    let taken = [first.unwrap().unwrap(), second.unwrap().unwrap()];
    assert_eq!(taken.iter().filter(|taken| **taken).count(), 1, "both saw 20 and took 15");
    assert_eq!(runs.load(Ordering::SeqCst), 3);
    assert_eq!(db.stored("tallies").await, [2, 3, 3, 2]);
}

/// Locks two rows in the order given; the other task has its first by then.
async fn opposite(in_savepoint: bool) {
    let db = TestDb::new(Kind::Postgres).await;
    two_tallies(&db).await;
    let pool = db.connect_with(4).await;
    let (barrier, runs) = (Arc::new(Barrier::new(2)), Arc::new(AtomicU32::new(0)));
    let both = |order: [i64; 2]| {
        let (conn, barrier, runs) = (pool.clone(), Arc::clone(&barrier), Arc::clone(&runs));
        tokio::spawn(async move {
            transact(&conn, quick(), async move |tx: &Tx| -> Result<(), Failed> {
                let first_two = runs.fetch_add(1, Ordering::SeqCst) < 2;
                let mut tally = Tally::load(tx, order[0]).await?;
                tally.raise(1);
                tally.save(tx).await?;
                if first_two {
                    barrier.wait().await;
                }
                if in_savepoint {
                    use sea_orm::TransactionSession as _;
                    let savepoint = tx.begin().await?;
                    let mut tally = Tally::load(&savepoint, order[1]).await?;
                    tally.raise(1);
                    tally.save(&savepoint).await?;
                    savepoint.commit().await?;
                } else {
                    let mut tally = Tally::load(tx, order[1]).await?;
                    tally.raise(1);
                    tally.save(tx).await?;
                }
                Ok(())
            })
            .await
        })
    };
    let (first, second) = tokio::join!(both([1, 2]), both([2, 1]));
    first.unwrap().unwrap();
    second.unwrap().unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 3);
    assert_eq!(db.stored("tallies").await, [2, 6, 6, 2]);
}

#[tokio::test]
async fn opposite_lock_orders_deadlock_and_are_rerun() {
    opposite(false).await;
}

#[tokio::test]
async fn a_deadlock_met_in_a_savepoint_reruns_the_whole() {
    opposite(true).await;
}

/// Another writer holds the file, and nobody waits for it inside `SQLite`.
#[tokio::test]
async fn c9_a_busy_database_reruns() {
    let db = TestDb::new(Kind::Sqlite).await;
    models::create_tables(&db).await;
    let mut options = sea_orm::ConnectOptions::new(db.url.clone());
    options.sqlx_logging(false).map_sqlx_sqlite_opts(|options| options.busy_timeout(Duration::ZERO));
    let pool = sea_orm::Database::connect(options).await.unwrap();
    let immediate =
        TransactionOptions { sqlite_transaction_mode: Some(SqliteTransactionMode::Immediate), ..Default::default() };
    let holder = db.conn.begin_with_options(immediate).await.unwrap();
    let place = async |tx: &Tx| -> Result<(), Failed> {
        Tally::open(1, 0).save(tx).await?;
        Ok(())
    };
    let once = transact(&pool, quick().max_attempts(1), place).await;
    assert!(matches!(once, Err(Failed::Tx(TxError::Begin(_)))), "{once:?}");
    let patient = tokio::spawn(async move { transact(&pool, quick().max_attempts(10_000), place).await });
    holder.commit().await.unwrap();
    patient.await.unwrap().unwrap();
    assert_eq!(db.stored("tallies").await, [1; 4]);
}

each_database! {
    async fn c9_read_then_emit_from_many_writers_meets_no_busy_error(db: TestDb) {
        models::create_tables(&db).await;
        Tally::open(1, 0).save(&db.conn).await.unwrap();
        let writers: Vec<_> = (0..8).map(|_| {
            let conn = db.conn.clone();
            tokio::spawn(async move {
                for _ in 0..10 {
                    transact(&conn, TxPolicy::default().max_attempts(1), async |tx: &Tx| -> Result<(), Failed> {
                        let mut tally = Tally::load(tx, 1).await?;
                        tally.raise(1);
                        tally.save(tx).await?;
                        Ok(())
                    })
                    .await
                    .unwrap();
                }
            })
        }).collect();
        for writer in writers {
            writer.await.unwrap();
        }
        assert_eq!(db.count("SELECT total FROM tallies").await, 80);
        assert_eq!(db.stored("tallies").await, [1, 81, 81, 1]);
    }
}
