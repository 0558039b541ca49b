//! Why the tables could not be read or written.

use sea_orm::{ConnAcquireErr, DbBackend, DbErr};

use super::TxError;

/// Why the outbox or inbox tables could not be read or written.
///
/// ```
/// use outbox_runtime::StoreError;
///
/// assert!(StoreError::NotMigrated.to_string().contains("migrations()"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The database refused a statement, or could not be reached.
    #[error("the database refused a statement on the outbox tables")]
    Db(#[from] DbErr),
    /// A transaction could not be opened or committed.
    #[error(transparent)]
    Tx(#[from] super::TxError),
    /// The tables are missing or empty.
    #[error("the outbox tables are not there: add `outbox_runtime::migrations()` to your `Migrator` and run it")]
    NotMigrated,
    /// This build has no dialect for the database.
    #[error("this build of outbox-runtime cannot talk to {0:?}: switch on its feature")]
    Backend(DbBackend),
    /// The database did not answer in time.
    #[error("the database did not answer within {0:?}")]
    TimedOut(std::time::Duration),
    /// A row holds what this version never writes.
    #[error("table `{table}` holds a value that this version never writes: {found}")]
    Corrupt {
        /// The table.
        table: &'static str,
        /// What was found.
        found: String,
    },
}

impl StoreError {
    /// The database's part of the error.
    pub(crate) fn database_error(&self) -> Option<&DbErr> {
        match self {
            Self::Db(error) | Self::Tx(TxError::Begin(error) | TxError::Commit(error)) => Some(error),
            _ => None,
        }
    }

    /// The pool was closed by its owner: it will not open again.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.database_error(), Some(DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed)))
    }
}
