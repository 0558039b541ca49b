//! Who may publish which lane, until when. Only the database's clock decides.

use std::time::Duration;

use sea_orm::{ConnectionTrait as _, DatabaseConnection};

use super::{
    StoreError,
    dialect::{Dialect, millis},
};

/// A lane held by a relay. The fence rises with every claim: a lease with an older one is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Lease {
    pub(crate) lane: i16,
    pub(crate) fence: i64,
}

/// The lease table, seen by one relay.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    db: DatabaseConnection,
    dialect: Dialect,
    relay_id: String,
    ttl: Duration,
}

impl Lanes {
    pub(crate) fn new(db: DatabaseConnection, relay_id: String, ttl: Duration) -> Result<Self, StoreError> {
        let dialect = Dialect::of(&db)?;
        Ok(Self { db, dialect, relay_id, ttl })
    }

    /// How many lanes there are.
    pub(crate) async fn count(&self) -> Result<u16, StoreError> {
        let texts = self.dialect.texts();
        // A missing table has no error code of its own on SQLite: ask.
        if self.db.query_one_raw(self.dialect.statement(texts.find_meta, [])).await?.is_none() {
            return Err(StoreError::NotMigrated);
        }
        let row = self.db.query_one_raw(self.dialect.statement(texts.meta, [])).await?;
        let lanes: i32 = row.ok_or(StoreError::NotMigrated)?.try_get("", "lanes")?;
        u16::try_from(lanes)
            .map_err(|_| StoreError::Corrupt { table: "outbox_meta", found: format!("lanes = {lanes}") })
    }

    /// Says that this relay lives and returns how many do, itself included.
    pub(crate) async fn heartbeat(&self) -> Result<u64, StoreError> {
        let (texts, me) = (self.dialect.texts(), &self.relay_id);
        let values = [me.into(), millis(self.ttl).into()];
        self.db.execute_raw(self.dialect.statement(texts.heartbeat, values)).await?;
        let row = self.db.query_one_raw(self.dialect.statement(texts.live_relays, [me.into()])).await?;
        let beside: i64 = row.map_or(Ok(0), |row| row.try_get("", "live"))?;
        Ok(u64::try_from(beside).unwrap_or(0) + 1)
    }

    /// Removes relays that have been silent for `age`.
    pub(crate) async fn forget_silent(&self, age: Duration) -> Result<(), StoreError> {
        let statement = self.dialect.statement(self.dialect.texts().forget_relays, [millis(age).into()]);
        self.db.execute_raw(statement).await?;
        Ok(())
    }

    /// Claims up to `most` free or expired lanes, none of `except`.
    pub(crate) async fn claim(&self, most: usize, except: &[i16]) -> Result<Vec<Lease>, StoreError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let values = [(&self.relay_id).into(), millis(self.ttl).into(), most.into(), self.dialect.lanes(except)];
        let rows = self.db.query_all_raw(self.dialect.statement(self.dialect.texts().claim, values)).await?;
        let lease =
            |row: &sea_orm::QueryResult| Ok(Lease { lane: row.try_get("", "lane")?, fence: row.try_get("", "fence")? });
        rows.iter().map(lease).collect()
    }

    /// Prolongs the leases; those still ours. A lane missing in the answer is lost.
    pub(crate) async fn renew(&self, leases: &[Lease]) -> Result<Vec<i16>, StoreError> {
        if leases.is_empty() {
            return Ok(Vec::new());
        }
        let [lanes, fences] = self.dialect.leases(leases);
        let values = [(&self.relay_id).into(), millis(self.ttl).into(), lanes, fences];
        let rows = self.db.query_all_raw(self.dialect.statement(self.dialect.texts().renew, values)).await?;
        Ok(rows.iter().map(|row| row.try_get("", "lane")).collect::<Result<_, _>>()?)
    }

    /// Gives lanes back; others may claim them at once.
    pub(crate) async fn release(&self, leases: &[Lease]) -> Result<(), StoreError> {
        if leases.is_empty() {
            return Ok(());
        }
        let [lanes, fences] = self.dialect.leases(leases);
        let statement = self.dialect.statement(self.dialect.texts().release, [(&self.relay_id).into(), lanes, fences]);
        self.db.execute_raw(statement).await?;
        Ok(())
    }

    /// Says that this relay is gone.
    pub(crate) async fn deregister(&self) -> Result<(), StoreError> {
        let statement = self.dialect.statement(self.dialect.texts().deregister, [(&self.relay_id).into()]);
        self.db.execute_raw(statement).await?;
        Ok(())
    }
}
