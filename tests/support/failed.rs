//! The error of closures in tests.

use outbox_runtime::{LoadError, SaveError, TxError};
use sea_orm::DbErr;

#[derive(Debug, thiserror::Error)]
pub enum Failed {
    #[error(transparent)]
    Save(#[from] SaveError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Tx(#[from] TxError),
    #[error(transparent)]
    Db(#[from] DbErr),
    /// Nothing is wrong: the caller changed its mind.
    #[error("rolled back on purpose")]
    OnPurpose,
}
