//! What a handler is told about an event beside its payload.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::event::{Headers, RawEvent};

/// One delivery of one event to one consumer. Owned and cheap to clone.
///
/// A duplicate never reaches a handler, so its effects in the database need no guard. An external call (a payment,
/// an e-mail) does: pass [`Delivery::event_id`] as its idempotency key, it is the same on every attempt.
///
/// ```
/// use outbox_runtime::Delivery;
///
/// fn idempotency_key(delivery: &Delivery) -> String {
///     format!("{}:{}", delivery.consumer(), delivery.event_id())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Delivery {
    event: Arc<RawEvent>,
    consumer: Arc<str>,
    attempt: u32,
}

impl Delivery {
    pub(super) fn new(event: Arc<RawEvent>, consumer: Arc<str>, attempt: u32) -> Self {
        Self { event, consumer, attempt }
    }

    /// The event's id, the same on every delivery and attempt.
    pub fn event_id(&self) -> Uuid {
        self.event.context.event_id
    }

    /// The `name` of the aggregate that emitted it.
    pub fn aggregate_type(&self) -> &str {
        &self.event.context.aggregate_type
    }

    /// The encoded primary key of the aggregate's row.
    pub fn aggregate_id(&self) -> &str {
        &self.event.context.aggregate_id
    }

    /// Position among the events of its aggregate, counted from 1.
    pub fn aggregate_sequence(&self) -> i64 {
        self.event.context.aggregate_sequence
    }

    /// The wire name of the event.
    pub fn event_type(&self) -> &str {
        &self.event.ty
    }

    /// The schema version in which it was stored; the handler gets it converted.
    pub fn schema_version(&self) -> u16 {
        self.event.version
    }

    /// The emitting program's clock at `emit`.
    pub fn occurred_at(&self) -> DateTime<Utc> {
        self.event.context.occurred_at
    }

    /// Text headers stored with the event.
    pub fn headers(&self) -> &Headers {
        &self.event.context.headers
    }

    /// Which attempt this is, counted from 1. Reruns after a deadlock or serialization failure do not count.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The name of the consumer.
    pub fn consumer(&self) -> &str {
        &self.consumer
    }
}
