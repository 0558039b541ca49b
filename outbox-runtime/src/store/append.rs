//! Numbering and storing events, inside the transaction of their row.

use chrono::{DateTime, Utc};
use sea_orm::{DatabaseTransaction, DbErr};
use uuid::Uuid;

use super::{StoreError, dialect::Dialect};
use crate::event::Headers;

/// An event ready to be stored.
#[derive(Clone, Debug)]
pub(crate) struct NewEvent {
    pub(crate) event_id: Uuid,
    pub(crate) sequence_name: &'static str,
    pub(crate) aggregate_type: &'static str,
    pub(crate) aggregate_id: String,
    /// Of the sequence name, so that a renamed aggregate stays in its lane.
    pub(crate) lane_hash: i64,
    pub(crate) event_type: &'static str,
    pub(crate) schema_version: u16,
    pub(crate) payload: serde_json::Value,
    pub(crate) headers: Headers,
    pub(crate) occurred_at: DateTime<Utc>,
}

impl NewEvent {
    pub(crate) fn headers_json(&self) -> serde_json::Value {
        self.headers
            .iter()
            .map(|(name, value)| (name.clone(), value.clone().into()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

/// Stores `events` and returns their sequences in the same order.
///
/// Each aggregate's sequence row stays locked until the transaction ends: sequence order is commit order,
/// without holes, and a rollback leaves nothing (INV-1, INV-2).
pub(crate) async fn append(tx: &DatabaseTransaction, events: &[NewEvent]) -> Result<Vec<i64>, DbErr> {
    if events.is_empty() {
        return Ok(Vec::new());
    }
    let dialect = dialect_of(tx)?;
    dialect.append(tx, events).await
}

/// As [`Dialect::of`], where the answer must be a [`DbErr`].
pub(crate) fn dialect_of(db: &impl sea_orm::ConnectionTrait) -> Result<Dialect, DbErr> {
    Dialect::of(db).map_err(|error| match error {
        StoreError::Db(error) => error,
        StoreError::Backend(backend) => DbErr::BackendNotSupported {
            db: backend.as_str(),
            ctx: "this build of outbox-runtime: switch on its feature",
        },
        other => DbErr::Custom(other.to_string()),
    })
}

/// Whether this event was stored and committed.
pub(crate) async fn event_exists(db: &impl sea_orm::ConnectionTrait, event_id: Uuid) -> Result<bool, StoreError> {
    let dialect = Dialect::of(db)?;
    let statement = dialect.statement(dialect.texts().event_exists, [dialect.uuid(event_id)]);
    Ok(db.query_one_raw(statement).await?.is_some())
}
