//! The relay's one task: everything that happens is an event of this loop.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use sea_orm::DatabaseConnection;
use tokio::{sync::watch, time::Instant};

use super::{
    RelayStatus,
    builder::Settings,
    lease::{self, Held, Round, Terms},
    mark::{self, Acknowledged, Marks},
    pass::Passes,
    queue::Queue,
    read::{self, Findings, Pace},
    send::{Blocked, Sent, send},
    wake::{self, Wake},
};
use crate::{
    observe,
    publish::Publisher,
    store::{
        StoreError,
        lanes::{Lanes, Lease},
    },
};

/// Sends handled before the loop looks at anything else again.
const LANDINGS: usize = 512;

pub(super) type Operation<T> = Option<BoxFuture<'static, T>>;

/// The batch, and the lanes that were still held.
pub(super) type Marked = (Vec<Acknowledged>, Result<Vec<i16>, StoreError>);

/// What the lease table was asked to do.
pub(super) enum LeaseOutcome {
    Round(Result<Round, StoreError>),
    Released(Vec<Lease>, Result<(), StoreError>),
}

pub(super) struct Engine<P> {
    pub(super) db: DatabaseConnection,
    pub(super) publisher: Arc<P>,
    pub(super) settings: Settings,
    pub(super) table: Lanes,
    pub(super) terms: Terms,
    pub(super) relay_id: String,
    pub(super) wake: Wake,
    pub(super) status: watch::Sender<RelayStatus>,

    pub(super) held: BTreeMap<i16, Held>,
    pub(super) queue: Queue,
    pub(super) passes: Passes,
    pub(super) marks: Marks,
    pub(super) blocked: Blocked,
    pub(super) pace: Pace,
    pub(super) next_round: Instant,
    pub(super) may_release: bool,
    /// Set by `stop`: until when to wait for what is under way.
    pub(super) stopping: Option<Instant>,

    pub(super) reading: Operation<Findings>,
    pub(super) marking: Operation<Marked>,
    pub(super) leasing: Operation<LeaseOutcome>,

    /// Why it cannot go on.
    pub(super) fatal: Option<StoreError>,
    /// What the status shows beside what can be counted.
    pub(super) shown: RelayStatus,
    /// The last read found nothing more.
    pub(super) dry: bool,
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
            marks: Marks::new(settings.batch, FLUSH_AFTER),
            blocked: Blocked::new(settings.backoff_min, settings.backoff_max),
            pace: Pace::new(settings.poll_min, settings.poll_max),
            next_round: Instant::now(),
            may_release: false,
            stopping: None,
            reading: None,
            marking: None,
            leasing: None,
            fatal: None,
            shown: RelayStatus { running: true, ..RelayStatus::default() },
            dry: false,
            settings,
        };
        engine.rounded(Ok(first));
        engine
    }

    /// Ends when it is asked to, or when nothing it could wait for will help.
    pub(super) async fn run(mut self) -> Result<(), StoreError> {
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
            if let Some(error) = self.fatal.take() {
                return Err(error);
            }
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
        Ok(())
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
                let round = async move { lease::round(&table, terms, held, unsettled, accept).await };
                self.leasing = Some(in_time(self.terms.ttl, round).map(LeaseOutcome::Round).boxed());
            } else if self.may_release && self.stopping.is_none() {
                let drained = self.drained();
                if !drained.is_empty() {
                    let (table, ttl) = (self.table.clone(), self.terms.ttl);
                    self.leasing = Some(
                        async move {
                            let done = in_time(ttl, table.release(&drained)).await;
                            LeaseOutcome::Released(drained, done)
                        }
                        .boxed(),
                    );
                }
            }
        }
        if self.marking.is_none() && self.marks.due(self.in_a_hurry()).is_some_and(|due| due <= now) {
            let (db, relay, batch) = (self.db.clone(), self.relay_id.clone(), self.marks.take());
            self.marking = Some(mark::flush(db, relay, batch, self.terms.ttl).boxed());
        }
        if self.may_read() && self.pace.due <= now {
            let blocked = &self.blocked;
            let may_read = |lane| blocked.is_open(lane, now);
            let (queue, passes, batch) = (&self.queue, &self.passes, self.settings.batch);
            let plan = read::plan(&self.db, &self.held, queue, passes, may_read, &self.pace, batch);
            match plan {
                Some(plan) => {
                    self.pace.begin();
                    self.reading = Some(read::run(self.db.clone(), plan, self.terms.ttl).boxed());
                }
                // Every lane waits: look again when one opens or is claimed.
                None => self.pace.later(),
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

    /// A statement failed. It is tried again, unless the pool is closed.
    pub(super) fn failed_on_database(&mut self, what: &str, error: StoreError) {
        self.failed(what, &error);
        if error.is_closed() {
            self.fatal.get_or_insert(error);
        }
    }

    pub(super) fn failed(&mut self, what: &str, error: &(dyn std::error::Error + 'static)) {
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

impl<P> Drop for Engine<P> {
    fn drop(&mut self) {
        self.status.send_modify(|status| status.running = false);
    }
}

/// What the database answers within `limit`.
pub(super) async fn in_time<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    wake::within(limit, work).await.unwrap_or(Err(StoreError::TimedOut(limit)))
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
