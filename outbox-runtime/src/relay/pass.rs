//! How far reading has come in each lane.
//!
//! A pass goes through a lane from its lowest position to its end, so that rows already in memory, and the dead
//! ones before them, are not met at every read. A transaction may commit rows below the cursor meanwhile. An
//! event behind the cursor whose predecessor was not taken in this pass is therefore in doubt, and is taken only
//! after a look at the table has shown that its predecessor is not pending. What a pass leaves is found by the
//! next.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::read::Plan;
use crate::store::pending::{Doubt, PendingRow};

/// Aggregates remembered in the passes of all lanes together (some 60 MB), before a pass starts anew.
const MOST_REMEMBERED: usize = 400_000;
/// Reads that a pass has before a wish to start anew is heard; twice as many each time it is heard.
const PATIENCE: u32 = 8;

#[derive(Debug)]
struct Pass {
    /// The highest position read.
    cursor: i64,
    /// Per aggregate id: type and last sequence taken in this pass.
    taken: HashMap<String, (String, i64)>,
    wants_restart: bool,
    reads: u32,
    patience: u32,
}

impl Default for Pass {
    fn default() -> Self {
        Self { cursor: 0, taken: HashMap::new(), wants_restart: false, reads: 0, patience: PATIENCE }
    }
}

impl Pass {
    fn restart(&mut self) {
        self.cursor = 0;
        self.taken.clear();
        self.wants_restart = false;
        self.reads = 0;
    }
}

/// The passes of all lanes.
#[derive(Debug, Default)]
pub(super) struct Passes {
    lanes: HashMap<i16, Pass>,
    generations: HashMap<i16, u64>,
}

impl Passes {
    /// Where the next read of the lane starts: above this position. 0: a new pass.
    pub(super) fn cursor(&self, lane: i16) -> i64 {
        self.lanes.get(&lane).map_or(0, |pass| pass.cursor)
    }

    /// Rows behind the cursor whose predecessor was not taken in this pass.
    pub(super) fn doubts(&self, plan: &Plan, rows: &[PendingRow]) -> Vec<Doubt> {
        let behind: HashSet<i16> = plan.lanes.iter().filter(|lane| lane.after > 0).map(|lane| lane.number).collect();
        if behind.is_empty() {
            // One snapshot from the lowest position on: predecessors are in it, or known, or published.
            return Vec::new();
        }
        let mut met: HashMap<(&str, &str), i64> = HashMap::new();
        let mut doubts = Vec::new();
        for row in rows {
            let Ok(envelope) = &row.event else { continue };
            let context = &envelope.context;
            let (ty, id, sequence) = (&*context.aggregate_type, &*context.aggregate_id, context.aggregate_sequence);
            let before = met.insert((ty, id), sequence).or_else(|| self.last_taken(row.lane, ty, id));
            if behind.contains(&row.lane) && sequence > 1 && before != Some(sequence - 1) {
                doubts.push(Doubt {
                    event_id: row.event_id,
                    lane: row.lane,
                    aggregate_id: id.to_owned(),
                    predecessor: sequence - 1,
                });
            }
        }
        doubts
    }

    fn last_taken(&self, lane: i16, ty: &str, id: &str) -> Option<i64> {
        let (of, last) = self.lanes.get(&lane)?.taken.get(id)?;
        (of == ty).then_some(*last)
    }

    /// Moves the cursors after a read; `true` if there is more behind any of them.
    /// Lanes that are not in `ours` start anew.
    pub(super) fn advance(&mut self, plan: &Plan, rows: &[PendingRow], ours: &[i16]) -> bool {
        let is_cut = rows.len() >= plan.most;
        let mut last: HashMap<i16, (usize, i64)> = HashMap::new();
        for row in rows {
            let (count, position) = last.entry(row.lane).or_default();
            *count += 1;
            *position = row.position.max(*position);
        }
        let highest = rows.iter().map(|row| row.position).max();
        let most_remembered = MOST_REMEMBERED / plan.lanes.len().max(1);
        let mut more = false;
        for lane in plan.lanes.iter().filter(|lane| ours.binary_search(&lane.number).is_ok()) {
            let pass = self.lanes.entry(lane.number).or_default();
            pass.reads += 1;
            let (count, position) = last.get(&lane.number).copied().unwrap_or_default();
            let goes_on = if plan.in_one_order { is_cut } else { is_cut || count >= plan.per_lane };
            if !goes_on {
                pass.restart();
                pass.patience = PATIENCE;
                continue;
            }
            more = true;
            pass.cursor = pass.cursor.max(if plan.in_one_order { highest.unwrap_or(position) } else { position });
            if pass.taken.len() > most_remembered || (pass.wants_restart && pass.reads >= pass.patience) {
                pass.restart();
                pass.patience = pass.patience.saturating_mul(2);
            }
        }
        more
    }

    /// An event was taken into memory.
    pub(super) fn took(&mut self, lane: i16, ty: &str, id: &str, sequence: i64) {
        // A pass that starts anew remembers nothing.
        if let Some(pass) = self.lanes.get_mut(&lane).filter(|pass| pass.cursor > 0) {
            match pass.taken.get_mut(id) {
                Some((of, last)) if of == ty => *last = sequence,
                _ => {
                    pass.taken.insert(id.to_owned(), (ty.to_owned(), sequence));
                }
            }
        }
    }

    /// Something that was left in the table can be taken now: start anew when the pass is done, or has gone on
    /// for long.
    pub(super) fn want_restart(&mut self, lane: i16) {
        if let Some(pass) = self.lanes.get_mut(&lane) {
            pass.wants_restart = true;
        }
    }

    /// What was taken has been dropped from memory: start anew. A read that is under way has left out what was in
    /// memory when it was planned, so its rows of this lane must not be taken.
    pub(super) fn forget(&mut self, lane: i16) {
        self.lanes.remove(&lane);
        *self.generations.entry(lane).or_default() += 1;
    }

    /// How often the lane was forgotten.
    pub(super) fn generation(&self, lane: i16) -> u64 {
        self.generations.get(&lane).copied().unwrap_or_default()
    }
}

/// Events whose predecessor is still pending.
pub(super) type Blocked = HashSet<Uuid>;
