//! Reading a root to change it.
#![allow(clippy::missing_errors_doc, reason = "called by generated code only; the generated methods say it")]

use sea_orm::{EntityTrait, PrimaryKeyTrait, QuerySelect as _};

use super::{Aggregate, LoadError, OutboxConnection, OutboxTransaction};

type KeyOf<A> = <<<A as Aggregate>::Entity as EntityTrait>::PrimaryKey as PrimaryKeyTrait>::ValueType;

/// Reads and locks the row until the transaction ends.
pub async fn find_locked<A, C, K>(tx: &C, id: K) -> Result<Option<A>, LoadError>
where
    A: Aggregate,
    C: OutboxTransaction,
    K: Into<KeyOf<A>> + Send,
{
    // SQLite knows no row lock and needs none: our transactions there are IMMEDIATE.
    let found = A::Entity::find_by_id(id).lock_exclusive().one(tx).await;
    found.map(|model| model.map(A::from)).map_err(|source| LoadError::Db { aggregate: A::NAME, source })
}

/// As [`find_locked`]; a missing row is an error.
pub async fn load_locked<A, C, K>(tx: &C, id: K) -> Result<A, LoadError>
where
    A: Aggregate,
    C: OutboxTransaction,
    K: Into<KeyOf<A>> + Send,
{
    find_locked(tx, id).await?.ok_or(LoadError::NotFound { aggregate: A::NAME })
}

/// Reads without a lock, for roots whose `version` column finds conflicts at `save`.
pub async fn find<A, C, K>(db: &C, id: K) -> Result<Option<A>, LoadError>
where
    A: Aggregate,
    C: OutboxConnection,
    K: Into<KeyOf<A>> + Send,
{
    let found = A::Entity::find_by_id(id).one(db).await;
    found.map(|model| model.map(A::from)).map_err(|source| LoadError::Db { aggregate: A::NAME, source })
}

/// As [`find`]; a missing row is an error.
pub async fn load<A, C, K>(db: &C, id: K) -> Result<A, LoadError>
where
    A: Aggregate,
    C: OutboxConnection,
    K: Into<KeyOf<A>> + Send,
{
    find(db, id).await?.ok_or(LoadError::NotFound { aggregate: A::NAME })
}
