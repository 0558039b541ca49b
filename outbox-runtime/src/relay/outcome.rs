//! What follows from each thing that has happened.

use std::collections::BTreeSet;

use futures_util::FutureExt as _;
use tokio::time::Instant;

use super::{
    engine::Engine,
    lease::Round,
    mark::Acknowledged,
    pass::Blocked as BlockedEvents,
    read::{self, Findings, Plan},
    send::Sent,
    wake::Woken,
};
use crate::{
    observe,
    publish::Publisher,
    store::{StoreError, lanes::Lease, pending::PendingRow},
};

impl<P: Publisher> Engine<P> {
    pub(super) fn woken(&mut self, woken: Woken) {
        match woken {
            Woken::Committed => {
                self.dry = false;
                // A hint may have come with it.
                self.pace.soon();
                self.pace.now();
            }
            Woken::Hinted => self.pace.soon(),
            Woken::Deadline => {}
            Woken::Stop => {
                self.stopping = Some(Instant::now() + self.settings.publish_timeout + self.terms.ttl);
                let lanes: Vec<i16> = self.held.keys().copied().collect();
                for lane in lanes {
                    self.drop_waiting(lane);
                }
            }
        }
    }

    pub(super) fn landed(&mut self, sent: Sent) {
        let Sent { key, lease, envelope, answer } = sent;
        let current = self.held.get(&lease.lane).is_some_and(|held| held.fence == lease.fence);
        let event_id = envelope.context.event_id;
        match answer {
            Ok(()) => {
                self.blocked.succeeded(&key);
                if current {
                    self.marks.push(Acknowledged { event_id, lease });
                }
                if self.queue.has_room_again(&key) {
                    self.passes.want_restart(key.lane);
                    self.pace.now();
                }
                self.queue.acknowledged(key);
            }
            Err(error) => {
                let what = "an event was not acknowledged; its lane waits";
                let is_blocked_now = self.blocked.failed(&key);
                if is_blocked_now {
                    self.failed(what, &error);
                } else {
                    // One line for a burst of sends that were under way together.
                    self.shown.last_error = Some(format!("{what}: {}", observe::chain(&error)).into());
                }
                let lane = key.lane;
                if current {
                    self.queue.refused(key, envelope);
                } else {
                    self.queue.acknowledged(key);
                }
                let is_leaving = self.stopping.is_some() || self.held.get(&lane).is_none_or(|held| held.draining);
                if is_blocked_now || is_leaving {
                    // Lanes that wait must not fill the memory that others need; they are read again.
                    self.drop_waiting(lane);
                }
            }
        }
    }

    pub(super) fn have_found(&mut self, findings: Findings) {
        let (plan, rows, blocked) = match findings {
            Findings::Rows(plan, Ok(rows)) => {
                let doubts = self.passes.doubts(&plan, &rows);
                if !doubts.is_empty() {
                    self.reading = Some(read::check(self.db.clone(), plan, rows, doubts, self.terms.ttl).boxed());
                    return;
                }
                (plan, rows, BlockedEvents::new())
            }
            Findings::Checked(plan, rows, Ok(blocked)) => (plan, rows, blocked),
            Findings::Rows(_, Err(error)) | Findings::Checked(_, _, Err(error)) => {
                self.failed_on_database("the outbox could not be read", error);
                self.pace.later();
                return;
            }
        };
        self.admit(&plan, rows, &blocked);
    }

