//! Row, sequence and events in one transaction.

mod half_way;
mod lifecycle;
mod model;
mod race;
mod retry;
mod rollback;
mod spent;
mod swallowed;
