//! The traits that an event's payload implements, mostly by derive.

use schemars::JsonSchema;
use serde::Serialize;

use super::{DecodeError, RawEvent};

/// One exact version of one payload.
///
/// Derived together with [`DomainEvent`]; also implemented by the generated older versions of a payload.
///
/// ```
/// use outbox_runtime::prelude::*;
///
/// #[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
/// #[event(type = "order.shipped", version = 1)]
/// struct OrderShipped {
///     carrier: String,
/// }
/// assert_eq!(OrderShipped::TYPE, "order.shipped");
/// assert_eq!(OrderShipped::VERSION, 1);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event payload",
    label = "not an event payload",
    note = "add `#[derive(Serialize, Deserialize, JsonSchema, DomainEvent)]` and `#[event(type = \"…\", version = 1)]` to `{Self}`"
)]
pub trait Payload: Sized {
    /// The wire name, for example `order.placed`. It never changes.
    const TYPE: &'static str;
    /// The schema version, counted from 1.
    const VERSION: u16;

    /// Reads a stored event as this version. The event is borrowed, so a failure loses nothing.
    ///
    /// # Errors
    /// [`DecodeError::NewerVersion`] if the event was written by a newer program, and the other variants
    /// if it cannot be read as this type.
    fn load(raw: &RawEvent) -> Result<Self, DecodeError>;
}

/// A payload that may be emitted. Not implemented for events marked `retired` nor for older versions.
///
/// ```
/// use outbox_runtime::prelude::*;
///
/// #[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
/// #[event(type = "invoice.sent", version = 1)]
/// struct InvoiceSent {
///     total_cents: i64,
/// }
/// fn may_be_emitted<E: outbox_runtime::DomainEvent>() {}
/// may_be_emitted::<InvoiceSent>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be emitted",
    label = "not an event that may still be emitted",
    note = "derive it: `#[derive(Serialize, Deserialize, JsonSchema, DomainEvent)]`; an event marked `retired` can be read but not emitted"
)]
pub trait DomainEvent: Payload + Serialize + JsonSchema + Send + Sync + 'static {}

/// An event that the aggregate root `Root` may emit. Implemented by `#[aggregate(events(…))]`.
///
/// ```compile_fail
/// use outbox_runtime::prelude::*;
///
/// #[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
/// #[event(type = "stray", version = 1)]
/// struct Stray {}
/// struct Order;
/// fn emit<E: outbox_runtime::EventOf<Order>>(_: E) {}
/// emit(Stray {}); // `Stray` is not an event of the aggregate `Order`
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event of the aggregate `{Root}`",
    label = "`{Root}` cannot emit `{Self}`",
    note = "list it in `#[aggregate(root = {Root}, …, events({Self}))]`"
)]
pub trait EventOf<Root>: DomainEvent {}

/// A closed set of events: what one aggregate emits, or what one consumer reads.
///
/// `#[aggregate]` generates one per root; derive it on an enum of one's own otherwise.
///
/// ```
/// use outbox_runtime::prelude::*;
///
/// #[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
/// #[event(type = "seat.taken", version = 1)]
/// struct SeatTaken {
///     by: String,
/// }
/// #[derive(Debug, EventSet)]
/// enum SeatEvent {
///     Taken(SeatTaken),
/// }
/// let raw = outbox_runtime::RawEvent::new("seat.taken", 1, serde_json::json!({"by": "Ada"}));
/// let events = SeatEvent::decode(&raw)?;
/// assert!(matches!(&events[..], [SeatEvent::Taken(taken)] if taken.by == "Ada"));
/// # Ok::<(), outbox_runtime::DecodeError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set of events",
    label = "not a set of events",
    note = "use the `…Event` enum that `#[aggregate]` generates, or `#[derive(EventSet)]` on an enum of your own"
)]
pub trait EventSet: Sized {
    /// Reads one stored event. One event may stand for none, one or several of this set.
    ///
    /// # Errors
    /// [`DecodeError::UnknownType`] if the set has no such event; otherwise as [`Payload::load`].
    fn decode(raw: &RawEvent) -> Result<Vec<Self>, DecodeError>;
}
