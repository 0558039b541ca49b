//! Acknowledged events, until their pending rows are deleted.

use std::{collections::BTreeSet, time::Duration};

use sea_orm::DatabaseConnection;
use tokio::time::Instant;

use super::engine::in_time;
use crate::store::{
    StoreError,
    lanes::Lease,
    pending::{self, Published},
};

/// An acknowledged event and the lease it was sent under.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledged {
    pub(super) event_id: uuid::Uuid,
    pub(super) lease: Lease,
}

/// Collects acknowledgements; flushed by count or by time, never by a batch barrier.
#[derive(Debug)]
pub(super) struct Marks {
    waiting: Vec<Acknowledged>,
    oldest: Option<Instant>,
    /// After a failed flush.
    not_before: Option<Instant>,
    most: usize,
    longest: Duration,
}

impl Marks {
    pub(super) fn new(most: usize, longest: Duration) -> Self {
        Self { waiting: Vec::new(), oldest: None, not_before: None, most, longest }
    }

    pub(super) fn push(&mut self, acknowledged: Acknowledged) {
        self.oldest.get_or_insert_with(Instant::now);
        self.waiting.push(acknowledged);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// When the next flush is due; at once if `hurry`.
    pub(super) fn due(&self, hurry: bool) -> Option<Instant> {
        let oldest = self.oldest?;
        let due = if hurry || self.waiting.len() >= self.most { oldest } else { oldest + self.longest };
        Some(self.not_before.map_or(due, |not_before| due.max(not_before)))
    }

    pub(super) fn take(&mut self) -> Vec<Acknowledged> {
        self.oldest = None;
        self.not_before = None;
        std::mem::take(&mut self.waiting)
    }

    /// A flush failed: deleting twice does no harm, so all of it is tried again.
    pub(super) fn put_back(&mut self, mut failed: Vec<Acknowledged>, wait: Duration) {
        failed.append(&mut self.waiting);
        self.waiting = failed;
        self.oldest = Some(Instant::now());
        self.not_before = Some(Instant::now() + wait);
    }

    /// The lane is not ours any more.
    pub(super) fn drop_lane(&mut self, lane: i16) {
        self.waiting.retain(|acknowledged| acknowledged.lease.lane != lane);
        if self.waiting.is_empty() {
            self.oldest = None;
        }
    }
}

/// Deletes the pending rows. The answer names the lanes that were still held at their fence.
pub(super) async fn flush(
    db: DatabaseConnection,
    relay_id: String,
    batch: Vec<Acknowledged>,
    limit: Duration,
) -> (Vec<Acknowledged>, Result<Vec<i16>, StoreError>) {
    let leases: Vec<Lease> = batch.iter().map(|a| a.lease).collect::<BTreeSet<_>>().into_iter().collect();
    let published: Vec<_> = batch.iter().map(|a| Published { event_id: a.event_id, lane: a.lease.lane }).collect();
    let held = in_time(limit, pending::mark(&db, &relay_id, &leases, &published)).await;
    (batch, held)
}
