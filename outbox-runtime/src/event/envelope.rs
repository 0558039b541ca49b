//! The envelope: a payload with everything that must travel beside it.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Text headers that travel with an event, such as `traceparent`.
pub type Headers = BTreeMap<String, String>;

/// Who and when, beside the payload: given to upcasters, and part of every [`RawEvent`].
///
/// ```
/// let context = outbox_runtime::EventContext::default();
/// assert_eq!(context.aggregate_sequence, 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EventContext {
    /// Fixed at `emit`, the same for every delivery of this event.
    pub event_id: Uuid,
    /// The aggregate's `name`.
    pub aggregate_type: String,
    /// The encoded primary key of the aggregate's row.
    pub aggregate_id: String,
    /// Position among the events of this aggregate, counted from 1 without holes.
    pub aggregate_sequence: i64,
    /// The emitting program's clock at `emit`, in whole microseconds.
    pub occurred_at: DateTime<Utc>,
    /// Text headers stored with the event.
    #[serde(default)]
    pub headers: Headers,
}

/// An event as stored: type, version and JSON payload, not decoded yet.
///
/// ```
/// let raw = outbox_runtime::RawEvent::new("order.paid", 1, serde_json::json!({"payment": 7}));
/// assert_eq!(raw.version, 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RawEvent {
    /// The wire name.
    pub ty: String,
    /// The schema version that the payload was written in.
    pub version: u16,
    /// The payload as stored.
    pub payload: serde_json::Value,
    /// Who and when.
    pub context: EventContext,
}

impl RawEvent {
    /// An event with an empty context, as tests of upcasters and event sets need it.
    pub fn new(ty: impl Into<String>, version: u16, payload: serde_json::Value) -> Self {
        Self { ty: ty.into(), version, payload, context: EventContext::default() }
    }
}

/// What a publisher sends and a consumer receives.
///
/// A duplicate carries the same `event_id` and `aggregate_sequence` as the first copy.
///
/// ```
/// use outbox_runtime::Envelope;
///
/// let json = serde_json::json!({
///     "event_id": "0193d7f0-0000-7000-8000-000000000000",
///     "aggregate_type": "order", "aggregate_id": "42", "aggregate_sequence": 1,
///     "occurred_at": "2026-01-01T00:00:00Z",
///     "event_type": "order.paid", "schema_version": 1, "payload": {"payment": 7},
/// });
/// let envelope: Envelope = serde_json::from_value(json)?;
/// assert_eq!(envelope.context.aggregate_id, "42");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Envelope {
    /// Who and when.
    #[serde(flatten)]
    pub context: EventContext,
    /// The wire name of the event.
    pub event_type: String,
    /// The schema version of the payload.
    pub schema_version: u16,
    /// The payload as stored.
    pub payload: serde_json::Value,
}

impl Envelope {
    /// The event without its delivery: what decoding works on.
    pub fn into_raw(self) -> RawEvent {
        RawEvent { ty: self.event_type, version: self.schema_version, payload: self.payload, context: self.context }
    }
}

impl From<RawEvent> for Envelope {
    fn from(raw: RawEvent) -> Self {
        Self { context: raw.context, event_type: raw.ty, schema_version: raw.version, payload: raw.payload }
    }
}
