//! Every hand-written SQL statement, one file per database.
//!
//! Most statements differ in their text only: [`Texts`] holds those, with the parameters in the same order on
//! every database. What differs in shape is a function of the same name in each file.

#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::time::Duration;

use chrono::{DateTime, Utc};
use sea_orm::{
    ColIdx, ConnectionTrait, DatabaseConnection, DatabaseTransaction, DbBackend, DbErr, QueryResult, Statement, Value,
};
use uuid::Uuid;

use super::{
    StoreError,
    append::NewEvent,
    lanes::Lease,
    pending::{Doubt, LaneRead, Published},
};

/// Answers an error inside an aborted `PostgreSQL` transaction and nothing elsewhere.
pub(crate) const PROBE: &str = "SELECT 1";
/// Refused inside an open transaction on SQLite; [`END_PROBE`] undoes it where it was not.
pub(crate) const BEGIN_PROBE: &str = "BEGIN";
pub(crate) const END_PROBE: &str = "ROLLBACK";
/// Around the two writes of a joined save, where a failed statement does not end the transaction.
pub(crate) const SAVEPOINT: &str = "SAVEPOINT outbox_save";
pub(crate) const RELEASE: &str = "RELEASE SAVEPOINT outbox_save";
pub(crate) const ROLLBACK_TO: &str = "ROLLBACK TO SAVEPOINT outbox_save";

/// Makes an open `PostgreSQL` transaction fail, so that COMMIT stores nothing of a save that failed half-way.
pub(crate) const POISON: &str = "DO $$ BEGIN RAISE EXCEPTION 'an aggregate was saved half-way: roll back'; END $$";

/// Statements that differ in their text only. Instants are computed by the database.
#[derive(Debug)]
pub(crate) struct Texts {
    pub(crate) outbox_up: &'static str,
    pub(crate) outbox_down: &'static str,
    pub(crate) inbox_up: &'static str,
    pub(crate) inbox_down: &'static str,
    /// lanes
    pub(crate) fill_meta: &'static str,
    /// first lane after the last
    pub(crate) fill_lanes: &'static str,
    /// → a row with the table's name, or none
    pub(crate) find_meta: &'static str,
    pub(crate) meta: &'static str,
    /// event id
    pub(crate) event_exists: &'static str,

    /// relay, ttl in ms
    pub(crate) heartbeat: &'static str,
    /// relay → live relays beside it
    pub(crate) live_relays: &'static str,
    /// age in ms
    pub(crate) forget_relays: &'static str,
    /// relay
    pub(crate) deregister: &'static str,
    /// relay, ttl in ms, most, lanes not wanted → lane, fence
    pub(crate) claim: &'static str,
    /// relay, ttl in ms, leases → lane
    pub(crate) renew: &'static str,
    /// relay, leases
    pub(crate) release: &'static str,

    /// consumer, type, id, position to start from → last sequence
    pub(crate) lock_position: &'static str,
    /// consumer, type, id, sequence
    pub(crate) advance_position: &'static str,
    /// consumer, event id
    pub(crate) claim_event: &'static str,
    /// consumer, event id
    pub(crate) is_processed: &'static str,
    /// consumer, type, id → head of what is parked
    pub(crate) first_parked: &'static str,
    /// consumer, event id, type, id, sequence, envelope, reason, attempts, retry in ms or null, error
    pub(crate) park: &'static str,
    /// consumer, event id
    pub(crate) unpark: &'static str,
    /// consumer, event id, reason, attempts, retry in ms or null, error
    pub(crate) park_again: &'static str,
    /// consumer, most → type, id
    pub(crate) due: &'static str,
    /// consumer → ms until the next is due
    pub(crate) next_due: &'static str,
    /// consumer
    pub(crate) resume_newer: &'static str,
}

/// The database that a connection talks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    #[cfg(feature = "postgres")]
    Postgres,
    #[cfg(feature = "sqlite")]
    Sqlite,
}

/// Calls the function of the dialect's file.
macro_rules! per_dialect {
    ($dialect:expr, $function:ident($($arg:expr),*)) => {
        match $dialect {
            #[cfg(feature = "postgres")]
            Dialect::Postgres => postgres::$function($($arg),*),
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => sqlite::$function($($arg),*),
        }
    };
    ($dialect:expr, await $function:ident($($arg:expr),*)) => {
        match $dialect {
            #[cfg(feature = "postgres")]
            Dialect::Postgres => postgres::$function($($arg),*).await,
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => sqlite::$function($($arg),*).await,
        }
    };
}

