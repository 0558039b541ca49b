//! Events that wait on a root: id and instant fixed at `emit`, payload checked there.

use std::{fmt, sync::Arc};

use chrono::{DateTime, DurationRound as _, TimeDelta, Utc};
use serde_json::Value;
use uuid::Uuid;

use crate::event::{DomainEvent, Headers, PayloadError, to_checked_value};

/// An event that was emitted and is not saved yet.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/order.rs"));
/// # fn main() {
/// let mut order = Order::place(4_200);
/// assert_eq!(order.pending()[0].event_type(), "order.placed");
/// order.discard();
/// # }
/// ```
pub struct PendingEvent<M> {
    event_id: Uuid,
    occurred_at: DateTime<Utc>,
    event_type: &'static str,
    schema_version: u16,
    headers: Headers,
    body: Body<M>,
}

type Build<M> = dyn Fn(&M) -> Result<Value, PayloadError> + Send + Sync;

enum Body<M> {
    Ready(Result<Value, PayloadError>),
    FromRow(Arc<Build<M>>),
}

impl<M> PendingEvent<M> {
    pub(super) fn ready<E: DomainEvent>(event: &E) -> Self {
        Self::with_body::<E>(Body::Ready(to_checked_value(event)))
    }

    pub(super) fn from_row<E: DomainEvent>(build: impl Fn(&M) -> E + Send + Sync + 'static) -> Self {
        Self::with_body::<E>(Body::FromRow(Arc::new(move |model| to_checked_value(&build(model)))))
    }

    fn with_body<E: DomainEvent>(body: Body<M>) -> Self {
        let now = Utc::now();
        Self {
            event_id: Uuid::now_v7(),
            // PostgreSQL rounds nanoseconds where the driver cuts them: cut once, here.
            occurred_at: now.duration_trunc(TimeDelta::microseconds(1)).unwrap_or(now),
            event_type: E::TYPE,
            schema_version: E::VERSION,
            headers: Headers::new(),
            body,
        }
    }

    /// The id that every copy of this event will carry.
    pub fn event_id(&self) -> Uuid {
        self.event_id
    }

    /// The wire name.
    pub fn event_type(&self) -> &'static str {
        self.event_type
    }

    /// The payload's schema version.
    pub fn schema_version(&self) -> u16 {
        self.schema_version
    }

    /// The emitting program's clock at `emit`, in whole microseconds.
    pub fn occurred_at(&self) -> DateTime<Utc> {
        self.occurred_at
    }

    /// The payload, or `None` while it still depends on the row (`emit_with`) or cannot be stored.
    pub fn payload(&self) -> Option<&Value> {
        match &self.body {
            Body::Ready(Ok(payload)) => Some(payload),
            Body::Ready(Err(_)) | Body::FromRow(_) => None,
        }
    }

    /// What is wrong with the payload; `save` will return it.
    pub fn problem(&self) -> Option<&PayloadError> {
        match &self.body {
            Body::Ready(Err(problem)) => Some(problem),
            Body::Ready(Ok(_)) | Body::FromRow(_) => None,
        }
    }

    pub(super) fn needs_row(&self) -> bool {
        matches!(self.body, Body::FromRow(_))
    }

    /// The payload to store, built from `model` where it depends on it.
    pub(super) fn build(&self, model: Option<&M>) -> Option<Result<Value, PayloadError>> {
        match (&self.body, model) {
            (Body::Ready(payload), _) => Some(payload.clone()),
            (Body::FromRow(build), Some(model)) => Some(build(model)),
            (Body::FromRow(_), None) => None,
        }
    }

    pub(super) fn headers(&self) -> &Headers {
        &self.headers
    }
}

// By hand: `M` need not be `Clone`.
impl<M> Clone for PendingEvent<M> {
    fn clone(&self) -> Self {
        Self {
            event_id: self.event_id,
            occurred_at: self.occurred_at,
            event_type: self.event_type,
            schema_version: self.schema_version,
            headers: self.headers.clone(),
            body: match &self.body {
                Body::Ready(payload) => Body::Ready(payload.clone()),
                Body::FromRow(build) => Body::FromRow(Arc::clone(build)),
            },
        }
    }
}

impl<M> fmt::Debug for PendingEvent<M> {
    // Payloads may hold personal data: never printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} v{} {}", self.event_type, self.schema_version, self.event_id)
    }
}
