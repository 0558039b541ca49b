//! Row, sequence and outbox rows in one transaction.

use std::ops::Deref;

use sea_orm::{
    ActiveModelTrait as _, ConnectionTrait as _, DatabaseConnection, DatabaseTransaction, DbErr, ModelTrait as _,
    TransactionOptions,
};
use uuid::Uuid;

use super::{
    Aggregate, OutboxConnection, PendingEvent, SaveError,
    connection::sealed::Place,
    key,
    root::{Origin, Standing},
    row::{Write, WriteError},
};
use crate::store::{
    Scope, TxError,
    append::{NewEvent, append, event_exists},
    begin,
    dialect::{Dialect, POISON, RELEASE, ROLLBACK_TO, SAVEPOINT},
    is_unique_violation, lane_hash, signal,
};

/// An event as it was stored.
///
/// ```
/// # use outbox_runtime::{StoredEvent, doc::Order};
/// # async fn run(db: &sea_orm::DatabaseConnection) -> Result<(), outbox_runtime::SaveError> {
/// let saved = Order::place(4_200).save(db).await?;
/// assert_eq!(saved.events[0].aggregate_sequence, 1);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredEvent {
    /// The id fixed at `emit`.
    pub event_id: Uuid,
    /// The position among the events of its aggregate, counted from 1.
    pub aggregate_sequence: i64,
}

/// What a save wrote. Derefs to the model as the database returned it.
///
/// ```
/// # use outbox_runtime::{Saved, doc::{Order, order}};
/// # async fn run(db: &sea_orm::DatabaseConnection) -> Result<(), outbox_runtime::SaveError> {
/// let saved: Saved<order::Model> = Order::place(4_200).save(db).await?;
/// assert_eq!(saved.total_cents, 4_200);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Saved<M> {
    /// The row.
    pub model: M,
    /// The encoded primary key, as stored beside the events.
    pub aggregate_id: String,
    /// The events, in the order of `emit`.
    pub events: Vec<StoredEvent>,
}

impl<M> Deref for Saved<M> {
    type Target = M;
    fn deref(&self) -> &M {
        &self.model
    }
}

/// What a delete wrote.
///
/// ```
/// # use outbox_runtime::{Deleted, doc::Order};
/// # async fn run(mut order: Order, db: &sea_orm::DatabaseConnection) -> Result<(), outbox_runtime::SaveError> {
/// let deleted: Deleted = order.delete(db).await?;
/// assert!(deleted.events.is_empty());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deleted {
    /// The encoded primary key, as stored beside the events.
    pub aggregate_id: String,
    /// The events, in the order of `emit`.
    pub events: Vec<StoredEvent>,
}

/// Writes one root; called by the generated `save`.
pub async fn save<A: Aggregate, C: OutboxConnection>(root: &mut A, db: &C) -> Result<Saved<A::Model>, SaveError> {
    let mut saved = save_all(std::slice::from_mut(root), db).await?;
    saved.pop().ok_or(SaveError::NotFound { aggregate: A::NAME })
}

/// Saves many roots of one kind in one transaction, with one statement for all their events.
///
/// Rows are written one by one, so that hooks run, in the order of their keys, so that two calls cannot wait
/// for each other. The answers stand in the order of `roots`.
///
/// # Errors
/// As the root's own `save`; then nothing was written, and every root still holds its events.
///
/// ```
/// # use outbox_runtime::{SaveError, doc::Order, save_all};
/// # async fn run(db: &sea_orm::DatabaseConnection) -> Result<(), SaveError> {
/// let mut orders = [Order::place(4_200), Order::place(990)];
/// let saved = save_all(&mut orders, db).await?;
/// assert_eq!(saved.len(), 2);
/// # Ok(()) }
/// ```
pub async fn save_all<A: Aggregate, C: OutboxConnection>(
    roots: &mut [A],
    db: &C,
) -> Result<Vec<Saved<A::Model>>, SaveError> {
    if roots.is_empty() {
        return Ok(Vec::new());
    }
    let writes = roots.iter_mut().map(|root| prepare(root, db)).collect::<Result<Vec<_>, _>>()?;
    let first_event = roots.iter().find_map(first_event);
    let shared: &[A] = roots;
    let writes = &writes;
    let (written, settled) = within::<A, _, _, _>(db, first_event, async move |tx| write_all(shared, writes, tx).await).await?;
    let mut answers = Vec::with_capacity(roots.len());
    for (root, (row, saved)) in roots.iter_mut().zip(written) {
        let (old, state) = root.__parts_mut();
        *old = row;
        state.pending.clear();
        state.origin = settled.origin(false);
        answers.push(saved);
    }
    Ok(answers)
}

