//! The only place where a relay waits: on signals, with a deadline.

use std::{future::Future, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout},
};

use crate::store::signal::{self, Said};

/// Why the wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Woken {
    /// Events were committed in this process.
    Committed,
    /// Events may be committed soon.
    Hinted,
    /// The relay is asked to stop.
    Stop,
    /// The time has come.
    Deadline,
}

#[derive(Debug)]
pub(super) struct Wake {
    signals: watch::Receiver<Said>,
    seen: Said,
    stop: watch::Receiver<bool>,
    stopping: bool,
}

impl Wake {
    pub(super) fn new(stop: watch::Receiver<bool>) -> Self {
        let signals = signal::listen();
        let seen = *signals.borrow();
        Self { signals, seen, stop, stopping: false }
    }

    /// Ends at the deadline at the latest. May be dropped and called again: no signal is lost.
    pub(super) async fn wait(&mut self, deadline: Instant) -> Woken {
        tokio::select! {
            // An error means that the handle is gone, which its drop has turned into an abort already.
            _ = self.stop.wait_for(|stop| *stop), if !self.stopping => {
                self.stopping = true;
                Woken::Stop
            }
            Ok(said) = self.signals.wait_for(|said| *said != self.seen) => {
                let said = *said;
                let committed = said.commits != self.seen.commits;
                self.seen = said;
                if committed { Woken::Committed } else { Woken::Hinted }
            }
            () = sleep_until(deadline) => Woken::Deadline,
        }
    }
}

/// The outcome of `work`, or `None` after `limit`.
pub(super) async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    timeout(limit, work).await.ok()
}
