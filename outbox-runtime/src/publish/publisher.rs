//! The contract between a relay and a broker.

use std::{future::Future, sync::Arc, time::Duration};

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
