//! Many at once on one aggregate.

use std::time::Duration;

use futures_util::future::join_all;
use outbox_runtime::{SaveError, prelude::*};
use sea_orm::EntityTrait as _;
use uuid::Uuid;

use crate::{
    models::{
        self,
        account::{self, Account},
        order::{Order, OrderEvent},
        tally::Tally,
    },
    support::{Failed, TestDb, each_database},
};

const MANY: usize = 32;

fn patient() -> TxPolicy {
    TxPolicy::default().max_attempts(500).delays(Duration::from_millis(1), Duration::from_millis(10))
}

each_database! {
    async fn many_payments_of_one_order_under_its_lock_pay_it_once(db: TestDb) {
        models::create_tables(&db).await;
        let id = Order::place(100).save(&db.conn).await.unwrap().id;
        let payments = (0..MANY).map(|_| {
            let conn = db.conn.clone();
            tokio::spawn(async move {
                transact(&conn, TxPolicy::default(), async move |tx| -> Result<bool, Failed> {
                    let mut order = Order::load(tx, id).await?;
                    let paid = order.pay(Uuid::now_v7()).is_ok();
                    order.save(tx).await?;
                    Ok(paid)
                })
                .await
            })
        });
        let paid = join_all(payments).await.into_iter().filter(|paid| *paid.as_ref().unwrap().as_ref().unwrap()).count();
        assert_eq!(paid, 1);
        let log = db.log().await;
        assert_eq!(log.len(), 2);
        assert!(matches!(log[1].decode::<OrderEvent>()[..], [OrderEvent::OrderPaid(_)]));
    }
}

each_database! {
    async fn optimistic_credits_are_all_counted_because_conflicts_rerun(db: TestDb) {
        models::create_tables(&db).await;
        Account::open(7).save(&db.conn).await.unwrap();
        let credits = (0..MANY).map(|_| {
            let conn = db.conn.clone();
            tokio::spawn(async move {
                transact(&conn, patient(), async move |tx| -> Result<(), Failed> {
                    let mut account = Account::load(tx, 7).await?;
                    account.credit(3);
                    account.save(tx).await?;
                    Ok(())
                })
                .await
            })
        });
        for credit in join_all(credits).await {
            credit.unwrap().unwrap();
        }
        let account = account::Entity::find_by_id(7).one(&db.conn).await.unwrap().unwrap();
        assert_eq!((account.balance_cents, account.revision), (96, 33));
        assert_eq!(db.log().await.iter().map(|event| event.sequence).collect::<Vec<_>>(), (1..=32).collect::<Vec<_>>());
    }
}

each_database! {
    async fn a_stale_optimistic_root_is_a_conflict_and_writes_nothing(db: TestDb) {
        models::create_tables(&db).await;
        Account::open(7).save(&db.conn).await.unwrap();
        let (mut first, mut second) = (Account::load(&db.conn, 7).await.unwrap(), Account::load(&db.conn, 7).await.unwrap());
        first.credit(1);
        first.save(&db.conn).await.unwrap();
        second.credit(10);
        assert!(matches!(second.save(&db.conn).await, Err(SaveError::Conflict { aggregate: "account" })));
        assert!(matches!(second.delete(&db.conn).await, Err(SaveError::Conflict { .. })));
        assert_eq!(db.stored("accounts").await, [1, 1, 1, 1]);
        // The one that won goes on: its version was raised with the row.
        first.credit(1);
        first.save(&db.conn).await.unwrap();
        first.delete(&db.conn).await.unwrap();
        assert_eq!(db.stored("accounts").await, [0, 2, 2, 1]);
    }
}

each_database! {
    async fn c1_emitters_on_one_aggregate_never_share_a_sequence(db: TestDb) {
        models::create_tables(&db).await;
        Tally::open(1, 0).save(&db.conn).await.unwrap();
        // Own saves of roots that were read without a lock: the row loses updates, the sequence does not.
        let row = models::tally::Entity::find_by_id(1).one(&db.conn).await.unwrap().unwrap();
        let emitters = (0..MANY).map(|_| {
            let (conn, row) = (db.conn.clone(), row.clone());
            tokio::spawn(async move {
                let mut tally = Tally::from(row);
                tally.raise(1);
                tally.raise(2);
                tally.save(&conn).await.unwrap().events.iter().map(|event| event.aggregate_sequence).collect::<Vec<_>>()
            })
        });
        let mut sequences = Vec::new();
        for emitter in join_all(emitters).await {
            let pair = emitter.unwrap();
            assert_eq!(pair[0] + 1, pair[1], "events of one save follow each other");
            sequences.extend(pair);
        }
        sequences.sort_unstable();
        assert_eq!(sequences, (2..=65).collect::<Vec<_>>());
        let twice = "INSERT INTO outbox_events (event_id, aggregate_type, aggregate_id, aggregate_sequence, event_type, schema_version, \
            payload, occurred_at) SELECT '0193d7f0-0000-7000-8000-000000000000', aggregate_type, aggregate_id, aggregate_sequence, event_type, \
            schema_version, payload, occurred_at FROM outbox_events WHERE aggregate_sequence = 5";
        use sea_orm::ConnectionTrait as _;
        assert!(db.conn.execute_unprepared(twice).await.is_err(), "the table itself refuses a second event 5");
    }
}
