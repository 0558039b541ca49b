//! The in-process broker: a relay on one side, consumers of the same program on the other.

use std::{
    fmt,
    sync::{Arc, Weak},
};

use futures_util::future::try_join_all;
use tokio::sync::{mpsc, oneshot, watch};

use super::{PublishError, Publisher};
use crate::{
    consume::{Incoming, Source, SourceError},
    event::Envelope,
};

/// Copies that may wait for one consumer before `publish` waits for it.
const CAPACITY: usize = 64;

/// Why a [`LocalBus`] could not be built, or a consumer not be attached.
///
/// ```
/// use outbox_runtime::{LocalBus, LocalBusError};
///
/// assert!(matches!(LocalBus::new(["billing", "billing"]), Err(LocalBusError::DeclaredTwice(_))));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LocalBusError {
    /// Without consumers every event would be acknowledged and reach nobody.
    #[error("a bus without consumers would lose every event: name them in `LocalBus::new`")]
    NoConsumers,
    /// Two consumers of one name would share the deliveries of one.
    #[error("the consumer `{0}` is declared twice: give each a name of its own")]
    DeclaredTwice(String),
    /// Nothing waits for this consumer's acknowledgement.
    #[error("the consumer `{0}` was not declared: name it in `LocalBus::new`")]
    Unknown(String),
    /// Its source exists already.
    #[error("the consumer `{0}` runs already: drop its source first, or declare another name")]
    AlreadyRunning(String),
}

/// A broker inside the program: `Ok` from `publish` means that each declared consumer has committed or parked the
/// event. Clones are the same bus.
///
/// The consumers are declared when it is built, and `publish` is `Unavailable` until each of them runs: so no
/// event is acknowledged before somebody who should have it is there. One consumer's failure neither rejects an
/// event for the others nor repeats their effect, since each has its own inbox. When the last clone is dropped,
/// the sources are closed and their consumers end.
///
/// ```
/// use outbox_runtime::{LocalBus, LocalBusError};
///
/// let bus = LocalBus::new(["billing", "loyalty"])?;
/// let billing = bus.source("billing")?; // goes to `Consumer::run`
/// assert_eq!(bus.source("billing").err(), Some(LocalBusError::AlreadyRunning("billing".into())));
/// drop(billing);
/// assert!(bus.source("billing").is_ok());
/// # Ok::<(), LocalBusError>(())
/// ```
#[derive(Clone)]
pub struct LocalBus {
    shared: Arc<Shared>,
}

struct Shared {
    names: Vec<String>,
    /// One per name; `None` while that consumer does not run.
    running: watch::Sender<Vec<Option<mpsc::Sender<Copy>>>>,
}

/// One consumer's copy of an event, and where its acknowledgement goes.
struct Copy {
    envelope: Envelope,
    done: oneshot::Sender<()>,
}

impl LocalBus {
    /// Declares the consumers.
    ///
    /// # Errors
    /// [`LocalBusError::NoConsumers`], [`LocalBusError::DeclaredTwice`].
    pub fn new(consumers: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, LocalBusError> {
        let mut names: Vec<String> = Vec::new();
        for name in consumers {
            let name = name.into();
            if names.contains(&name) {
                return Err(LocalBusError::DeclaredTwice(name));
            }
            names.push(name);
        }
        if names.is_empty() {
            return Err(LocalBusError::NoConsumers);
        }
        let running = watch::Sender::new(names.iter().map(|_| None).collect());
        Ok(Self { shared: Arc::new(Shared { names, running }) })
    }

    /// The deliveries of one declared consumer. It counts as running until this is dropped.
    ///
    /// # Errors
    /// [`LocalBusError::Unknown`], [`LocalBusError::AlreadyRunning`].
    pub fn source(&self, consumer: &str) -> Result<LocalSource, LocalBusError> {
        let unknown = || LocalBusError::Unknown(consumer.to_owned());
        let index = self.shared.names.iter().position(|name| name == consumer).ok_or_else(unknown)?;
        let (sender, receiver) = mpsc::channel(CAPACITY);
        let is_attached = self.shared.running.send_if_modified(|running| match running.get_mut(index) {
            Some(free @ None) => {
                *free = Some(sender);
                true
            }
            _ => false,
        });
        if !is_attached {
            return Err(LocalBusError::AlreadyRunning(consumer.to_owned()));
        }
        Ok(LocalSource { name: consumer.to_owned(), index, receiver, bus: Arc::downgrade(&self.shared) })
    }

    /// Waits until every declared consumer runs.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// # let bus = outbox_runtime::LocalBus::new(["billing"])?;
    /// let billing = bus.source("billing")?;
    /// bus.ready().await;
    /// # drop(billing);
    /// # Ok::<(), outbox_runtime::LocalBusError>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn ready(&self) {
        // It fails only when the sender is gone, and this bus holds it.
        let _ = self.shared.running.subscribe().wait_for(|running| running.iter().all(Option::is_some)).await;
    }