/// Deletes one root's row and stores its events; called by the generated `delete`.
pub async fn delete<A: Aggregate, C: OutboxConnection>(root: &mut A, db: &C) -> Result<Deleted, SaveError> {
    prepare(root, db)?;
    let (row, state) = root.__parts();
    if let Some(event) = state.pending.iter().find(|event| event.needs_row()) {
        return Err(SaveError::NoRow { event_type: event.event_type() });
    }
    let unset = || SaveError::Key { aggregate: A::NAME, problem: "it is not set".into() };
    let aggregate_id = key::encode(A::NAME, row.get_primary_key_value().ok_or_else(unset)?)?;
    let staged = stage::<A>(state.pending(), &aggregate_id, None)?;
    let (id, row, staged) = (aggregate_id.as_str(), row.clone(), &staged);
    let work = async move |tx: &DatabaseTransaction| {
        match A::__delete(row, tx).await {
            Ok(0) => return Err(Failure { error: SaveError::NotFound { aggregate: A::NAME }, wrote: false }),
            Ok(_) => {}
            Err(error) => return Err(Failure::row::<A>(error, false)),
        }
        let events = store::<A>(tx, staged).await?;
        Ok(Deleted { aggregate_id: id.to_owned(), events })
    };
    let (deleted, settled) = within::<A, _, _, _>(db, first_event(root), work).await?;
    let state = root.__parts_mut().1;
    state.pending.clear();
    state.origin = settled.origin(true);
    Ok(deleted)
}

fn first_event<A: Aggregate>(root: &A) -> Option<Uuid> {
    root.__parts().1.pending.first().map(PendingEvent::event_id)
}

/// Everything that can be refused before any SQL.
fn prepare<A: Aggregate, C: OutboxConnection>(root: &mut A, db: &C) -> Result<Write, SaveError> {
    let state = root.__parts_mut().1;
    state.tried = true;
    for event in &state.pending {
        if let Some(problem) = event.problem() {
            let (event_type, event_id) = (event.event_type(), event.event_id());
            return Err(SaveError::Payload { event_type, event_id, source: problem.clone() });
        }
    }
    let scope = match db.place() {
        Place::Ours(tx) => Some(tx.scope()),
        Place::Open(_) | Place::Raw(_) => None,
    };
    match state.standing(scope) {
        Standing::New => Ok(Write::Insert),
        Standing::Loaded => Ok(Write::Update),
        Standing::Deleted => Err(SaveError::Deleted { aggregate: A::NAME }),
        Standing::Spent => Err(SaveError::Spent { aggregate: A::NAME }),
    }
}

/// How a save ended well.
enum Settled {
    Committed,
    /// In a transaction of ours that is still open.
    Joined(Scope),
    /// In the user's own transaction.
    Unseen,
}

impl Settled {
    fn origin(&self, deleted: bool) -> Origin {
        match self {
            Self::Committed if deleted => Origin::Deleted,
            Self::Committed => Origin::Loaded,
            Self::Joined(scope) => Origin::Joined { scope: scope.clone(), deleted },
            Self::Unseen => Origin::Spent,
        }
    }
}

