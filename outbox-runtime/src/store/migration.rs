//! The tables as SeaORM migrations, for the user's own `Migrator`.

use async_trait::async_trait;
use sea_orm::{ConnectionTrait, DbErr};
use sea_orm_migration::{MigrationName, MigrationTrait, SchemaManager};

use super::dialect::Dialect;

/// How many lanes [`migrations`] makes.
pub const DEFAULT_LANES: u16 = 64;
/// The largest number of lanes.
pub const MAX_LANES: u16 = 1024;

/// The outbox and inbox tables with [`DEFAULT_LANES`] lanes. Put them first in your `Migrator`; their names
/// and contents never change, and later versions only add to the list.
///
/// ```
/// use outbox_runtime::migrations;
/// use sea_orm_migration::{MigrationTrait, MigratorTrait};
///
/// struct Migrator;
/// impl MigratorTrait for Migrator {
///     fn migrations() -> Vec<Box<dyn MigrationTrait>> {
///         let mut all = migrations();
///         // all.push(Box::new(m20260101_000001_orders::Migration));
///         all
///     }
/// }
///
/// # async fn run() -> Result<(), sea_orm::DbErr> {
/// let db = sea_orm::Database::connect("sqlite::memory:").await?;
/// Migrator::up(&db, None).await?;
/// # Ok(()) }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn migrations() -> Vec<Box<dyn MigrationTrait>> {
    let mut all = outbox_migrations(DEFAULT_LANES);
    all.extend(inbox_migrations());
    all
}

/// Only what a producer and its relay need, with a number of lanes of your own (1 to [`MAX_LANES`]; a value
/// outside is an error of the migration). The number is fixed when the migration runs.
///
/// A relay reads lane by lane: more lanes than relays ever run at once is enough.
///
/// ```
/// assert_eq!(outbox_runtime::outbox_migrations(16).len(), 1);
/// ```
pub fn outbox_migrations(lanes: u16) -> Vec<Box<dyn MigrationTrait>> {
    vec![Box::new(Outbox { lanes })]
}

/// Only what a consumer needs, for a service with a database of its own.
///
/// ```
/// assert_eq!(outbox_runtime::inbox_migrations().len(), 1);
/// ```
pub fn inbox_migrations() -> Vec<Box<dyn MigrationTrait>> {
    vec![Box::new(Inbox)]
}

struct Outbox {
    lanes: u16,
}

impl MigrationName for Outbox {
    fn name(&self) -> &'static str {
        "m20261201_000001_outbox"
    }
}

#[async_trait]
impl MigrationTrait for Outbox {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        if !(1..=MAX_LANES).contains(&self.lanes) {
            return Err(DbErr::Migration(format!("an outbox has 1 to {MAX_LANES} lanes, not {}", self.lanes)));
        }
        let db = manager.get_connection();
        let dialect = Dialect::of(db).map_err(|error| DbErr::Migration(error.to_string()))?;
        db.execute_unprepared(dialect.texts().outbox_up).await?;
        dialect.fill_lanes(db, self.lanes).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        let dialect = Dialect::of(db).map_err(|error| DbErr::Migration(error.to_string()))?;
        db.execute_unprepared(dialect.texts().outbox_down).await.map(drop)
    }

    // SQLite runs migrations without one otherwise, and a half-made schema could not be repeated.
    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }
}

struct Inbox;

impl MigrationName for Inbox {
    fn name(&self) -> &'static str {
        "m20261201_000002_inbox"
    }
}

#[async_trait]
impl MigrationTrait for Inbox {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        let dialect = Dialect::of(db).map_err(|error| DbErr::Migration(error.to_string()))?;
        db.execute_unprepared(dialect.texts().inbox_up).await.map(drop)
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        let dialect = Dialect::of(db).map_err(|error| DbErr::Migration(error.to_string()))?;
        db.execute_unprepared(dialect.texts().inbox_down).await.map(drop)
    }

    fn use_transaction(&self) -> Option<bool> {
        Some(true)
    }
}
