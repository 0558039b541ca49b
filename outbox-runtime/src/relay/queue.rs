//! What the relay has in memory: one line per aggregate, of which only the head may be in flight.

use std::collections::{HashMap, HashSet, VecDeque};

use uuid::Uuid;

use super::pass::{Blocked, Passes};
use crate::{event::Envelope, store::pending::PendingRow};

/// Which line an event stands in.
///
/// The aggregate's type is left out on purpose: an aggregate that was renamed keeps its lane and its sequence,
/// so its events stay in one line. Two aggregates of different types that share id and lane share a line too,
/// which costs a little concurrency and no order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) lane: i16,
    pub(super) aggregate_id: String,
}

#[derive(Debug, Default)]
struct Line {
    waiting: VecDeque<Envelope>,
    in_flight: bool,
    /// Stands in `Queue::ready`.
    listed: bool,
}

#[derive(Debug, Default)]
struct Load {
    /// Events of the lane that reading must pass over: waiting, in flight, or acknowledged and not marked.
    known: usize,
    in_flight: usize,
    /// The last read left rows in the table for want of room in their line.
    is_crowded: bool,
}

/// Lines whose head may be sent, lane by lane in turn.
#[derive(Debug, Default)]
struct Ready {
    lanes: HashMap<i16, VecDeque<Key>>,
    turn: VecDeque<i16>,
}

impl Ready {
    fn push(&mut self, key: Key) {
        let lane = self.lanes.entry(key.lane).or_default();
        if lane.is_empty() {
            self.turn.push_back(key.lane);
        }
        lane.push_back(key);
    }

    /// The next line of a lane that `may_send` allows.
    fn pop(&mut self, may_send: &mut impl FnMut(i16) -> bool) -> Option<Key> {
        for _ in 0..self.turn.len() {
            let lane = self.turn.pop_front()?;
            if !may_send(lane) {
                self.turn.push_back(lane);
                continue;
            }
            let keys = self.lanes.get_mut(&lane)?;
            let key = keys.pop_front();
            if !keys.is_empty() {
                self.turn.push_back(lane);
            }
            return key;
        }
        None
    }
}

#[derive(Debug)]
pub(super) struct Queue {
    lines: HashMap<Key, Line>,
    ready: Ready,
    known: HashMap<Uuid, i16>,
    lanes: HashMap<i16, Load>,
    longest_line: usize,
}

/// What one read brought.
#[derive(Debug, Default)]
pub(super) struct Admission {
    pub(super) taken: usize,
    /// Rows left in the table for want of room in their line.
    pub(super) passed_over: usize,
    /// Rows that cannot be published: event and problem.
    pub(super) broken: Vec<(Uuid, String)>,
}

impl Queue {
    pub(super) fn new(longest_line: usize) -> Self {
        Self {
            lines: HashMap::new(),
            ready: Ready::default(),
            known: HashMap::new(),
            lanes: HashMap::new(),
            longest_line,
        }
    }

    /// Takes the rows of one read, except those that are `blocked` by a predecessor. Once a row of an aggregate is
    /// not taken, none of its later ones is.
    pub(super) fn admit(&mut self, rows: Vec<PendingRow>, blocked: &Blocked, passes: &mut Passes) -> Admission {
        let mut admission = Admission::default();
        let mut refused: HashSet<Key> = HashSet::new();
        for load in self.lanes.values_mut() {
            load.is_crowded = false;
        }
        let mut unsorted: HashSet<Key> = HashSet::new();
        for row in rows {
            let PendingRow { lane, event_id, event, .. } = row;
            let load = self.lanes.entry(lane).or_default();
            let envelope = match event {
                Ok(envelope) => envelope,
                Err(broken) => {
                    admission.broken.push((event_id, broken.problem));
                    refused.extend(broken.aggregate_id.map(|aggregate_id| Key { lane, aggregate_id }));
                    continue;
                }
            };
            if self.known.contains_key(&event_id) {
                // A pass that restarted may come by again.
                continue;
            }
            let context = &envelope.context;
            let key = Key { lane, aggregate_id: context.aggregate_id.clone() };
            let line = self.lines.entry(key.clone()).or_default();
            let is_full = line.waiting.len() >= self.longest_line;
            if is_full || blocked.contains(&event_id) || refused.contains(&key) {
                load.is_crowded |= is_full;
                admission.passed_over += 1;
                if line.waiting.is_empty() && !line.in_flight {
                    self.lines.remove(&key);
                }
                refused.insert(key);
                continue;
            }
            self.known.insert(event_id, lane);
            load.known += 1;
            admission.taken += 1;
            passes.took(lane, &context.aggregate_type, &context.aggregate_id, context.aggregate_sequence);
            if line.waiting.back().is_some_and(|last| last.context.aggregate_sequence > context.aggregate_sequence) {
                unsorted.insert(key.clone());
            }
            line.waiting.push_back(envelope);
            list(line, &mut self.ready, key);
        }
        // Positions follow sequences already; the promise does not hang on it.
        for key in unsorted {
            if let Some(line) = self.lines.get_mut(&key) {
                line.waiting.make_contiguous().sort_by_key(|envelope| envelope.context.aggregate_sequence);
            }
        }
        admission
    }

