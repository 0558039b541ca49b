//! `SQLite` 3.38 and later (the driver brings its own).
//!
//! Lists travel as one JSON parameter and are opened by `json_each`, so that the text of a statement does not
//! depend on their length and no limit on parameters is met.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sea_orm::{
    ColIdx, ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbBackend, DbErr, QueryResult, Statement,
    TransactionOptions, Value,
};
use serde_json::json;
use uuid::Uuid;

use super::{StoreError, Texts};
use crate::store::{
    TxError,
    append::NewEvent,
    begin,
    lanes::Lease,
    pending::{Doubt, LaneRead, Published},
};

/// The database's clock in whole microseconds since 1970; it ticks in milliseconds.
macro_rules! now {
    () => {
        "(CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) * 1000)"
    };
}

pub(super) const TEXTS: Texts = Texts {
    outbox_up: include_str!("sqlite/outbox_up.sql"),
    outbox_down: include_str!("sqlite/outbox_down.sql"),
    inbox_up: include_str!("sqlite/inbox_up.sql"),
    inbox_down: include_str!("sqlite/inbox_down.sql"),
    fill_meta: "INSERT INTO outbox_meta (lanes, schema_version) VALUES (?1, 1)",
    fill_lanes: "WITH RECURSIVE n (lane) AS (SELECT 0 UNION ALL SELECT lane + 1 FROM n WHERE lane + 1 < ?1) \
        INSERT INTO outbox_lanes (lane) SELECT lane FROM n",
    find_meta: "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'outbox_meta'",
    meta: "SELECT lanes, schema_version FROM outbox_meta",
    event_exists: "SELECT event_id FROM outbox_events WHERE event_id = ?1",

    heartbeat: concat!(
        "INSERT INTO outbox_relays (relay_id, heartbeat_until) VALUES (?1, ",
        now!(),
        " + ?2 * 1000) ON CONFLICT (relay_id) DO UPDATE SET heartbeat_until = excluded.heartbeat_until"
    ),
    live_relays: concat!(
        "SELECT count(*) AS live FROM outbox_relays WHERE heartbeat_until > ",
        now!(),
        " AND relay_id <> ?1"
    ),
    forget_relays: concat!("DELETE FROM outbox_relays WHERE heartbeat_until < ", now!(), " - ?1 * 1000"),
    deregister: "DELETE FROM outbox_relays WHERE relay_id = ?1",
    claim: concat!(
        "UPDATE outbox_lanes SET claimed_by = ?1, claim_until = ",
        now!(),
        " + ?2 * 1000, fence = fence + 1 WHERE lane IN (SELECT lane FROM outbox_lanes \
          WHERE (claimed_by IS NULL OR claim_until < ",
        now!(),
        ") AND lane NOT IN (SELECT value FROM json_each(?4)) ORDER BY lane LIMIT ?3) RETURNING lane, fence"
    ),
    renew: concat!(
        "UPDATE outbox_lanes SET claim_until = ",
        now!(),
        " + ?2 * 1000 WHERE claimed_by = ?1 AND EXISTS (SELECT 1 FROM json_each(?3) l JOIN json_each(?4) f ON f.key = l.key \
          WHERE l.value = lane AND f.value = fence) RETURNING lane"
    ),
    release: "UPDATE outbox_lanes SET claimed_by = NULL, claim_until = NULL WHERE claimed_by = ?1 \
        AND EXISTS (SELECT 1 FROM json_each(?2) l JOIN json_each(?3) f ON f.key = l.key \
          WHERE l.value = lane AND f.value = fence)",

    lock_position: "INSERT INTO consumer_positions (consumer_name, aggregate_type, aggregate_id, last_sequence) \
        VALUES (?1, ?2, ?3, ?4) ON CONFLICT (consumer_name, aggregate_type, aggregate_id) \
        DO UPDATE SET last_sequence = last_sequence RETURNING last_sequence",
    advance_position: "UPDATE consumer_positions SET last_sequence = ?4 \
        WHERE consumer_name = ?1 AND aggregate_type = ?2 AND aggregate_id = ?3",
    claim_event: "INSERT INTO processed_events (consumer_name, event_id) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
    is_processed: "SELECT event_id FROM processed_events WHERE consumer_name = ?1 AND event_id = ?2",
    first_parked: concat!(
        "SELECT event_id, aggregate_sequence, envelope, reason, attempt_count, COALESCE(retry_at <= ",
        now!(),
        ", 0) AS is_due FROM consumer_parked WHERE consumer_name = ?1 AND aggregate_type = ?2 AND aggregate_id = ?3 \
         ORDER BY aggregate_sequence, event_id LIMIT 1"
    ),
    park: concat!(
        "INSERT INTO consumer_parked (consumer_name, event_id, aggregate_type, aggregate_id, aggregate_sequence, \
          envelope, reason, attempt_count, retry_at, last_error) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ",
        now!(),
        " + ?9 * 1000, ?10) ON CONFLICT DO NOTHING"
    ),
    unpark: "DELETE FROM consumer_parked WHERE consumer_name = ?1 AND event_id = ?2",
    park_again: concat!(
        "UPDATE consumer_parked SET reason = ?3, attempt_count = ?4, retry_at = ",
        now!(),
        " + ?5 * 1000, last_error = ?6 WHERE consumer_name = ?1 AND event_id = ?2"
    ),
    due: concat!(
        "SELECT aggregate_type, aggregate_id FROM consumer_parked p WHERE consumer_name = ?1 AND retry_at <= ",
        now!(),
        " AND NOT EXISTS (SELECT 1 FROM consumer_parked q WHERE q.consumer_name = p.consumer_name \
          AND q.aggregate_type = p.aggregate_type AND q.aggregate_id = p.aggregate_id \
          AND (q.aggregate_sequence, q.event_id) < (p.aggregate_sequence, p.event_id)) \
          ORDER BY retry_at LIMIT ?2"
    ),
    next_due: concat!(
        "SELECT MAX(0, (min(retry_at) - ",
        now!(),
        " + 999) / 1000) AS wait FROM consumer_parked p WHERE consumer_name = ?1 AND retry_at IS NOT NULL \
          AND NOT EXISTS (SELECT 1 FROM consumer_parked q WHERE q.consumer_name = p.consumer_name \
          AND q.aggregate_type = p.aggregate_type AND q.aggregate_id = p.aggregate_id \
          AND (q.aggregate_sequence, q.event_id) < (p.aggregate_sequence, p.event_id))"
    ),
    resume_newer: concat!(
        "UPDATE consumer_parked SET retry_at = ",
        now!(),
        " WHERE consumer_name = ?1 AND reason = 'newer_version'"
    ),
};

