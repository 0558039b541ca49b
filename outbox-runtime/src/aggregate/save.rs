//! Row, sequence and outbox rows in one transaction.

use std::ops::Deref;

use sea_orm::{ActiveModelTrait as _, ConnectionTrait as _, DatabaseTransaction, ModelTrait as _};
use uuid::Uuid;

use super::{
    Aggregate, OutboxConnection, PendingEvent, SaveError,
    connection::sealed::Place,
    key,
    root::Standing,
    row::Write,
    within::{Failure, within},
};
use crate::store::{
    append::{NewEvent, append},
    is_event_stored_already, lane_hash,
};

/// An event as it was stored.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/order.rs"));
/// # use outbox_runtime::StoredEvent;
/// # async fn run(db: &sea_orm::DatabaseConnection) -> Result<(), outbox_runtime::SaveError> {
/// let saved = Order::place(4_200).save(db).await?;
/// assert_eq!(saved.events[0].aggregate_sequence, 1);
/// # Ok(()) }
/// # fn main() {}
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
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/order.rs"));
/// # use outbox_runtime::Saved;
/// # async fn run(db: &sea_orm::DatabaseConnection) -> Result<(), outbox_runtime::SaveError> {
/// let saved: Saved<order::Model> = Order::place(4_200).save(db).await?;
/// assert_eq!(saved.total_cents, 4_200);
/// # Ok(()) }
/// # fn main() {}
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
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/order.rs"));
/// # use outbox_runtime::Deleted;
/// # async fn run(mut order: Order, db: &sea_orm::DatabaseConnection) -> Result<(), outbox_runtime::SaveError> {
/// let deleted: Deleted = order.delete(db).await?;
/// assert!(deleted.events.is_empty());
/// # Ok(()) }
/// # fn main() {}
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
#[allow(clippy::missing_errors_doc, reason = "the generated method says it")]
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
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/order.rs"));
/// # use outbox_runtime::{SaveError, save_all};
/// # async fn run(db: &sea_orm::DatabaseConnection) -> Result<(), SaveError> {
/// let mut orders = [Order::place(4_200), Order::place(990)];
/// let saved = save_all(&mut orders, db).await?;
/// assert_eq!(saved.len(), 2);
/// # Ok(()) }
/// # fn main() {}
/// ```
pub async fn save_all<A: Aggregate, C: OutboxConnection>(
    roots: &mut [A],
    db: &C,
) -> Result<Vec<Saved<A::Model>>, SaveError> {
    if roots.is_empty() {
        return Ok(Vec::new());
    }
    let writes = roots.iter_mut().map(|root| prepare(root, db)).collect::<Result<Vec<_>, _>>()?;
    let events = all_events(roots);
    let shared: &[A] = roots;
    let writes = &writes;
    let (written, settled) =
        within::<A, _, _, _>(db, events, async move |tx| write_all(shared, writes, tx).await).await?;
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
#[allow(clippy::missing_errors_doc, reason = "the generated method says it")]
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
            // Only a `nested` delete gets here, and its hooks ran.
            Ok(0) => return Err(SaveError::NotFound { aggregate: A::NAME }.into()),
            Ok(_) => {}
            Err(error) => return Err(Failure::row::<A>(error, false)),
        }
        let events = store::<A>(tx, staged).await?;
        Ok(Deleted { aggregate_id: id.to_owned(), events })
    };
    let events = all_events(std::slice::from_ref(root));
    let (deleted, settled) = within::<A, _, _, _>(db, events, work).await?;
    let state = root.__parts_mut().1;
    state.pending.clear();
    state.origin = settled.origin(true);
    Ok(deleted)
}

/// What must be stored if an earlier try had committed all of this; empty if events cannot tell.
fn all_events<A: Aggregate>(roots: &[A]) -> Vec<Uuid> {
    let pending = || roots.iter().map(|root| root.__parts().1.pending());
    if pending().any(<[_]>::is_empty) {
        return Vec::new();
    }
    pending().flatten().map(PendingEvent::event_id).collect()
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
        Place::Ours(tx) if tx.has_open_savepoint() => return Err(SaveError::SavepointOpen { aggregate: A::NAME }),
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
                headers: event.headers().clone(),
                occurred_at: event.occurred_at(),
            })
        })
        .collect()
}

async fn store<A: Aggregate>(tx: &DatabaseTransaction, staged: &[NewEvent]) -> Result<Vec<StoredEvent>, Failure> {
    let sequences = append(tx, staged).await.map_err(|source| {
        let twice = is_event_stored_already(tx.get_database_backend(), &source);
        let stored_already = staged.first().filter(|_| twice).map(|event| event.event_id);
        Failure { stored_already, ..SaveError::Db { aggregate: A::NAME, source }.into() }
    })?;
    let stored = staged.iter().zip(sequences);
    Ok(stored.map(|(event, aggregate_sequence)| StoredEvent { event_id: event.event_id, aggregate_sequence }).collect())
}
