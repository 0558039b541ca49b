//! What stands in the outbox tables, read by plain SQL.

use outbox_runtime::{EventSet, RawEvent};
use sea_orm::{ConnectionTrait as _, Statement};

use super::{Kind, TestDb};

/// One row of `outbox_events`.
#[derive(Clone, Debug, PartialEq)]
pub struct Logged {
    pub event_id: String,
    pub aggregate_type: String,
    pub aggregate_id: String,
    pub sequence: i64,
    pub event_type: String,
    pub version: i32,
    pub payload: serde_json::Value,
    /// Its lane, while it waits for the relay.
    pub lane: Option<i32>,
}

impl Logged {
    pub fn decode<S: EventSet>(&self) -> Vec<S> {
        let version = u16::try_from(self.version).unwrap();
        S::decode(&RawEvent::new(self.event_type.clone(), version, self.payload.clone())).unwrap()
    }
}

impl TestDb {
    /// The log by aggregate and sequence.
    pub async fn log(&self) -> Vec<Logged> {
        let sql = "SELECT CAST(e.event_id AS text), e.aggregate_type, e.aggregate_id, e.aggregate_sequence, e.event_type, \
             CAST(e.schema_version AS integer), CAST(e.payload AS text), CAST(p.lane AS integer) \
             FROM outbox_events e LEFT JOIN outbox_pending p ON p.event_id = e.event_id \
             ORDER BY e.aggregate_type, e.aggregate_id, e.aggregate_sequence";
        let statement = Statement::from_string(self.conn.get_database_backend(), sql);
        let rows = self.conn.query_all_raw(statement).await.unwrap();
        let logged = rows.iter().map(|row| Logged {
            event_id: row.try_get_by_index(0).unwrap(),
            aggregate_type: row.try_get_by_index(1).unwrap(),
            aggregate_id: row.try_get_by_index(2).unwrap(),
            sequence: row.try_get_by_index(3).unwrap(),
            event_type: row.try_get_by_index(4).unwrap(),
            version: row.try_get_by_index(5).unwrap(),
            payload: serde_json::from_str(&row.try_get_by_index::<String>(6).unwrap()).unwrap(),
            lane: row.try_get_by_index(7).unwrap(),
        });
        logged.collect()
    }

    /// Rows of a table.
    pub async fn rows(&self, table: &str) -> i64 {
        self.count(&format!("SELECT count(*) FROM {table}")).await
    }

    /// Rows of a table, events in the log, events in the queue, aggregates that have a sequence.
    pub async fn stored(&self, table: &str) -> [i64; 4] {
        [
            self.rows(table).await,
            self.rows("outbox_events").await,
            self.rows("outbox_pending").await,
            self.rows("outbox_sequences").await,
        ]
    }

    /// Text that differs between the databases.
    pub fn either<'t>(&self, sqlite: &'t str, postgres: &'t str) -> &'t str {
        match self.kind {
            Kind::Sqlite => sqlite,
            Kind::Postgres => postgres,
        }
    }

    /// `PostgreSQL` looks for deadlocks after a second by itself, and waits for the disk at each commit. New
    /// connections do neither: a test that meets many deadlocks would take minutes. Nothing on `SQLite`.
    pub async fn find_deadlocks_quickly(&self) {
        if self.kind == Kind::Postgres {
            self.run(
                "DO $$ BEGIN \
                   EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''20ms''', current_database()); \
                   EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); END $$",
            )
            .await;
        }
    }

    /// A transaction of the user's own that may write.
    pub async fn begin(&self) -> sea_orm::DatabaseTransaction {
        begin_writing(&self.conn).await.unwrap()
    }
}

/// `BEGIN IMMEDIATE` on `SQLite`, as the book tells users of raw transactions.
pub async fn begin_writing(db: &sea_orm::DatabaseConnection) -> Result<sea_orm::DatabaseTransaction, sea_orm::DbErr> {
    use sea_orm::{SqliteTransactionMode, TransactionOptions, TransactionTrait as _};
    let sqlite_transaction_mode = Some(SqliteTransactionMode::Immediate);
    match db.get_database_backend() {
        sea_orm::DbBackend::Sqlite => {
            db.begin_with_options(TransactionOptions { sqlite_transaction_mode, ..Default::default() }).await
        }
        _ => db.begin().await,
    }
}
