//! Why a consumer's run ended, and why a source could not be read.

use std::fmt;

use sea_orm::{ConnAcquireErr, DbErr, RuntimeErr, SqlxError};

use crate::{
    event::BoxError,
    store::{StoreError, TxError},
};

/// Why [`Consumer::run`](crate::Consumer::run) ended: only for what no wait can mend.
///
/// ```
/// use outbox_runtime::{ConsumeError, SourceError};
///
/// let error = ConsumeError::from(SourceError::broken("the subscription was deleted"));
/// assert!(error.to_string().contains("source"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConsumeError {
    /// The consumer's tables cannot be read or written at start.
    #[error(
        "the consumer's tables cannot be used: add `outbox_runtime::inbox_migrations()` (or `migrations()`) to your `Migrator` and run it"
    )]
    Tables(#[source] StoreError),
    /// The connection pool was closed. Nothing that was in work has been acknowledged.
    #[error("the database connection was closed while the consumer ran: stop the consumer with `run_until` first")]
    Closed(#[source] StoreError),
    /// The source is broken for good.
    #[error("the source is broken")]
    Source(#[from] SourceError),
}

/// Why a source could not be read, or a delivery not be acknowledged.
///
/// ```
/// use outbox_runtime::SourceError;
///
/// let error = SourceError::unavailable("connection refused");
/// assert!(matches!(error, SourceError::Unavailable { .. }));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The broker cannot be reached for now: the consumer asks again after a while.
    #[error("the source cannot be reached for now")]
    Unavailable {
        /// What the client said.
        #[source]
        source: BoxError,
    },
    /// No wait will mend it, for example a subscription that does not exist: the run ends.
    #[error("the source is broken and waiting will not mend it: see the cause")]
    Broken {
        /// What the client said.
        #[source]
        source: BoxError,
    },
}

impl SourceError {
    /// Asking again may help.
    pub fn unavailable(source: impl Into<BoxError>) -> Self {
        Self::Unavailable { source: source.into() }
    }

    /// Asking again will not help.
    pub fn broken(source: impl Into<BoxError>) -> Self {
        Self::Broken { source: source.into() }
    }
}

/// The database was not reached, or hung up. What was tried says nothing about the event.
pub(super) fn is_outage(error: &DbErr) -> bool {
    match error {
        DbErr::Conn(RuntimeErr::SqlxError(error))
        | DbErr::Exec(RuntimeErr::SqlxError(error))
        | DbErr::Query(RuntimeErr::SqlxError(error)) => match &**error {
            SqlxError::Io(_)
            | SqlxError::Tls(_)
            | SqlxError::Protocol(_)
            | SqlxError::PoolTimedOut
            | SqlxError::PoolClosed
            | SqlxError::WorkerCrashed => true,
            // PostgreSQL's classes: connection exception, insufficient resources, operator intervention.
            SqlxError::Database(error) => error
                .code()
                .is_some_and(|code| code.len() == 5 && ["08", "53", "57P"].iter().any(|class| code.starts_with(class))),
            _ => false,
        },
        DbErr::ConnectionAcquire(_) | DbErr::Conn(RuntimeErr::Internal(_)) => true,
        _ => false,
    }
}

/// The pool was closed by its owner: it will not open again.
pub(super) fn is_closed(error: &StoreError) -> bool {
    matches!(database_error(error), Some(DbErr::ConnectionAcquire(ConnAcquireErr::ConnectionClosed)))
}

/// The database's part of the error.
pub(super) fn database_error(error: &StoreError) -> Option<&DbErr> {
    match error {
        StoreError::Db(error) | StoreError::Tx(TxError::Begin(error) | TxError::Commit(error)) => Some(error),
        _ => None,
    }
}

/// What a handler returns when it fails: any error, or a text, by `?` or `.into()`.
///
/// The event is rolled back, parked with this error's text and tried again later.
///
/// ```
/// use outbox_runtime::HandlerError;
///
/// fn check(cents: i64) -> Result<(), HandlerError> {
///     if cents < 0 {
///         return Err("a negative amount".into());
///     }
///     let _: i32 = cents.to_string().parse()?;
///     Ok(())
/// }
/// assert_eq!(check(-1).unwrap_err().to_string(), "a negative amount");
/// ```
// A type of its own, and not `BoxError`: with the lifetime of a trait object in its output, the future of a handler
// closure could not be shown to be `Send` inside `tokio::spawn(async move { consumer.run(…).await })`.
pub struct HandlerError(BoxError);

impl<E: Into<BoxError>> From<E> for HandlerError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl HandlerError {
    /// The error itself.
    ///
    /// ```
    /// let error = outbox_runtime::HandlerError::from("no such order").into_inner();
    /// assert!(error.source().is_none());
    /// ```
    pub fn into_inner(self) -> BoxError {
        self.0
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
