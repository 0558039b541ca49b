//! A database of the benchmark's own, with a full log and a queue that can be filled again.

use std::{env, process};

use anyhow::{Context as _, Result};
use outbox_runtime::migrations;
use sea_orm::{ConnectOptions, ConnectionTrait, Database, DatabaseConnection, sqlx::sqlite::SqliteJournalMode};
use sea_orm_migration::{MigrationTrait, MigratorTrait};

use crate::{DatabaseKind, RelayArguments};

pub(crate) struct BenchDatabase {
    pub(crate) conn: DatabaseConnection,
    pub(crate) kind: DatabaseKind,
    /// `PostgreSQL`: server and name, to drop it.
    postgres: Option<(String, String)>,
    _dir: Option<tempfile::TempDir>,
}

struct Migrator;
impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        migrations()
    }
}

impl BenchDatabase {
    pub(crate) async fn make(kind: DatabaseKind) -> Result<Self> {
        let (url, postgres, dir) = match kind {
            DatabaseKind::Postgres => {
                let server =
                    env::var("OUTBOX_TEST_POSTGRES").unwrap_or_else(|_| "postgres://postgres@127.0.0.1:5432".into());
                let name = format!("outbox_bench_{}", process::id());
                let admin =
                    Database::connect(format!("{server}/postgres")).await.context("PostgreSQL does not answer")?;
                admin.execute_unprepared(&format!("CREATE DATABASE {name}")).await?;
                (format!("{server}/{name}"), Some((server, name)), None)
            }
            DatabaseKind::Sqlite => {
                let dir = tempfile::tempdir()?;
                (format!("sqlite://{}?mode=rwc", dir.path().join("bench.db").display()), None, Some(dir))
            }
        };
        let mut options = ConnectOptions::new(url);
        options.max_connections(8).sqlx_logging(false);
        options.map_sqlx_sqlite_opts(|options| options.journal_mode(SqliteJournalMode::Wal));
        let conn = Database::connect(options).await?;
        Migrator::up(&conn, None).await?;
        Ok(Self { conn, kind, postgres, _dir: dir })
    }

    /// Writes the log once: event `n` of every aggregate before event `n + 1` of any.
    pub(crate) async fn fill_log(&self, arguments: &RelayArguments) -> Result<()> {
        let RelayArguments { events, aggregates, .. } = arguments;
        let sql = match self.kind {
            DatabaseKind::Postgres => format!(
                "INSERT INTO outbox_events (event_id, aggregate_type, aggregate_id, aggregate_sequence, event_type, \
                   schema_version, payload, headers, occurred_at) \
                 SELECT ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'order', \
                   lpad((n % {aggregates})::text, 36, '0'), n / {aggregates} + 1, 'order.raised', 1, \
                   jsonb_build_object('by_cents', n, 'note', 'a payload of an ordinary size'), '{{}}', now() \
                 FROM generate_series(0, {events} - 1) AS n"
            ),
            DatabaseKind::Sqlite => format!(
                "WITH RECURSIVE s (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n + 1 < {events}) \
                 INSERT INTO outbox_events (event_id, aggregate_type, aggregate_id, aggregate_sequence, event_type, \
                   schema_version, payload, headers, occurred_at) \
                 SELECT printf('00000000-0000-7000-8000-%012d', n), 'order', printf('%036d', n % {aggregates}), \
                   n / {aggregates} + 1, 'order.raised', 1, \
                   json_object('by_cents', n, 'note', 'a payload of an ordinary size'), '{{}}', 0 FROM s"
            ),
        };
        self.conn.execute_unprepared(&sql).await?;
        Ok(())
    }

    /// Queues the whole log again.
    pub(crate) async fn fill_queue(&self) -> Result<()> {
        let statements: &[&str] = match self.kind {
            DatabaseKind::Postgres => &[
                "TRUNCATE outbox_pending",
                "INSERT INTO outbox_pending (lane, event_id) \
                 SELECT abs(hashtext(aggregate_id)) % 64, event_id FROM outbox_events ORDER BY event_id",
                "VACUUM ANALYZE outbox_pending",
                "VACUUM ANALYZE outbox_events",
                "CHECKPOINT",
            ],
            DatabaseKind::Sqlite => &[
                "DELETE FROM outbox_pending",
                "INSERT INTO outbox_pending (lane, event_id) \
                 SELECT CAST(aggregate_id AS INTEGER) % 64, event_id FROM outbox_events ORDER BY event_id",
                "PRAGMA wal_checkpoint(TRUNCATE)",
            ],
        };
        for statement in statements {
            self.conn.execute_unprepared(statement).await?;
        }
        Ok(())
    }

    pub(crate) async fn drop(self) -> Result<()> {
        self.conn.close().await?;
        if let Some((server, name)) = self.postgres {
            let admin = Database::connect(format!("{server}/postgres")).await?;
            admin.execute_unprepared(&format!("DROP DATABASE {name} WITH (FORCE)")).await?;
        }
        Ok(())
    }
}
