//! Deciding what to read next, and reading it.

use std::{collections::BTreeMap, time::Duration};

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use sea_orm::DatabaseConnection;
use tokio::time::Instant;

use super::{lease::Held, queue::Queue};
use crate::store::{
    StoreError,
    lanes::Lease,
    pending::{self, PendingRow},
};

/// What a read looks at.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) lanes: Vec<(i16, i64)>,
    /// The leases under which it was planned: rows of a lane whose fence has moved are not taken.
    pub(super) leases: Vec<Lease>,
    known: Vec<uuid::Uuid>,
    /// New rows asked of each lane.
    pub(super) per_lane: usize,
    /// Rows asked of all lanes together; those passed over before stand in the way again.
    pub(super) most: usize,
}

/// The pace of reading: at once while there is more, slower and slower while there is nothing.
#[derive(Debug)]
pub(super) struct Pace {
    min: Duration,
    max: Duration,
    idle: ExponentialBackoff,
    /// When to read next.
    pub(super) due: Instant,
    /// Lanes that had something in the last read.
    busy_lanes: usize,
}

impl Pace {
    pub(super) fn new(min: Duration, max: Duration) -> Self {
        Self { min, max, idle: idle(min, max), due: Instant::now(), busy_lanes: usize::MAX }
    }

    /// Something was committed: look now.
    pub(super) fn now(&mut self) {
        self.due = Instant::now();
    }

    /// Something may be committed soon: start again with short waits.
    pub(super) fn soon(&mut self) {
        self.idle = idle(self.min, self.max);
        self.due = self.due.min(Instant::now() + self.min);
    }

    /// After a read that found `fresh` rows, and more behind them if `more`.
    pub(super) fn after(&mut self, fresh: usize, more: bool) {
        if more {
            self.now();
        } else {
            if fresh > 0 {
                self.idle = idle(self.min, self.max);
            }
            self.due = Instant::now() + self.idle.next().unwrap_or(self.max);
        }
    }

    /// After a read that failed.
    pub(super) fn after_failure(&mut self) {
        self.due = Instant::now() + self.idle.next().unwrap_or(self.max);
    }

    pub(super) fn saw_busy_lanes(&mut self, busy: usize) {
        self.busy_lanes = busy.max(1);
    }

    /// How many new rows to ask of each of `lanes` lanes so that a read brings about `batch`.
    fn per_lane(&self, batch: usize, lanes: usize) -> usize {
        batch.div_ceil(self.busy_lanes.min(lanes).max(1)).max(8)
    }
}

fn idle(min: Duration, max: Duration) -> ExponentialBackoff {
    ExponentialBuilder::new().with_min_delay(min).with_max_delay(max).without_max_times().with_jitter().build()
}

/// Plans a read over the lanes that may be read. `None`: there is none.
pub(super) fn plan(
    held: &BTreeMap<i16, Held>,
    queue: &Queue,
    mut may_read: impl FnMut(i16) -> bool,
    pace: &Pace,
    batch: usize,
) -> Option<Plan> {
    let leases: Vec<Lease> = held
        .iter()
        .filter(|(lane, held)| !held.draining && may_read(**lane))
        .map(|(lane, held)| Lease { lane: *lane, fence: held.fence })
        .collect();
    if leases.is_empty() {
        return None;
    }
    let per_lane = pace.per_lane(batch, leases.len());
    let deep = |lane| i64::try_from(queue.depth(lane) + per_lane).unwrap_or(i64::MAX);
    let lanes = leases.iter().map(|lease| (lease.lane, deep(lease.lane))).collect();
    Some(Plan { lanes, leases, known: queue.known_ids(), per_lane, most: batch * 2 + queue.passed_over() })
}

/// Reads what was planned.
pub(super) async fn run(db: DatabaseConnection, plan: Plan) -> (Plan, Result<Vec<PendingRow>, StoreError>) {
    let rows = pending::read(&db, &plan.lanes, &plan.known, i64::try_from(plan.most).unwrap_or(i64::MAX)).await;
    (plan, rows)
}