/// An error between the first statement and the last.
struct Failure {
    error: SaveError,
    /// Something of the save may stand in the transaction.
    wrote: bool,
}

impl Failure {
    fn row<A: Aggregate>(error: WriteError, wrote: bool) -> Self {
        let aggregate = A::NAME;
        match error {
            WriteError::NotFound => Self { error: SaveError::NotFound { aggregate }, wrote },
            WriteError::Conflict => Self { error: SaveError::Conflict { aggregate }, wrote },
            WriteError::Version => Self { error: SaveError::Version { aggregate }, wrote },
            // It may come from a hook that runs after the row was written.
            WriteError::Db(source) => Self { error: SaveError::Db { aggregate, source }, wrote: true },
        }
    }
}

impl From<SaveError> for Failure {
    fn from(error: SaveError) -> Self {
        Self { error, wrote: true }
    }
}

/// Runs `work` in the transaction that `db` stands for, all of it or nothing.
async fn within<A, C, T, F>(db: &C, first_event: Option<Uuid>, work: F) -> Result<(T, Settled), SaveError>
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
                    signal::committed();
                    Ok((done, Settled::Committed))
                }
                Err(Failure { error, .. }) => {
                    if let Err(error) = tx.rollback().await {
                        crate::observe::detail!(%error, "ROLLBACK failed");
                    }
                    Err(explain::<A>(error, first_event, db).await)
                }
            }
        }
        Place::Raw(tx) => {
            let done = whole::<A, _, _>(tx, work).await?;
            signal::hinted();
            Ok((done, Settled::Unseen))
        }
        Place::Ours(tx) => {
            let inner = tx.raw().map_err(|source| SaveError::Db { aggregate: A::NAME, source })?;
            let unfinished = tx.begin_save();
            let outcome = whole::<A, _, _>(inner, work).await;
            unfinished.ended();
            match outcome {
                Ok(done) => {
                    tx.note_append();
                    Ok((done, Settled::Joined(tx.scope().clone())))
                }
                Err(error) => {
                    match &error {
                        SaveError::Db { source, .. } => tx.note_failure(source),
                        SaveError::Conflict { .. } => tx.note_conflict(),
                        _ => {}
                    }
                    Err(error)
                }
            }
        }
    }
}

/// Runs `work` in an open transaction so that a caller who swallows its error and commits cannot store half
/// of it: where a failed statement does not end the transaction a savepoint undoes it, elsewhere the
/// transaction is made to fail.
async fn whole<A, T, F>(tx: &DatabaseTransaction, work: F) -> Result<T, SaveError>
where
    A: Aggregate,
    F: for<'t> AsyncFnOnce(&'t DatabaseTransaction) -> Result<T, Failure> + Send,
{
    let db_error = |source: DbErr| SaveError::Db { aggregate: A::NAME, source };
    let dialect = Dialect::of(tx).map_err(|error| db_error(DbErr::Custom(error.to_string())))?;
    let savepoints = dialect.goes_on_after_failure();
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
        Err(Failure { error, wrote }) => {
            let mended = if savepoints {
                match tx.execute_unprepared(ROLLBACK_TO).await {
                    Ok(_) => tx.execute_unprepared(RELEASE).await.map(drop),
                    Err(error) => Err(error),
                }
            } else if wrote {
                // The error of this statement is its purpose.
                let _ = tx.execute_unprepared(POISON).await;
                Ok(())
            } else {
                Ok(())
            };
            if let Err(error) = mended {
                crate::observe::detail!(%error, "the savepoint of a failed save could not be undone");
            }
            Err(error)
        }
    }
}

