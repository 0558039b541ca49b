//! What a root can be saved on: a connection opens its own transaction, a transaction is joined.

use sea_orm::{ConnectionTrait, DatabaseConnection, DatabaseTransaction};

use crate::store::Tx;

/// Where the row and its events are written, in one transaction. Sealed.
///
/// `DatabaseConnection` opens a transaction of its own; [`Tx`] and `DatabaseTransaction` are joined.
///
/// A `DatabaseTransaction` commits whatever it is told to. If a `save` in it failed or was dropped half-way, by
/// a time-out for example, roll it back: `PostgreSQL` answers the COMMIT of a failed transaction with success,
/// and the row of a dropped `save` may stand in it without its events. Nor can it tell that a savepoint of it is
/// open: a `save` on it then is undone with the savepoint. [`Tx`] looks after all three by itself.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/order.rs"));
/// # use outbox_runtime::{OutboxConnection, SaveError};
/// async fn place<C: OutboxConnection>(db: &C) -> Result<i64, SaveError> {
///     Ok(Order::place(4_200).save(db).await?.id)
/// }
/// # fn main() {}
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot carry an aggregate and its events",
    label = "expected `DatabaseConnection`, `DatabaseTransaction` or `Tx`",
    note = "the row and its events must be written in one transaction"
)]
pub trait OutboxConnection: ConnectionTrait + sealed::Target + Send + Sync {}

/// An open transaction, in which a row can be locked. Sealed.
///
/// On `SQLite` a plain `db.begin()` is DEFERRED: it locks nothing before its first write, so others can write
/// between a read and that write, which then fails at once with BUSY, whatever the busy time-out. Open it with
/// `SqliteTransactionMode::Immediate`, as [`transact`](crate::transact) does.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/order.rs"));
/// # use outbox_runtime::{LoadError, OutboxTransaction};
/// async fn total<T: OutboxTransaction>(tx: &T, id: i64) -> Result<i64, LoadError> {
///     Ok(*Order::load(tx, id).await?.total_cents.as_ref())
/// }
/// # fn main() {}
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot lock an aggregate's row",
    label = "expected `Tx` or `DatabaseTransaction`",
    note = "a lock lasts as long as its transaction: load, change and save inside `transact(&db, TxPolicy::default(), async |tx| …)`"
)]
pub trait OutboxTransaction: OutboxConnection {}

impl OutboxConnection for DatabaseConnection {}
impl OutboxConnection for DatabaseTransaction {}
impl OutboxConnection for Tx {}
impl OutboxTransaction for DatabaseTransaction {}
impl OutboxTransaction for Tx {}

pub(super) mod sealed {
    use super::{DatabaseConnection, DatabaseTransaction, Tx};

    /// How to get at the transaction.
    #[derive(Debug)]
    pub enum Place<'c> {
        Open(&'c DatabaseConnection),
        Raw(&'c DatabaseTransaction),
        Ours(&'c Tx),
    }

    pub trait Target {
        fn place(&self) -> Place<'_>;
    }
    impl Target for DatabaseConnection {
        fn place(&self) -> Place<'_> {
            Place::Open(self)
        }
    }
    impl Target for DatabaseTransaction {
        fn place(&self) -> Place<'_> {
            Place::Raw(self)
        }
    }
    impl Target for Tx {
        fn place(&self) -> Place<'_> {
            Place::Ours(self)
        }
    }
}
