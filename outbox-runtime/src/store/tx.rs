//! The transaction that `transact` and handlers are given: it knows when it must not commit.

mod session;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering},
};

use sea_orm::{
    ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbBackend, DbErr, SqliteTransactionMode,
    TransactionOptions, TransactionTrait,
};

use super::{signal, transient::is_transient};

/// Why a transaction of ours was not committed.
///
/// ```
/// use outbox_runtime::TxError;
///
/// assert!(TxError::Unfinished.to_string().contains("rolled back"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TxError {
    /// BEGIN failed.
    #[error("no transaction could be opened{}", begin_hint(.0))]
    Begin(#[source] DbErr),
    /// COMMIT failed; its outcome is unknown.
    #[error("COMMIT failed, so it is not known whether it took place")]
    Commit(#[source] DbErr),
    /// A statement failed and its error was not passed on. Nothing was committed.
    #[error(
        "a statement failed inside the transaction and the closure returned `Ok`: the transaction was rolled back; return the error, or undo the statement with a savepoint (`tx.begin()`)"
    )]
    Aborted,
    /// A `save` was dropped half-way, for example by a time-out. Nothing was committed.
    #[error("a `save` was dropped before it ended and the closure returned `Ok`: the transaction was rolled back")]
    Unfinished,
}

impl TxError {
    /// A rerun of the whole transaction may succeed.
    pub(crate) fn is_transient(&self, db: &DatabaseConnection) -> bool {
        match self {
            Self::Begin(error) | Self::Commit(error) => is_transient(db.get_database_backend(), error),
            Self::Aborted | Self::Unfinished => false,
        }
    }
}

fn begin_hint(error: &DbErr) -> &'static str {
    if matches!(error, DbErr::ConnectionAcquire(_)) {
        ": no connection came free; inside an open transaction pass the transaction, not the connection"
    } else if is_transient(DbBackend::Sqlite, error) {
        ": another transaction holds the database; inside an open transaction pass the transaction, not the connection"
    } else {
        ""
    }
}

/// One transaction or savepoint of ours, shared with the roots that were saved in it.
#[derive(Clone, Debug)]
pub(crate) struct Scope(Arc<AtomicU8>);

const OPEN: u8 = 0;
const COMMITTED: u8 = 1;
const ENDED: u8 = 2;

impl Scope {
    fn new() -> Self {
        Self(Arc::new(AtomicU8::new(OPEN)))
    }
    pub(crate) fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
    pub(crate) fn is_committed(&self) -> bool {
        self.0.load(Ordering::Acquire) == COMMITTED
    }
    fn end(&self, state: u8) {
        self.0.store(state, Ordering::Release);
    }
}

/// What happened inside one transaction or savepoint.
#[derive(Debug, Default)]
struct Health {
    /// A statement failed and no savepoint has undone it.
    failed: AtomicBool,
    /// A failure was met after which a rerun of the whole transaction may succeed.
    transient: AtomicBool,
    /// A savepoint could not be opened or undone. The driver may have rolled everything back by then, and further
    /// statements would commit one by one: none is let through.
    broken: AtomicBool,
    /// Saves begun and not ended.
    unfinished: AtomicUsize,
    /// Savepoints open inside this one.
    nested: AtomicUsize,
    /// Something was appended to the outbox.
    appended: AtomicBool,
}

/// An open transaction, given by [`transact`](crate::transact) and to consumers' handlers.
///
/// It works wherever SeaORM takes a connection. It is not committed by hand: it commits when the closure
/// returns `Ok`, provided that every failed statement was undone by a savepoint (`tx.begin().await?`, which
/// gives a nested `Tx`) and every `save` in it came to its end.
///
/// While a savepoint is open, whatever runs on the outer `Tx` stands inside the savepoint and is undone with it.
/// `save` and `delete` on the outer one are refused then ([`SaveError::SavepointOpen`](crate::SaveError)), and so is
/// a `load` or `find` that locks. Plain statements on it are not, since a read may well be meant: write on the
/// savepoint. A lock taken inside a savepoint is given up when that is undone: load the root again then.
///
/// Use a `Tx` from one task at a time, and not with `join!`: its statements share one connection and run one by
/// one in any case, and while a savepoint is being opened all others fail with "not open any more".
///
/// ```
/// use outbox_runtime::Tx;
/// use sea_orm::{ConnectionTrait, TransactionSession, TransactionTrait};
///
/// async fn try_first(tx: &Tx) -> Result<(), sea_orm::DbErr> {
///     let attempt = tx.begin().await?; // a savepoint
///     match attempt.execute_unprepared("INSERT INTO seats VALUES (7)").await {
///         Ok(_) => attempt.commit().await,
///         Err(_) => attempt.rollback().await, // undone: the outer transaction still commits
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Tx {
    inner: DatabaseTransaction,
    health: Arc<Health>,
    life: Life,
}