/// After a failed save of our own transaction: had an earlier try committed?
async fn explain<A: Aggregate>(error: SaveError, first_event: Option<Uuid>, db: &DatabaseConnection) -> SaveError {
    let (Some(event_id), SaveError::Db { .. } | SaveError::NotFound { .. } | SaveError::Conflict { .. }) =
        (first_event, &error)
    else {
        return error;
    };
    match event_exists(db, event_id).await {
        Ok(true) => SaveError::AlreadyCommitted { aggregate: A::NAME, event_id },
        // The first error says more than one met while looking for its cause.
        Ok(false) | Err(_) => error,
    }
}

/// Writes all rows in the order of their keys, then all events in one go.
async fn write_all<A: Aggregate>(
    roots: &[A],
    writes: &[Write],
    tx: &DatabaseTransaction,
) -> Result<Vec<(A::Row, Saved<A::Model>)>, Failure> {
    let mut in_key_order: Vec<_> = roots.iter().zip(writes).enumerate().collect();
    if roots.len() > 1 {
        in_key_order.sort_by_cached_key(|(_, (root, _))| {
            // Rows whose key the database makes cannot meet: they come last.
            let key = root.__parts().0.get_primary_key_value().map(|key| format!("{key:?}"));
            (key.is_none(), key)
        });
    }
    let mut written = Vec::with_capacity(roots.len());
    for (nth, (root, write)) in in_key_order {
        let row = root.__parts().0.clone();
        let (row, model) =
            A::__write(row, *write, tx).await.map_err(|error| Failure::row::<A>(error, !written.is_empty()))?;
        let aggregate_id = key::encode(A::NAME, model.get_primary_key_value())?;
        written.push((nth, row, Saved { model, aggregate_id, events: Vec::new() }));
    }
    written.sort_by_key(|(nth, ..)| *nth);

    let mut staged = Vec::new();
    for (root, (.., saved)) in roots.iter().zip(&written) {
        staged.extend(stage::<A>(root.__parts().1.pending(), &saved.aggregate_id, Some(&saved.model))?);
    }
    let mut stored = store::<A>(tx, &staged).await?.into_iter();
    let answers = roots.iter().zip(written).map(|(root, (_, row, mut saved))| {
        saved.events = stored.by_ref().take(root.__parts().1.pending.len()).collect();
        (row, saved)
    });
    Ok(answers.collect())
}

fn stage<A: Aggregate>(
    pending: &[PendingEvent<A::Model>],
    aggregate_id: &str,
    model: Option<&A::Model>,
) -> Result<Vec<NewEvent>, SaveError> {
    pending
        .iter()
        .map(|event| {
            let (event_type, event_id) = (event.event_type(), event.event_id());
            let payload = event
                .build(model)
                .ok_or(SaveError::NoRow { event_type })?
                .map_err(|source| SaveError::Payload { event_type, event_id, source })?;
            Ok(NewEvent {
                event_id,
                sequence_name: A::SEQUENCE_NAME,
                aggregate_type: A::NAME,
                aggregate_id: aggregate_id.to_owned(),
                lane_hash: lane_hash(A::SEQUENCE_NAME, aggregate_id),
                event_type,
                schema_version: event.schema_version(),
                payload,
                headers: event.headers(),
                occurred_at: event.occurred_at(),
            })
        })
        .collect()
}

async fn store<A: Aggregate>(tx: &DatabaseTransaction, staged: &[NewEvent]) -> Result<Vec<StoredEvent>, SaveError> {
    let sequences = append(tx, staged).await.map_err(|source| match staged.first() {
        // The ids are fixed at `emit`: one that is there already was committed by an earlier try or a clone.
        Some(first) if is_unique_violation(tx.get_database_backend(), &source) => {
            SaveError::AlreadyCommitted { aggregate: A::NAME, event_id: first.event_id }
        }
        _ => SaveError::Db { aggregate: A::NAME, source },
    })?;
    let stored = staged.iter().zip(sequences);
    Ok(stored.map(|(event, aggregate_sequence)| StoredEvent { event_id: event.event_id, aggregate_sequence }).collect())
}
