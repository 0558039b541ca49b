//! A transaction that reruns when the database asks for it.

use std::time::Duration;

use sea_orm::{AccessMode, DatabaseConnection, IsolationLevel, TransactionOptions};

use crate::{
    store::{Tx, TxError},
    waits::Waits,
};

/// How [`transact`] opens its transaction and how often it reruns it.
///
/// ```
/// use outbox_runtime::TxPolicy;
/// use sea_orm::IsolationLevel;
///
/// let policy = TxPolicy::default().isolation(IsolationLevel::Serializable).max_attempts(10);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TxPolicy {
    options: TransactionOptions,
    max_attempts: u32,
    first_delay: Duration,
    max_delay: Duration,
}

impl Default for TxPolicy {
    /// The database's own isolation level, 8 attempts, 5 ms to 500 ms between them.
    fn default() -> Self {
        Self {
            options: TransactionOptions::default(),
            max_attempts: 8,
            first_delay: Duration::from_millis(5),
            max_delay: Duration::from_millis(500),
        }
    }
}

impl TxPolicy {
    /// Asks for an isolation level. `SQLite` has only one and takes no notice.
    pub fn isolation(mut self, level: IsolationLevel) -> Self {
        self.options.isolation_level = Some(level);
        self
    }

    /// Asks for a read-only or read-write transaction.
    pub fn access(mut self, mode: AccessMode) -> Self {
        self.options.access_mode = Some(mode);
        self
    }

    /// How often the closure runs at most, the first time included; at least once.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts.max(1);
        self
    }

    /// The wait before the second attempt, and the longest wait; it doubles in between, with jitter.
    pub fn delays(mut self, first: Duration, longest: Duration) -> Self {
        self.first_delay = first;
        self.max_delay = longest.max(first);
        self
    }
}

/// Runs `work` in one transaction and commits it when it returns `Ok`.
///
/// The whole closure runs again, with a new transaction, when a statement or COMMIT failed with a
/// serialization failure, a deadlock, a lock time-out or a busy database (judged by SQLSTATE or result code,
/// never by text), or when a save met [`SaveError::Conflict`](crate::SaveError::Conflict). So it must build
/// its roots itself, and do nothing outside the transaction that may not be done twice.
///
/// # Errors
/// What `work` returned; or a [`TxError`] if the transaction could not be opened or committed, or must not be
/// (see [`Tx`]). Nothing was committed then, except after [`TxError::Commit`], whose outcome is unknown.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/order.rs"));
/// use outbox_runtime::{SaveError, TxPolicy, transact};
/// # #[derive(Debug, thiserror::Error)]
/// # enum AppError {
/// #     #[error(transparent)] Save(#[from] SaveError),
/// #     #[error(transparent)] Load(#[from] outbox_runtime::LoadError),
/// #     #[error(transparent)] Tx(#[from] outbox_runtime::TxError),
/// # }
/// async fn raise(db: &sea_orm::DatabaseConnection, id: i64) -> Result<(), AppError> {
///     transact(db, TxPolicy::default(), async |tx| {
///         let mut order = Order::load(tx, id).await?; // locks the row
///         order.raise(100);
///         order.save(tx).await?;
///         Ok(())
///     })
///     .await
/// }
/// # fn main() {}
/// ```
pub async fn transact<T, E, F>(db: &DatabaseConnection, policy: TxPolicy, work: F) -> Result<T, E>
where
    // `AsyncFnOnce + Clone` and not `AsyncFn`: the future of an `AsyncFn` closure that borrows cannot be shown
    // to be `Send`, so it could not be spawned.
    F: for<'t> AsyncFnOnce(&'t Tx) -> Result<T, E> + Clone + Send,
    E: From<TxError>,
{
    let mut waits = Waits::new(policy.first_delay, policy.max_delay);
    let mut attempt = 1;
    loop {
        let (error, rerun) = match Tx::open(db, policy.options).await {
            Err(error) => {
                let rerun = error.is_transient(db);
                (E::from(error), rerun)
            }
            Ok(tx) => match work.clone()(&tx).await {
                Ok(value) => {
                    let met = tx.saw_transient_failure();
                    match tx.finish().await {
                        Ok(()) => return Ok(value),
                        Err(error) => {
                            let rerun = error.is_transient(db) || (met && !matches!(error, TxError::Commit(_)));
                            (E::from(error), rerun)
                        }
                    }
                }
                Err(error) => {
                    let rerun = tx.saw_transient_failure();
                    tx.abandon().await;
                    (error, rerun)
                }
            },
        };
        if !rerun || attempt >= policy.max_attempts {
            return Err(error);
        }
        attempt += 1;
        tokio::time::sleep(waits.next()).await;
    }
}
