//! How a consumer is put together and started.

use std::{fmt, future::Future, sync::Arc, time::Duration};

use sea_orm::DatabaseConnection;
use tokio::sync::watch;

use super::{
    ConsumeError, ConsumerStatus, Delivery, HandlerError, Handlers, NoHandlers, On, OrderPolicy, RetryPolicy, Source,
    deliver::Deliver, handlers::Dispatch, run, status::Counter,
};
use crate::{
    event::EventSet,
    store::{Tx, inbox::Inbox},
};

/// Applies events to a database of its own: each exactly once in effect, and in order within an aggregate.
///
/// The handler runs inside the transaction that also writes the inbox row and the aggregate's position. It gets
/// the event, the [`Delivery`] and the transaction, and writes through the transaction only. A duplicate never
/// reaches it. When it fails, all is rolled back, the event is parked (stored, then acknowledged) and tried again
/// later, and later events of the same aggregate wait behind it. Other aggregates go on.
///
/// Runs of the same name may work beside each other, in one program or in several: the position's lock keeps them
/// apart.
///
/// ```
/// use std::time::Duration;
/// use outbox_runtime::{Consumer, RetryPolicy, prelude::*};
/// use sea_orm::ConnectionTrait as _;
///
/// #[derive(Debug, Serialize, Deserialize, JsonSchema, DomainEvent)]
/// #[event(type = "order.paid", version = 1)]
/// struct OrderPaid {
///     cents: i64,
/// }
/// #[derive(Debug, EventSet)]
/// enum OrderEvent {
///     Paid(OrderPaid),
/// }
///
/// async fn bill(event: OrderEvent, delivery: Delivery, tx: &Tx) -> Result<(), outbox_runtime::HandlerError> {
///     let OrderEvent::Paid(paid) = event;
///     let sql = format!("INSERT INTO bills VALUES ('{}', {})", delivery.aggregate_id(), paid.cents);
///     tx.execute_unprepared(&sql).await?;
///     Ok(())
/// }
///
/// async fn start(db: sea_orm::DatabaseConnection, bus: LocalBus) -> Result<(), Box<dyn std::error::Error>> {
///     let consumer = Consumer::builder(db, "billing")
///         .retries(RetryPolicy::default().max_attempts(5))
///         .concurrency(32)
///         .on(bill);
///     let running = tokio::spawn(consumer.run(bus.source("billing")?));
///     running.await??;
///     Ok(())
/// }
/// ```
#[must_use = "a consumer does nothing until it is `run`"]
pub struct Consumer<H = NoHandlers> {
    db: DatabaseConnection,
    name: Arc<str>,
    retries: RetryPolicy,
    gap_alarm: Duration,
    order: OrderPolicy,
    concurrency: usize,
    handlers: H,
    counter: Counter,
}

impl Consumer {
    /// A consumer without handlers yet. The name tells its inbox from those of others in the same database: it
    /// must stay the same for ever, since under a new name everything delivered is new.
    ///
    /// ```
    /// # async fn run() -> Result<(), sea_orm::DbErr> {
    /// let db = sea_orm::Database::connect("sqlite::memory:").await?;
    /// let consumer = outbox_runtime::Consumer::builder(db, "billing");
    /// assert_eq!(consumer.name(), "billing");
    /// # Ok(()) }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn builder(db: DatabaseConnection, name: impl Into<String>) -> Self {
        let name: Arc<str> = name.into().into();
        Self {
            db,
            retries: RetryPolicy::default(),
            gap_alarm: Duration::from_mins(1),
            order: OrderPolicy::default(),
            concurrency: 16,
            handlers: NoHandlers,
            counter: Counter::new(Arc::clone(&name)),
            name,
        }
    }
}

impl<H> Consumer<H> {
    /// The name given to [`Consumer::builder`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How often a failing handler is tried and how long to wait in between.
    pub fn retries(mut self, retries: RetryPolicy) -> Self {
        self.retries = retries;
        self
    }

    /// How long a missing event may take to arrive before an alarm is raised; 1 minute unless told. The events
    /// behind the gap go on waiting: nothing is skipped.
    pub fn gap_alarm(mut self, wait: Duration) -> Self {
        self.gap_alarm = wait;
        self
    }

    /// How many deliveries are in work at once, over different aggregates; 16 unless told, at least 1. Each needs
    /// a connection of the pool.
    pub fn concurrency(mut self, deliveries: usize) -> Self {
        self.concurrency = deliveries.max(1);
        self
    }

    /// What to do with events that arrive out of order.
    pub fn order(mut self, order: OrderPolicy) -> Self {
        self.order = order;
        self
    }

    /// Counts that can be waited on, before, while and after the consumer runs.
    ///
    /// ```
    /// # async fn run(db: sea_orm::DatabaseConnection) -> Result<(), Box<dyn std::error::Error>> {
    /// let consumer = outbox_runtime::Consumer::builder(db, "billing");
    /// let mut status = consumer.status();
    /// // … run the consumer in a task …
    /// status.wait_for(|status| status.applied >= 10).await?;
    /// # Ok(()) }
    /// ```
    pub fn status(&self) -> watch::Receiver<ConsumerStatus> {
        self.counter.subscribe()
    }
}

