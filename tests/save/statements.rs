//! How many round trips a save costs. `PostgreSQL` only: there is a wire to listen on.

use outbox_runtime::{Tx, prelude::*};
use sea_orm::TransactionTrait as _;

use crate::{
    models::{
        self,
        order::{Order, OrderRaised},
    },
    support::{Failed, Kind, TestDb, proxy::Wiretap},
};

/// The first words of each statement.
fn kinds(statements: &[String]) -> Vec<String> {
    let kind = |sql: &String| {
        let sql = sql.split_whitespace().collect::<Vec<_>>();
        match sql.as_slice() {
            ["WITH", ..] => "append".to_owned(),
            ["INSERT", "INTO", table, ..] => format!("insert {}", table.trim_matches('"')),
            ["UPDATE", table, ..] => format!("update {}", table.trim_matches('"')),
            ["DELETE", "FROM", table, ..] => format!("delete {}", table.trim_matches('"')),
            ["SELECT", ..] if sql.contains(&"UPDATE") => "lock".to_owned(),
            words => words.join(" "),
        }
    };
    statements.iter().map(kind).collect()
}

#[tokio::test]
async fn an_own_save_is_begin_row_append_commit() {
    let db = TestDb::new(Kind::Postgres).await;
    models::create_tables(&db).await;
    let (tap, pool) = Wiretap::on(&db).await;
    let mut order = Order::place(1);
    order.raise(2);
    order.save(&pool).await.unwrap();
    assert_eq!(kinds(&tap.take()), ["BEGIN", "insert orders", "append", "COMMIT"]);
    order.raise(2);
    order.save(&pool).await.unwrap();
    assert_eq!(kinds(&tap.take()), ["BEGIN", "update orders", "append", "COMMIT"]);
    order.emit(OrderRaised { by_cents: 0 });
    order.delete(&pool).await.unwrap();
    assert_eq!(kinds(&tap.take()), ["BEGIN", "delete orders", "append", "COMMIT"]);
}

#[tokio::test]
async fn a_save_without_events_appends_nothing() {
    let db = TestDb::new(Kind::Postgres).await;
    models::create_tables(&db).await;
    let (tap, pool) = Wiretap::on(&db).await;
    let mut order = Order::place(1);
    order.retract(order.pending()[0].event_id());
    order.save(&pool).await.unwrap();
    assert_eq!(kinds(&tap.take()), ["BEGIN", "insert orders", "COMMIT"]);
    order.delete(&pool).await.unwrap();
    assert_eq!(kinds(&tap.take()), ["BEGIN", "delete orders", "COMMIT"]);
}

#[tokio::test]
async fn a_joined_save_is_row_and_append_without_a_savepoint() {
    let db = TestDb::new(Kind::Postgres).await;
    models::create_tables(&db).await;
    let (tap, pool) = Wiretap::on(&db).await;
    let tx = pool.begin().await.unwrap();
    tap.take();
    let saved = Order::place(1).save(&tx).await.unwrap();
    assert_eq!(kinds(&tap.take()), ["insert orders", "append"]);
    tx.commit().await.unwrap();
    tap.take();
    transact(&pool, TxPolicy::default(), async move |tx: &Tx| -> Result<(), Failed> {
        let mut order = Order::load(tx, saved.id).await?;
        order.raise(1);
        order.save(tx).await?;
        Ok(())
    })
    .await
    .unwrap();
    assert_eq!(kinds(&tap.take()), ["BEGIN", "lock", "update orders", "append", "COMMIT"]);
}

#[tokio::test]
async fn save_all_appends_the_events_of_all_roots_in_one_statement() {
    let db = TestDb::new(Kind::Postgres).await;
    models::create_tables(&db).await;
    let (tap, pool) = Wiretap::on(&db).await;
    let mut orders: Vec<_> = (0..100).map(Order::place).collect();
    for order in &mut orders {
        order.raise(1);
        order.raise(2);
    }
    let placed: Vec<_> = orders.iter().map(|order| order.pending()[0].event_id()).collect();
    let saved = save_all(&mut orders, &pool).await.unwrap();
    let kinds = kinds(&tap.take());
    assert_eq!(kinds.iter().filter(|kind| *kind == "append").count(), 1);
    assert_eq!(kinds.iter().filter(|kind| *kind == "insert orders").count(), 100);
    assert_eq!(kinds.len(), 103);
    // The answers stand in the order of the roots, each with its own events.
    for ((nth, saved), placed) in (0..).zip(saved).zip(placed) {
        assert_eq!(saved.total_cents, nth + 3);
        assert_eq!(saved.events.iter().map(|event| event.aggregate_sequence).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(saved.events[0].event_id, placed);
    }
    assert_eq!(db.stored("orders").await, [100, 300, 300, 100]);
}