/// `WHERE true` keeps `SQLite`'s parser from taking ON for a join.
const NUMBER: &str = "\
INSERT INTO outbox_sequences (aggregate_type, aggregate_id, last_sequence)
SELECT value ->> 0, value ->> 1, count(*) FROM json_each(?1) WHERE true GROUP BY 1, 2
ON CONFLICT (aggregate_type, aggregate_id) DO UPDATE SET last_sequence = last_sequence + excluded.last_sequence
RETURNING aggregate_type, aggregate_id, last_sequence";

const LOG: &str = "\
INSERT INTO outbox_events (event_id, aggregate_type, aggregate_id, aggregate_sequence, event_type, schema_version,
                           payload, headers, occurred_at)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, value ->> 8
FROM json_each(?1)";

const QUEUE: &str = "\
INSERT INTO outbox_pending (lane, event_id)
SELECT (value ->> 1) % (SELECT lanes FROM outbox_meta), value ->> 0 FROM json_each(?1) ORDER BY key";

fn list(items: impl Iterator<Item = serde_json::Value>) -> Value {
    serde_json::Value::Array(items.collect()).to_string().into()
}

fn statement(text: &str, values: impl IntoIterator<Item = Value>) -> Statement {
    Statement::from_sql_and_values(DbBackend::Sqlite, text, values)
}

pub(super) async fn append(tx: &DatabaseTransaction, events: &[NewEvent]) -> Result<Vec<i64>, DbErr> {
    let keys = list(events.iter().map(|e| json!([e.sequence_name, e.aggregate_id])));
    let mut next = HashMap::new();
    for row in tx.query_all_raw(statement(NUMBER, [keys])).await? {
        let key = (row.try_get::<String>("", "aggregate_type")?, row.try_get::<String>("", "aggregate_id")?);
        next.insert(key, row.try_get::<i64>("", "last_sequence")?);
    }
    // From the last event backwards, each takes the number that is free below the one after it.
    let mut sequences = Vec::with_capacity(events.len());
    for event in events.iter().rev() {
        let last = next
            .get_mut(&(event.sequence_name.to_owned(), event.aggregate_id.clone()))
            .ok_or_else(|| DbErr::Custom(format!("event {} was appended without a sequence", event.event_id)))?;
        sequences.push(*last);
        *last -= 1;
    }
    sequences.reverse();
    let rows = list(events.iter().zip(&sequences).map(|(e, sequence)| {
        json!([
            e.event_id,
            e.aggregate_type,
            e.aggregate_id,
            sequence,
            e.event_type,
            e.schema_version,
            e.payload.to_string(),
            e.headers_json().to_string(),
            e.occurred_at.timestamp_micros(),
        ])
    }));
    tx.execute_raw(statement(LOG, [rows])).await?;
    let queue = list(events.iter().map(|e| json!([e.event_id, e.lane_hash])));
    tx.execute_raw(statement(QUEUE, [queue])).await?;
    Ok(sequences)
}

/// One writer at a time makes positions follow commits, so one order over all lanes is enough, without a depth
/// per lane. The plus keeps the planner on the primary key, whose order is wanted.
const READ: &str = "\
SELECT p.lane, p.position, p.event_id, e.aggregate_type, e.aggregate_id, e.aggregate_sequence, e.event_type,
       e.schema_version, e.payload, e.headers, e.occurred_at
