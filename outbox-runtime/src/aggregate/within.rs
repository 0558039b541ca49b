//! The transaction of a save: its own, or one that is joined.

use sea_orm::{ConnectionTrait as _, DatabaseConnection, DatabaseTransaction, DbErr, TransactionOptions};
use uuid::Uuid;

use super::{
    Aggregate, OutboxConnection, SaveError,
    connection::sealed::Place,
    root::Origin,
    row::{Hooked, WriteError},
};
use crate::store::{
    Scope, TxError,
    append::{dialect_of, event_exists},
    begin,
    dialect::{POISON, RELEASE, ROLLBACK_TO, SAVEPOINT},
    signal,
};

/// How a save ended well.
pub(super) enum Settled {
    Committed,
    /// In a transaction of ours that is still open.
    Joined(Scope),
    /// In the user's own transaction.
    Unseen,
}

impl Settled {
    pub(super) fn origin(&self, deleted: bool) -> Origin {
        match self {
            Self::Committed if deleted => Origin::Deleted,
            Self::Committed => Origin::Loaded,
            Self::Joined(scope) => Origin::Joined { scope: scope.clone(), deleted },
            Self::Unseen => Origin::Spent,
        }
    }
}

/// An error between the first statement and the last.
pub(super) struct Failure {
    pub(super) error: SaveError,
    /// Something of the save may stand in the transaction.
    pub(super) wrote: bool,
    /// The log has this event already.
    pub(super) stored_already: Option<Uuid>,
    /// The transaction is not open any more.
    pub(super) lost: bool,
}

impl Failure {
    pub(super) fn row<A: Aggregate>(error: WriteError, wrote: bool) -> Self {
        let aggregate = A::NAME;
        let (error, wrote) = match error {
            WriteError::NotFound(Hooked(used)) => (SaveError::NotFound { aggregate }, wrote || used),
            WriteError::Conflict(Hooked(used)) => (SaveError::Conflict { aggregate }, wrote || used),
            WriteError::Version => (SaveError::Version { aggregate }, wrote),
            // It may come from a hook that runs after the row was written.
            WriteError::Db(source) => (SaveError::Db { aggregate, source }, true),
        };
        Self { error, wrote, stored_already: None, lost: false }
    }

    /// In an open transaction the log cannot be asked any more: the failed statement has to tell.
    fn inside<A: Aggregate>(self) -> SaveError {
        match self.stored_already {
            Some(event_id) => SaveError::AlreadyCommitted { aggregate: A::NAME, event_id },
            None => self.error,
        }
    }
}

impl From<SaveError> for Failure {
    fn from(error: SaveError) -> Self {
        Self { error, wrote: true, stored_already: None, lost: false }
    }
}

/// Runs `work` in the transaction that `db` stands for, all of it or nothing. `events` is all that it stores.
pub(super) async fn within<A, C, T, F>(db: &C, events: Vec<Uuid>, work: F) -> Result<(T, Settled), SaveError>
where
    A: Aggregate,
    C: OutboxConnection,
    F: for<'t> AsyncFnOnce(&'t DatabaseTransaction) -> Result<T, Failure> + Send,
{
    match db.place() {
        Place::Open(db) => {
            let tx = begin(db, TransactionOptions::default()).await?;
            match work(&tx).await {
                Ok(done) => {
                    tx.commit().await.map_err(TxError::Commit)?;
                    if !events.is_empty() {
                        signal::committed();
                    }
                    Ok((done, Settled::Committed))
                }
                Err(Failure { error, .. }) => {
                    if let Err(error) = tx.rollback().await {
                        crate::observe::detail!(%error, "ROLLBACK failed");
                    }
                    Err(explain::<A>(error, &events, db).await)
                }
            }
        }
        Place::Raw(tx) => {
            let done = whole::<A, _, _>(tx, work).await.map_err(Failure::inside::<A>)?;
            if !events.is_empty() {
                signal::hinted();
            }
            Ok((done, Settled::Unseen))
        }
        Place::Ours(tx) => {
            let inner = tx.raw().map_err(|source| SaveError::Db { aggregate: A::NAME, source })?;
            let unfinished = tx.begin_save();
            let outcome = whole::<A, _, _>(inner, work).await;
            unfinished.ended();
            match outcome {
                Ok(done) => {
                    if !events.is_empty() {
                        tx.note_append();
                    }
                    Ok((done, Settled::Joined(tx.scope().clone())))
                }
                Err(failure) => {
                    if failure.wrote {
                        // Whatever the error was: on PostgreSQL the transaction was made to fail, and its COMMIT
                        // would be answered with success.
                        tx.note_undone_save();
                    }
                    if failure.lost {
                        tx.note_lost();
                    }
                    match &failure.error {
                        SaveError::Db { source, .. } => tx.note_failure(source),
                        SaveError::Conflict { .. } => tx.note_conflict(),
                        _ => {}
                    }
                    Err(failure.inside::<A>())
                }
            }
        }
    }
}

/// Runs `work` in an open transaction so that a caller who swallows its error and commits cannot store half
/// of it: where a failed statement does not end the transaction a savepoint undoes it, elsewhere the
/// transaction is made to fail.
async fn whole<A, T, F>(tx: &DatabaseTransaction, work: F) -> Result<T, Failure>
where
    A: Aggregate,
    F: for<'t> AsyncFnOnce(&'t DatabaseTransaction) -> Result<T, Failure> + Send,
{
    let db_error = |source: DbErr| Failure::from(SaveError::Db { aggregate: A::NAME, source });
    let savepoints = dialect_of(tx).map_err(db_error)?.goes_on_after_failure();
    if savepoints {
        tx.execute_unprepared(SAVEPOINT).await.map_err(db_error)?;
    }
    match work(tx).await {
        Ok(done) => {
            if savepoints {
                tx.execute_unprepared(RELEASE).await.map_err(db_error)?;
            }
            Ok(done)
        }
        Err(mut failure) => {
            let mended = if savepoints {
                match tx.execute_unprepared(ROLLBACK_TO).await {
                    Ok(_) => tx.execute_unprepared(RELEASE).await.map(drop),
                    Err(error) => Err(error),
                }
            } else if failure.wrote {
                // The error of this statement is its purpose.
                let _ = tx.execute_unprepared(POISON).await;
                Ok(())
            } else {
                Ok(())
            };
            if let Err(error) = mended {
                // SQLite ends a transaction by itself when its disk is full, or when a trigger asks for it.
                crate::observe::detail!(%error, "the savepoint of a failed save could not be undone");
                failure.lost = true;
            }
            Err(failure)
        }
    }
}

/// After a failed save of our own transaction: had an earlier try committed all of it?
async fn explain<A: Aggregate>(error: SaveError, events: &[Uuid], db: &DatabaseConnection) -> SaveError {
    let (Some(first), SaveError::Db { .. } | SaveError::NotFound { .. } | SaveError::Conflict { .. }) =
        (events.first(), &error)
    else {
        return error;
    };
    for event_id in events {
        match event_exists(db, *event_id).await {
            Ok(true) => {}
            // The first error says more than one met while looking for its cause.
            Ok(false) | Err(_) => return error,
        }
    }
    SaveError::AlreadyCommitted { aggregate: A::NAME, event_id: *first }
}
