//! The connection and the tables: the outbox and inbox of the library, and those of this example.

use std::{fs, io, time::Duration};

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use sea_orm::{
    ConnectOptions, Database, DatabaseConnection, DbErr, Schema,
    sea_query::TableCreateStatement,
    sqlx::sqlite::{SqliteJournalMode, SqliteSynchronous},
};
use sea_orm_migration::{MigrationName, MigrationTrait, MigratorTrait, SchemaManager};

use crate::{customer, journal, loyalty, revenue, tiers};

/// Connects, and makes the tables that are missing. `fresh` drops what an earlier run left.
pub async fn open(url: &str, fresh: bool) -> Result<DatabaseConnection> {
    if fresh && let Some(file) = sqlite_file(url) {
        delete(file)?;
    }
    let db = connect(url).await.with_context(|| format!("no connection to {}", shown(url)))?;
    if fresh {
        Tables::down(&db, None).await.context("the tables could not be dropped")?;
    }
    Tables::up(&db, None).await.context("the tables could not be made")?;
    Ok(db)
}

async fn connect(url: &str) -> Result<DatabaseConnection, DbErr> {
    let mut options = ConnectOptions::new(url);
    // SQLite has one writer at a time. With one connection, who wants to write waits in the pool's queue, in turn;
    // with several they would poll for the file's lock. PostgreSQL has a connection for each of those at work.
    options.max_connections(if url.starts_with("sqlite:") { 1 } else { 16 });
    options.acquire_timeout(Duration::from_secs(30)).sqlx_logging(false);
    // WAL with NORMAL: a commit outlives a crash of the program, but the last ones may be lost when the machine
    // loses power. Rows, events and effects share this file, so they are lost together: it is the state of a moment
    // ago. Take FULL where a commit has been promised to somebody outside.
    options.map_sqlx_sqlite_opts(|options| {
        options
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(Duration::from_secs(10))
    });
    Database::connect(options).await
}

fn sqlite_file(url: &str) -> Option<&str> {
    let path = url.strip_prefix("sqlite:")?;
    let path = path.strip_prefix("//").unwrap_or(path);
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    (path != ":memory:").then_some(path)
}

fn delete(file: &str) -> Result<()> {
    for part in ["", "-wal", "-shm"] {
        match fs::remove_file(format!("{file}{part}")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("{file}{part} could not be deleted"));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// The URL without the part that may hold a password.
pub fn shown(url: &str) -> &str {
    sqlite_file(url).or_else(|| url.rsplit_once('@').map(|(_, server)| server)).unwrap_or(url)
}

struct Tables;

impl MigratorTrait for Tables {
    fn migrations() -> Vec<Box<dyn MigrationTrait>> {
        // The library's come first.
        let mut all = outbox_runtime::migrations();
        all.push(Box::new(Example));
        all
    }
}

struct Example;

impl MigrationName for Example {
    fn name(&self) -> &'static str {
        "m20261201_100000_quickstart"
    }
}

#[async_trait]
impl MigrationTrait for Example {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let schema = Schema::new(manager.get_database_backend());
        let tables: [TableCreateStatement; 5] = [
            schema.create_table_from_entity(customer::Entity),
            schema.create_table_from_entity(journal::Entity),
            schema.create_table_from_entity(revenue::Entity),
            schema.create_table_from_entity(loyalty::Entity),
            schema.create_table_from_entity(tiers::Entity),
        ];
        for table in tables {
            manager.create_table(table).await?;
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        for table in ["customers", "journal", "monthly_revenue", "loyalty_accounts", "tier_counts"] {
            sea_orm::ConnectionTrait::execute_unprepared(db, &format!("DROP TABLE IF EXISTS {table}")).await?;
        }
        Ok(())
    }

    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }
}
