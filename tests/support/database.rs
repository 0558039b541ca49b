//! A fresh, migrated database per test, on every kind that the crate supports.

use std::{
    env, process,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use outbox_runtime::migrations;
use sea_orm::{
    ConnectOptions, ConnectionTrait, Database, DatabaseConnection, EntityTrait, Schema, Statement,
    sqlx::sqlite::SqliteJournalMode,
};
use sea_orm_migration::{MigrationTrait, MigratorTrait};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    Postgres,
}

/// A database of its own. The `SQLite` file goes with it; `PostgreSQL` databases are dropped by `tests/run`.
#[derive(Debug)]
pub struct TestDb {
    pub conn: DatabaseConnection,
    pub kind: Kind,
    pub url: String,
    _dir: Option<tempfile::TempDir>,
}

struct Migrator;
impl MigratorTrait for Migrator {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        migrations()
    }
}

/// The server that tests use; `tests/run` starts one where none answers.
pub fn postgres_url() -> String {
    env::var("OUTBOX_TEST_POSTGRES").unwrap_or_else(|_| "postgres://postgres@127.0.0.1:5432".into())
}

impl TestDb {
    /// Empty: no tables at all.
    pub async fn empty(kind: Kind) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let (url, dir) = match kind {
            Kind::Sqlite => {
                let dir = tempfile::tempdir().expect("a temporary folder");
                (format!("sqlite://{}?mode=rwc", dir.path().join("outbox.db").display()), Some(dir))
            }
            Kind::Postgres => {
                let server = postgres_url();
                let admin = Database::connect(format!("{server}/postgres"))
                    .await
                    .expect("PostgreSQL answers: start the tests with `tests/run`");
                let name = format!("outbox_test_{}_{}", process::id(), NEXT.fetch_add(1, Ordering::SeqCst));
                admin.execute_unprepared(&format!("DROP DATABASE IF EXISTS {name}")).await.unwrap();
                admin.execute_unprepared(&format!("CREATE DATABASE {name}")).await.unwrap();
                admin.close().await.unwrap();
                (format!("{server}/{name}"), None)
            }
        };
        let conn = connect(&url, 12).await;
        Self { conn, kind, url, _dir: dir }
    }

    /// With the outbox and inbox tables.
    pub async fn new(kind: Kind) -> Self {
        let db = Self::empty(kind).await;
        Migrator::up(&db.conn, None).await.expect("the migrations run");
        db
    }

    /// With the outbox tables in one lane.
    pub async fn with_one_lane(kind: Kind) -> Self {
        struct OneLane;
        impl MigratorTrait for OneLane {
            fn migrations() -> Vec<Box<dyn MigrationTrait>> {
                outbox_runtime::outbox_migrations(1)
            }
        }
        let db = Self::empty(kind).await;
        OneLane::up(&db.conn, None).await.expect("the migrations run");
        db
    }

    /// A second pool on the same database.
    pub async fn connect(&self) -> DatabaseConnection {
        connect(&self.url, 12).await
    }

    /// Another pool with this many connections.
    pub async fn connect_with(&self, connections: u32) -> DatabaseConnection {
        connect(&self.url, connections).await
    }

    /// Makes the table of an entity.
    pub async fn create_table<E: EntityTrait>(&self, entity: E) {
        let backend = self.conn.get_database_backend();
        let table = Schema::new(backend).create_table_from_entity(entity);
        self.conn.execute(&table).await.expect("the entity's table is made");
    }

    pub async fn run(&self, sql: &str) {
        self.conn.execute_unprepared(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// The one number that a query returns.
    pub async fn count(&self, sql: &str) -> i64 {
        let statement = Statement::from_string(self.conn.get_database_backend(), sql);
        let row = self.conn.query_one_raw(statement).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        row.expect("a row").try_get_by_index(0).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// One column of text.
    pub async fn texts(&self, sql: &str) -> Vec<String> {
        let statement = Statement::from_string(self.conn.get_database_backend(), sql);
        let rows = self.conn.query_all_raw(statement).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        rows.iter().map(|row| row.try_get_by_index(0).unwrap_or_else(|error| panic!("{sql}: {error}"))).collect()
    }
}

async fn connect(url: &str, connections: u32) -> DatabaseConnection {
    let mut options = ConnectOptions::new(url);
    options.max_connections(connections).acquire_timeout(Duration::from_secs(30)).sqlx_logging(false);
    options.map_sqlx_sqlite_opts(|options| {
        options.journal_mode(SqliteJournalMode::Wal).busy_timeout(Duration::from_secs(30))
    });
    Database::connect(options).await.expect("the database answers")
}

/// The same test on `SQLite` and on `PostgreSQL`: `each_database!(async fn name(db: TestDb) { … })`.
macro_rules! each_database {
    ($(#[$meta:meta])* async fn $name:ident($db:ident: $ty:ty) $body:block) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            $(#[$meta])*
            async fn check($db: $ty) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                check($crate::support::TestDb::new($crate::support::Kind::Sqlite).await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                check($crate::support::TestDb::new($crate::support::Kind::Postgres).await).await;
            }
        }
    };
}
pub(crate) use each_database;
