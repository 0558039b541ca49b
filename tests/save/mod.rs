//! Row, sequence and events in one transaction.

mod lifecycle;
