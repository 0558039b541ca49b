//! The queue: reading what is to be published, deleting what was.

use sea_orm::{ConnectionTrait as _, DatabaseConnection, DbErr, QueryResult};
use uuid::Uuid;

use super::{StoreError, dialect::Dialect, lanes::Lease};
use crate::event::{Envelope, EventContext, Headers};

/// A pending row with its event.
#[derive(Debug)]
pub(crate) struct PendingRow {
    pub(crate) lane: i16,
    pub(crate) event_id: Uuid,
    pub(crate) event: Result<Envelope, Broken>,
}

/// A pending row that cannot be published as it stands.
#[derive(Debug)]
pub(crate) struct Broken {
    /// The aggregate's id, where the log has the event.
    pub(crate) aggregate_id: Option<String>,
    pub(crate) problem: String,
}

/// An event that the broker has acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Published {
    pub(crate) event_id: Uuid,
    pub(crate) lane: i16,
}

/// Reads the lowest pending rows of each lane: `take` rows deep, `known` ones counted but left out,
/// and about `most` in all.
///
/// One statement, so one snapshot: when an event of an aggregate is in it, so are all earlier ones that are
/// neither published nor in `known`.
pub(crate) async fn read(
    db: &DatabaseConnection,
    lanes: &[(i16, i64)],
    known: &[Uuid],
    most: i64,
) -> Result<Vec<PendingRow>, StoreError> {
    let dialect = Dialect::of(db)?;
    let rows = db.query_all_raw(dialect.read(lanes, known, most)).await?;
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
    let aggregate_id: Option<String> = row.try_get("", "aggregate_id")?;
    let event = match aggregate_id {
        Some(id) => envelope(dialect, row, event_id)
            .map_err(|error| Broken { aggregate_id: Some(id), problem: error.to_string() }),
        None => Err(Broken { aggregate_id: None, problem: "the log has no such event".into() }),
    };
    Ok(PendingRow { lane: row.try_get("", "lane")?, event_id, event })
}

fn envelope(dialect: Dialect, row: &QueryResult, event_id: Uuid) -> Result<Envelope, DbErr> {
    let version: i32 = row.try_get("", "schema_version")?;
    let headers: serde_json::Value = row.try_get("", "headers")?;
    Ok(Envelope {
        context: EventContext {
            event_id,
            aggregate_type: row.try_get("", "aggregate_type")?,
            aggregate_id: row.try_get("", "aggregate_id")?,
            aggregate_sequence: row.try_get("", "aggregate_sequence")?,
            occurred_at: dialect.get_instant(row, "occurred_at")?,
            headers: serde_json::from_value::<Headers>(headers)
                .map_err(|error| DbErr::Type(format!("headers are no map of text: {error}")))?,
        },
        event_type: row.try_get("", "event_type")?,
        schema_version: u16::try_from(version).map_err(|_| DbErr::Type(format!("schema_version is {version}")))?,
        payload: row.try_get("", "payload")?,
    })
}
