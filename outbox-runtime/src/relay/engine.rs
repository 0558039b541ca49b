//! The relay's one task: everything that happens is an event of this loop.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use sea_orm::DatabaseConnection;
use tokio::{sync::watch, time::Instant};

use super::{
    RelayStatus,
    builder::Settings,
    lease::{self, Held, Round, Terms},
    mark::{self, Acknowledged, Marks},
    pass::{Blocked as BlockedEvents, Passes},
    queue::Queue,
    read::{self, Findings, Pace, Plan},
    send::{Blocked, Sent, send},
    wake::{self, Wake, Woken},
};
use crate::{
    observe,
    publish::Publisher,
    store::{
        StoreError,
        lanes::{Lanes, Lease},
        pending::PendingRow,
    },
};

/// Sends handled before the loop looks at anything else again.
const LANDINGS: usize = 512;

type Operation<T> = Option<BoxFuture<'static, T>>;

/// The batch, and the lanes that were still held.
type Marked = (Vec<Acknowledged>, Result<Vec<i16>, StoreError>);

/// What the lease table was asked to do.
enum LeaseOutcome {
    Round(Result<Round, StoreError>),
    Released(Vec<Lease>, Result<(), StoreError>),
}

pub(super) struct Engine<P> {
    db: DatabaseConnection,
    publisher: Arc<P>,
    settings: Settings,
    table: Lanes,
    terms: Terms,
    relay_id: String,
    wake: Wake,
    status: watch::Sender<RelayStatus>,

    held: BTreeMap<i16, Held>,
    queue: Queue,
    passes: Passes,
    marks: Marks,
    blocked: Blocked,
    pace: Pace,
    next_round: Instant,
    may_release: bool,
    /// Set by `stop`: until when to wait for what is under way.
    stopping: Option<Instant>,

    reading: Operation<Findings>,
    marking: Operation<Marked>,
    leasing: Operation<LeaseOutcome>,

    /// What the status shows beside what can be counted.
    shown: RelayStatus,
    /// The last read found nothing more.
    dry: bool,
}

impl<P: Publisher> Engine<P> {
    #[expect(clippy::too_many_arguments, reason = "called once, by the builder, with what it has checked")]
    pub(super) fn new(
        db: DatabaseConnection,
        publisher: P,
        settings: Settings,
        table: Lanes,
        terms: Terms,
        relay_id: String,
        stop: watch::Receiver<bool>,
        status: watch::Sender<RelayStatus>,
        first: Round,
    ) -> Self {
        let mut engine = Self {
            db,
            publisher: Arc::new(publisher),
            table,
            terms,
            relay_id,
            wake: Wake::new(stop),
            status,
            held: BTreeMap::new(),
            queue: Queue::new((settings.batch / 4).max(1)),
            passes: Passes::default(),
            marks: Marks::new((settings.batch / 2).max(1), FLUSH_AFTER),
            blocked: Blocked::new(settings.backoff_min, settings.backoff_max),
            pace: Pace::new(settings.poll_min, settings.poll_max),
            next_round: Instant::now(),
            may_release: false,
            stopping: None,
            reading: None,
            marking: None,
            leasing: None,
            shown: RelayStatus::default(),
            dry: false,
            settings,
        };
        engine.rounded(Ok(first));
        engine
    }

    pub(super) async fn run(mut self) {
        observe::notice!(relay = %self.relay_id, lanes = self.held.len(), "relay started");
        let mut sends = FuturesUnordered::new();
        loop {
            while sends.len() < self.settings.max_in_flight
                && let Some(next) = self.next_send()
            {
                sends.push(next);
            }
            self.start_operations();
            self.report();
            let now = Instant::now();
            if let Some(deadline) = self.stopping
                && (now >= deadline
                    || (sends.is_empty() && self.marks.is_empty() && self.marking.is_none() && self.leasing.is_none()))
            {
                break;
            }
            let deadline = self.deadline(now);
            tokio::select! {
                Some(sent) = sends.next(), if !sends.is_empty() => {
                    self.landed(sent);
                    for _ in 0..LANDINGS {
                        let Some(Some(sent)) = sends.next().now_or_never() else { break };
                        self.landed(sent);
                    }
                }
                findings = outcome(&mut self.reading) => self.have_found(findings),
                (batch, held) = outcome(&mut self.marking) => self.have_marked(batch, held),
                done = outcome(&mut self.leasing) => match done {
                    LeaseOutcome::Round(round) => self.rounded(round),
                    LeaseOutcome::Released(leases, done) => self.released(&leases, done),
                },
                woken = self.wake.wait(deadline) => self.woken(woken),
            }
        }
        drop(sends);
        self.leave().await;
    }

    fn next_send(&mut self) -> Option<impl Future<Output = Sent> + use<P>> {
        if self.stopping.is_some() {
            return None;
        }
        let now = Instant::now();
        let (held, blocked) = (&self.held, &self.blocked);
        let may_send = |lane: i16| {
            held.get(&lane).is_some_and(|held| !held.draining && now < held.send_until) && blocked.is_open(lane, now)
        };
        let (key, envelope) = self.queue.next(may_send)?;
        // `may_send` has just seen it.
        let fence = self.held.get(&key.lane)?.fence;
        let lease = Lease { lane: key.lane, fence };
        Some(send(Arc::clone(&self.publisher), key, lease, envelope, self.settings.publish_timeout))
    }

