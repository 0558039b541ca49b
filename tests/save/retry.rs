//! A save that failed keeps what it needs for a second try, and a second try never publishes twice.

use outbox_runtime::{SaveError, TxError, prelude::*};
use sea_orm::{ConnectionTrait as _, EntityTrait as _, Set, TransactionTrait as _};
use uuid::Uuid;

use crate::{
    models::{
        self,
        customer::Customer,
        order::{self, Order, OrderRaised},
        tally::Tally,
    },
    support::{Failed, TestDb, drop_after, each_database},
};

fn ids<A: outbox_runtime::Aggregate>(root: &A) -> Vec<Uuid> {
    root.__parts().1.pending().iter().map(outbox_runtime::PendingEvent::event_id).collect()
}

each_database! {
    async fn a_failed_save_keeps_row_and_event_ids_and_the_second_try_succeeds(db: TestDb) {
        models::create_tables(&db).await;
        let mut order = Order::place(5);
        order.raise(1);
        let before = (ids(&order), order.pending()[0].occurred_at());
        db.run("ALTER TABLE outbox_pending RENAME TO hidden").await;
        let failed = order.save(&db.conn).await;
        assert!(matches!(failed, Err(SaveError::Db { aggregate: "order", .. })), "{failed:?}");
        db.run("ALTER TABLE hidden RENAME TO outbox_pending").await;
        assert_eq!((ids(&order), order.pending()[0].occurred_at()), before);
        assert_eq!(db.stored("orders").await, [0; 4]);
        let saved = order.save(&db.conn).await.unwrap();
        assert_eq!(saved.events.iter().map(|event| event.event_id).collect::<Vec<_>>(), before.0);
        assert_eq!(saved.total_cents, 6);
        assert!(order.pending().is_empty());
    }
}

each_database! {
    async fn a_clone_saved_twice_is_already_committed(db: TestDb) {
        models::create_tables(&db).await;
        let mut order = Order::place(5);
        let mut clone = order.clone();
        order.save(&db.conn).await.unwrap();
        assert!(matches!(clone.save(&db.conn).await, Err(SaveError::AlreadyCommitted { event_id, .. }) if event_id == ids(&clone)[0]));
        // An auto-increment key would have made a second row.
        let mut customer = Customer::register("Ana");
        let mut twin = customer.clone();
        customer.save(&db.conn).await.unwrap();
        assert!(matches!(twin.save(&db.conn).await, Err(SaveError::AlreadyCommitted { aggregate: "customer", .. })));
        assert_eq!((db.rows("orders").await, db.rows("customers").await, db.rows("outbox_events").await), (1, 1, 2));
    }
}

each_database! {
    async fn already_committed_is_not_said_while_some_of_the_events_are_not(db: TestDb) {
        models::create_tables(&db).await;
        let mut order = Order::place(5);
        let mut clone = order.clone();
        order.save(&db.conn).await.unwrap();
        // Who takes `AlreadyCommitted` for success would lose the second event.
        clone.raise(7);
        let refused = clone.save(&db.conn).await;
        assert!(matches!(refused, Err(SaveError::Db { .. })), "{refused:?}");
        let mut roots = [Order::place(1), order.clone()];
        roots[1] = clone.clone();
        assert!(matches!(save_all(&mut roots, &db.conn).await, Err(SaveError::Db { .. })));
        assert_eq!(db.stored("orders").await, [1, 1, 1, 1]);
    }
}

each_database! {
    async fn a_number_that_is_taken_is_not_taken_for_already_committed(db: TestDb) {
        models::create_tables(&db).await;
        let mut order = Order::place(5);
        order.save(&db.conn).await.unwrap();
        // A restored or damaged table of sequences.
        db.run("DELETE FROM outbox_sequences").await;
        order.raise(1);
        let refused = order.save(&db.conn).await;
        assert!(matches!(refused, Err(SaveError::Db { .. })), "{refused:?}");
        let refused = transact(&db.conn, TxPolicy::default(), async |tx| -> Result<(), Failed> {
            let mut again = order.clone();
            again.save(tx).await?;
            Ok(())
        })
        .await;
        assert!(matches!(refused, Err(Failed::Save(SaveError::Db { .. }))), "{refused:?}");
        order.discard();
    }
}

