//! Domain events for SeaORM aggregates, committed with the row and published at least once, in order.
//!
//! ```text
//!  your service                     │ relay                        │ consumer
//!                                   │                              │
//!  order.pay() ─ emit               │                              │
//!  order.save(&db)                  │                              │
//!  ┌─────── one transaction ──────┐ │                              │ ┌─────── one transaction ───────┐
//!  │ row · sequence · log · queue │─┼─▶ claim lane ▸ read ▸ publish┼▶│ position · inbox row · handler│
//!  └──────────────────────────────┘ │        acknowledged ▸ mark   │ └───────── then acknowledge ────┘
//! ```
//!
//! - **Emit and save**: [`aggregate`](macro@aggregate) on the entity generates a root; its `save` writes the row,
//!   the aggregate's next sequence number and the events in one transaction. [`transact`] reruns a whole
//!   transaction when the database asks for it.
//! - **Relay**: [`Relay`] publishes what was committed through a [`Publisher`]: at least once, in sequence order per
//!   aggregate, through crashes, hand-overs and outages.
//! - **Consume**: [`Consumer`] runs your handler in the transaction that writes its inbox row, so that a duplicate
//!   changes nothing; what cannot be applied now is parked.
//!
//! It promises at-least-once publication and exactly-once *effect* in the consumer's own database. It does not
//! promise exactly-once delivery, which nobody can. A call to a third system is made safe by an idempotency key:
//! the event's id.
//!
//! # A small program
//!
//! ```
//! use outbox_runtime::prelude::*;
//! use sea_orm::{ConnectionTrait as _, Database, Schema};
//! use sea_orm_migration::{MigrationTrait, MigratorTrait};
//!
//! include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/order.rs")); // the entity with `#[aggregate]` and two methods
//!
//! struct Migrator;
//! impl MigratorTrait for Migrator {
//!     fn migrations() -> Vec<Box<dyn MigrationTrait>> {
//!         outbox_runtime::migrations() // first; then your own
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), BoxError> {
//! let db = Database::connect("sqlite::memory:").await?;
//! Migrator::up(&db, None).await?;
//! db.execute(&Schema::new(db.get_database_backend()).create_table_from_entity(order::Entity)).await?;
//!
//! let bus = LocalBus::new(["billing"])?;
//! let billing = Consumer::builder(db.clone(), "billing").on(async |event: OrderEvent, delivery: Delivery, _: &Tx| {
//!     println!("{} of order {}: {event:?}", delivery.aggregate_sequence(), delivery.aggregate_id());
//!     Ok(())
//! });
//! let billed = billing.status();
//! tokio::spawn(billing.run(bus.source("billing")?));
//! let relay = Relay::builder(db.clone(), bus).start().await?;
//!
//! let id = Order::place(4_200).save(&db).await?.id;
//! transact(&db, TxPolicy::default(), async |tx| {
//!     let mut order = Order::load(tx, id).await?; // locked: check, change and sequence under one lock
//!     order.raise(100);
//!     order.save(tx).await?;
//!     Ok::<_, BoxError>(())
//! })
//! .await?;
//!
//! billed.clone().wait_for(|status| status.applied == 2).await?;
//! relay.stop().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! | feature | brings |
//! | --- | --- |
//! | `sqlite` (default) | the tables on SQLite |
//! | `postgres` | the tables on PostgreSQL |
//! | `tracing` (default) | warnings and errors of relay and consumer as `tracing` events |

// Some values are made for the log only.
#![cfg_attr(not(feature = "tracing"), allow(unused_variables, clippy::match_same_arms))]

extern crate self as outbox_runtime;

#[cfg(not(any(feature = "sqlite", feature = "postgres")))]
compile_error!("outbox-runtime needs a database: switch on the feature `sqlite` or `postgres`");

mod aggregate;
mod consume;
mod event;
mod observe;
pub mod prelude;
mod publish;
mod relay;
mod store;
mod waits;

#[doc(hidden)]
pub mod __private;

pub use aggregate::{
    Aggregate, Deleted, LoadError, OutboxConnection, OutboxTransaction, PendingEvent, RootState, SaveError, Saved,
    StoredEvent, TxPolicy, save_all, transact,
};
pub use consume::{
    Acknowledge, Acknowledged, ConsumeError, Consumer, ConsumerStatus, Delivery, HandlerError, Handlers, Incoming,
    NoHandlers, On, OrderPolicy, RetryPolicy, Source, SourceError,
};
pub use event::{
    BoxError, DecodeError, DomainEvent, Envelope, EventContext, EventDescriptor, EventOf, EventSet, Headers,
    MAX_AGGREGATE_ID, MAX_AGGREGATE_TYPE, MAX_EVENT_TYPE, MAX_PAYLOAD_DEPTH, Payload, PayloadError, RawEvent,
};
/// Makes a struct with named fields an event that can be emitted.
///
/// ```
/// use outbox_runtime::prelude::*;
///
/// /// An order was placed.
/// #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
/// #[event(type = "order.placed", version = 1)]
/// pub struct OrderPlaced {
///     pub total_cents: i64,
/// }
/// ```
#[doc(inline)]
pub use outbox_macros::DomainEvent;
/// Makes an enum a closed set of events: what one consumer reads.
///
/// ```
/// use outbox_runtime::{RawEvent, prelude::*};
///
/// #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
/// #[event(type = "customer.moved", version = 1)]
/// pub struct CustomerMoved {
///     pub city: String,
/// }
/// #[derive(Debug, EventSet)]
/// pub enum AddressBookEvent {
///     Moved(CustomerMoved),
/// }
/// let raw = RawEvent::new("customer.moved", 1, serde_json::json!({"city": "Pune"}));
/// assert_eq!(AddressBookEvent::decode(&raw)?.len(), 1);
/// # Ok::<(), outbox_runtime::DecodeError>(())
/// ```
#[doc(inline)]
pub use outbox_macros::EventSet;
/// Makes a SeaORM entity an aggregate: generates its root, the enum of its events, and what `save` needs.
///
/// ```
/// use outbox_runtime::prelude::*;
/// use sea_orm::{Set, entity::prelude::*};
///
/// #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
/// #[event(type = "seat.taken", version = 1)]
/// pub struct SeatTaken {
///     pub by: String,
/// }
///
/// #[aggregate(root = Seat, name = "seat", events(SeatTaken), version = revision)]
/// #[sea_orm::model]
/// #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
/// #[sea_orm(table_name = "seats")]
/// pub struct Model {
///     #[sea_orm(primary_key, auto_increment = false)]
///     pub number: i32,
///     pub taken_by: Option<String>,
///     pub revision: i32,
/// }
/// impl ActiveModelBehavior for ActiveModel {}
///
/// impl Seat {
///     pub fn take(&mut self, by: &str) {
///         self.taken_by = Set(Some(by.to_owned()));
///         self.emit(SeatTaken { by: by.to_owned() });
///     }
/// }
/// # fn main() {}
/// ```
#[doc(inline)]
pub use outbox_macros::aggregate;
pub use publish::{BoxPublisher, LocalBus, LocalBusError, LocalSource, PublishError, Publisher};
pub use relay::{Relay, RelayBuilder, RelayError, RelayStatus};
pub use store::{
    DEFAULT_LANES, MAX_LANES, StoreError, Tx, TxError, inbox_migrations, lane_of, migrations, outbox_migrations,
};