    fn start_operations(&mut self) {
        let now = Instant::now();
        if self.leasing.is_none() {
            if now >= self.next_round {
                let (table, terms, held) = (self.table.clone(), self.terms, self.held.clone());
                let unsettled: Vec<i16> = self.queue.lanes_in_flight().collect();
                let accept = self.stopping.is_none();
                self.leasing = Some(
                    async move { LeaseOutcome::Round(lease::round(&table, terms, held, unsettled, accept).await) }
                        .boxed(),
                );
            } else if self.may_release && self.stopping.is_none() {
                let drained = self.drained();
                if !drained.is_empty() {
                    let table = self.table.clone();
                    self.leasing = Some(
                        async move {
                            let done = table.release(&drained).await;
                            LeaseOutcome::Released(drained, done)
                        }
                        .boxed(),
                    );
                }
            }
        }
        if self.marking.is_none() && self.marks.due(self.in_a_hurry()).is_some_and(|due| due <= now) {
            self.marking = Some(mark::flush(self.db.clone(), self.relay_id.clone(), self.marks.take()).boxed());
        }
        if self.may_read() && self.pace.due <= now {
            let blocked = &self.blocked;
            let may_read = |lane| blocked.is_open(lane, now);
            let (queue, passes, batch) = (&self.queue, &self.passes, self.settings.batch);
            let plan = read::plan(&self.db, &self.held, queue, passes, may_read, &self.pace, batch);
            match plan {
                Some(plan) => self.reading = Some(read::run(self.db.clone(), plan).boxed()),
                // Every lane waits: look again when one opens or is claimed.
                None => self.pace.after(0, false),
            }
        }
    }

    /// Lanes to give back that have nothing under way.
    fn drained(&self) -> Vec<Lease> {
        let marking = self.marking.is_some();
        let settled = |(lane, held): (&i16, &Held)| {
            (held.draining && !marking && self.queue.is_settled(*lane))
                .then_some(Lease { lane: *lane, fence: held.fence })
        };
        self.held.iter().filter_map(settled).collect()
    }

    fn in_a_hurry(&self) -> bool {
        self.stopping.is_some() || self.held.values().any(|held| held.draining)
    }

    fn may_read(&self) -> bool {
        let room = self.queue.known_len() <= self.settings.batch;
        self.reading.is_none() && self.stopping.is_none() && room && !self.held.is_empty()
    }

    fn deadline(&self, now: Instant) -> Instant {
        let mut deadline = now + self.terms.ttl;
        let mut at = |instant: Option<Instant>| deadline = instant.map_or(deadline, |instant| deadline.min(instant));
        at(self.leasing.is_none().then_some(self.next_round));
        at(if self.marking.is_none() { self.marks.due(self.in_a_hurry()) } else { None });
        at(self.may_read().then_some(self.pace.due));
        at(self.blocked.next_opening(now));
        at(self.stopping);
        deadline
    }

