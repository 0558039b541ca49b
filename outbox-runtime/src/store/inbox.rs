//! The consumer's tables: what was applied, up to where, and what waits.

use std::time::Duration;

use sea_orm::{ConnectionTrait, DatabaseConnection, DbErr, QueryResult, Value};
use uuid::Uuid;

use super::{
    StoreError,
    dialect::{Dialect, millis},
};
use crate::event::Envelope;

/// Why an event waits in `consumer_parked`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParkReason {
    /// Written by a newer program: waits for an upgrade.
    NewerVersion,
    /// An earlier event has not arrived.
    Gap,
    /// The handler failed and will be tried again.
    Failing,
    /// Tried often enough, or undecodable: waits for a repair.
    Quarantined,
    /// Waits for a parked event before it.
    BehindParked,
    /// At or below the mark, but never seen.
    SequenceConflict,
}

impl ParkReason {
    const ALL: [Self; 6] =
        [Self::NewerVersion, Self::Gap, Self::Failing, Self::Quarantined, Self::BehindParked, Self::SequenceConflict];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::NewerVersion => "newer_version",
            Self::Gap => "gap",
            Self::Failing => "failing",
            Self::Quarantined => "quarantined",
            Self::BehindParked => "behind_parked",
            Self::SequenceConflict => "sequence_conflict",
        }
    }
}

/// What is written beside a parked event.
#[derive(Clone, Debug)]
pub(crate) struct Parking {
    pub(crate) reason: ParkReason,
    pub(crate) attempts: u32,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) error: Option<String>,
}

/// The lowest parked event of an aggregate.
#[derive(Clone, Debug)]
pub(crate) struct ParkedHead {
    pub(crate) event_id: Uuid,
    pub(crate) sequence: i64,
    /// `None`: written by a version that knows more reasons.
    pub(crate) reason: Option<ParkReason>,
    pub(crate) attempts: u32,
    pub(crate) is_due: bool,
    /// Or what is wrong with it.
    pub(crate) envelope: Result<Envelope, String>,
}

/// The inbox of one consumer.
#[derive(Clone, Debug)]
pub(crate) struct Inbox {
    dialect: Dialect,
    consumer: String,
}

/// Which aggregate: type and id.
pub(crate) type Aggregate<'a> = (&'a str, &'a str);

impl Inbox {
    pub(crate) fn new(db: &DatabaseConnection, consumer: String) -> Result<Self, StoreError> {
        Ok(Self { dialect: Dialect::of(db)?, consumer })
    }

    /// Locks the aggregate's position until the transaction ends and returns the last sequence applied.
    /// An aggregate never seen starts at `start`.
    pub(crate) async fn lock_position(
        &self,
        tx: &impl ConnectionTrait,
        aggregate: Aggregate<'_>,
        start: i64,
    ) -> Result<i64, DbErr> {
        let text = self.dialect.texts().lock_position;
        let row = self.one(tx, text, self.of(aggregate, [start.into()])).await?;
        row.ok_or_else(|| DbErr::Custom("consumer_positions returned no row".into()))?.try_get("", "last_sequence")
    }

    pub(crate) async fn advance(
        &self,
        tx: &impl ConnectionTrait,
        aggregate: Aggregate<'_>,
        sequence: i64,
    ) -> Result<(), DbErr> {
        self.run(tx, self.dialect.texts().advance_position, self.of(aggregate, [sequence.into()])).await.map(drop)
    }

    /// Writes the inbox row. `false`: it is there already, the event is a duplicate.
    pub(crate) async fn claim(&self, tx: &impl ConnectionTrait, event_id: Uuid) -> Result<bool, DbErr> {
        let values = vec![(&self.consumer).into(), self.dialect.uuid(event_id)];
        Ok(self.run(tx, self.dialect.texts().claim_event, values).await? == 1)
    }

    pub(crate) async fn is_processed(&self, tx: &impl ConnectionTrait, event_id: Uuid) -> Result<bool, DbErr> {
        let values = vec![(&self.consumer).into(), self.dialect.uuid(event_id)];
        Ok(self.one(tx, self.dialect.texts().is_processed, values).await?.is_some())
    }

    pub(crate) async fn first_parked(
        &self,
        tx: &impl ConnectionTrait,
        aggregate: Aggregate<'_>,
    ) -> Result<Option<ParkedHead>, StoreError> {
        let row = self.one(tx, self.dialect.texts().first_parked, self.of(aggregate, [])).await?;
        row.map(|row| self.head(&row)).transpose()
    }

    /// Stores the whole envelope, so that its delivery may be acknowledged. `false`: it is parked already, and
    /// nothing changes.
    pub(crate) async fn park(
        &self,
        tx: &impl ConnectionTrait,
        envelope: &Envelope,
        parking: &Parking,
    ) -> Result<bool, DbErr> {
        let context = &envelope.context;
        let json = storable(envelope).map_err(|error| DbErr::Json(error.to_string()))?;
        let values = vec![
            (&self.consumer).into(),
            self.dialect.uuid(context.event_id),
            (&context.aggregate_type).into(),
            (&context.aggregate_id).into(),
            context.aggregate_sequence.into(),
            json.into(),
            parking.reason.as_str().into(),
            attempts(parking.attempts),
            parking.retry_after.map(millis).into(),
            parking.error.clone().into(),
        ];
        Ok(self.run(tx, self.dialect.texts().park, values).await? == 1)
    }

