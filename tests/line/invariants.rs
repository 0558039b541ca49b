//! INV-1 to INV-5 at once: everything runs, is dropped and started again, and delivers twice.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use outbox_runtime::{
    BoxError, Consumer, Delivery, Envelope, LocalBus, PublishError, Publisher, Tx, TxPolicy, transact,
};
use sea_orm::{ConnectionTrait as _, DatabaseConnection, DbErr, Statement, Value};
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::{
    models::{
        self,
        order::{Order, OrderEvent},
    },
    relay::{orders, pending, quick},
    support::{Kind, TestDb, each_database},
};

/// Every third event is sent twice, every fifth is acknowledged by the consumers and refused to the relay.
struct Twice {
    bus: LocalBus,
    count: AtomicU64,
}

impl Publisher for Twice {
    async fn publish(&self, event: &Envelope) -> Result<(), PublishError> {
        self.bus.publish(event).await?;
        let nth = self.count.fetch_add(1, Ordering::SeqCst);
        if nth.is_multiple_of(3) {
            self.bus.publish(event).await?;
        }
        if nth % 5 == 4 { Err(PublishError::unavailable("the answer was lost")) } else { Ok(()) }
    }
}

/// Writes down each effect; a second one of the same event would be a second row.
async fn effect(consumer: &str, delivery: &Delivery, tx: &Tx) -> Result<(), DbErr> {
    let backend = tx.get_database_backend();
    let sql = match backend {
        sea_orm::DbBackend::Postgres => "INSERT INTO effects (consumer, aggregate_id, sequence) VALUES ($1, $2, $3)",
        _ => "INSERT INTO effects (consumer, aggregate_id, sequence) VALUES (?1, ?2, ?3)",
    };
    let values: [Value; 3] = [consumer.into(), delivery.aggregate_id().into(), delivery.aggregate_sequence().into()];
    tx.execute_raw(Statement::from_sql_and_values(backend, sql, values)).await?;
    Ok(())
}

fn consumers(db: &DatabaseConnection, bus: &LocalBus) -> [JoinHandle<()>; 2] {
    let start = |name: &'static str| {
        let consumer = Consumer::builder(db.clone(), name)
            .retries(
                outbox_runtime::RetryPolicy::default()
                    .max_attempts(50)
                    .delays(Duration::from_millis(5), Duration::from_millis(50)),
            )
            .on(async move |_: OrderEvent, delivery: Delivery, tx: &Tx| {
                effect(name, &delivery, tx).await?;
                // Every seventh event fails at its first attempt, after its effect was written.
                if delivery.aggregate_sequence() % 7 == 3 && delivery.attempt() == 1 {
                    return Err("not the first time".into());
                }
                Ok(())
            });
        let source = bus.source(name).unwrap();
        tokio::spawn(async move {
            consumer.run(source).await.unwrap();
        })
    };
    [start("billing"), start("loyalty")]
}

async fn make_effects_table(db: &TestDb) {
    let key = if db.kind == Kind::Postgres {
        "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
    } else {
        "INTEGER PRIMARY KEY AUTOINCREMENT"
    };
    db.run(&format!("CREATE TABLE effects (nth {key}, consumer text, aggregate_id text, sequence bigint)")).await;
}

each_database! {
    async fn one_effect_in_order_whatever_is_delivered_twice_dropped_or_restarted(db: TestDb) {
        models::create_tables(&db).await;
        make_effects_table(&db).await;
        let ids = orders(&db, 10, 1).await;
        let rounds = if db.kind == Kind::Sqlite { 15 } else { 40 };
        let writers: Vec<_> = (0..8_usize)
            .map(|writer| {
                let (conn, ids) = (db.conn.clone(), ids.clone());
                tokio::spawn(async move {
                    for round in 0..rounds {
                        let id = ids[(writer * 7 + round * 3) % ids.len()];
                        let wanted = (writer + round) % 3 != 0;
                        let done = transact(&conn, TxPolicy::default().max_attempts(30), async |tx| {
                            let mut order = Order::load(tx, id).await?;
                            order.raise(1);
                            order.save(tx).await?;
                            if wanted { Ok::<_, BoxError>(()) } else { Err("rolled back on purpose".into()) }
                        })
                        .await;
                        assert_eq!(done.is_ok(), wanted, "{done:?}");
                    }
                })
            })
            .collect();

        let bus = LocalBus::new(["billing", "loyalty"]).unwrap();
        let publisher = || Twice { bus: bus.clone(), count: AtomicU64::new(0) };
        for _ in 0..3 {
            let running = consumers(&db.conn, &bus);
            let relays = [
                quick(&db.conn, publisher()).start().await.unwrap(),
                quick(&db.conn, publisher()).start().await.unwrap(),
            ];
            let mut status = relays[0].status();
            status.wait_for(|s| s.published >= 15 || (s.caught_up && s.lanes >= 32)).await.unwrap();
            running.iter().for_each(JoinHandle::abort);
            for run in running {
                // The bus counts a consumer as gone when its source is dropped.
                assert!(run.await.unwrap_err().is_cancelled());
            }
            drop(relays);
        }
        for writer in writers {
            writer.await.unwrap();
        }
        let running = consumers(&db.conn, &bus);
        let relay = quick(&db.conn, publisher()).start().await.unwrap();
        relay.status().wait_for(|status| status.caught_up && status.lanes == 64).await.unwrap();
        assert_eq!(pending(&db).await, 0);
        settled(&db).await;
        relay.stop().await.unwrap();
        running.iter().for_each(JoinHandle::abort);
        verify(&db, &ids).await;
    }
}

/// Parked events are applied by their consumers in their own time.
async fn settled(db: &TestDb) {
    let mut poll = tokio::time::interval(Duration::from_millis(20));
    while db.count("SELECT count(*) FROM consumer_parked").await > 0 {
        assert_eq!(
            db.count("SELECT count(*) FROM consumer_parked WHERE reason IN ('quarantined', 'sequence_conflict')").await,
            0
        );
        poll.tick().await;
    }
}

async fn verify(db: &TestDb, ids: &[Uuid]) {
    let mut total = 0;
    for id in ids {
        let events = db.count(&format!("SELECT count(*) FROM outbox_events WHERE aggregate_id = '{id}'")).await;
        let row =
            db.count(&format!("SELECT CAST(total_cents AS bigint) FROM orders WHERE id = {}", literal(db, *id))).await;
        assert_eq!(row, events - 1, "each event but the first raised the order by one cent");
        total += events;
    }
    assert_eq!(db.count("SELECT count(*) FROM outbox_events").await, total);
    let rows = db
        .texts("SELECT consumer || '/' || aggregate_id || '/' || CAST(sequence AS text) FROM effects ORDER BY nth")
        .await;
    let mut effects: BTreeMap<(String, String), Vec<i64>> = BTreeMap::new();
    for row in &rows {
        let parts: Vec<&str> = row.split('/').collect();
        effects.entry((parts[0].into(), parts[1].into())).or_default().push(parts[2].parse().unwrap());
    }
    assert_eq!(effects.len(), 2 * ids.len());
    for ((consumer, aggregate), sequences) in effects {
        let expected: Vec<i64> = (1..=i64::try_from(sequences.len()).unwrap()).collect();
        assert_eq!(sequences, expected, "{consumer} saw {aggregate} out of order, twice or not at all");
    }
    assert_eq!(rows.len(), 2 * usize::try_from(total).unwrap());
}

fn literal(db: &TestDb, id: Uuid) -> String {
    match db.kind {
        Kind::Postgres => format!("'{id}'"),
        Kind::Sqlite => format!("x'{}'", id.simple()),
    }
}
