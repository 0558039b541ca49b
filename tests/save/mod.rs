//! Row, sequence and events in one transaction.

mod cancelled;
mod half_way;
mod hooks;
mod keys;
mod lifecycle;
mod model;
mod race;
mod retry;
mod rollback;
mod savepoint;
mod spent;
mod statements;
mod swallowed;
mod transact;
mod waiting;
