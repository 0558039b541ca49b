//! Where deliveries come from: the contract between a consumer and a broker.

use std::{fmt, future::Future, pin::Pin};

use tokio::sync::mpsc;

use super::SourceError;
use crate::event::Envelope;

/// The future that [`Acknowledge`] returns.
pub type Acknowledged = Pin<Box<dyn Future<Output = Result<(), SourceError>> + Send>>;

/// Delivers events, each until it is acknowledged.
///
/// What an implementation owes:
/// - `next` is cancel safe: a delivery is not lost when the future is dropped before it is ready.
/// - An [`Incoming`] that is dropped without acknowledgement is delivered again, to this run or a later one.
/// - Events of one aggregate are delivered in the order in which they were published. Duplicates may occur.
/// - Acknowledgements may come in another order than deliveries, but in order within one aggregate. A broker with
///   one cursor moves it only past what is acknowledged without a hole.
///
/// ```
/// use outbox_runtime::{Envelope, Incoming, Source, SourceError};
///
/// /// A batch in memory, for a one-off import.
/// struct Batch(std::vec::IntoIter<Envelope>);
///
/// impl Source for Batch {
///     async fn next(&mut self) -> Result<Option<Incoming>, SourceError> {
///         Ok(self.0.next().map(|envelope| Incoming::new(envelope, async || Ok(()))))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a source of deliveries",
    label = "a consumer needs a `Source`",
    note = "use an adapter such as `LocalBus::source`, or implement `Source`: it delivers each event until it is acknowledged"
)]
pub trait Source: Send {
    /// The next delivery; `None` when the source is closed and everything was delivered.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] if asking again may help, [`SourceError::Broken`] if not.
    fn next(&mut self) -> impl Future<Output = Result<Option<Incoming>, SourceError>> + Send;
}

/// Deliveries that another task puts into a channel; closed when every sender is gone.
///
/// ```
/// use outbox_runtime::{Incoming, Source};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let (sender, mut source) = tokio::sync::mpsc::channel::<Incoming>(8);
/// drop(sender);
/// assert!(source.next().await.is_ok_and(|delivery| delivery.is_none()));
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
impl Source for mpsc::Receiver<Incoming> {
    async fn next(&mut self) -> Result<Option<Incoming>, SourceError> {
        Ok(self.recv().await)
    }
}

/// Tells the broker that a delivery is done with. Dropping it means "not done".
///
/// Async closures implement it: `Incoming::new(envelope, async move || client.ack(offset).await)`.
///
/// ```
/// use outbox_runtime::{Acknowledge, Acknowledged};
///
/// /// Sends the offset to the task that owns the connection.
/// struct Offset(u64, tokio::sync::mpsc::UnboundedSender<u64>);
///
/// impl Acknowledge for Offset {
///     fn acknowledge(self: Box<Self>) -> Acknowledged {
///         Box::pin(async move { self.1.send(self.0).map_err(outbox_runtime::SourceError::unavailable) })
///     }
/// }
/// ```
pub trait Acknowledge: Send + 'static {
    /// Tells the broker. Called at most once, after the commit.
    ///
    /// # Errors
    /// The consumer logs it and goes on: the event is delivered again and found to be a duplicate.
    fn acknowledge(self: Box<Self>) -> Acknowledged;
}

impl<F, Done> Acknowledge for F
where
    F: FnOnce() -> Done + Send + 'static,
    Done: Future<Output = Result<(), SourceError>> + Send + 'static,
{
    fn acknowledge(self: Box<Self>) -> Acknowledged {
        Box::pin(self())
    }
}

/// One delivery and the way to acknowledge it.
///
/// ```
/// # let envelope: outbox_runtime::Envelope = outbox_runtime::RawEvent::new("order.paid", 1, serde_json::json!({})).into();
/// let incoming = outbox_runtime::Incoming::new(envelope, async || Ok(()));
/// assert_eq!(incoming.envelope().event_type, "order.paid");
/// ```
pub struct Incoming {
    pub(super) envelope: Envelope,
    pub(super) acknowledger: Box<dyn Acknowledge>,
}

impl Incoming {
    /// Pairs an event with its acknowledgement.
    pub fn new(envelope: Envelope, acknowledger: impl Acknowledge) -> Self {
        Self { envelope, acknowledger: Box::new(acknowledger) }
    }

    /// The event.
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// Acknowledges without handling, for programs that read a [`Source`] themselves.
    ///
    /// # Errors
    /// What the broker's client said.
    pub async fn acknowledge(self) -> Result<(), SourceError> {
        self.acknowledger.acknowledge().await
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming").field("event_id", &self.envelope.context.event_id).finish_non_exhaustive()
    }
}