impl<H: Dispatch> Consumer<H> {
    /// Adds a handler for the set of events `E`. May be called several times; an event that several sets know
    /// goes to each of them, in this order, in one transaction.
    ///
    /// The type of a consumer with closures has no name. So build it and start its run in one function, or return the
    /// run, as [`Consumer::run`] shows.
    ///
    /// ```
    /// use outbox_runtime::prelude::*;
    ///
    /// fn start<A, B>(db: sea_orm::DatabaseConnection, bus: LocalBus) -> Result<(), BoxError>
    /// where
    ///     A: EventSet + Send + 'static,
    ///     B: EventSet + Send + 'static,
    /// {
    ///     let consumer = Consumer::builder(db, "audit")
    ///         .on(async |_: A, delivery: Delivery, _: &Tx| {
    ///             assert!(delivery.attempt() > 0);
    ///             Ok(())
    ///         })
    ///         .on(async |_: B, _: Delivery, _: &Tx| Ok(()));
    ///     let source = bus.source("audit")?;
    ///     tokio::spawn(async move { consumer.run(source).await });
    ///     Ok(())
    /// }
    /// ```
    pub fn on<E, F>(self, handler: F) -> Consumer<On<E, F, H>>
    where
        E: EventSet,
        F: for<'t> AsyncFnOnce(E, Delivery, &'t Tx) -> Result<(), HandlerError> + Clone,
    {
        let Self { db, name, retries, gap_alarm, order, concurrency, handlers, counter } = self;
        let handlers = On::new(handler, handlers);
        Consumer { db, name, retries, gap_alarm, order, concurrency, handlers, counter }
    }
}

impl<H: Handlers> Consumer<H> {
    /// Works until the source is closed and everything taken from it is settled.
    ///
    /// Dropping the future loses nothing: what was not acknowledged is delivered again. While the database is
    /// away nothing is acknowledged; the consumer waits and goes on when it is back. An event that the database
    /// refuses while it takes others (an aggregate id with a U+0000 on PostgreSQL) is not acknowledged either: it is
    /// tried again after growing waits, its aggregate waits behind it, and others go on. See
    /// [`ConsumerStatus::refused`]. Up to 256 such and waiting deliveries are kept; beyond that none is taken.
    ///
    /// # Errors
    /// Only what no wait can mend: tables that are not migrated, a closed connection pool, a broken source.
    ///
    /// ```
    /// use outbox_runtime::{ConsumeError, Consumer, Delivery, EventSet, LocalSource, Tx};
    ///
    /// /// The run of a consumer whose handlers' types stay hidden, ready for `tokio::spawn`.
    /// fn audit<E: EventSet + Send + 'static>(
    ///     db: sea_orm::DatabaseConnection,
    ///     source: LocalSource,
    /// ) -> impl Future<Output = Result<(), ConsumeError>> + Send {
    ///     Consumer::builder(db, "audit").on(async |_: E, _: Delivery, _: &Tx| Ok(())).run(source)
    /// }
    /// ```
    pub async fn run<S: Source>(self, source: S) -> Result<(), ConsumeError> {
        self.run_until(source, std::future::pending::<()>()).await
    }

    /// Like [`Consumer::run`], and ends gracefully when `shutdown` is ready: takes no new delivery, ends those in
    /// work, and leaves those not begun to the broker.
    ///
    /// # Errors
    /// As [`Consumer::run`].
    ///
    /// ```
    /// use outbox_runtime::prelude::*;
    ///
    /// fn start<E>(db: sea_orm::DatabaseConnection, bus: LocalBus) -> Result<(), BoxError>
    /// where
    ///     E: EventSet + Send + 'static,
    /// {
    ///     let audit = Consumer::builder(db, "audit").on(async |_: E, _: Delivery, _: &Tx| Ok(()));
    ///     let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    ///     tokio::spawn(audit.run_until(bus.source("audit")?, stopped));
    ///     // … `stop` goes to whoever ends the program …
    /// #   drop(stop);
    ///     Ok(())
    /// }
    /// ```
    pub async fn run_until<S: Source>(self, source: S, shutdown: impl Future) -> Result<(), ConsumeError> {
        let Self { db, name, retries, gap_alarm, order, concurrency, handlers, counter } = self;
        match order {
            OrderPolicy::Ordered => {}
        }
        let inbox = Inbox::new(&db, name.as_ref().to_owned()).map_err(ConsumeError::Tables)?;
        let deliver = Deliver { db, inbox, consumer: name, handlers, retries, gap_alarm, counter };
        run::run(deliver, concurrency, source, shutdown).await
    }
}

impl<H> fmt::Debug for Consumer<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer")
            .field("name", &self.name)
            .field("retries", &self.retries)
            .field("order", &self.order)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}
