//! From the outbox to the broker: claim lanes, read, publish, mark.
//!
//! One task does it all, with no transaction open while it publishes. See ARCHITECTURE.md for why each step
//! keeps its promise.

mod builder;
mod engine;
mod handle;
mod lease;
mod mark;
mod outcome;
mod pass;
mod queue;
mod read;
mod send;
mod wake;

pub use builder::{RelayBuilder, RelayError};
pub use handle::{Relay, RelayStatus};
