//! `PostgreSQL` 15 and later.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sea_orm::{
    ColIdx, ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbBackend, DbErr, QueryResult, Statement, Value,
};
use uuid::Uuid;

use super::{StoreError, Texts};
use crate::store::{
    append::NewEvent,
    lanes::Lease,
    pending::{Doubt, LaneRead, Published},
};

pub(super) const TEXTS: Texts = Texts {
    outbox_up: include_str!("postgres/outbox_up.sql"),
    outbox_down: include_str!("postgres/outbox_down.sql"),
    inbox_up: include_str!("postgres/inbox_up.sql"),
    inbox_down: include_str!("postgres/inbox_down.sql"),
    fill_meta: "INSERT INTO outbox_meta (lanes, schema_version) VALUES ($1, 1)",
    fill_lanes: "INSERT INTO outbox_lanes (lane) SELECT generate_series(0, $1 - 1)",
    find_meta: "SELECT relname::text FROM pg_class WHERE oid = to_regclass('outbox_meta')",
    meta: "SELECT lanes, schema_version FROM outbox_meta",
    event_exists: "SELECT event_id FROM outbox_events WHERE event_id = $1",

    heartbeat: "INSERT INTO outbox_relays (relay_id, heartbeat_until) \
        VALUES ($1, clock_timestamp() + $2 * interval '1 millisecond') \
        ON CONFLICT (relay_id) DO UPDATE SET heartbeat_until = excluded.heartbeat_until",
    live_relays: "SELECT count(*) AS live FROM outbox_relays WHERE heartbeat_until > clock_timestamp() AND relay_id <> $1",
    forget_relays: "DELETE FROM outbox_relays WHERE heartbeat_until < clock_timestamp() - $1 * interval '1 millisecond'",
    deregister: "DELETE FROM outbox_relays WHERE relay_id = $1",
    // Materialized: a sub-select that locks must not be run twice by a plan.
    claim: "WITH free AS MATERIALIZED (\
          SELECT lane FROM outbox_lanes \
          WHERE (claimed_by IS NULL OR claim_until < clock_timestamp()) AND lane <> ALL ($4) \
          ORDER BY lane LIMIT $3 FOR UPDATE SKIP LOCKED) \
        UPDATE outbox_lanes l SET claimed_by = $1, claim_until = clock_timestamp() + $2 * interval '1 millisecond', \
          fence = l.fence + 1 \
        FROM free WHERE l.lane = free.lane RETURNING l.lane, l.fence",
    renew: "UPDATE outbox_lanes l SET claim_until = clock_timestamp() + $2 * interval '1 millisecond' \
        FROM unnest($3::smallint[], $4::bigint[]) AS mine (lane, fence) \
        WHERE l.lane = mine.lane AND l.fence = mine.fence AND l.claimed_by = $1 RETURNING l.lane",
    release: "UPDATE outbox_lanes l SET claimed_by = NULL, claim_until = NULL \
        FROM unnest($2::smallint[], $3::bigint[]) AS mine (lane, fence) \
        WHERE l.lane = mine.lane AND l.fence = mine.fence AND l.claimed_by = $1",

    lock_position: "INSERT INTO consumer_positions AS p (consumer_name, aggregate_type, aggregate_id, last_sequence) \
        VALUES ($1, $2, $3, $4) ON CONFLICT (consumer_name, aggregate_type, aggregate_id) \
        DO UPDATE SET last_sequence = p.last_sequence RETURNING last_sequence",
    advance_position: "UPDATE consumer_positions SET last_sequence = $4 \
        WHERE consumer_name = $1 AND aggregate_type = $2 AND aggregate_id = $3",
    claim_event: "INSERT INTO processed_events (consumer_name, event_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
    is_processed: "SELECT event_id FROM processed_events WHERE consumer_name = $1 AND event_id = $2",
    first_parked: "SELECT event_id, aggregate_sequence, envelope, reason, attempt_count, \
          COALESCE(retry_at <= clock_timestamp(), false) AS is_due \
        FROM consumer_parked WHERE consumer_name = $1 AND aggregate_type = $2 AND aggregate_id = $3 \
        ORDER BY aggregate_sequence, event_id LIMIT 1",
    park: "INSERT INTO consumer_parked (consumer_name, event_id, aggregate_type, aggregate_id, aggregate_sequence, \
          envelope, reason, attempt_count, retry_at, last_error) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp() + $9 * interval '1 millisecond', $10) \
        ON CONFLICT DO NOTHING",
    unpark: "DELETE FROM consumer_parked WHERE consumer_name = $1 AND event_id = $2",
    park_again: "UPDATE consumer_parked SET reason = $3, attempt_count = $4, \
          retry_at = clock_timestamp() + $5 * interval '1 millisecond', last_error = $6 \
        WHERE consumer_name = $1 AND event_id = $2",
    due: "SELECT aggregate_type, aggregate_id FROM consumer_parked p \
        WHERE consumer_name = $1 AND retry_at <= clock_timestamp() \
        AND NOT EXISTS (SELECT 1 FROM consumer_parked q WHERE q.consumer_name = p.consumer_name \
          AND q.aggregate_type = p.aggregate_type AND q.aggregate_id = p.aggregate_id \
          AND (q.aggregate_sequence, q.event_id) < (p.aggregate_sequence, p.event_id)) \
        ORDER BY retry_at LIMIT $2",
    next_due: "SELECT CAST(GREATEST(0, CEIL(EXTRACT(EPOCH FROM min(retry_at) - clock_timestamp()) * 1000)) AS bigint) AS wait \
        FROM consumer_parked p WHERE consumer_name = $1 AND retry_at IS NOT NULL \
        AND NOT EXISTS (SELECT 1 FROM consumer_parked q WHERE q.consumer_name = p.consumer_name \
          AND q.aggregate_type = p.aggregate_type AND q.aggregate_id = p.aggregate_id \
          AND (q.aggregate_sequence, q.event_id) < (p.aggregate_sequence, p.event_id))",
    resume_newer: "UPDATE consumer_parked SET retry_at = clock_timestamp() \
        WHERE consumer_name = $1 AND reason = 'newer_version'",
};

