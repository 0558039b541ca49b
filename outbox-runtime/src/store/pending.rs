//! The queue: reading what is to be published, deleting what was.

use sea_orm::{ConnectionTrait as _, DatabaseConnection, QueryResult};
use uuid::Uuid;

use super::{StoreError, dialect::Dialect, lanes::Lease};
use crate::event::{Envelope, EventContext, Headers};

/// A pending row with its event.
#[derive(Clone, Debug)]
pub(crate) struct PendingRow {
    pub(crate) lane: i16,
    pub(crate) event_id: Uuid,
    /// `None`: the queue names an event that the log does not have.
    pub(crate) envelope: Option<Envelope>,
}

/// An event that the broker has acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Published {
    pub(crate) event_id: Uuid,
    pub(crate) lane: i16,
}

/// Reads the lowest pending rows of each lane: `take` rows deep, `known` ones counted but left out.
///
/// One statement, so one snapshot: when an event of an aggregate is in it, so are all earlier ones that are
/// neither published nor in `known`.
pub(crate) async fn read(
    db: &DatabaseConnection,
    lanes: &[(i16, i64)],
    known: &[Uuid],
) -> Result<Vec<PendingRow>, StoreError> {
    let dialect = Dialect::of(db)?;
    let rows = db.query_all_raw(dialect.read(lanes, known)).await?;
    rows.iter().map(|row| pending_row(dialect, row)).collect()
}

/// Deletes the pending rows of `published`, lane by lane only where the lease still stands; those lanes.
pub(crate) async fn mark(
    db: &DatabaseConnection,
    relay: &str,
    leases: &[Lease],
    published: &[Published],
) -> Result<Vec<i16>, StoreError> {
    Dialect::of(db)?.mark(db, relay, leases, published).await
}

fn pending_row(dialect: Dialect, row: &QueryResult) -> Result<PendingRow, StoreError> {
    let event_id = dialect.get_uuid(row, "event_id")?;
    let aggregate_type: Option<String> = row.try_get("", "aggregate_type")?;
    let envelope = match aggregate_type {
        None => None,
        Some(aggregate_type) => Some(envelope(dialect, row, event_id, aggregate_type)?),
    };
    Ok(PendingRow { lane: row.try_get("", "lane")?, event_id, envelope })
}

fn envelope(
    dialect: Dialect,
    row: &QueryResult,
    event_id: Uuid,
    aggregate_type: String,
) -> Result<Envelope, StoreError> {
    let version: i32 = row.try_get("", "schema_version")?;
    let headers: serde_json::Value = row.try_get("", "headers")?;
    let corrupt = |found: String| StoreError::Corrupt { table: "outbox_events", found };
    Ok(Envelope {
        context: EventContext {
            event_id,
            aggregate_type,
            aggregate_id: row.try_get("", "aggregate_id")?,
            aggregate_sequence: row.try_get("", "aggregate_sequence")?,
            occurred_at: dialect.get_instant(row, "occurred_at")?,
            headers: serde_json::from_value::<Headers>(headers)
                .map_err(|error| corrupt(format!("headers of {event_id}: {error}")))?,
        },
        event_type: row.try_get("", "event_type")?,
        schema_version: u16::try_from(version)
            .map_err(|_| corrupt(format!("schema_version {version} of {event_id}")))?,
        payload: row.try_get("", "payload")?,
    })
}