impl Dialect {
    pub(crate) fn of(db: &impl ConnectionTrait) -> Result<Self, StoreError> {
        match db.get_database_backend() {
            #[cfg(feature = "postgres")]
            DbBackend::Postgres => Ok(Self::Postgres),
            #[cfg(feature = "sqlite")]
            DbBackend::Sqlite => Ok(Self::Sqlite),
            other => Err(StoreError::Backend(other)),
        }
    }

    pub(crate) fn texts(self) -> &'static Texts {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres => &postgres::TEXTS,
            #[cfg(feature = "sqlite")]
            Self::Sqlite => &sqlite::TEXTS,
        }
    }

    fn backend(self) -> DbBackend {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres => DbBackend::Postgres,
            #[cfg(feature = "sqlite")]
            Self::Sqlite => DbBackend::Sqlite,
        }
    }

    pub(crate) fn statement(self, text: &str, values: impl IntoIterator<Item = Value>) -> Statement {
        Statement::from_sql_and_values(self.backend(), text, values)
    }

    /// A failed statement leaves the transaction as usable as before, so two writes need a savepoint.
    pub(crate) fn goes_on_after_failure(self) -> bool {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres => false,
            #[cfg(feature = "sqlite")]
            Self::Sqlite => true,
        }
    }

    pub(crate) async fn fill_lanes(self, db: &impl ConnectionTrait, lanes: u16) -> Result<(), DbErr> {
        let lanes = i32::from(lanes);
        db.execute_raw(self.statement(self.texts().fill_meta, [lanes.into()])).await?;
        db.execute_raw(self.statement(self.texts().fill_lanes, [lanes.into()])).await.map(drop)
    }

    /// Numbers and stores the events; their sequences in the order given.
    pub(crate) async fn append(self, tx: &DatabaseTransaction, events: &[NewEvent]) -> Result<Vec<i64>, DbErr> {
        per_dialect!(self, await append(tx, events))
    }

    /// See [`pending::read`](super::pending::read).
    pub(crate) fn read(self, lanes: &[LaneRead], known: &[Uuid], most: i64) -> Statement {
        per_dialect!(self, read(lanes, known, most))
    }

    /// See [`pending::reads_in_one_order`](super::pending::reads_in_one_order).
    pub(crate) fn reads_in_one_order(self) -> bool {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres => false,
            #[cfg(feature = "sqlite")]
            Self::Sqlite => true,
        }
    }

    /// See [`pending::blocked`](super::pending::blocked).
    pub(crate) fn blocked(self, doubts: &[Doubt]) -> Statement {
        per_dialect!(self, blocked(doubts))
    }

    /// Deletes the pending rows of published events whose lane is still held at its fence; those lanes.
    pub(crate) async fn mark(
        self,
        db: &DatabaseConnection,
        relay: &str,
        leases: &[Lease],
        published: &[Published],
    ) -> Result<Vec<i16>, StoreError> {
        per_dialect!(self, await mark(db, relay, leases, published))
    }

    pub(crate) fn leases(self, leases: &[Lease]) -> [Value; 2] {
        per_dialect!(self, leases(leases))
    }
    pub(crate) fn lanes(self, lanes: &[i16]) -> Value {
        per_dialect!(self, lanes(lanes))
    }
    pub(crate) fn uuid(self, id: Uuid) -> Value {
        per_dialect!(self, uuid(id))
    }
    pub(crate) fn get_uuid(self, row: &QueryResult, column: impl ColIdx) -> Result<Uuid, DbErr> {
        per_dialect!(self, get_uuid(row, column))
    }
    pub(crate) fn get_instant(self, row: &QueryResult, column: impl ColIdx) -> Result<DateTime<Utc>, DbErr> {
        per_dialect!(self, get_instant(row, column))
    }
}

/// Whole milliseconds, as statements take durations; ten years at most, which every database can add to its clock.
pub(crate) fn millis(duration: Duration) -> i64 {
    const TEN_YEARS: i64 = 10 * 365 * 24 * 3_600 * 1_000;
    i64::try_from(duration.as_millis()).unwrap_or(TEN_YEARS).min(TEN_YEARS)
}
