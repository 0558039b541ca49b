//! Why a root was not loaded or saved.

use sea_orm::DbErr;
use uuid::Uuid;

use crate::{
    event::PayloadError,
    store::{TxError, may_miss_tables},
};

/// Why `save`, `save_all` or `delete` wrote nothing.
///
/// Unless the variant says otherwise, the root still holds its row and its events, with the same event ids,
/// and may be saved again.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/order.rs"));
/// # use outbox_runtime::SaveError;
/// async fn place(db: &sea_orm::DatabaseConnection) -> Result<(), SaveError> {
///     let mut order = Order::place(4_200);
///     match order.save(db).await {
///         // The first try had committed after all: nothing to do.
///         Ok(_) | Err(SaveError::AlreadyCommitted { .. }) => Ok(()),
///         Err(error) => Err(error),
///     }
/// }
/// # fn main() {}
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// The database refused a statement, or could not be reached; or a hook of the entity returned this error.
    #[error("the database refused to store aggregate `{aggregate}`{}", hint(.source))]
    Db {
        /// The aggregate's name.
        aggregate: &'static str,
        /// The database's answer.
        #[source]
        source: DbErr,
    },
    /// A transaction could not be opened or committed. After a failed COMMIT the outcome is unknown: save
    /// again, and [`SaveError::AlreadyCommitted`] says if it had succeeded.
    #[error(transparent)]
    Tx(#[from] TxError),
    /// An emitted payload cannot be stored. Take it back with `retract(event_id)` and emit a correct one.
    #[error("event `{event_type}` ({event_id}) cannot be stored")]
    Payload {
        /// The event's type.
        event_type: &'static str,
        /// The event's id.
        event_id: Uuid,
        /// What is wrong with it.
        #[source]
        source: PayloadError,
    },
    /// The row to update or delete is not there.
    #[error(
        "aggregate `{aggregate}` has no row with this key: it was deleted, or never inserted (use `{aggregate}::new` for a new one)"
    )]
    NotFound {
        /// The aggregate's name.
        aggregate: &'static str,
    },
    /// The row was changed by somebody else since it was read. `transact` reruns its closure on this.
    #[error(
        "aggregate `{aggregate}` was changed by another transaction since it was read: load it again, or use `transact`"
    )]
    Conflict {
        /// The aggregate's name.
        aggregate: &'static str,
    },
    /// The version column is not set, or has no next number.
    #[error(
        "the version column of aggregate `{aggregate}` is not set or at its end: build the root from a row that was read"
    )]
    Version {
        /// The aggregate's name.
        aggregate: &'static str,
    },
    /// The root was saved in a transaction whose outcome is not known, or that was rolled back.
    #[error(
        "aggregate `{aggregate}` was already saved in a transaction that may have rolled back: rebuild it from the row"
    )]
    Spent {
        /// The aggregate's name.
        aggregate: &'static str,
    },
    /// A savepoint (`tx.begin()`) is open in the [`Tx`](crate::Tx) that the root was to be saved on. The row and the
    /// events would stand inside that savepoint and be undone with it, while the root counted as saved. Save on
    /// the savepoint, or end it first.
    #[error(
        "aggregate `{aggregate}` cannot be saved on a transaction while a savepoint of it is open: save on the savepoint, or end it first"
    )]
    SavepointOpen {
        /// The aggregate's name.
        aggregate: &'static str,
    },
    /// The root was deleted.
    #[error("aggregate `{aggregate}` was deleted: nothing more can be saved on it")]
    Deleted {
        /// The aggregate's name.
        aggregate: &'static str,
    },
    /// All of these events are stored already: an earlier save committed, or a clone of the root was saved.
    /// Nothing was written twice; rebuild the root from the row.
    ///
    /// If only some are, because more was emitted since, it is [`SaveError::Db`] with the database's answer.
    /// Inside a joined transaction the log cannot be asked, so there it means that some are; such a
    /// transaction does not commit.
    #[error("the events of aggregate `{aggregate}` are stored already (`{event_id}`): rebuild the root from the row")]
    AlreadyCommitted {
        /// The aggregate's name.
        aggregate: &'static str,
        /// The first of the events.
        event_id: Uuid,
    },
    /// `emit_with` builds its payload from the saved row, and a delete has none.
    #[error("`{event_type}` was emitted by `emit_with`, which needs the saved row: use `emit` before `delete`")]
    NoRow {
        /// The event's type.
        event_type: &'static str,
    },
    /// The primary key cannot be an aggregate id.
    #[error("the primary key of aggregate `{aggregate}` cannot be an aggregate id: {problem}")]
    Key {
        /// The aggregate's name.
        aggregate: &'static str,
        /// What is wrong.
        problem: String,
    },
}

/// The one-connection pool is SeaORM's default for `SQLite` and the commonest cause of a time-out there.
fn hint(error: &DbErr) -> &'static str {
    if matches!(error, DbErr::ConnectionAcquire(_)) {
        ": no connection came free; a `save(&db)` inside an open transaction needs a second one, so pass the transaction instead"
    } else if may_miss_tables(error) {
        "; if the outbox tables are missing: add `outbox_runtime::migrations()` to your `Migrator` and run it"
    } else {
        ""
    }
}

/// Why a root was not loaded.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/order.rs"));
/// # use outbox_runtime::{LoadError, Tx};
/// async fn exists(tx: &Tx, id: i64) -> Result<bool, LoadError> {
///     match Order::load(tx, id).await {
///         Ok(_) => Ok(true),
///         Err(LoadError::NotFound { .. }) => Ok(false),
///         Err(error) => Err(error),
///     }
/// }
/// # fn main() {}
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// There is no such row.
    #[error("aggregate `{aggregate}` has no row with this key")]
    NotFound {
        /// The aggregate's name.
        aggregate: &'static str,
    },
    /// A savepoint (`tx.begin()`) is open in the [`Tx`](crate::Tx) that the row was to be locked in. Undoing it would
    /// give up the lock, and a `save` after that could overwrite what others wrote. Load on the savepoint, or end
    /// it first.
    #[error(
        "aggregate `{aggregate}` cannot be locked in a transaction while a savepoint of it is open: load it on the savepoint, or end that first"
    )]
    SavepointOpen {
        /// The aggregate's name.
        aggregate: &'static str,
    },
    /// The database refused to read, or could not be reached.
    #[error("aggregate `{aggregate}` could not be read")]
    Db {
        /// The aggregate's name.
        aggregate: &'static str,
        /// The database's answer.
        #[source]
        source: DbErr,
    },
}