    pub(crate) async fn park_again(
        &self,
        tx: &impl ConnectionTrait,
        event_id: Uuid,
        parking: &Parking,
    ) -> Result<(), DbErr> {
        let values = vec![
            (&self.consumer).into(),
            self.dialect.uuid(event_id),
            parking.reason.as_str().into(),
            attempts(parking.attempts),
            parking.retry_after.map(millis).into(),
            parking.error.clone().into(),
        ];
        self.run(tx, self.dialect.texts().park_again, values).await.map(drop)
    }

    pub(crate) async fn unpark(&self, tx: &impl ConnectionTrait, event_id: Uuid) -> Result<(), DbErr> {
        let values = vec![(&self.consumer).into(), self.dialect.uuid(event_id)];
        self.run(tx, self.dialect.texts().unpark, values).await.map(drop)
    }

    /// Aggregates whose lowest parked event is due, at most `most`.
    pub(crate) async fn due(&self, db: &DatabaseConnection, most: u32) -> Result<Vec<(String, String)>, StoreError> {
        let values = [(&self.consumer).into(), i64::from(most).into()];
        let rows = db.query_all_raw(self.dialect.statement(self.dialect.texts().due, values)).await?;
        let pair = |row: &QueryResult| Ok((row.try_get("", "aggregate_type")?, row.try_get("", "aggregate_id")?));
        rows.iter().map(pair).collect()
    }

    /// How long until the lowest parked event of some aggregate is due, by the database's clock. `None`: nothing
    /// waits for time.
    pub(crate) async fn next_due(&self, db: &DatabaseConnection) -> Result<Option<Duration>, StoreError> {
        let row = self.one(db, self.dialect.texts().next_due, vec![(&self.consumer).into()]).await?;
        let wait: Option<i64> = row.map_or(Ok(None), |row| row.try_get("", "wait"))?;
        Ok(wait.map(|millis| Duration::from_millis(u64::try_from(millis).unwrap_or(0))))
    }

    /// This program may know versions that the last one did not: look at those events again.
    pub(crate) async fn resume_newer(&self, db: &DatabaseConnection) -> Result<(), StoreError> {
        self.run(db, self.dialect.texts().resume_newer, vec![(&self.consumer).into()]).await?;
        Ok(())
    }

    fn of<const N: usize>(&self, (aggregate_type, aggregate_id): Aggregate<'_>, more: [Value; N]) -> Vec<Value> {
        let mut values = vec![(&self.consumer).into(), aggregate_type.into(), aggregate_id.into()];
        values.extend(more);
        values
    }

    async fn run(&self, db: &impl ConnectionTrait, text: &str, values: Vec<Value>) -> Result<u64, DbErr> {
        Ok(db.execute_raw(self.dialect.statement(text, values)).await?.rows_affected())
    }

    async fn one(
        &self,
        db: &impl ConnectionTrait,
        text: &str,
        values: Vec<Value>,
    ) -> Result<Option<QueryResult>, DbErr> {
        db.query_one_raw(self.dialect.statement(text, values)).await
    }

    fn head(&self, row: &QueryResult) -> Result<ParkedHead, StoreError> {
        let reason: String = row.try_get("", "reason")?;
        let known = ParkReason::ALL.into_iter().find(|known| known.as_str() == reason);
        let attempts: i32 = row.try_get("", "attempt_count")?;
        Ok(ParkedHead {
            event_id: self.dialect.get_uuid(row, "event_id")?,
            sequence: row.try_get("", "aggregate_sequence")?,
            reason: known,
            attempts: u32::try_from(attempts).unwrap_or(0),
            is_due: row.try_get("", "is_due")?,
            envelope: stored(row).map_err(|problem| format!("envelope: {problem}")),
        })
    }
}

/// The envelope as JSON; or, if it holds a U+0000, which `jsonb` refuses, a JSON string with the envelope's JSON text. In
/// there the escape is six plain characters, so nothing is lost.
fn storable(envelope: &Envelope) -> Result<serde_json::Value, serde_json::Error> {
    let text = serde_json::to_string(envelope)?;
    // An escaped backslash before `u0000` looks the same, and is as well off in a string.
    if text.contains(r"\u0000") { Ok(text.into()) } else { serde_json::to_value(envelope) }
}

fn stored(row: &QueryResult) -> Result<Envelope, String> {
    let json: serde_json::Value = row.try_get("", "envelope").map_err(|error| error.to_string())?;
    let envelope = match json {
        serde_json::Value::String(text) => serde_json::from_str(&text),
        json => serde_json::from_value(json),
    };
    envelope.map_err(|error| error.to_string())
}

fn attempts(count: u32) -> Value {
    i32::try_from(count).unwrap_or(i32::MAX).into()
}
