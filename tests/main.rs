//! Everything that needs a real database, in the order in which an event travels.
#![allow(
    missing_docs,
    missing_debug_implementations,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    clippy::option_option,
    clippy::similar_names,
    clippy::struct_field_names,
    clippy::too_many_lines,
    clippy::type_complexity,
    clippy::items_after_statements,
    clippy::needless_for_each,
    unreachable_pub,
    reason = "a test fails by panicking, and tells a story from top to bottom"
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