    fn away(&self, index: usize) -> PublishError {
        let name = self.shared.names.get(index).map_or("", String::as_str);
        PublishError::unavailable(format!("the consumer `{name}` is not running"))
    }
}

impl Publisher for LocalBus {
    /// Twice what a consumer works on at once by default: it always has something to do, and little waits.
    fn max_in_flight(&self) -> Option<usize> {
        Some(32)
    }

    async fn publish(&self, event: &Envelope) -> Result<(), PublishError> {
        let running = self.shared.running.borrow().clone();
        let ways: Result<Vec<_>, _> = running
            .into_iter()
            .enumerate()
            .map(|(index, way)| way.map(|way| (index, way)).ok_or_else(|| self.away(index)))
            .collect();
        // One that is gone or goes away ends the wait: the relay sends again, and the others find a duplicate.
        try_join_all(ways?.into_iter().map(async |(index, way)| {
            let (done, acknowledged) = oneshot::channel();
            way.send(Copy { envelope: event.clone(), done }).await.map_err(|_| self.away(index))?;
            // Only the copy waits for a consumer that has gone, not the way to it.
            drop(way);
            acknowledged.await.map_err(|_| self.away(index))
        }))
        .await
        .map(drop)
    }
}

impl fmt::Debug for LocalBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalBus").field("consumers", &self.shared.names).finish_non_exhaustive()
    }
}

/// What a [`LocalBus`] delivers to one consumer. Dropping it makes the name free again.
///
/// ```
/// use outbox_runtime::{ConsumeError, Consumer, Handlers, LocalSource};
///
/// async fn serve(consumer: Consumer<impl Handlers>, source: LocalSource) -> Result<(), ConsumeError> {
///     consumer.run(source).await
/// }
/// ```
pub struct LocalSource {
    name: String,
    index: usize,
    receiver: mpsc::Receiver<Copy>,
    bus: Weak<Shared>,
}

impl Source for LocalSource {
    async fn next(&mut self) -> Result<Option<Incoming>, SourceError> {
        while let Some(Copy { envelope, done }) = self.receiver.recv().await {
            // The publisher has given up waiting and will send the event again.
            if !done.is_closed() {
                // It may give up later, too; then nobody needs the answer.
                let acknowledge = async move || {
                    let _ = done.send(());
                    Ok(())
                };
                return Ok(Some(Incoming::new(envelope, acknowledge)));
            }
        }
        Ok(None)
    }
}

impl Drop for LocalSource {
    fn drop(&mut self) {
        if let Some(bus) = self.bus.upgrade() {
            bus.running.send_modify(|running| {
                if let Some(way) = running.get_mut(self.index) {
                    *way = None;
                }
            });
        }
    }
}

impl fmt::Debug for LocalSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSource").field("consumer", &self.name).finish_non_exhaustive()
    }
}