/// One round trip and constant text for any number of events and aggregates.
///
/// The sequence row is locked before a position is drawn, so within an aggregate positions follow sequences.
/// `outbox_meta` is read by a scalar sub-select: were it empty, the lane would be NULL and the statement fail.
const APPEND: &str = "\
WITH input AS (
  SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::integer[],
                       $8::jsonb[], $9::jsonb[], $10::timestamptz[])
  WITH ORDINALITY AS t (event_id, sequence_name, aggregate_type, aggregate_id, lane_hash, event_type, schema_version,
                        payload, headers, occurred_at, ord)
), numbered AS (
  SELECT input.*, row_number() OVER (PARTITION BY sequence_name, aggregate_id ORDER BY ord) AS nth,
         count(*) OVER (PARTITION BY sequence_name, aggregate_id) AS of
  FROM input
), seq AS (
  INSERT INTO outbox_sequences AS s (aggregate_type, aggregate_id, last_sequence)
  SELECT sequence_name, aggregate_id, count(*) FROM input GROUP BY 1, 2 ORDER BY 1, 2
  ON CONFLICT (aggregate_type, aggregate_id) DO UPDATE SET last_sequence = s.last_sequence + excluded.last_sequence
  RETURNING s.aggregate_type AS sequence_name, s.aggregate_id, s.last_sequence
), log AS (
  INSERT INTO outbox_events (event_id, aggregate_type, aggregate_id, aggregate_sequence, event_type, schema_version,
                             payload, headers, occurred_at)
  SELECT n.event_id, n.aggregate_type, n.aggregate_id, seq.last_sequence - n.of + n.nth, n.event_type,
         n.schema_version, n.payload, n.headers, n.occurred_at
  FROM numbered n JOIN seq USING (sequence_name, aggregate_id) ORDER BY n.ord
  RETURNING event_id, aggregate_sequence
), queue AS (
  INSERT INTO outbox_pending (lane, event_id)
  SELECT (i.lane_hash % (SELECT lanes FROM outbox_meta))::smallint, i.event_id
  FROM log JOIN input i USING (event_id) ORDER BY i.ord
)
SELECT event_id, aggregate_sequence FROM log";

pub(super) async fn append(tx: &DatabaseTransaction, events: &[NewEvent]) -> Result<Vec<i64>, DbErr> {
    fn column<'e, T>(events: &'e [NewEvent], of: impl Fn(&'e NewEvent) -> T) -> Value
    where
        Value: From<Vec<T>>,
    {
        Value::from(events.iter().map(of).collect::<Vec<T>>())
    }
    let values = [
        column(events, |e| e.event_id),
        column(events, |e| e.sequence_name.to_owned()),
        column(events, |e| e.aggregate_type.to_owned()),
        column(events, |e| e.aggregate_id.clone()),
        column(events, |e| e.lane_hash),
        column(events, |e| e.event_type.to_owned()),
        column(events, |e| i32::from(e.schema_version)),
        column(events, |e| e.payload.clone()),
        column(events, super::super::append::NewEvent::headers_json),
        column(events, |e| e.occurred_at),
    ];
    let rows = tx.query_all_raw(Statement::from_sql_and_values(DbBackend::Postgres, APPEND, values)).await?;
    let mut sequences = HashMap::with_capacity(rows.len());
    for row in rows {
        sequences.insert(row.try_get::<Uuid>("", "event_id")?, row.try_get::<i64>("", "aggregate_sequence")?);
    }
    events
        .iter()
        .map(|event| {
            sequences
                .get(&event.event_id)
                .copied()
                .ok_or_else(|| DbErr::Custom(format!("event {} was appended without a sequence", event.event_id)))
        })
        .collect()
}

const READ: &str = "\
WITH head AS MATERIALIZED (
  SELECT p.lane, p.position, p.event_id
  FROM unnest($1::smallint[], $2::bigint[], $3::bigint[]) AS l (lane, after, take)
  CROSS JOIN LATERAL (
    SELECT q.lane, q.position, q.event_id FROM outbox_pending q
    WHERE q.lane = l.lane AND q.position > l.after AND NOT q.held ORDER BY q.position LIMIT l.take
  ) p
)
SELECT h.lane, h.position, h.event_id, e.aggregate_type, e.aggregate_id, e.aggregate_sequence, e.event_type,
       e.schema_version, e.payload, e.headers, e.occurred_at
