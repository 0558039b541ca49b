//! Where events go: the `Publisher` trait and the in-process broker.

mod error;

mod publisher;

pub use error::PublishError;

pub use publisher::Publisher;
