//! The contract between a relay and a broker.

use std::{fmt, future::Future, sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, FutureExt as _};

use super::PublishError;
use crate::event::Envelope;

/// Sends one event to a broker and returns only after the broker's acknowledgement.
///
/// What an implementation owes:
/// - `Ok` means that the broker has the event as durably as it ever will. Not "sent", not "buffered".
/// - The relay calls it for many aggregates at once, but for one aggregate only after the event before was
///   acknowledged. An implementation must not reorder events of one aggregate.
/// - Its future may be dropped (time-out, stop). By then the client must have settled or discarded whatever it
///   buffered for the event; else close the connection, so that nothing is sent late.
///
/// ```
/// use outbox_runtime::{Envelope, PublishError, Publisher};
///
/// /// Writes to a log file that another program reads.
/// struct FilePublisher(tokio::sync::Mutex<std::fs::File>);
///
/// impl Publisher for FilePublisher {
///     async fn publish(&self, event: &Envelope) -> Result<(), PublishError> {
///         use std::io::Write;
///         let line = serde_json::to_string(event).map_err(PublishError::rejected)?;
///         let mut file = self.0.lock().await;
///         writeln!(file, "{line}").and_then(|()| file.sync_data()).map_err(PublishError::unavailable)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a publisher",
    label = "a relay needs a `Publisher`",
    note = "use an adapter such as `LocalBus`, or implement `Publisher`: it returns only after the broker's acknowledgement"
)]
pub trait Publisher: Send + Sync + 'static {
    /// Sends one event.
    ///
    /// # Errors
    /// [`PublishError::Unavailable`] if the broker or the way to it is at fault: nothing is held against the
    /// event. [`PublishError::Rejected`] if this event is.
    fn publish(&self, event: &Envelope) -> impl Future<Output = Result<(), PublishError>> + Send;

    /// How long the client itself tries before it gives up, if it does. A relay refuses to start unless this is
    /// shorter than its publish time-out, which must be shorter than its lease.
    fn client_timeout(&self) -> Option<Duration> {
        None
    }

    /// How many events it can usefully have on their way at once, if fewer than a relay would send. What stands in
    /// line inside the client would count against the publish time-out.
    fn max_in_flight(&self) -> Option<usize> {
        None
    }

    /// Hides the type, for a broker chosen at run time.
    fn boxed(self) -> BoxPublisher
    where
        Self: Sized,
    {
        BoxPublisher(Arc::new(self))
    }
}

/// A publisher whose type is hidden: see [`Publisher::boxed`]. Clones are the same publisher.
///
/// ```
/// use outbox_runtime::{BoxPublisher, LocalBus, Publisher as _};
///
/// fn broker(name: &str) -> Result<BoxPublisher, Box<dyn std::error::Error>> {
///     match name {
///         "local" => Ok(LocalBus::new(["billing"])?.boxed()),
///         other => Err(format!("no broker is called `{other}`").into()),
///     }
/// }
/// assert!(broker("local").is_ok());
/// ```
#[derive(Clone)]
pub struct BoxPublisher(Arc<dyn Hidden>);

/// What [`Publisher`] is without its anonymous future.
trait Hidden: Send + Sync {
    fn publish<'p>(&'p self, event: &'p Envelope) -> BoxFuture<'p, Result<(), PublishError>>;
    fn client_timeout(&self) -> Option<Duration>;
    fn max_in_flight(&self) -> Option<usize>;
}

impl<P: Publisher> Hidden for P {
    fn publish<'p>(&'p self, event: &'p Envelope) -> BoxFuture<'p, Result<(), PublishError>> {
        Publisher::publish(self, event).boxed()
    }
    fn client_timeout(&self) -> Option<Duration> {
        Publisher::client_timeout(self)
    }
    fn max_in_flight(&self) -> Option<usize> {
        Publisher::max_in_flight(self)
    }
}

impl Publisher for BoxPublisher {
    async fn publish(&self, event: &Envelope) -> Result<(), PublishError> {
        self.0.publish(event).await
    }
    fn client_timeout(&self) -> Option<Duration> {
        self.0.client_timeout()
    }
    fn max_in_flight(&self) -> Option<usize> {
        self.0.max_in_flight()
    }
    fn boxed(self) -> BoxPublisher {
        self
    }
}

impl fmt::Debug for BoxPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BoxPublisher")
    }
}

impl<P: Publisher> Publisher for Arc<P> {
    fn publish(&self, event: &Envelope) -> impl Future<Output = Result<(), PublishError>> + Send {
        P::publish(self, event)
    }
    fn client_timeout(&self) -> Option<Duration> {
        P::client_timeout(self)
    }
    fn max_in_flight(&self) -> Option<usize> {
        P::max_in_flight(self)
    }
}
