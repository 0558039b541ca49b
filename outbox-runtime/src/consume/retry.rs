//! Everything that waits: reruns, outages of database and source, and the time of parked events.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, sleep_until},
};

use super::{
    ConsumeError, Incoming, Source, SourceError,
    deliver::{Cause, Deliver, Matter, Settled},
    error::{database_error, is_closed, is_outage},
    handlers::Dispatch,
    line::Key,
    slot::Slot,
};
use crate::{
    observe::{self, chain},
    store::{StoreError, inbox::ParkReason},
    waits::Waits,
};

/// How often a transaction is run again at once after a deadlock or serialization failure.
const RERUNS: usize = 5;
/// How many parked aggregates are taken up in one go, beside those in work.
const TAKE: u32 = 64;
/// How long to rely on signals: another program may have parked or released something.
const POLL: Duration = Duration::from_secs(1);
/// The least wait after a look that found nothing although something was due.
const BREATH: Duration = Duration::from_millis(20);

/// The run is to end.
#[derive(Debug)]
pub(super) enum Halt {
    /// It was asked to.
    Stopped,
    /// It cannot go on.
    Broken(ConsumeError),
}

/// What wakes those who wait.
#[derive(Debug)]
pub(super) struct Bell {
    stop: watch::Sender<bool>,
    parked: Notify,
}

impl Bell {
    pub(super) fn new() -> Self {
        Self { stop: watch::Sender::new(false), parked: Notify::new() }
    }

    /// Nobody waits any longer.
    pub(super) fn stop(&self) {
        self.stop.send_replace(true);
    }

    pub(super) fn is_stopped(&self) -> bool {
        *self.stop.borrow()
    }

    /// Something that waits for its time has changed.
    pub(super) fn parked(&self) {
        self.parked.notify_one();
    }

    /// Returns when the run is to end.
    pub(super) async fn stopped(&self) {
        // An error would say that the sender is gone, and it is ours.
        let _ = self.stop.subscribe().wait_for(|stop| *stop).await;
    }

    async fn pause(&self, delay: Duration) -> Result<(), Halt> {
        tokio::select! {
            () = sleep(delay) => Ok(()),
            () = self.stopped() => Err(Halt::Stopped),
        }
    }
}

fn reruns() -> ExponentialBackoff {
    let (first, longest) = (Duration::from_millis(5), Duration::from_millis(200));
    ExponentialBuilder::new().with_min_delay(first).with_max_delay(longest).with_max_times(RERUNS).with_jitter().build()
}

fn outage() -> Waits {
    Waits::new(Duration::from_millis(50), Duration::from_secs(5))
}

fn refusals() -> Waits {
    Waits::new(Duration::from_millis(100), Duration::from_secs(30))
}

impl<H: Dispatch> Deliver<H> {
    /// Looks whether the tables are there, and lets events of newer versions have another try.
    pub(super) async fn open(&self, bell: &Bell) -> Result<(), Halt> {
        let mut delays = outage();
        loop {
            let Err(error) = self.inbox.resume_newer(&self.db).await else { return Ok(()) };
            if !database_error(&error).is_some_and(is_outage) || is_closed(&error) {
                return Err(Halt::Broken(ConsumeError::Tables(error)));
            }
            wait_out(bell, &mut delays, error).await?;
        }
    }

    /// Settles, however long the database takes to come back. What it refuses while it takes others waits aside.
    pub(super) async fn settle_surely(
        &self,
        matter: &Matter,
        bell: &Bell,
        slot: &mut Slot<'_>,
    ) -> Result<Settled, Halt> {
        let (mut rerun_delays, mut outage_delays, mut refusal_delays) = (reruns(), outage(), refusals());
        let mut failed = None;
        loop {
            let undone = match self.settle(matter, failed.as_ref()).await {
                Ok(settled) => {
                    self.counter.count(&settled);
                    if matches!(settled, Settled::Parked { reason: ParkReason::Failing, .. }) {
                        bell.parked();
                    }
                    return Ok(settled);
                }
                Err(undone) => undone,
            };
            if undone.is_transient
                && let Some(delay) = rerun_delays.next()
            {
                bell.pause(delay).await?;
                continue;
            }
            match undone.cause {
                Cause::Event(event) => failed = Some(event),
                Cause::Store(error) => {
                    // If the attempt could not be written down, the outage may have been its reason: none is burnt.
                    failed = None;
                    if undone.is_transient || is_closed(&error) || database_error(&error).is_some_and(is_outage) {
                        wait_out(bell, &mut outage_delays, error).await?;
                    } else {
                        self.counter.refused(matter, &error);
                        drop(error);
                        slot.step_aside(bell, bell.pause(refusal_delays.next())).await?;
                    }
                }
            }
        }
    }

