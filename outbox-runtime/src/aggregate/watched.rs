//! A transaction that knows if it was used: it is what hooks are given before the row is written.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use sea_orm::{ConnectionTrait, DatabaseTransaction, DbBackend, DbErr, ExecResult, QueryResult, Statement};

use super::row::Hooked;

/// A query counts as well: it may be an `INSERT … RETURNING`.
#[derive(Debug)]
pub(super) struct Watched<'t> {
    tx: &'t DatabaseTransaction,
    used: AtomicBool,
}

impl<'t> Watched<'t> {
    pub(super) fn new(tx: &'t DatabaseTransaction) -> Self {
        Self { tx, used: AtomicBool::new(false) }
    }
    pub(super) fn used(&self) -> Hooked {
        Hooked(self.used.load(Ordering::Acquire))
    }
    fn take(&self) -> &'t DatabaseTransaction {
        self.used.store(true, Ordering::Release);
        self.tx
    }
}

#[async_trait]
impl ConnectionTrait for Watched<'_> {
    fn get_database_backend(&self) -> DbBackend {
        self.tx.get_database_backend()
    }
    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        self.take().execute_raw(statement).await
    }
    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        self.take().execute_unprepared(sql).await
    }
    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        self.take().query_one_raw(statement).await
    }
    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.take().query_all_raw(statement).await
    }
    fn support_returning(&self) -> bool {
        self.tx.support_returning()
    }
}