/// Ends with the `Tx`, however that ends.
#[derive(Debug)]
struct Life {
    scope: Scope,
    /// Of a savepoint: what it is in, and its own.
    outer: Option<(Arc<Health>, Arc<Health>)>,
}

impl Drop for Life {
    fn drop(&mut self) {
        if !self.scope.is_committed() {
            self.scope.end(ENDED);
        }
        if let Some((outer, own)) = &self.outer {
            outer.nested.fetch_sub(1, Ordering::AcqRel);
            outer.transient.fetch_or(own.transient.load(Ordering::Acquire), Ordering::AcqRel);
            // The driver counts one level too few from here on: undoing this savepoint undid what it was in.
            // So it does if one inside this one is still open: that was undone in its place.
            let lost = own.broken.load(Ordering::Acquire) || own.nested.load(Ordering::Acquire) > 0;
            outer.broken.fetch_or(lost, Ordering::AcqRel);
        }
    }
}

/// Marks a `save` as unfinished until it is told otherwise.
pub(crate) struct Unfinished<'t>(&'t Health);

impl Unfinished<'_> {
    /// The save came to its end, well or not.
    pub(crate) fn ended(self) {
        self.0.unfinished.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Opens a transaction in a task of its own. A `begin` that is dropped half-way can leave a pooled `PostgreSQL`
/// connection inside a transaction that nobody ends (sqlx issue 4385); a task is not dropped half-way.
pub(crate) async fn begin(
    db: &DatabaseConnection,
    options: TransactionOptions,
) -> Result<DatabaseTransaction, TxError> {
    let mut options = options;
    if db.get_database_backend() == DbBackend::Sqlite && options.sqlite_transaction_mode.is_none() {
        // A deferred transaction that reads first cannot be upgraded once somebody else has written.
        options.sqlite_transaction_mode = Some(SqliteTransactionMode::Immediate);
    }
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return db.begin_with_options(options).await.map_err(TxError::Begin);
    };
    let db = db.clone();
    match runtime.spawn(async move { db.begin_with_options(options).await }).await {
        Ok(begun) => begun.map_err(TxError::Begin),
        Err(stopped) => {
            Err(TxError::Begin(DbErr::Custom(format!("the task that opens the transaction ended: {stopped}"))))
        }
    }
}

impl Tx {
    /// Opens a transaction; every call has its [`Tx::finish`] or [`Tx::abandon`] in the same function.
    pub(crate) async fn open(db: &DatabaseConnection, options: TransactionOptions) -> Result<Self, TxError> {
        let inner = begin(db, options).await?;
        Ok(Self { inner, health: Arc::default(), life: Life { scope: Scope::new(), outer: None } })
    }

    /// Commits, unless something in here forbids it; then rolls back.
    pub(crate) async fn finish(self) -> Result<(), TxError> {
        if let Err(refusal) = self.verdict().await {
            self.abandon().await;
            return Err(refusal);
        }
        self.inner.commit().await.map_err(TxError::Commit)?;
        self.life.scope.end(COMMITTED);
        if self.health.appended.load(Ordering::Acquire) {
            signal::committed();
        }
        Ok(())
    }

    /// Rolls back. An error here changes nothing: the connection is dropped and the database rolls back.
    pub(crate) async fn abandon(self) {
        if let Err(error) = self.inner.rollback().await {
            crate::observe::detail!(%error, "ROLLBACK failed");
        }
    }

    async fn verdict(&self) -> Result<(), TxError> {
        let health = &self.health;
        if health.unfinished.load(Ordering::Acquire) > 0 || health.nested.load(Ordering::Acquire) > 0 {
            return Err(TxError::Unfinished);
        }
        if health.broken.load(Ordering::Acquire) {
            return Err(TxError::Aborted);
        }
        if !health.failed.load(Ordering::Acquire) {
            return Ok(());
        }
        match self.inner.get_database_backend() {
            // COMMIT of an aborted transaction is answered with success and stores nothing, so ask first. A
            // failure that was undone by a savepoint, even one in plain SQL, has left no trace.
            DbBackend::Postgres => {
                self.inner.execute_unprepared(super::dialect::PROBE).await.map(drop).map_err(|_| TxError::Aborted)
            }
            // Elsewhere the transaction goes on as if nothing had happened; the rule is the same for all.
            _ => Err(TxError::Aborted),
        }
    }

