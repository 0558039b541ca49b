//! From the outbox to a publisher.

mod publish;
