//! From a broker to a handler: each event changes the consumer's state once and in order, or it is parked.
//!
//! One delivery is one transaction of the consumer's own database: lock the aggregate's position, write the inbox
//! row, run the handler, commit, and only then acknowledge. What cannot be applied now is *parked*: its whole
//! envelope is committed, and only then acknowledged. So nothing is acknowledged that is not stored: an event of which
//! the database will not even take that much stays with the broker, aside, and others go on.

mod consumer;
mod deliver;
mod delivery;
mod error;
mod failure;
mod handlers;
mod line;
mod order;
mod policy;
mod retry;
mod run;
mod slot;
mod source;
mod status;

pub use consumer::Consumer;
pub use delivery::Delivery;
pub use error::{ConsumeError, HandlerError, SourceError};
pub use handlers::{Handlers, NoHandlers, On};
pub use policy::{OrderPolicy, RetryPolicy};
pub use source::{Acknowledge, Acknowledged, Incoming, Source};
pub use status::ConsumerStatus;
