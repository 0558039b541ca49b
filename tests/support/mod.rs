//! What every test stands on: a fresh database, publishers that record, a proxy that listens in.

pub mod database;
pub mod proxy;
pub mod publisher;

pub use database::{Kind, TestDb};
pub(crate) use database::each_database;
