//! The handle of a running relay.

use std::sync::Arc;

use tokio::{sync::watch, task::JoinHandle};

use super::RelayError;
use crate::store::StoreError;

/// What a relay is doing, as of its last step.
///
/// ```
/// # use outbox_runtime::Relay;
/// async fn wait_for_100(relay: &Relay) {
///     let mut status = relay.status();
///     let _ = status.wait_for(|status| status.published >= 100).await;
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RelayStatus {
    /// The relay's task lives. Once false, nothing is published any more by this relay.
    pub running: bool,
    /// Lanes held.
    pub lanes: usize,
    /// Live relays on the same tables, this one included.
    pub live_relays: u64,
    /// Events acknowledged by the broker whose pending rows are deleted, since the start.
    pub published: u64,
    /// Events in memory: waiting, in flight, or acknowledged and not marked.
    pub in_memory: usize,
    /// Lanes that wait after a failed publish.
    pub blocked_lanes: usize,
    /// Lanes lost to another relay since the start.
    pub lost_lanes: u64,
    /// The last read found nothing more to publish.
    pub caught_up: bool,
    /// It was asked to stop and sends nothing new.
    pub stopping: bool,
    /// The last failure of the database or of the publisher. It is kept when things work again.
    pub last_error: Option<Arc<str>>,
}

/// A running relay: moves events from the outbox to a publisher until it is stopped.
///
/// Dropping it ends it at once: events in flight are published again by whoever claims its lanes, which
/// happens when their leases end. [`Relay::stop`] loses no time.
///
/// ```
/// use outbox_runtime::{LocalBus, Relay};
///
/// # async fn run(db: sea_orm::DatabaseConnection) -> Result<(), Box<dyn std::error::Error>> {
/// let bus = LocalBus::new(["billing"])?;
/// let relay = Relay::builder(db, bus).start().await?;
/// // …
/// relay.stop().await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "dropping a relay ends it: keep the handle and call `stop().await`"]
pub struct Relay {
    id: String,
    stop: watch::Sender<bool>,
    status: watch::Receiver<RelayStatus>,
    task: Option<JoinHandle<Result<(), StoreError>>>,
}

impl Relay {
    pub(super) fn new(
        relay_id: String,
        stop: watch::Sender<bool>,
        status: watch::Receiver<RelayStatus>,
        task: JoinHandle<Result<(), StoreError>>,
    ) -> Self {
        Self { id: relay_id, stop, status, task: Some(task) }
    }

    /// The name under which it holds lanes.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Follows what it does.
    pub fn status(&self) -> watch::Receiver<RelayStatus> {
        self.status.clone()
    }

    /// Ends it well: sends nothing new, waits for what is in flight, marks it, gives the lanes back.
    ///
    /// It takes at most the publish time-out, and up to two leases more if the database does not answer; lanes that
    /// could not be given back then are free when their leases end.
    ///
    /// # Errors
    /// [`RelayError::Closed`] if the connection pool was closed under it; [`RelayError::Ended`] if its task was
    /// cancelled, because the async runtime is shutting down.
    pub async fn stop(mut self) -> Result<(), RelayError> {
        self.stop.send_replace(true);
        match self.task.take() {
            Some(task) => task.await.map_err(RelayError::Ended)?.map_err(RelayError::Closed),
            None => Ok(()),
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
