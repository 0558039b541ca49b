//! Deciding what to read next, and reading it.

use std::{collections::BTreeMap, time::Duration};

use sea_orm::DatabaseConnection;
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    engine::in_time,
    lease::Held,
    pass::{Blocked, Passes},
    queue::Queue,
};
use crate::{
    store::{
        StoreError,
        lanes::Lease,
        pending::{self, Doubt, LaneRead, PendingRow},
    },
    waits::Waits,
};

/// What a read looks at.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) lanes: Vec<LaneRead>,
    /// The leases under which it was planned: rows of a lane whose fence has moved are not taken.
    pub(super) leases: Vec<Lease>,
    /// How often what was taken of each lane has been dropped from memory by then.
    pub(super) generations: Vec<u64>,
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
    idle: Waits,
    /// When to read next.
    pub(super) due: Instant,
    /// When the last read began.
    began: Option<Instant>,
    /// Something happened that the read under way may not have seen.
    woken: bool,
    /// Lanes that had something in the last read.
    busy_lanes: usize,
    /// Rows taken since the last end of a pass.
    taken: usize,
}

/// Commits that follow each other closely share a read.
const DEBOUNCE: Duration = Duration::from_millis(2);

impl Pace {
    pub(super) fn new(min: Duration, max: Duration) -> Self {
        Self {
            min,
            max,
            idle: Waits::new(min, max),
            due: Instant::now(),
            began: None,
            woken: false,
            busy_lanes: usize::MAX,
            taken: 0,
        }
    }

    /// A read begins: what happens from now on, it may not see.
    pub(super) fn begin(&mut self) {
        self.began = Some(Instant::now());
        self.woken = false;
    }

    /// Something was committed, or can be taken now: look at once, also if a read is under way.
    pub(super) fn now(&mut self) {
        self.woken = true;
        self.due = self.earliest();
    }

    fn earliest(&self) -> Instant {
        let now = Instant::now();
        self.began.map_or(now, |began| now.max(began + DEBOUNCE))
    }

    /// Something may be committed soon: start again with short waits.
    pub(super) fn soon(&mut self) {
        self.idle = Waits::new(self.min, self.max);
        self.due = self.due.min(Instant::now() + self.min);
    }

    /// Something happened since the last read began.
    pub(super) fn is_woken(&self) -> bool {
        self.woken
    }

    /// After a read that took `taken` rows. `more`: the pass goes on; `whole`: it was all of the pass.
    pub(super) fn after(&mut self, taken: usize, more: bool, whole: bool) {
        self.taken += taken;
        if more {
            self.due = Instant::now();
            return;
        }
        let took_something = std::mem::take(&mut self.taken) > 0;
        if took_something {
            self.idle = Waits::new(self.min, self.max);
        }
        self.due = if self.woken {
            self.earliest()
        } else if took_something && !whole {
            // The end of a long pass says nothing of what was committed behind its cursor: one more look.
            Instant::now()
        } else {
            Instant::now() + self.idle.next()
        };
    }

    /// A read failed, or there is nothing that could be read.
    pub(super) fn later(&mut self) {
        self.due = Instant::now() + self.idle.next();
    }

    pub(super) fn saw_busy_lanes(&mut self, busy: usize) {
        self.busy_lanes = busy.max(1);
    }

    /// How many new rows to ask of each of `lanes` lanes so that a read brings about `batch`.
    fn per_lane(&self, batch: usize, lanes: usize) -> usize {
        batch.div_ceil(self.busy_lanes.min(lanes).max(1)).max(8)
    }
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
    let generations = leases.iter().map(|lease| passes.generation(lease.lane)).collect();
    Some(Plan { lanes, leases, generations, known, per_lane, most: batch * 2, in_one_order })
}

/// Reads what was planned.
pub(super) async fn run(db: DatabaseConnection, plan: Plan, limit: Duration) -> Findings {
    let most = i64::try_from(plan.most).unwrap_or(i64::MAX);
    let rows = in_time(limit, pending::read(&db, &plan.lanes, &plan.known, most)).await;
    Findings::Rows(plan, rows)
}

/// Settles doubts by a look at the table, which is later than the read: a predecessor that is not pending now was
/// published.
pub(super) async fn check(
    db: DatabaseConnection,
    plan: Plan,
    rows: Vec<PendingRow>,
    doubts: Vec<Doubt>,
    limit: Duration,
) -> Findings {
    let blocked = in_time(limit, pending::blocked(&db, &doubts)).await.map(|blocked| blocked.into_iter().collect());
    Findings::Checked(plan, rows, blocked)
}
