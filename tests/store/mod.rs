//! The tables: how they are made, and what stands in them.

mod lanes;
mod log;
mod migrate;
