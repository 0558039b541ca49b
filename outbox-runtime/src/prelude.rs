//! What a program that emits, relays or consumes events needs every day.
//!
//! ```
//! use outbox_runtime::prelude::*;
//! ```

pub use schemars::JsonSchema;
pub use serde::{Deserialize, Serialize};

pub use crate::{
    BoxError, Consumer, Delivery, DomainEvent, Envelope, EventContext, EventSet, HandlerError, LocalBus, Payload,
    Publisher, Relay, Source, Tx, TxPolicy, aggregate, save_all, transact,
};