    /// A rerun of the whole transaction may succeed.
    pub(crate) fn saw_transient_failure(&self) -> bool {
        self.health.transient.load(Ordering::Acquire)
    }

    /// Marks this transaction as worth a rerun.
    pub(crate) fn note_conflict(&self) {
        self.health.transient.store(true, Ordering::Release);
    }

    /// A save stopped half-way and was undone, or the transaction was made to fail.
    pub(crate) fn note_undone_save(&self) {
        self.health.failed.store(true, Ordering::Release);
    }

    /// The database has ended the transaction by itself: what follows would commit statement by statement.
    pub(crate) fn note_lost(&self) {
        self.health.broken.store(true, Ordering::Release);
    }

    /// Events were appended: wake the relay after the commit.
    pub(crate) fn note_append(&self) {
        self.health.appended.store(true, Ordering::Release);
    }

    /// A statement of ours failed.
    pub(crate) fn note_failure(&self, error: &DbErr) {
        let backend = self.inner.get_database_backend();
        self.health.failed.store(true, Ordering::Release);
        if is_transient(backend, error) {
            self.health.transient.store(true, Ordering::Release);
        }
    }

    pub(crate) fn begin_save(&self) -> Unfinished<'_> {
        self.health.unfinished.fetch_add(1, Ordering::AcqRel);
        Unfinished(&self.health)
    }

    /// What is written now would be undone with it.
    pub(crate) fn has_open_savepoint(&self) -> bool {
        self.health.nested.load(Ordering::Acquire) > 0
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.life.scope
    }

    /// The driver's transaction, or an error if it may be gone already.
    pub(crate) fn raw(&self) -> Result<&DatabaseTransaction, DbErr> {
        if self.health.broken.load(Ordering::Acquire) {
            return Err(DbErr::Custom(
                "this transaction is not open any more, since a savepoint could not be opened or undone: return the error".into(),
            ));
        }
        Ok(&self.inner)
    }

    async fn seen<T>(&self, outcome: Result<T, DbErr>) -> Result<T, DbErr> {
        if let Err(error) = &outcome {
            self.note_failure(error);
            self.look_whether_open().await;
        }
        outcome
    }

    /// SQLite ends a transaction by itself when its disk is full, and when a trigger says so; statements after that
    /// would commit one by one.
    async fn look_whether_open(&self) {
        if self.inner.get_database_backend() != DbBackend::Sqlite {
            return;
        }
        // Until the answer is there, nothing is let through; nor is it if this is dropped half-way.
        self.health.broken.store(true, Ordering::Release);
        if self.inner.execute_unprepared(super::dialect::BEGIN_PROBE).await.is_err() {
            // There is no transaction within a transaction: ours is open.
            self.health.broken.store(false, Ordering::Release);
        } else if let Err(error) = self.inner.execute_unprepared(super::dialect::END_PROBE).await {
            crate::observe::detail!(%error, "ROLLBACK failed");
        }
    }

    async fn nest(&self, options: TransactionOptions) -> Result<Self, DbErr> {
        let inner = self.raw()?;
        if self.health.nested.load(Ordering::Acquire) > 0 {
            // Savepoints are a stack: ending the first would end the second.
            return Err(DbErr::Custom(
                "a savepoint of this transaction is open: open the next one on it, or end it first".into(),
            ));
        }
        // If this is dropped half-way or fails, the driver rolls back one level too many.
        self.health.broken.store(true, Ordering::Release);
        let nested = match inner.begin_with_options(options).await {
            Ok(nested) => nested,
            Err(error) => {
                self.note_failure(&error);
                return Err(error);
            }
        };
        self.health.broken.store(false, Ordering::Release);
        self.health.nested.fetch_add(1, Ordering::AcqRel);
        let health = Arc::<Health>::default();
        let life = Life { scope: Scope::new(), outer: Some((Arc::clone(&self.health), Arc::clone(&health))) };
        Ok(Self { inner: nested, health, life })
    }
}
