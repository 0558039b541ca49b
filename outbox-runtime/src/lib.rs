//! placeholder
extern crate self as outbox_runtime;

mod aggregate;
mod consume;
mod event;
mod observe;
pub mod prelude;
mod publish;
mod relay;
mod store;

#[doc(hidden)]
pub mod __private;

pub use aggregate::{
    Aggregate, Deleted, LoadError, OutboxConnection, OutboxTransaction, PendingEvent, RootState, SaveError, Saved,
    StoredEvent, TxPolicy, save_all, transact,
};
pub use consume::{
    Acknowledge, Acknowledged, ConsumeError, Consumer, ConsumerStatus, Delivery, Handlers, Incoming, NoHandlers, On,
    OrderPolicy, RetryPolicy, Source, SourceError,
};
pub use event::{
    BoxError, DecodeError, DomainEvent, Envelope, EventContext, EventDescriptor, EventOf, EventSet, Headers,
    MAX_AGGREGATE_ID, MAX_AGGREGATE_TYPE, MAX_EVENT_TYPE, MAX_PAYLOAD_DEPTH, Payload, PayloadError, RawEvent,
};
pub use outbox_macros::{DomainEvent, EventSet, aggregate};
pub use publish::{LocalBus, LocalBusError, LocalSource, PublishError, Publisher};
pub use relay::{Relay, RelayBuilder, RelayError, RelayStatus};
pub use store::{
    DEFAULT_LANES, MAX_LANES, StoreError, Tx, TxError, inbox_migrations, lane_of, migrations, outbox_migrations,
};
