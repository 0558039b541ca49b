//! Where events go: the `Publisher` trait and the in-process broker.

mod error;
mod local;
mod publisher;

pub use error::PublishError;
pub use local::{LocalBus, LocalBusError, LocalSource};
pub use publisher::{BoxPublisher, Publisher};
