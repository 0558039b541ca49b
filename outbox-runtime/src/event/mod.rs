//! What an event is: its payload and version, the envelope that travels, and how both are checked.

mod check;
mod decode;
mod descriptor;
mod envelope;
mod payload;

pub(crate) use check::to_checked_value;
pub use check::{MAX_PAYLOAD_DEPTH, PayloadError};
pub use decode::DecodeError;
pub(crate) use decode::parse;
pub use descriptor::EventDescriptor;
pub use envelope::{Envelope, EventContext, Headers, RawEvent};
pub use payload::{DomainEvent, EventOf, EventSet, Payload};

/// The error type of user code: handlers, upcasters.
pub type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// The longest `name` of an aggregate, in characters.
pub const MAX_AGGREGATE_TYPE: usize = 64;
/// The longest `type` of an event, in characters.
pub const MAX_EVENT_TYPE: usize = 128;
/// The longest aggregate id (the encoded primary key), in characters.
pub const MAX_AGGREGATE_ID: usize = 255;
