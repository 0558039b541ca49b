//! Deciding what to read next, and reading it.

use std::{collections::BTreeMap, time::Duration};

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use sea_orm::DatabaseConnection;
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    lease::Held,
    pass::{Blocked, Passes},
    queue::Queue,
};
use crate::store::{
    StoreError,
    lanes::Lease,
    pending::{self, Doubt, LaneRead, PendingRow},
};

/// What a read looks at.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) lanes: Vec<LaneRead>,
    /// The leases under which it was planned: rows of a lane whose fence has moved are not taken.
    pub(super) leases: Vec<Lease>,
    known: Vec<Uuid>,
    /// New rows asked of each lane.
    pub(super) per_lane: usize,
    /// Rows asked of all lanes together.
    pub(super) most: usize,
    /// The database reads all lanes in one order of positions, without a depth per lane.
    pub(super) in_one_order: bool,
}

/// What came of a plan.
#[derive(Debug)]
pub(super) enum Findings {
    Rows(Plan, Result<Vec<PendingRow>, StoreError>),
    /// Rows with their doubts settled: the events whose predecessor is pending.
    Checked(Plan, Vec<PendingRow>, Result<Blocked, StoreError>),
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
    db: &DatabaseConnection,
    held: &BTreeMap<i16, Held>,
    queue: &Queue,
    passes: &Passes,
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
    let lane_read = |lease: &Lease| {
        let after = passes.cursor(lease.lane);
        // Behind the cursor nothing is known yet; a new pass meets what is in memory first.
        let deep = if after == 0 { queue.known_in(lease.lane) + per_lane } else { per_lane };
        LaneRead { number: lease.lane, after, take: i64::try_from(deep).unwrap_or(i64::MAX) }
    };
    let lanes: Vec<LaneRead> = leases.iter().map(lane_read).collect();
    let in_one_order = pending::reads_in_one_order(db);
    let known = queue.known_ids(|lane| in_one_order || passes.cursor(lane) == 0);
    Some(Plan { lanes, leases, known, per_lane, most: batch * 2, in_one_order })
}

/// Reads what was planned.
pub(super) async fn run(db: DatabaseConnection, plan: Plan) -> Findings {
    let rows = pending::read(&db, &plan.lanes, &plan.known, i64::try_from(plan.most).unwrap_or(i64::MAX)).await;
    Findings::Rows(plan, rows)
}

/// Settles doubts by a look at the table, which is later than the read: a predecessor that is not pending now was
/// published.
pub(super) async fn check(db: DatabaseConnection, plan: Plan, rows: Vec<PendingRow>, doubts: Vec<Doubt>) -> Findings {
    let blocked = pending::blocked(&db, &doubts).await.map(|blocked| blocked.into_iter().collect());
    Findings::Checked(plan, rows, blocked)
}
