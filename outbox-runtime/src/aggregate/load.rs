//! Reading a root to change it.
#![allow(clippy::missing_errors_doc, reason = "called by generated code only; the generated methods say it")]

use sea_orm::{EntityTrait, PrimaryKeyTrait, QuerySelect as _, Select};

use super::{Aggregate, LoadError, OutboxConnection, OutboxTransaction, connection::sealed::Place};

type KeyOf<A> = <<<A as Aggregate>::Entity as EntityTrait>::PrimaryKey as PrimaryKeyTrait>::ValueType;

async fn read<A: Aggregate, C: OutboxConnection>(db: &C, row: Select<A::Entity>) -> Result<Option<A>, LoadError> {
    let found = row.one(db).await.map_err(|source| LoadError::Db { aggregate: A::NAME, source })?;
    Ok(found.map(A::from))
}

fn required<A: Aggregate>(found: Option<A>) -> Result<A, LoadError> {
    found.ok_or(LoadError::NotFound { aggregate: A::NAME })
}

/// Reads and locks the row until the transaction ends.
pub async fn find_locked<A, C, K>(tx: &C, id: K) -> Result<Option<A>, LoadError>
where
    A: Aggregate,
    C: OutboxTransaction,
    K: Into<KeyOf<A>> + Send,
{
    if matches!(tx.place(), Place::Ours(tx) if tx.has_open_savepoint()) {
        return Err(LoadError::SavepointOpen { aggregate: A::NAME });
    }
    // SQLite knows no row lock and needs none: our transactions there are IMMEDIATE.
    read(tx, A::Entity::find_by_id(id).lock_exclusive()).await
}

/// As [`find_locked`]; a missing row is an error.
pub async fn load_locked<A, C, K>(tx: &C, id: K) -> Result<A, LoadError>
where
    A: Aggregate,
    C: OutboxTransaction,
    K: Into<KeyOf<A>> + Send,
{
    required(find_locked(tx, id).await?)
}

/// Reads without a lock, for roots whose `version` column finds conflicts at `save`.
pub async fn find<A, C, K>(db: &C, id: K) -> Result<Option<A>, LoadError>
where
    A: Aggregate,
    C: OutboxConnection,
    K: Into<KeyOf<A>> + Send,
{
    read(db, A::Entity::find_by_id(id)).await
}

/// As [`find`]; a missing row is an error.
pub async fn load<A, C, K>(db: &C, id: K) -> Result<A, LoadError>
where
    A: Aggregate,
    C: OutboxConnection,
    K: Into<KeyOf<A>> + Send,
{
    required(find(db, id).await?)
}