each_database! {
    async fn a_retry_after_an_unknown_commit_says_already_committed(db: TestDb) {
        models::create_tables(&db).await;
        // What the client sees when the answer of COMMIT is lost: the root as it was before.
        let mut insert = Tally::open(1, 0);
        let mut again = insert.clone();
        insert.save(&db.conn).await.unwrap();
        assert!(matches!(again.save(&db.conn).await, Err(SaveError::AlreadyCommitted { .. })));

        let mut update = insert;
        update.raise(5);
        let mut again = update.clone();
        update.save(&db.conn).await.unwrap();
        assert!(matches!(again.save(&db.conn).await, Err(SaveError::AlreadyCommitted { .. })));

        let mut delete = update;
        delete.close();
        let mut again = delete.clone();
        delete.delete(&db.conn).await.unwrap();
        assert!(matches!(again.delete(&db.conn).await, Err(SaveError::AlreadyCommitted { .. })));
        assert_eq!(db.stored("tallies").await, [0, 3, 3, 1]);
    }
}

each_database! {
    async fn a_save_that_was_dropped_anywhere_can_be_repeated(db: TestDb) {
        models::create_tables(&db).await;
        for polls in 1..40 {
            let mut tally = Tally::open(polls, 0);
            let in_time = drop_after(usize::try_from(polls).unwrap(), polls % 2 == 0, tally.save(&db.conn)).await;
            match in_time {
                Some(saved) => drop(saved.unwrap()),
                None => match tally.save(&db.conn).await {
                    Ok(_) | Err(SaveError::AlreadyCommitted { .. }) => {}
                    Err(error) => panic!("{error:?}"),
                },
            }
        }
        assert_eq!(db.stored("tallies").await, [39; 4]);
    }
}

each_database! {
    async fn a_missing_row_is_not_found_and_nothing_is_written(db: TestDb) {
        models::create_tables(&db).await;
        let mut ghost = Order::from(order::Model { id: Uuid::now_v7(), status: "new".into(), total_cents: 1 });
        ghost.raise(5);
        assert!(matches!(ghost.save(&db.conn).await, Err(SaveError::NotFound { aggregate: "order" })));
        assert!(matches!(ghost.delete(&db.conn).await, Err(SaveError::NotFound { aggregate: "order" })));
        let tx = db.begin().await;
        assert!(matches!(ghost.save(&tx).await, Err(SaveError::NotFound { .. })));
        assert!(matches!(ghost.delete(&tx).await, Err(SaveError::NotFound { .. })));
        // Nothing was written, so the transaction is as good as before.
        Order::place(1).save(&tx).await.unwrap();
        tx.commit().await.unwrap();
        transact(&db.conn, TxPolicy::default(), async |tx| -> Result<(), Failed> {
            let mut ghost = ghost.clone();
            assert!(matches!(ghost.save(tx).await, Err(SaveError::NotFound { .. })));
            Order::place(2).save(tx).await?;
            Ok(())
        })
        .await
        .unwrap();
        assert_eq!(db.stored("orders").await, [2; 4]);
        // Without a changed column, too.
        ghost.retract(ids(&ghost)[0]);
        let mut unchanged = Order::from(order::Model { id: Uuid::now_v7(), status: "new".into(), total_cents: 1 });
        unchanged.emit(OrderRaised { by_cents: 0 });
        let outcome = unchanged.save(&db.conn).await;
        assert!(matches!(outcome, Err(SaveError::NotFound { .. })), "{outcome:?}");
    }
}

each_database! {
    async fn a_save_inside_an_open_transaction_of_a_full_pool_says_what_to_do(db: TestDb) {
        models::create_tables(&db).await;
        let mut options = sea_orm::ConnectOptions::new(db.url.clone());
        options.max_connections(1).acquire_timeout(std::time::Duration::from_millis(100));
        let pool = sea_orm::Database::connect(options).await.unwrap();
        let tx = pool.begin().await.unwrap();
        let refused = Order::place(1).save(&pool).await.unwrap_err();
        assert!(matches!(refused, SaveError::Tx(TxError::Begin(_))), "{refused:?}");
        assert!(refused.to_string().contains("pass the transaction"), "{refused}");
        tx.rollback().await.unwrap();
        Order::place(1).save(&pool).await.unwrap();
    }
}

each_database! {
    async fn a_row_changed_behind_the_roots_back_is_seen_by_its_next_load(db: TestDb) {
        models::create_tables(&db).await;
        let id = Order::place(1).save(&db.conn).await.unwrap().id;
        let row = order::ActiveModel { id: Set(id), total_cents: Set(50), ..Default::default() };
        order::Entity::update(row).exec(&db.conn).await.unwrap();
        transact(&db.conn, TxPolicy::default(), async move |tx| -> Result<(), Failed> {
            let mut order = Order::load(tx, id).await?;
            order.raise(1);
            order.save(tx).await?;
            tx.execute_unprepared("SELECT 1").await?;
            Ok(())
        })
        .await
        .unwrap();
        assert_eq!(db.count("SELECT total_cents FROM orders").await, 51);
    }
}
