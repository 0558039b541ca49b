//! What a consumer has done so far, for tests, health checks and metrics.

use std::sync::Arc;

use tokio::sync::watch;

use super::deliver::{Matter, Settled, Subject};
use crate::{
    observe::{self, chain},
    store::{StoreError, inbox::ParkReason},
};

/// Counts of one [`Consumer`](crate::Consumer) since it was built. What is parked at the moment stands in the
/// table `consumer_parked`.
///
/// ```
/// use outbox_runtime::{Consumer, ConsumerStatus};
///
/// # async fn run(db: sea_orm::DatabaseConnection) -> Result<(), Box<dyn std::error::Error>> {
/// let mut status = Consumer::builder(db, "billing").status();
/// status.wait_for(|status| status.applied == 3).await?; // no polling
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsumerStatus {
    /// The run has found its tables and takes deliveries.
    pub running: bool,
    /// Events whose handlers ran and were committed.
    pub applied: u64,
    /// Deliveries of an event that was applied or parked before.
    pub duplicates: u64,
    /// Events that no handler's set knows; order goes on without them.
    pub ignored: u64,
    /// Events put aside with their whole envelope, for whatever reason.
    pub parked: u64,
    /// Attempts of handlers that failed and were counted.
    pub failures: u64,
    /// Events that wait for a repair: tried often enough, or unreadable.
    pub quarantined: u64,
    /// Events at or below the mark that were never seen: a producer was restored from an older state.
    pub conflicts: u64,
    /// Tries to store an event, or what became of it, that the database refused although it takes others. The event
    /// is not acknowledged; it is tried again later, its aggregate waits, others go on. See the error in the log.
    pub refused: u64,
    /// Gaps that were not filled in the time given by [`Consumer::gap_alarm`](crate::Consumer::gap_alarm).
    pub overdue_gaps: u64,
}

/// Counts, and says aloud what somebody should look at.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    consumer: Arc<str>,
    status: watch::Sender<ConsumerStatus>,
}

impl Counter {
    pub(super) fn new(consumer: Arc<str>) -> Self {
        Self { consumer, status: watch::Sender::new(ConsumerStatus::default()) }
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<ConsumerStatus> {
        self.status.subscribe()
    }

    pub(super) fn running(&self, running: bool) {
        self.status.send_modify(|status| status.running = running);
        observe::notice!(consumer = &*self.consumer, running, "consumer");
    }

    pub(super) fn count(&self, settled: &Settled) {
        self.status.send_modify(|status| match settled {
            Settled::Applied { .. } => status.applied += 1,
            Settled::Ignored { .. } => status.ignored += 1,
            Settled::Duplicate { .. } => status.duplicates += 1,
            Settled::Parked { reason, is_new, is_failure, .. } => {
                status.parked += u64::from(*is_new);
                status.failures += u64::from(*is_failure);
                status.quarantined += u64::from(*reason == ParkReason::Quarantined);
                status.conflicts += u64::from(*reason == ParkReason::SequenceConflict);
            }
            Settled::Overdue(_) => status.overdue_gaps += 1,
            Settled::Stays => {}
        });
        match settled {
            Settled::Parked { reason, subject, error, .. } => self.tell(*reason, subject, error.as_deref()),
            Settled::Overdue(Subject { event_id, aggregate_type, aggregate_id, sequence, .. }) => observe::failure!(
                consumer = &*self.consumer, %event_id, aggregate_type, aggregate_id, sequence,
                "the event before this one is still missing: look for it at the producer's side"
            ),
            _ => {}
        }
    }

    /// The database takes others, and not this.
    pub(super) fn refused(&self, matter: &Matter, error: &StoreError) {
        self.status.send_modify(|status| status.refused += 1);
        let (aggregate_type, aggregate_id) = matter.aggregate();
        let cause = chain(error);
        observe::failure!(
            consumer = &*self.consumer,
            aggregate_type,
            aggregate_id,
            cause,
            "the database refuses this event: it is not acknowledged and tried again, its aggregate waits"
        );
        // Without the feature `tracing` nobody listens.
        let _ = (aggregate_type, aggregate_id, cause);
    }

    fn tell(&self, reason: ParkReason, subject: &Subject, error: Option<&str>) {
        let consumer = &*self.consumer;
        let Subject { event_id, aggregate_type, aggregate_id, sequence, attempt } = subject;
        let error = error.unwrap_or_default();
        match reason {
            ParkReason::Quarantined => observe::failure!(
                consumer, %event_id, aggregate_type, aggregate_id, sequence, attempt, error,
                "event quarantined: later events of this aggregate wait until it is repaired"
            ),
            ParkReason::SequenceConflict => observe::failure!(
                consumer, %event_id, aggregate_type, aggregate_id, sequence,
                "event has a number that was passed, but was never seen: was a producer restored from a backup?"
            ),
            ParkReason::NewerVersion => observe::warning!(
                consumer, %event_id, aggregate_type, aggregate_id, sequence, error,
                "event parked until a newer version of this consumer is deployed"
            ),
            ParkReason::Failing => observe::warning!(
                consumer, %event_id, aggregate_type, aggregate_id, sequence, attempt, error,
                "handler failed, it will be tried again"
            ),
            ParkReason::Gap => observe::warning!(
                consumer, %event_id, aggregate_type, aggregate_id, sequence,
                "event parked until the one before it arrives"
            ),
            ParkReason::BehindParked => observe::detail!(
                consumer, %event_id, aggregate_type, aggregate_id, sequence, "event parked behind a parked one"
            ),
        }
        // Without the feature `tracing` nobody listens.
        let _ = (consumer, event_id, aggregate_type, aggregate_id, sequence, attempt, error);
    }
}