FROM (SELECT lane, position, event_id FROM outbox_pending
      WHERE NOT held AND position > ?1 AND +lane IN (SELECT value FROM json_each(?2))
        AND event_id NOT IN (SELECT value FROM json_each(?3))
      ORDER BY position LIMIT ?4) p
LEFT JOIN outbox_events e ON e.event_id = p.event_id
ORDER BY p.position";

pub(super) fn read(lanes: &[LaneRead], known: &[Uuid], most: i64) -> Statement {
    let after = lanes.iter().map(|lane| lane.after).min().unwrap_or(0);
    let lanes = list(lanes.iter().map(|lane| json!(lane.number)));
    statement(READ, [after.into(), lanes, list(known.iter().map(|id| json!(id))), most.into()])
}

/// The predecessor may stand under a former name of the aggregate, so every name there is is tried.
const BLOCKED: &str = "\
WITH RECURSIVE names (name) AS (
  SELECT min(aggregate_type) FROM outbox_events
  UNION ALL
  SELECT (SELECT min(e.aggregate_type) FROM outbox_events e WHERE e.aggregate_type > names.name)
  FROM names WHERE names.name IS NOT NULL
)
SELECT d.value ->> 0 AS event_id FROM json_each(?1) d CROSS JOIN names
JOIN outbox_events e ON e.aggregate_type = names.name AND e.aggregate_id = d.value ->> 2
  AND e.aggregate_sequence = d.value ->> 3
JOIN outbox_pending p ON p.event_id = e.event_id AND p.lane = d.value ->> 1";

pub(super) fn blocked(doubts: &[Doubt]) -> Statement {
    let doubts = doubts.iter().map(|d| json!([d.event_id, d.lane, d.aggregate_id, d.predecessor]));
    statement(BLOCKED, [list(doubts)])
}

const HELD: &str = "\
SELECT lane FROM outbox_lanes WHERE claimed_by = ?1
AND EXISTS (SELECT 1 FROM json_each(?2) l JOIN json_each(?3) f ON f.key = l.key WHERE l.value = lane AND f.value = fence)";

/// The common case in one statement, during which nobody else writes: every lane is still ours.
const DELETE_IF_ALL_HELD: &str = "\
DELETE FROM outbox_pending WHERE event_id IN (SELECT value FROM json_each(?1))
AND (SELECT count(*) FROM json_each(?3) l JOIN json_each(?4) f ON f.key = l.key
     JOIN outbox_lanes o ON o.lane = l.value AND o.fence = f.value AND o.claimed_by = ?2) = json_array_length(?3)";

const DELETE: &str = "DELETE FROM outbox_pending WHERE event_id IN (SELECT value FROM json_each(?1))";

pub(super) async fn mark(
    db: &DatabaseConnection,
    relay: &str,
    held: &[Lease],
    published: &[Published],
) -> Result<Vec<i16>, StoreError> {
    let [lanes, fences] = leases(held);
    let ids = list(published.iter().map(|p| json!(p.event_id)));
    let deleted = db.execute_raw(statement(DELETE_IF_ALL_HELD, [ids, relay.into(), lanes, fences])).await?;
    if deleted.rows_affected() == published.len() as u64 {
        return Ok(held.iter().map(|lease| lease.lane).collect());
    }
    // IMMEDIATE: from here to the end nobody else writes, which is what the row locks are elsewhere.
    let tx = begin(db, TransactionOptions::default()).await?;
    let [lanes, fences] = leases(held);
    let rows = tx.query_all_raw(statement(HELD, [relay.into(), lanes, fences])).await?;
    let held = rows.iter().map(|row| row.try_get("", "lane")).collect::<Result<Vec<i16>, _>>()?;
    let done = published.iter().filter(|p| held.contains(&p.lane)).map(|p| json!(p.event_id));
    tx.execute_raw(statement(DELETE, [list(done)])).await?;
    tx.commit().await.map_err(TxError::Commit)?;
    Ok(held)
}

pub(super) fn leases(leases: &[Lease]) -> [Value; 2] {
    [list(leases.iter().map(|lease| json!(lease.lane))), list(leases.iter().map(|lease| json!(lease.fence)))]
}

pub(super) fn lanes(lanes: &[i16]) -> Value {
    list(lanes.iter().map(|lane| json!(lane)))
}

pub(super) fn uuid(id: Uuid) -> Value {
    id.to_string().into()
}

pub(super) fn get_uuid(row: &QueryResult, column: impl ColIdx) -> Result<Uuid, DbErr> {
    let text: String = row.try_get_by(column)?;
    text.parse().map_err(|error| DbErr::Type(format!("column {column:?} holds no UUID: {error}")))
}

pub(super) fn get_instant(row: &QueryResult, column: impl ColIdx) -> Result<DateTime<Utc>, DbErr> {
    let micros: i64 = row.try_get_by(column)?;
    DateTime::from_timestamp_micros(micros)
        .ok_or_else(|| DbErr::Type(format!("column {column:?} holds no instant: {micros}")))
}
