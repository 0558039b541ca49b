//! The queue: reading what is to be published, deleting what was.

use sea_orm::{ConnectionTrait as _, DatabaseConnection, DbErr, QueryResult};
use uuid::Uuid;

use super::{StoreError, dialect::Dialect, lanes::Lease};
use crate::event::{Envelope, EventContext, Headers};

/// A pending row with its event.
#[derive(Debug)]
pub(crate) struct PendingRow {
    pub(crate) lane: i16,
    pub(crate) position: i64,
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

/// What to read of one lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneRead {
    pub(crate) number: i16,
    /// Only positions above this one.
    pub(crate) after: i64,
    /// How many rows deep, known ones counted.
    #[cfg_attr(not(feature = "postgres"), allow(dead_code))]
    pub(crate) take: i64,
}

/// An event that may have to wait for one before it.
#[derive(Clone, Debug)]
pub(crate) struct Doubt {
    pub(crate) event_id: Uuid,
    pub(crate) lane: i16,
    pub(crate) aggregate_id: String,
    /// The sequence of the event before it, which may stand under a former name of the aggregate.
    pub(crate) predecessor: i64,
}

/// Reads the lowest pending rows of each lane above its position, `known` ones left out, at most `most` in all.
///
/// One statement, so one snapshot: in a lane read from position 0, when an event of an aggregate is in it, so are
/// all earlier ones that are neither published nor in `known`.
pub(crate) async fn read(
    db: &DatabaseConnection,
    lanes: &[LaneRead],
    known: &[Uuid],
    most: i64,
) -> Result<Vec<PendingRow>, StoreError> {
    let dialect = Dialect::of(db)?;
    let rows = db.query_all_raw(dialect.read(lanes, known, most)).await?;
    rows.iter().map(|row| pending_row(dialect, row)).collect()
}

/// Whether [`read`] takes all lanes in one order of positions instead of `take` rows of each.
pub(crate) fn reads_in_one_order(db: &DatabaseConnection) -> bool {
    Dialect::of(db).is_ok_and(Dialect::reads_in_one_order)
}

/// Which of these events have a predecessor that is still pending.
pub(crate) async fn blocked(db: &DatabaseConnection, doubts: &[Doubt]) -> Result<Vec<Uuid>, StoreError> {
    let dialect = Dialect::of(db)?;
    let rows = db.query_all_raw(dialect.blocked(doubts)).await?;
    Ok(rows.iter().map(|row| dialect.get_uuid(row, "event_id")).collect::<Result<_, _>>()?)
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

/// By index and not by name: this is the hot path. The columns stand in the order of `READ`.
fn pending_row(dialect: Dialect, row: &QueryResult) -> Result<PendingRow, StoreError> {
    let event_id = dialect.get_uuid(row, 2)?;
    let aggregate_id: Option<String> = row.try_get_by_index(4)?;
    let event = match aggregate_id {
        Some(id) => envelope(dialect, row, event_id, id)
            .map_err(|(id, error)| Broken { aggregate_id: Some(id), problem: error.to_string() }),
        None => Err(Broken { aggregate_id: None, problem: "the log has no such event".into() }),
    };
    Ok(PendingRow { lane: row.try_get_by_index(0)?, position: row.try_get_by_index(1)?, event_id, event })
}

fn envelope(
    dialect: Dialect,
    row: &QueryResult,
    event_id: Uuid,
    aggregate_id: String,
) -> Result<Envelope, (String, DbErr)> {
    let read = || -> Result<(EventContext, String, u16, serde_json::Value), DbErr> {
        let version: i32 = row.try_get_by_index(7)?;
        let headers: serde_json::Value = row.try_get_by_index(9)?;
        let context = EventContext {
            event_id,
            aggregate_type: row.try_get_by_index(3)?,
            aggregate_id: String::new(),
            aggregate_sequence: row.try_get_by_index(5)?,
            occurred_at: dialect.get_instant(row, 10)?,
            headers: serde_json::from_value::<Headers>(headers)
                .map_err(|error| DbErr::Type(format!("headers are no map of text: {error}")))?,
        };
        let version = u16::try_from(version).map_err(|_| DbErr::Type(format!("schema_version is {version}")))?;
        Ok((context, row.try_get_by_index(6)?, version, row.try_get_by_index(8)?))
    };
    match read() {
        Ok((context, event_type, schema_version, payload)) => {
            Ok(Envelope { context: EventContext { aggregate_id, ..context }, event_type, schema_version, payload })
        }
        Err(error) => Err((aggregate_id, error)),
    }
}
