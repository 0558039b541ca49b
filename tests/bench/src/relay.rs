//! Draining a full queue: the relay beside a loop by hand.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use outbox_runtime::{Envelope, EventContext, Headers, PublishError, Publisher, RawEvent, Relay};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, QueryResult, Statement, Value};
use uuid::Uuid;

use crate::{DatabaseKind, RelayArguments, database::BenchDatabase, report::Case};

/// Acknowledges at once.
struct Instantly;

impl Publisher for Instantly {
    async fn publish(&self, event: &Envelope) -> Result<(), PublishError> {
        std::hint::black_box(event);
        Ok(())
    }
}

pub(crate) async fn run(arguments: &RelayArguments) -> Result<()> {
    let database = BenchDatabase::make(arguments.database).await?;
    database.fill_log(arguments).await?;
    let mut case = Case {
        suite: "relay",
        name: format!(
            "{:?}, {} events over {} aggregates, batches of {}",
            arguments.database, arguments.events, arguments.aggregates, arguments.batch
        ),
        rival: "by hand",
        items: arguments.events,
        ours: Vec::new(),
        theirs: Vec::new(),
        target: 0.6,
    };
    for round in 0..arguments.rounds {
        // Who goes first changes from round to round.
        for ours in [round % 2 == 0, round % 2 != 0] {
            database.fill_queue().await?;
            if ours {
                case.ours.push(by_relay(&database, arguments).await?);
            } else {
                case.theirs.push(by_hand(&database, arguments).await?);
            }
        }
    }
    case.print(arguments.json);
    database.drop().await
}

async fn by_relay(database: &BenchDatabase, arguments: &RelayArguments) -> Result<Duration> {
    let started = Instant::now();
    let relay = Relay::builder(database.conn.clone(), Instantly).batch(arguments.batch as usize).start().await?;
    let mut status = relay.status();
    status.wait_for(|status| status.published >= u64::from(arguments.events)).await?;
    let elapsed = started.elapsed();
    relay.stop().await?;
    Ok(elapsed)
}

async fn by_hand(database: &BenchDatabase, arguments: &RelayArguments) -> Result<Duration> {
    let started = Instant::now();
    let mut published = 0;
    loop {
        let batch = read(&database.conn, database.kind, arguments.batch).await?;
        if batch.is_empty() {
            break;
        }
        for event in &batch {
            Instantly.publish(event).await?;
        }
        published += batch.len();
        delete(&database.conn, database.kind, &batch).await?;
    }
    ensure!(published == arguments.events as usize, "the loop by hand published {published} events");
    Ok(started.elapsed())
}

async fn read(db: &DatabaseConnection, kind: DatabaseKind, batch: u32) -> Result<Vec<Envelope>> {
    // In the order of the index that there is.
    let (backend, order, limit) = match kind {
        DatabaseKind::Postgres => (DbBackend::Postgres, "p.lane, p.position", "$1"),
        DatabaseKind::Sqlite => (DbBackend::Sqlite, "p.position", "?1"),
    };
    let sql = format!(
        "SELECT p.event_id, e.aggregate_type, e.aggregate_id, e.aggregate_sequence, e.event_type, e.schema_version, \
           e.payload, e.headers, e.occurred_at \
         FROM outbox_pending p JOIN outbox_events e ON e.event_id = p.event_id \
         WHERE NOT p.held ORDER BY {order} LIMIT {limit}"
    );
    let rows = db.query_all_raw(Statement::from_sql_and_values(backend, sql, [i64::from(batch).into()])).await?;
    rows.iter().map(|row| envelope(row, kind)).collect()
}

fn envelope(row: &QueryResult, kind: DatabaseKind) -> Result<Envelope> {
    let mut context = EventContext::default();
    match kind {
        DatabaseKind::Postgres => {
            context.event_id = row.try_get("", "event_id")?;
            context.occurred_at = row.try_get("", "occurred_at")?;
        }
        DatabaseKind::Sqlite => {
            context.event_id = row.try_get::<String>("", "event_id")?.parse()?;
            let micros = row.try_get("", "occurred_at")?;
            context.occurred_at = chrono::DateTime::from_timestamp_micros(micros).context("an instant")?;
        }
    }
    context.aggregate_type = row.try_get("", "aggregate_type")?;
    context.aggregate_id = row.try_get("", "aggregate_id")?;
    context.aggregate_sequence = row.try_get("", "aggregate_sequence")?;
    context.headers = serde_json::from_value::<Headers>(row.try_get("", "headers")?)?;
    let version: i32 = row.try_get("", "schema_version")?;
    let event_type: String = row.try_get("", "event_type")?;
    let mut raw = RawEvent::new(event_type, u16::try_from(version)?, row.try_get("", "payload")?);
    raw.context = context;
    Ok(raw.into())
}

async fn delete(db: &DatabaseConnection, kind: DatabaseKind, batch: &[Envelope]) -> Result<()> {
    let ids: Vec<Uuid> = batch.iter().map(|event| event.context.event_id).collect();
    let statement = match kind {
        DatabaseKind::Postgres => Statement::from_sql_and_values(
            DbBackend::Postgres,
            "DELETE FROM outbox_pending WHERE event_id = ANY ($1)",
            [Value::from(ids)],
        ),
        DatabaseKind::Sqlite => Statement::from_sql_and_values(
            DbBackend::Sqlite,
            "DELETE FROM outbox_pending WHERE event_id IN (SELECT value FROM json_each(?1))",
            [serde_json::to_string(&ids)?.into()],
        ),
    };
    db.execute_raw(statement).await?;
    Ok(())
}
