//! Time-outs around a save leave the pool as it was.

use std::time::Duration;

use outbox_runtime::{Tx, prelude::*};
use rand::Rng as _;
use sea_orm::{ConnectionTrait as _, TransactionSession as _, TransactionTrait as _};

use crate::{
    models::{self, tally::Tally},
    support::{Failed, Kind, TestDb, drop_after, each_database},
};

each_database! {
    async fn s3_saves_cut_off_by_time_outs_leave_a_pooled_connection_outside_any_transaction(db: TestDb) {
        models::create_tables(&db).await;
        let pool = db.connect_with(1).await;
        let (mut in_time, mut cut_off) = (0, 0);
        for id in 0..300 {
            let mut tally = Tally::open(id, 0);
            let saved = if id % 3 == 0 {
                let patience = Duration::from_micros(rand::rng().random_range(0..4_000));
                tokio::time::timeout(patience, tally.save(&pool)).await.ok()
            } else {
                // A time-out seldom strikes BEGIN, which is the await that matters most.
                drop_after(rand::rng().random_range(1..8), rand::rng().random(), tally.save(&pool)).await
            };
            match saved {
                Some(saved) => {
                    saved.unwrap();
                    in_time += 1;
                }
                None => cut_off += 1,
            }
            // At once, since the next COMMIT would hide what this save had left open.
            pool.execute_unprepared(&format!("INSERT INTO tallies VALUES ({}, 7, false)", 1_000 + id)).await.unwrap();
            let seen = db.count(&format!("SELECT count(*) FROM tallies WHERE id = {}", 1_000 + id)).await;
            assert_eq!(seen, 1, "after save {id} the connection was inside a transaction");
        }
        assert!(cut_off > 10, "{in_time} saves came to their end, {cut_off} did not");
        let [rows, events, pending, sequences] = db.stored("tallies").await;
        assert_eq!([rows - 300, events, pending], [sequences; 3]);
        assert!(events >= in_time);
    }
}

/// The driver undoes one level too many when a savepoint inside a savepoint cannot be opened.
#[tokio::test]
async fn a_savepoint_lost_two_levels_down_stops_the_outermost() {
    for how in ["rollback", "drop", "commit"] {
        let db = TestDb::new(Kind::Postgres).await;
        models::create_tables(&db).await;
        let outcome = transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
            Tally::open(1, 0).save(tx).await?;
            let savepoint = tx.begin().await?;
            assert!(savepoint.execute_unprepared("SELECT nothing FROM nowhere").await.is_err());
            assert!(savepoint.begin().await.is_err());
            match how {
                "rollback" => drop(savepoint.rollback().await),
                "commit" => drop(savepoint.commit().await),
                _ => drop(savepoint),
            }
            let _ = tx.execute_unprepared("INSERT INTO tallies VALUES (2, 0, false)").await;
            let _ = Tally::open(3, 0).save(tx).await;
            Ok(())
        })
        .await;
        assert!(outcome.is_err(), "{how}");
        assert_eq!(db.stored("tallies").await, [0; 4], "{how}: a statement was committed by itself");
    }
}
