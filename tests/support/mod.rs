//! What every test stands on: a fresh database, publishers that record, a proxy that listens in.

pub mod crank;
pub mod database;
pub mod failed;
pub mod log;
pub mod proxy;
pub mod publisher;

pub use crank::drop_after;
pub(crate) use database::each_database;
pub use database::{Kind, TestDb};
pub use failed::Failed;
pub use log::begin_writing;
