//! placeholder
extern crate self as outbox_runtime;
mod aggregate;
mod event;
mod observe;
mod store;
#[doc(hidden)]
pub mod __private;
pub use aggregate::*;
pub use event::*;
pub use store::{DEFAULT_LANES, MAX_LANES, StoreError, Tx, TxError, inbox_migrations, lane_of, migrations, outbox_migrations};