    /// Applies what is parked of the aggregate as far as it is due and in sequence.
    pub(super) async fn follow(&self, key: Key, bell: &Bell, slot: &mut Slot<'_>) -> Result<(), Halt> {
        let matter = Matter::Parked(key);
        // What is left at a stop is due in the table: the next run takes it up.
        while !bell.is_stopped() && self.settle_surely(&matter, bell, slot).await?.more() {}
        Ok(())
    }

    /// Waits until aggregates have a parked event whose time has come. `all_busy`: those found last time are in
    /// work already, so there is no hurry. `in_work`: so many may be found that are in work.
    pub(super) async fn due(&self, bell: &Bell, all_busy: bool, in_work: usize) -> Vec<Key> {
        let most = TAKE.saturating_add(u32::try_from(in_work).unwrap_or(u32::MAX));

        let mut wait = if all_busy { POLL } else { Duration::ZERO };
        loop {
            if !wait.is_zero() {
                tokio::select! {
                    () = sleep(wait) => {}
                    () = bell.parked.notified() => {}
                }
            }
            wait = match self.look(BREATH, most).await {
                Ok(Look::Due(keys)) => return keys,
                Ok(Look::Wait(wait)) => wait.min(POLL),
                Err(error) => {
                    let cause = chain(&error);
                    observe::warning!(cause, "parked events could not be read, trying again");
                    drop(cause);
                    POLL
                }
            };
        }
    }

    async fn look(&self, least: Duration, most: u32) -> Result<Look, StoreError> {
        let wait = match self.inbox.next_due(&self.db).await? {
            Some(wait) if wait.is_zero() => Duration::ZERO,
            Some(wait) => return Ok(Look::Wait(wait)),
            None => return Ok(Look::Wait(POLL)),
        };
        let keys = self.inbox.due(&self.db, most).await?;
        Ok(if keys.is_empty() { Look::Wait(wait.max(least)) } else { Look::Due(keys) })
    }
}

enum Look {
    Due(Vec<Key>),
    Wait(Duration),
}

async fn wait_out(bell: &Bell, delays: &mut Waits, error: StoreError) -> Result<(), Halt> {
    if is_closed(&error) {
        return Err(Halt::Broken(ConsumeError::Closed(error)));
    }
    let cause = chain(&error);
    observe::failure!(cause, "the database refuses the consumer's work: nothing is acknowledged until it takes it");
    drop(cause);
    bell.pause(delays.next()).await
}

/// Reads the source, with pauses while it is unavailable. Cancel safe.
#[derive(Debug)]
pub(super) struct Reader<S> {
    source: S,
    delays: Waits,
    again_at: Option<Instant>,
}

impl<S: Source> Reader<S> {
    pub(super) fn new(source: S) -> Self {
        Self { source, delays: outage(), again_at: None }
    }

    pub(super) async fn next(&mut self) -> Result<Option<Incoming>, SourceError> {
        loop {
            if let Some(again_at) = self.again_at {
                sleep_until(again_at).await;
                self.again_at = None;
            }
            match self.source.next().await {
                Err(SourceError::Unavailable { source }) => {
                    let cause = chain(&*source);
                    observe::warning!(cause, "the source is unavailable, trying again");
                    drop(cause);
                    self.again_at = Some(Instant::now() + self.delays.next());
                }
                answer => {
                    self.delays = outage();
                    return answer;
                }
            }
        }
    }
}