FROM head h LEFT JOIN outbox_events e ON e.event_id = h.event_id
WHERE NOT EXISTS (SELECT 1 FROM unnest($4::uuid[]) AS known (event_id) WHERE known.event_id = h.event_id)
ORDER BY h.position LIMIT $5";

pub(super) fn read(lanes: &[LaneRead], known: &[Uuid], most: i64) -> Statement {
    let values = [
        Value::from(lanes.iter().map(|lane| lane.number).collect::<Vec<i16>>()),
        Value::from(lanes.iter().map(|lane| lane.after).collect::<Vec<i64>>()),
        Value::from(lanes.iter().map(|lane| lane.take).collect::<Vec<i64>>()),
        Value::from(known.to_vec()),
        most.into(),
    ];
    Statement::from_sql_and_values(DbBackend::Postgres, READ, values)
}

/// The predecessor may stand under a former name of the aggregate, so every name there is is tried; they are few,
/// and found by one step in the index each.
const BLOCKED: &str = "\
WITH RECURSIVE names (name) AS (
  SELECT min(aggregate_type) FROM outbox_events
  UNION ALL
  SELECT (SELECT min(e.aggregate_type) FROM outbox_events e WHERE e.aggregate_type > names.name)
  FROM names WHERE names.name IS NOT NULL
)
SELECT d.event_id FROM unnest($1::uuid[], $2::smallint[], $3::text[], $4::bigint[])
  AS d (event_id, lane, aggregate_id, predecessor)
CROSS JOIN names
JOIN outbox_events e ON e.aggregate_type = names.name AND e.aggregate_id = d.aggregate_id
  AND e.aggregate_sequence = d.predecessor
JOIN outbox_pending p ON p.event_id = e.event_id AND p.lane = d.lane";

pub(super) fn blocked(doubts: &[Doubt]) -> Statement {
    let values = [
        Value::from(doubts.iter().map(|doubt| doubt.event_id).collect::<Vec<Uuid>>()),
        Value::from(doubts.iter().map(|doubt| doubt.lane).collect::<Vec<i16>>()),
        Value::from(doubts.iter().map(|doubt| doubt.aggregate_id.clone()).collect::<Vec<String>>()),
        Value::from(doubts.iter().map(|doubt| doubt.predecessor).collect::<Vec<i64>>()),
    ];
    Statement::from_sql_and_values(DbBackend::Postgres, BLOCKED, values)
}

/// The lane rows are locked first; a lane that is not ours any more takes no part.
const MARK: &str = "\
WITH held AS MATERIALIZED (
  SELECT l.lane FROM outbox_lanes l
  JOIN unnest($2::smallint[], $3::bigint[]) AS mine (lane, fence) ON l.lane = mine.lane AND l.fence = mine.fence
  WHERE l.claimed_by = $1 FOR SHARE OF l
), gone AS (
  DELETE FROM outbox_pending p USING unnest($4::uuid[], $5::smallint[]) AS done (event_id, lane), held
  WHERE p.event_id = done.event_id AND held.lane = done.lane
)
SELECT lane FROM held";

pub(super) async fn mark(
    db: &DatabaseConnection,
    relay: &str,
    held: &[Lease],
    published: &[Published],
) -> Result<Vec<i16>, StoreError> {
    let [lanes, fences] = leases(held);
    let (ids, of_lanes): (Vec<Uuid>, Vec<i16>) = published.iter().map(|p| (p.event_id, p.lane)).unzip();
    let values = [relay.into(), lanes, fences, Value::from(ids), Value::from(of_lanes)];
    let rows = db.query_all_raw(Statement::from_sql_and_values(DbBackend::Postgres, MARK, values)).await?;
    Ok(rows.iter().map(|row| row.try_get("", "lane")).collect::<Result<_, _>>()?)
}

pub(super) fn leases(leases: &[Lease]) -> [Value; 2] {
    let (lanes, fences): (Vec<i16>, Vec<i64>) = leases.iter().map(|lease| (lease.lane, lease.fence)).unzip();
    [Value::from(lanes), Value::from(fences)]
}

pub(super) fn lanes(lanes: &[i16]) -> Value {
    Value::from(lanes.to_vec())
}

pub(super) fn uuid(id: Uuid) -> Value {
    id.into()
}

pub(super) fn get_uuid(row: &QueryResult, column: impl ColIdx) -> Result<Uuid, DbErr> {
    row.try_get_by(column)
}

pub(super) fn get_instant(row: &QueryResult, column: impl ColIdx) -> Result<DateTime<Utc>, DbErr> {
    row.try_get_by(column)
}
