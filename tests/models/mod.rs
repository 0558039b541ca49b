//! Aggregates in every shape that tests need.

pub mod account;
pub mod cart;
pub mod customer;
pub mod guarded;
pub mod odd;
pub mod order;
pub mod payload;
pub mod seat;
pub mod shelf;
pub mod tally;

use crate::support::TestDb;

/// Makes the tables of all of them.
pub async fn create_tables(db: &TestDb) {
    db.create_table(account::Entity).await;
    db.create_table(cart::Entity).await;
    db.create_table(cart::line::Entity).await;
    db.create_table(customer::Entity).await;
    db.create_table(order::Entity).await;
    db.create_table(payload::Entity).await;
    db.create_table(seat::Entity).await;
    db.create_table(shelf::by_kind::Entity).await;
    db.create_table(shelf::by_number::Entity).await;
    db.create_table(tally::Entity).await;
}
