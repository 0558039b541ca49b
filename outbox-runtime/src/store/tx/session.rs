//! SeaORM's traits on `Tx`, so that it works wherever SeaORM takes a connection.

use std::{future::Future, pin::Pin, sync::atomic::Ordering};

use async_trait::async_trait;
use sea_orm::{
    AccessMode, ConnectionTrait, DbBackend, DbErr, ExecResult, IsolationLevel, QueryResult, Statement,
    TransactionError, TransactionOptions, TransactionSession, TransactionTrait,
};

use super::Tx;

#[async_trait]
impl ConnectionTrait for Tx {
    fn get_database_backend(&self) -> DbBackend {
        self.inner.get_database_backend()
    }
    async fn execute_raw(&self, statement: Statement) -> Result<ExecResult, DbErr> {
        self.seen(self.raw()?.execute_raw(statement).await).await
    }
    async fn execute_unprepared(&self, sql: &str) -> Result<ExecResult, DbErr> {
        self.seen(self.raw()?.execute_unprepared(sql).await).await
    }
    async fn query_one_raw(&self, statement: Statement) -> Result<Option<QueryResult>, DbErr> {
        self.seen(self.raw()?.query_one_raw(statement).await).await
    }
    async fn query_all_raw(&self, statement: Statement) -> Result<Vec<QueryResult>, DbErr> {
        self.seen(self.raw()?.query_all_raw(statement).await).await
    }
    fn support_returning(&self) -> bool {
        self.inner.support_returning()
    }
}

/// Ends a savepoint. The outermost `Tx` is only ever lent, so these cannot be called on it.
#[async_trait]
impl TransactionSession for Tx {
    async fn commit(self) -> Result<(), DbErr> {
        let Self { inner, health, life } = self;
        let Some((outer, _)) = &life.outer else {
            return Err(DbErr::Custom("the transaction is committed by `transact`".into()));
        };
        if health.nested.load(Ordering::Acquire) > 0 || health.broken.load(Ordering::Acquire) {
            outer.broken.store(true, Ordering::Release);
            return Err(DbErr::Custom("a savepoint inside this one is still open, or was lost".into()));
        }
        // Before the statement and not after it: if this is dropped half-way, the savepoint may be released all the same.
        for (flag, up) in [(&health.failed, &outer.failed), (&health.appended, &outer.appended)] {
            up.fetch_or(flag.load(Ordering::Acquire), Ordering::AcqRel);
        }
        outer.unfinished.fetch_add(health.unfinished.load(Ordering::Acquire), Ordering::AcqRel);
        let released = inner.commit().await;
        if released.is_err() {
            outer.failed.store(true, Ordering::Release);
        }
        released
    }

    async fn rollback(self) -> Result<(), DbErr> {
        let Self { inner, health: _, life: _life } = self;
        inner.rollback().await
    }
}

#[async_trait]
impl TransactionTrait for Tx {
    type Transaction = Self;

    async fn begin(&self) -> Result<Self, DbErr> {
        self.nest(TransactionOptions::default()).await
    }

    async fn begin_with_config(
        &self,
        isolation_level: Option<IsolationLevel>,
        access_mode: Option<AccessMode>,
    ) -> Result<Self, DbErr> {
        self.nest(TransactionOptions { isolation_level, access_mode, ..Default::default() }).await
    }

    async fn begin_with_options(&self, options: TransactionOptions) -> Result<Self, DbErr> {
        self.nest(options).await
    }

    async fn transaction<F, T, E>(&self, callback: F) -> Result<T, TransactionError<E>>
    where
        F: for<'c> FnOnce(&'c Self) -> Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'c>> + Send,
        T: Send,
        E: std::fmt::Display + std::fmt::Debug + Send,
    {
        self.transaction_with_config(callback, None, None).await
    }

    async fn transaction_with_config<F, T, E>(
        &self,
        callback: F,
        isolation_level: Option<IsolationLevel>,
        access_mode: Option<AccessMode>,
    ) -> Result<T, TransactionError<E>>
    where
        F: for<'c> FnOnce(&'c Self) -> Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'c>> + Send,
        T: Send,
        E: std::fmt::Display + std::fmt::Debug + Send,
    {
        let nested =
            self.begin_with_config(isolation_level, access_mode).await.map_err(TransactionError::Connection)?;
        match callback(&nested).await {
            Ok(value) => {
                nested.commit().await.map_err(TransactionError::Connection)?;
                Ok(value)
            }
            Err(error) => {
                nested.rollback().await.map_err(TransactionError::Connection)?;
                Err(TransactionError::Transaction(error))
            }
        }
    }
}