    fn woken(&mut self, woken: Woken) {
        match woken {
            Woken::Committed => {
                self.dry = false;
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

    fn landed(&mut self, sent: Sent) {
        let Sent { key, lease, envelope, answer } = sent;
        let current = self.held.get(&lease.lane).is_some_and(|held| held.fence == lease.fence);
        let event_id = envelope.context.event_id;
        match answer {
            Ok(()) => {
                self.blocked.succeeded(lease.lane);
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
                if self.blocked.failed(lease.lane) {
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
                if self.stopping.is_some() || self.held.get(&lane).is_none_or(|held| held.draining) {
                    self.drop_waiting(lane);
                }
            }
        }
    }

    fn have_found(&mut self, findings: Findings) {
        let (plan, rows, blocked) = match findings {
            Findings::Rows(plan, Ok(rows)) => {
                let doubts = self.passes.doubts(&plan, &rows);
                if !doubts.is_empty() {
                    self.reading = Some(read::check(self.db.clone(), plan, rows, doubts).boxed());
                    return;
                }
                (plan, rows, BlockedEvents::new())
            }
            Findings::Checked(plan, rows, Ok(blocked)) => (plan, rows, blocked),
            Findings::Rows(_, Err(error)) | Findings::Checked(_, _, Err(error)) => {
                self.failed("the outbox could not be read", &error);
                self.pace.after_failure();
                return;
            }
        };
        self.admit(&plan, rows, &blocked);
    }

    fn admit(&mut self, plan: &Plan, rows: Vec<PendingRow>, blocked: &BlockedEvents) {
        if self.stopping.is_some() {
            return;
        }
        let more = self.passes.advance(plan, &rows);
        // A lane may have been lost, or lost and claimed again, since this was planned.
        let mut ours = Vec::new();
        for lease in &plan.leases {
            if self.held.get(&lease.lane).is_some_and(|held| held.fence == lease.fence && !held.draining) {
                ours.push(lease.lane);
            } else {
                self.passes.forget(lease.lane);
            }
        }
        let busy: BTreeSet<i16> = rows.iter().map(|row| row.lane).collect();
        let rows = rows.into_iter().filter(|row| ours.binary_search(&row.lane).is_ok()).collect();
        let admission = self.queue.admit(rows, blocked, &mut self.passes);
        for (event_id, problem) in &admission.broken {
            observe::failure!(%event_id, problem, "a pending event cannot be published; its aggregate waits");
            self.shown.last_error = Some(format!("event {event_id} cannot be published: {problem}").into());
        }
        self.pace.saw_busy_lanes(busy.len());
        // The end of a long pass says nothing of what was committed behind its cursor: one more look.
        let whole = plan.lanes.iter().all(|lane| lane.after == 0);
        let of_all = plan.lanes.len() == self.held.values().filter(|held| !held.draining).count();
        self.dry = whole && of_all && !more && admission.passed_over == 0;
        self.pace.after(admission.taken, more || !whole);
    }

    fn have_marked(&mut self, batch: Vec<Acknowledged>, held: Result<Vec<i16>, StoreError>) {
        match held {
            Ok(held) => {
                for Acknowledged { event_id, lease } in batch {
                    self.queue.forget(event_id);
                    if held.contains(&lease.lane) {
                        self.shown.published += 1;
                    } else if self.held.get(&lease.lane).is_some_and(|held| held.fence == lease.fence) {
                        self.lose(lease.lane);
                    }
                }
            }
            Err(error) => {
                self.failed("acknowledged events could not be marked", &error);
                self.marks.put_back(batch, self.settings.poll_max);
            }
        }
    }

    fn rounded(&mut self, round: Result<Round, StoreError>) {
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
                self.failed("the leases could not be renewed", &error);
                self.may_release = false;
                self.next_round = Instant::now() + soon;
            }
        }
    }

    fn released(&mut self, leases: &[Lease], done: Result<(), StoreError>) {
        match done {
            Ok(()) => {
                for lease in leases {
                    self.held.remove(&lease.lane);
                }
                observe::notice!(relay = %self.relay_id, lanes = leases.len(), "lanes handed over");
            }
            Err(error) => {
                self.failed("lanes could not be given back", &error);
                self.may_release = false;
            }
        }
    }

    /// Another relay has the lane: nothing of it is sent or marked any more.
    fn lose(&mut self, lane: i16) {
        if self.held.remove(&lane).is_some() {
            observe::warning!(relay = %self.relay_id, lane, "lane lost to another relay");
            self.shown.lost_lanes += 1;
        }
        self.queue.drop_lane(lane);
        self.marks.drop_lane(lane);
        self.passes.forget(lane);
    }

    /// What waits in memory is left to the next reader of the lane.
    fn drop_waiting(&mut self, lane: i16) {
        self.queue.drop_waiting(lane);
        self.passes.forget(lane);
    }

    fn failed(&mut self, what: &str, error: &(dyn std::error::Error + 'static)) {
        let text = format!("{what}: {}", observe::chain(error));
        observe::warning!(relay = %self.relay_id, "{text}");
        self.shown.last_error = Some(text.into());
    }

    fn report(&mut self) {
        self.shown.lanes = self.held.len();
        self.shown.stopping = self.stopping.is_some();
        self.shown.in_memory = self.queue.known_len();
        self.shown.blocked_lanes = self.blocked.len(Instant::now());
        self.shown.caught_up = self.dry && self.shown.in_memory == 0 && self.marks.is_empty() && self.marking.is_none();
        let shown = &self.shown;
        self.status.send_if_modified(|status| {
            let changed = status != shown;
            if changed {
                status.clone_from(shown);
            }
            changed
        });
    }

    /// Gives back what is held, so that nobody has to wait for the leases to end.
    async fn leave(&mut self) {
        // They may hold, or stand in line for, the only connection of the pool.
        self.reading = None;
        self.marking = None;
        self.leasing = None;
        let leases = lease::leases(&self.held);
        let table = &self.table;
        let goodbye = async {
            table.release(&leases).await?;
            table.deregister().await
        };
        match wake::within(self.terms.ttl, goodbye).await {
            Some(Ok(())) => {
                self.held.clear();
                observe::notice!(relay = %self.relay_id, published = self.shown.published, "relay stopped");
            }
            Some(Err(error)) => {
                self.failed("the lanes could not be given back; they are free when their leases end", &error);
            }
            None => {
                observe::warning!(relay = %self.relay_id, "the database did not answer; lanes are free when their leases end");
            }
        }
        self.report();
    }
}

/// Acknowledgements wait this long for company.
const FLUSH_AFTER: Duration = Duration::from_millis(20);

/// Waits for an operation, for ever if there is none. May be dropped and called again.
async fn outcome<T>(operation: &mut Operation<T>) -> T {
    match operation {
        Some(running) => {
            let outcome = running.await;
            *operation = None;
            outcome
        }
        None => std::future::pending().await,
    }
}
