//! One line per aggregate: two deliveries of the same aggregate are never in work at once.

use std::collections::{HashMap, VecDeque};

use super::Incoming;

/// Which aggregate: type and id.
pub(super) type Key = (String, String);

/// Something to do for one aggregate.
#[derive(Debug)]
pub(super) enum Work {
    /// A delivery from the source.
    Delivery(Incoming),
    /// A parked event's time has come.
    Due(Key),
}

/// Work that has not started, and the aggregates that have work started.
#[derive(Debug, Default)]
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