    pub(super) fn admit(&mut self, plan: &Plan, rows: Vec<PendingRow>, blocked: &BlockedEvents) {
        if self.stopping.is_some() {
            return;
        }
        // A lane may have been lost, or emptied, since this was planned.
        let mut ours = Vec::new();
        for (lease, generation) in plan.leases.iter().zip(&plan.generations) {
            let is_ours = self.held.get(&lease.lane).is_some_and(|held| held.fence == lease.fence && !held.draining);
            if is_ours && self.passes.generation(lease.lane) == *generation {
                ours.push(lease.lane);
            } else {
                self.passes.forget(lease.lane);
            }
        }
        let more = self.passes.advance(plan, &rows, &ours);
        let busy: BTreeSet<i16> = rows.iter().map(|row| row.lane).collect();
        let rows = rows.into_iter().filter(|row| ours.binary_search(&row.lane).is_ok()).collect();
        let admission = self.queue.admit(rows, blocked, &mut self.passes);
        for (event_id, problem) in &admission.broken {
            observe::failure!(%event_id, problem, "a pending event cannot be published; its aggregate waits");
            self.shown.last_error = Some(format!("event {event_id} cannot be published: {problem}").into());
        }
        self.pace.saw_busy_lanes(busy.len());
        let whole = plan.lanes.iter().all(|lane| lane.after == 0);
        let of_all = plan.lanes.len() == self.held.values().filter(|held| !held.draining).count();
        self.dry = whole
            && of_all
            && !more
            && admission.passed_over == 0
            && admission.broken.is_empty()
            && !self.pace.is_woken();
        self.pace.after(admission.taken, more, whole);
    }

    pub(super) fn have_marked(&mut self, batch: Vec<Acknowledged>, held: Result<Vec<i16>, StoreError>) {
        match held {
            Ok(held) => {
                for Acknowledged { event_id, lease } in batch {
                    let is_news = self.queue.forget(event_id);
                    if held.contains(&lease.lane) {
                        self.shown.published += u64::from(is_news);
                    } else if self.held.get(&lease.lane).is_some_and(|held| held.fence == lease.fence) {
                        self.lose(lease.lane);
                    }
                }
            }
            Err(error) => {
                self.failed_on_database("acknowledged events could not be marked", error);
                self.marks.put_back(batch, self.settings.poll_max);
            }
        }
    }

    pub(super) fn rounded(&mut self, round: Result<Round, StoreError>) {
        let soon = self.terms.ttl / 12;
        match round {
            Ok(round) => {
                for lane in round.lost {
                    // It may be lost and claimed again in one round; what stood in it is read anew.
                    self.lose(lane);
                }
                let gained = round.held.keys().any(|lane| !self.held.contains_key(lane));
                self.held = round.held;
                self.shown.live_relays = round.live_relays;
                let draining: Vec<i16> =
                    self.held.iter().filter(|(_, held)| held.draining).map(|(lane, _)| *lane).collect();
                for lane in draining {
                    self.drop_waiting(lane);
                }
                self.may_release = true;
                self.next_round = Instant::now() + if round.wants_more { soon } else { self.terms.ttl / 3 };
                if gained {
                    self.dry = false;
                    self.pace.now();
                }
            }
            Err(error) => {
                self.failed_on_database("the leases could not be renewed", error);
                self.may_release = false;
                self.next_round = Instant::now() + soon;
            }
        }
    }

    pub(super) fn released(&mut self, leases: &[Lease], done: Result<(), StoreError>) {
        match done {
            Ok(()) => {
                for lease in leases {
                    self.held.remove(&lease.lane);
                }
                observe::notice!(relay = %self.relay_id, lanes = leases.len(), "lanes handed over");
            }
            Err(error) => {
                self.failed_on_database("lanes could not be given back", error);
                self.may_release = false;
            }
        }
    }

    /// Another relay has the lane: nothing of it is sent or marked any more.
    pub(super) fn lose(&mut self, lane: i16) {
        if self.held.remove(&lane).is_some() {
            observe::warning!(relay = %self.relay_id, lane, "lane lost to another relay");
            self.shown.lost_lanes += 1;
        }
        self.queue.drop_lane(lane);
        self.marks.drop_lane(lane);
        self.passes.forget(lane);
        self.blocked.forget(lane);
    }

    /// What waits in memory is left to the next reader of the lane.
    pub(super) fn drop_waiting(&mut self, lane: i16) {
        self.queue.drop_waiting(lane);
        self.passes.forget(lane);
    }
}