    /// The next event of a lane that `may_send` allows.
    pub(super) fn next(&mut self, mut may_send: impl FnMut(i16) -> bool) -> Option<(Key, Envelope)> {
        while let Some(key) = self.ready.pop(&mut may_send) {
            let Some(line) = self.lines.get_mut(&key) else { continue };
            line.listed = false;
            if line.in_flight {
                continue;
            }
            let Some(envelope) = line.waiting.pop_front() else { continue };
            line.in_flight = true;
            self.lanes.entry(key.lane).or_default().in_flight += 1;
            return Some((key, envelope));
        }
        None
    }

    /// The head was acknowledged. It stays known until it is marked.
    pub(super) fn acknowledged(&mut self, key: Key) {
        self.landed(key, None);
    }

    /// The head was not acknowledged: it is the head again.
    pub(super) fn refused(&mut self, key: Key, envelope: Envelope) {
        self.landed(key, Some(envelope));
    }

    fn landed(&mut self, key: Key, back: Option<Envelope>) {
        if let Some(load) = self.lanes.get_mut(&key.lane) {
            load.in_flight = load.in_flight.saturating_sub(1);
        }
        let Some(line) = self.lines.get_mut(&key) else { return };
        line.in_flight = false;
        // A lane that was given up meanwhile has forgotten its events: they stay in the table.
        if let Some(envelope) = back
            && self.known.contains_key(&envelope.context.event_id)
        {
            line.waiting.push_front(envelope);
        }
        if line.waiting.is_empty() {
            self.lines.remove(&key);
        } else {
            list(line, &mut self.ready, key);
        }
    }

    /// Its pending row is deleted, or left to another relay. `false`: it was forgotten before.
    pub(super) fn forget(&mut self, event_id: Uuid) -> bool {
        let Some(lane) = self.known.remove(&event_id) else { return false };
        if let Some(load) = self.lanes.get_mut(&lane) {
            load.known = load.known.saturating_sub(1);
        }
        true
    }

    /// Drops what waits in a lane; its rows stay in the table. What is in flight lands as it will.
    pub(super) fn drop_waiting(&mut self, lane: i16) {
        let known = &mut self.known;
        let mut dropped = 0;
        self.lines.retain(|key, line| {
            if key.lane == lane {
                for envelope in line.waiting.drain(..) {
                    known.remove(&envelope.context.event_id);
                    dropped += 1;
                }
            }
            key.lane != lane || line.in_flight
        });
        if let Some(load) = self.lanes.get_mut(&lane) {
            load.known = load.known.saturating_sub(dropped);
            load.is_crowded = false;
        }
    }

    /// Drops a lane that is not ours any more, with what is in flight and what waits to be marked.
    pub(super) fn drop_lane(&mut self, lane: i16) {
        self.drop_waiting(lane);
        self.known.retain(|_, of| *of != lane);
        if let Some(load) = self.lanes.get_mut(&lane) {
            load.known = 0;
        }
    }

    /// Ids of these lanes that a new pass must leave out.
    pub(super) fn known_ids(&self, mut of: impl FnMut(i16) -> bool) -> Vec<Uuid> {
        self.known.iter().filter(|(_, lane)| of(**lane)).map(|(id, _)| *id).collect()
    }

    pub(super) fn known_len(&self) -> usize {
        self.known.len()
    }

    /// Events of the lane that a new pass must leave out.
    pub(super) fn known_in(&self, lane: i16) -> usize {
        self.lanes.get(&lane).map_or(0, |load| load.known)
    }

    /// The line was too long for some of the last read's rows, and is short again.
    pub(super) fn has_room_again(&self, key: &Key) -> bool {
        self.lanes.get(&key.lane).is_some_and(|load| load.is_crowded)
            && self.lines.get(key).is_none_or(|line| line.waiting.len() <= self.longest_line / 2)
    }

    /// Nothing of the lane is in flight or waits to be marked.
    pub(super) fn is_settled(&self, lane: i16) -> bool {
        self.lanes.get(&lane).is_none_or(|load| load.in_flight == 0 && load.known == 0)
    }

    /// Lanes with something in flight.
    pub(super) fn lanes_in_flight(&self) -> impl Iterator<Item = i16> {
        self.lanes.iter().filter(|(_, load)| load.in_flight > 0).map(|(lane, _)| *lane)
    }
}

fn list(line: &mut Line, ready: &mut Ready, key: Key) {
    if !line.listed && !line.in_flight && !line.waiting.is_empty() {
        line.listed = true;
        ready.push(key);
    }
}
