//! Everything that needs a real database, in the order in which an event travels.
#![allow(
    missing_docs,
    missing_debug_implementations,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "a test fails by panicking"
)]

mod models;
mod support;

mod consume;
mod event;
mod line;
mod relay;
mod rooms;
mod save;
mod store;
