//! One line per aggregate: two deliveries of the same aggregate are never in work at once.

use std::collections::{HashMap, VecDeque};

use super::{Acknowledge, Incoming};

/// Which aggregate: type and id.
pub(super) type Key = (String, String);

/// Something to do for one aggregate.
pub(super) enum Work {
    /// A delivery from the source, and how to acknowledge the copies of it that came meanwhile.
    Delivery(Incoming, Vec<Box<dyn Acknowledge>>),
    /// A parked event's time has come.
    Due(Key),
}

/// Work that has not started, and the aggregates that have work started.
#[derive(Default)]
pub(super) struct Lines {
    /// Aggregates with work that is ready or started, and what waits behind it.
    busy: HashMap<Key, VecDeque<Work>>,
    ready: VecDeque<(Key, Work)>,
    waiting: usize,
}

impl Lines {
    pub(super) fn is_busy(&self, key: &Key) -> bool {
        self.busy.contains_key(key)
    }

    /// Not started yet.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Something may start.
    pub(super) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// A copy of a delivery that waits in line joins it: a broker may send an event again and again, for as long as
    /// its aggregate waits.
    pub(super) fn deliver(&mut self, key: Key, incoming: Incoming) {
        let id = incoming.envelope.context.event_id;
        let line = self.busy.get_mut(&key);
        let twin = line.into_iter().flatten().find_map(|work| match work {
            Work::Delivery(first, copies) if first.envelope.context.event_id == id => Some(copies),
            _ => None,
        });
        match twin {
            Some(copies) => copies.push(incoming.acknowledger),
            None => self.arrive(key, Work::Delivery(incoming, Vec::new())),
        }
    }

    pub(super) fn arrive(&mut self, key: Key, work: Work) {
        self.waiting += 1;
        if let Some(behind) = self.busy.get_mut(&key) {
            behind.push_back(work);
        } else {
            self.busy.insert(key.clone(), VecDeque::new());
            self.ready.push_back((key, work));
        }
    }

    /// The next work whose aggregate has none started.
    pub(super) fn start(&mut self) -> Option<(Key, Work)> {
        let started = self.ready.pop_front()?;
        self.waiting = self.waiting.saturating_sub(1);
        Some(started)
    }

    /// The aggregate's started work has ended.
    pub(super) fn finish(&mut self, key: &Key) {
        match self.busy.get_mut(key).and_then(VecDeque::pop_front) {
            Some(work) => self.ready.push_back((key.clone(), work)),
            None => {
                self.busy.remove(key);
            }
        }
    }

    /// Gives back, unacknowledged, whatever has not started.
    pub(super) fn give_back(&mut self) {
        self.ready.clear();
        self.busy.values_mut().for_each(VecDeque::clear);
        self.waiting = 0;
    }
}
