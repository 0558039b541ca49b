//! The tables: an immutable log, a small queue, lanes, and the consumer's inbox.
//!
//! Every hand-written statement stands in [`dialect`]; the rest of the crate calls functions with names.

pub(crate) mod append;
pub(crate) mod dialect;
mod error;
pub(crate) mod inbox;
mod lane;
pub(crate) mod lanes;
mod migration;
pub(crate) mod pending;
pub(crate) mod signal;
mod transient;
mod tx;

pub use error::StoreError;
pub(crate) use lane::lane_hash;
pub use lane::lane_of;
pub use migration::{DEFAULT_LANES, MAX_LANES, inbox_migrations, migrations, outbox_migrations};
pub(crate) use transient::{is_event_stored_already, may_miss_tables};
pub(crate) use tx::{Scope, begin};
pub use tx::{Tx, TxError};
