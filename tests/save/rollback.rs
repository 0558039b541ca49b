//! What a transaction takes back with it.

use outbox_runtime::{SaveError, TxError, prelude::*};
use sea_orm::{TransactionSession as _, TransactionTrait as _};
use uuid::Uuid;

use crate::{
    models::{self, order::Order, tally::Tally},
    support::{Failed, TestDb, each_database},
};

/// Orders whose total must be one of those allowed, which the database looks at only when it commits.
async fn strict_orders(db: &TestDb) {
    db.run("CREATE TABLE allowed (cents bigint PRIMARY KEY)").await;
    db.run("INSERT INTO allowed VALUES (100)").await;
    let uuid = db.either("uuid_text", "uuid");
    db.run(&format!(
        "CREATE TABLE orders (id {uuid} PRIMARY KEY, status text NOT NULL, \
         total_cents bigint NOT NULL REFERENCES allowed (cents) DEFERRABLE INITIALLY DEFERRED)"
    ))
    .await;
}

each_database! {
    async fn a_rolled_back_transaction_leaves_neither_row_nor_event(db: TestDb) {
        models::create_tables(&db).await;
        for by_drop in [false, true] {
            let tx = db.begin().await;
            Order::place(1).save(&tx).await.unwrap();
            if by_drop { drop(tx) } else { tx.rollback().await.unwrap() }
        }
        let refused = transact(&db.conn, TxPolicy::default(), async |tx| -> Result<(), Failed> {
            Order::place(1).save(tx).await?;
            Err(Failed::OnPurpose)
        })
        .await;
        assert!(matches!(refused, Err(Failed::OnPurpose)));
        assert_eq!(db.stored("orders").await, [0; 4]);

        // The number that was rolled back is given out again: no hole.
        let mut tally = Tally::open(1, 0);
        tally.save(&db.conn).await.unwrap();
        let tx = db.begin().await;
        let mut undone = Tally::load(&tx, 1).await.unwrap();
        undone.raise(5);
        assert_eq!(undone.save(&tx).await.unwrap().events[0].aggregate_sequence, 2);
        tx.rollback().await.unwrap();
        tally.raise(7);
        assert_eq!(tally.save(&db.conn).await.unwrap().events[0].aggregate_sequence, 2);
        assert_eq!(db.log().await[1].payload["by"], 7);
    }
}

each_database! {
    async fn a_rolled_back_savepoint_takes_its_events_and_their_numbers_with_it(db: TestDb) {
        models::create_tables(&db).await;
        transact(&db.conn, TxPolicy::default(), async |tx| -> Result<(), Failed> {
            let mut tally = Tally::open(1, 10);
            tally.save(tx).await?;
            let savepoint = tx.begin().await?;
            let mut inner = Tally::load(&savepoint, 1).await?;
            inner.raise(100);
            assert_eq!(inner.save(&savepoint).await?.events[0].aggregate_sequence, 2);
            Tally::open(2, 0).save(&savepoint).await?;
            savepoint.rollback().await?;
            tally.raise(5);
            assert_eq!(tally.save(tx).await?.events[0].aggregate_sequence, 2);
            let savepoint = tx.begin().await?;
            Tally::open(3, 0).save(&savepoint).await?;
            savepoint.commit().await?;
            Ok(())
        })
        .await
        .unwrap();
        assert_eq!(db.stored("tallies").await, [2, 3, 3, 2]);
        assert_eq!(db.log().await[1].payload["total"], 15);

        // The same in the user's own transaction.
        let tx = db.begin().await;
        let savepoint = tx.begin().await.unwrap();
        Tally::open(4, 0).save(&savepoint).await.unwrap();
        savepoint.rollback().await.unwrap();
        let savepoint = tx.begin().await.unwrap();
        Tally::open(5, 0).save(&savepoint).await.unwrap();
        savepoint.commit().await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(db.stored("tallies").await, [3, 4, 4, 3]);
    }
}

each_database! {
    async fn a_failed_commit_stores_nothing_and_the_same_root_may_try_again(db: TestDb) {
        strict_orders(&db).await;
        let mut order = Order::place(99);
        let event = order.pending()[0].event_id();
        let refused = order.save(&db.conn).await;
        assert!(matches!(refused, Err(SaveError::Tx(TxError::Commit(_)))), "{refused:?}");
        assert_eq!(db.stored("orders").await, [0; 4]);
        assert_eq!(order.pending()[0].event_id(), event);
        db.run("INSERT INTO allowed VALUES (99)").await;
        assert_eq!(order.save(&db.conn).await.unwrap().events[0].event_id, event);
        assert_eq!(db.stored("orders").await, [1, 1, 1, 1]);

        // An update and a delete of it, too.
        order.raise(1_000);
        assert!(matches!(order.save(&db.conn).await, Err(SaveError::Tx(TxError::Commit(_)))));
        assert_eq!(db.stored("orders").await, [1, 1, 1, 1]);
        db.run("INSERT INTO allowed VALUES (1099)").await;
        order.save(&db.conn).await.unwrap();
        assert_eq!(db.stored("orders").await, [1, 2, 2, 1]);
        assert_eq!(db.count("SELECT total_cents FROM orders").await, 1_099);
    }
}

each_database! {
    async fn a_failed_commit_of_transact_is_typed_and_its_roots_are_spent(db: TestDb) {
        strict_orders(&db).await;
        let kept = std::sync::Mutex::new(None);
        let refused = transact(&db.conn, TxPolicy::default(), async |tx| -> Result<(), Failed> {
            let mut order = Order::place(98);
            order.save(tx).await?;
            *kept.lock().unwrap() = Some(order);
            Ok(())
        })
        .await;
        assert!(matches!(refused, Err(Failed::Tx(TxError::Commit(_)))), "{refused:?}");
        assert_eq!(db.stored("orders").await, [0; 4]);
        let mut order = kept.into_inner().unwrap().unwrap();
        assert!(matches!(order.save(&db.conn).await, Err(SaveError::Spent { aggregate: "order" })));
        order.pay(Uuid::now_v7()).unwrap();
        assert!(matches!(order.save(&db.conn).await, Err(SaveError::Spent { .. })));
        assert!(matches!(order.delete(&db.conn).await, Err(SaveError::Spent { .. })));
        assert_eq!(db.stored("orders").await, [0; 4]);
        // Every connection of the pool is clean again.
        for _ in 0..15 {
            Order::place(100).save(&db.conn).await.unwrap();
        }
        assert_eq!(db.rows("orders").await, 15);
    }
}

each_database! {
    async fn a_failed_commit_of_the_users_own_transaction_stores_nothing(db: TestDb) {
        strict_orders(&db).await;
        let tx = db.begin().await;
        let mut order = Order::place(97);
        order.save(&tx).await.unwrap();
        assert!(tx.commit().await.is_err());
        assert_eq!(db.stored("orders").await, [0; 4]);
        assert!(matches!(order.save(&db.conn).await, Err(SaveError::Spent { .. })));
        Order::place(100).save(&db.conn).await.unwrap();
        assert_eq!(db.stored("orders").await, [1, 1, 1, 1]);
    }
}
