//! A root that was saved in a transaction may only go on where that transaction's end is known.

use outbox_runtime::{SaveError, Tx, prelude::*};
use sea_orm::{TransactionSession as _, TransactionTrait as _};

use crate::{
    models::{self, tally::Tally},
    support::{Failed, TestDb, each_database},
};

fn is_spent<T: std::fmt::Debug>(outcome: Result<T, SaveError>) -> bool {
    matches!(outcome, Err(SaveError::Spent { aggregate: "tally" }))
}

each_database! {
    async fn a_root_saved_in_the_users_own_transaction_is_spent(db: TestDb) {
        models::create_tables(&db).await;
        let tx = db.begin().await;
        let mut tally = Tally::open(1, 0);
        tally.save(&tx).await.unwrap();
        let mut clone = tally.clone();
        assert!(is_spent(tally.save(&tx).await));
        tally.raise(1);
        assert!(is_spent(tally.save(&tx).await));
        assert!(is_spent(tally.delete(&tx).await));
        assert!(is_spent(save_all(std::slice::from_mut(&mut clone), &tx).await));
        tx.commit().await.unwrap();
        assert!(is_spent(tally.save(&db.conn).await));
        assert_eq!(db.stored("tallies").await, [1, 1, 1, 1]);
        tally.discard();
    }
}

each_database! {
    async fn inside_one_tx_a_root_is_saved_again_at_the_same_depth_only(db: TestDb) {
        models::create_tables(&db).await;
        transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
            let mut outer = Tally::open(1, 0);
            outer.save(tx).await?;
            outer.raise(1);
            outer.save(tx).await?;
            let savepoint = tx.begin().await?;
            outer.raise(2);
            assert!(is_spent(outer.save(&savepoint).await), "deeper than it was saved");
            let mut inner = Tally::open(2, 0);
            inner.save(&savepoint).await?;
            inner.raise(1);
            inner.save(&savepoint).await?;
            savepoint.commit().await?;
            assert!(is_spent(inner.save(tx).await), "less deep than it was saved");
            let another = tx.begin().await?;
            assert!(is_spent(inner.save(&another).await), "as deep, but another savepoint");
            another.commit().await?;
            // `outer` still holds what could not be saved.
            outer.save(tx).await?;
            outer.delete(tx).await?;
            assert!(matches!(outer.save(tx).await, Err(SaveError::Deleted { aggregate: "tally" })));
            inner.discard();
            Ok(())
        })
        .await
        .unwrap();
        assert_eq!(db.stored("tallies").await, [1, 5, 5, 2]);
    }
}

each_database! {
    async fn after_a_savepoint_was_rolled_back_its_roots_are_spent(db: TestDb) {
        models::create_tables(&db).await;
        let mut kept = transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<_, Failed> {
            let savepoint = tx.begin().await?;
            let mut tally = Tally::open(1, 0);
            tally.save(&savepoint).await?;
            savepoint.rollback().await?;
            assert!(is_spent(tally.save(tx).await));
            Ok(tally)
        })
        .await
        .unwrap();
        assert!(is_spent(kept.save(&db.conn).await));
        assert_eq!(db.stored("tallies").await, [0; 4]);
    }
}

each_database! {
    async fn a_root_returned_from_a_committed_transact_goes_on(db: TestDb) {
        models::create_tables(&db).await;
        let mut tally = transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<_, Failed> {
            let mut tally = Tally::open(1, 0);
            tally.save(tx).await?;
            Ok(tally)
        })
        .await
        .unwrap();
        tally.raise(4);
        assert_eq!(tally.save(&db.conn).await.unwrap().events[0].aggregate_sequence, 2);
        tally.raise(5);
        let returned = transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<_, Failed> {
            let mut tally = tally.clone();
            tally.save(tx).await?;
            Ok(tally)
        })
        .await;
        tally = returned.unwrap();
        tally.close();
        assert_eq!(tally.delete(&db.conn).await.unwrap().events[0].aggregate_sequence, 4);
        assert!(matches!(tally.save(&db.conn).await, Err(SaveError::Deleted { .. })));
        assert_eq!(db.stored("tallies").await, [0, 4, 4, 1]);
    }
}

each_database! {
    async fn after_a_transact_that_rolled_back_its_roots_are_spent(db: TestDb) {
        models::create_tables(&db).await;
        let kept = std::sync::Mutex::new(None);
        let outcome = transact(&db.conn, TxPolicy::default(), async |tx: &Tx| -> Result<(), Failed> {
            let mut tally = Tally::open(1, 0);
            tally.save(tx).await?;
            *kept.lock().unwrap() = Some(tally);
            Err(Failed::OnPurpose)
        })
        .await;
        assert!(matches!(outcome, Err(Failed::OnPurpose)));
        let mut tally = kept.into_inner().unwrap().unwrap();
        assert!(is_spent(tally.save(&db.conn).await));
        assert_eq!(db.stored("tallies").await, [0; 4]);
    }
}
