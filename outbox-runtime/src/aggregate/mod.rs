//! Emit and save: events wait on the aggregate root until row, sequence and outbox rows commit together.

mod connection;
mod error;
mod key;
mod load;
mod pending;
mod root;
mod row;
mod save;
mod transact;
mod watched;
mod within;

pub use connection::{OutboxConnection, OutboxTransaction};
pub use error::{LoadError, SaveError};
pub use pending::PendingEvent;
pub use root::{Aggregate, RootState};
pub use save::{Deleted, Saved, StoredEvent, save_all};
pub use transact::{TxPolicy, transact};

/// What generated code calls.
pub(crate) mod generated {
    pub use super::load::{find, find_locked, load, load_locked};
    pub use super::row::{
        Hooked, VersionNumber, Write, WriteError, current_version, delete_row, delete_versioned_row, nested_error,
        next_version, write_row, write_versioned_row,
    };
    pub use super::save::{delete, save};
}
