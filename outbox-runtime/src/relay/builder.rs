//! Settings of a relay, checked before it starts.

use std::{collections::BTreeMap, time::Duration};

use sea_orm::DatabaseConnection;
use tokio::sync::watch;
use uuid::Uuid;

use super::{
    Relay, RelayStatus,
    engine::Engine,
    lease::{self, Terms},
};
use crate::{
    publish::Publisher,
    store::{StoreError, lanes::Lanes},
};

/// Why a relay did not start.
///
/// ```
/// # use outbox_runtime::RelayError;
/// let error = RelayError::Setting("the lease is 0".into());
/// assert!(error.to_string().contains("lease"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RelayError {
    /// A setting breaks a promise.
    #[error("the relay was not started: {0}")]
    Setting(String),
    /// The tables are missing or the database cannot be reached.
    #[error("the relay was not started")]
    Store(#[from] StoreError),
    /// The connection pool was closed while it ran. What it held is free when the leases end.
    #[error("the relay ended because its connection pool was closed: stop the relay first, then close the pool")]
    Closed(#[source] StoreError),
    /// Its task was cancelled.
    #[error("the relay's task was cancelled: its async runtime is shutting down")]
    Ended(#[source] tokio::task::JoinError),
}

/// Settings of a relay. The defaults suit a broker on the same network.
///
/// ```
/// use std::time::Duration;
/// use outbox_runtime::{LocalBus, Relay};
///
/// # async fn run(db: sea_orm::DatabaseConnection, bus: LocalBus) -> Result<(), outbox_runtime::RelayError> {
/// let relay = Relay::builder(db, bus)
///     .lease(Duration::from_secs(30))
///     .publish_timeout(Duration::from_secs(20))
///     .start()
///     .await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a relay runs after `start().await`"]
pub struct RelayBuilder<P> {
    db: DatabaseConnection,
    publisher: P,
    settings: Settings,
}

#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) relay_id: Option<String>,
    pub(super) lanes: Option<u16>,
    pub(super) lease: Duration,
    pub(super) publish_timeout: Duration,
    pub(super) batch: usize,
    pub(super) max_in_flight: usize,
    pub(super) poll_min: Duration,
    pub(super) poll_max: Duration,
    pub(super) backoff_min: Duration,
    pub(super) backoff_max: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            relay_id: None,
            lanes: None,
            lease: Duration::from_secs(15),
            publish_timeout: Duration::from_secs(10),
            batch: 2_000,
            max_in_flight: 256,
            poll_min: Duration::from_millis(5),
            poll_max: Duration::from_secs(1),
            backoff_min: Duration::from_millis(100),
            backoff_max: Duration::from_secs(30),
        }
    }
}

impl Settings {
    /// Held back from the lease for what happens between the check and the send.
    pub(super) fn margin(&self) -> Duration {
        self.lease / 5
    }
}

impl Relay {
    /// A relay for the outbox in `db`.
    pub fn builder<P: Publisher>(db: DatabaseConnection, publisher: P) -> RelayBuilder<P> {
        RelayBuilder { db, publisher, settings: Settings::default() }
    }
}

impl<P: Publisher> RelayBuilder<P> {
    /// The name under which it holds lanes, unique among running relays. Default: a new UUID per start.
    pub fn relay_id(mut self, id: impl Into<String>) -> Self {
        self.settings.relay_id = Some(id.into());
        self
    }

    /// Refuses to start unless the tables have this many lanes.
    pub fn expect_lanes(mut self, lanes: u16) -> Self {
        self.settings.lanes = Some(lanes);
        self
    }

    /// How long a lane stays ours without renewal (default 15 s, at least 100 ms, at most a day like all times here). It is renewed three times
    /// within it. After a crash the lanes are free when it ends.
    pub fn lease(mut self, ttl: Duration) -> Self {
        self.settings.lease = ttl;
        self
    }

    /// After how long without acknowledgement a publish counts as failed (default 10 s). It must be longer
    /// than the client's own time-out and shorter than four fifths of the lease.
    pub fn publish_timeout(mut self, limit: Duration) -> Self {
        self.settings.publish_timeout = limit;
        self
    }

    /// About how many events one read brings (default 2000, at least 1). Up to about three times as many are in
    /// memory.
    pub fn batch(mut self, events: usize) -> Self {
        self.settings.batch = events.max(1);
        self
    }

    /// How many events, each of another aggregate, are on their way at once (default 256, at least 1), unless the
    /// publisher asks for fewer.
    pub fn max_in_flight(mut self, events: usize) -> Self {
        self.settings.max_in_flight = events.max(1);
        self
    }

    /// The shortest and longest wait between reads that find nothing (default 5 ms and 1 s). Commits in the
    /// same process end the wait at once.
    pub fn poll(mut self, shortest: Duration, longest: Duration) -> Self {
        self.settings.poll_min = shortest;
        self.settings.poll_max = longest.max(shortest);
        self
    }

    /// The first and longest wait of a lane after a failed publish (default 100 ms and 30 s); it doubles in
    /// between, with jitter.
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        self.settings.backoff_min = first;
        self.settings.backoff_max = longest.max(first);
        self
    }

    /// Registers the relay, claims its first lanes and starts its task.
    ///
    /// # Errors
    /// [`RelayError::Setting`] if a setting breaks a promise; [`RelayError::Store`] if the tables are missing
    /// or the database cannot be reached. Later failures of the database are waited out.
    pub async fn start(self) -> Result<Relay, RelayError> {
        let Self { db, publisher, mut settings } = self;
        if let Some(most) = publisher.max_in_flight() {
            settings.max_in_flight = settings.max_in_flight.min(most.max(1));
        }
        check(&settings, publisher.client_timeout())?;
        let relay_id = settings.relay_id.clone().unwrap_or_else(|| Uuid::now_v7().to_string());
        let table = Lanes::new(db.clone(), relay_id.clone(), settings.lease)?;
        let lanes = table.count().await?;
        if let Some(expected) = settings.lanes
            && expected != lanes
        {
            return Err(RelayError::Setting(format!(
                "the outbox tables have {lanes} lanes, {expected} were expected: the number is fixed when the tables are made"
            )));
        }
        table.forget_silent(FORGET_AFTER).await?;
        let terms = Terms { lanes, ttl: settings.lease, margin: settings.margin() };
        let first = lease::round(&table, terms, BTreeMap::new(), Vec::new(), true).await?;

        let (stop, stopped) = watch::channel(false);
        let (status, watched) = watch::channel(RelayStatus::default());
        let engine = Engine::new(db, publisher, settings, table, terms, relay_id.clone(), stopped, status, first);
        Ok(Relay::new(relay_id, stop, watched, tokio::spawn(engine.run())))
    }
}

/// Silent relays are forgotten after this long.
const FORGET_AFTER: Duration = Duration::from_hours(1);

/// The longest time that can be set.
const LONGEST: Duration = Duration::from_hours(24);

fn check(settings: &Settings, client_timeout: Option<Duration>) -> Result<(), RelayError> {
    let (lease, publish) = (settings.lease, settings.publish_timeout);
    let refuse = |text: String| Err(RelayError::Setting(text));
    if lease < Duration::from_millis(100) {
        return refuse(format!("the lease is {lease:?}; it must be at least 100 ms"));
    }
    let longest = [lease, publish, settings.poll_max, settings.backoff_max].into_iter().max().unwrap_or_default();
    if longest > LONGEST {
        return refuse(format!("a time of {longest:?} is set; a day is the longest"));
    }
    let sendable = lease.saturating_sub(settings.margin());
    if publish.is_zero() || publish >= sendable || client_timeout.is_some_and(|client| client >= publish) {
        let client = client_timeout.map_or_else(|| "none".to_owned(), |client| format!("{client:?}"));
        return refuse(format!(
            "the client's time-out ({client}) must be shorter than the publish time-out ({publish:?}), and that shorter than four fifths of the lease ({lease:?})"
        ));
    }
    if settings.poll_min.is_zero() || settings.backoff_min.is_zero() {
        return refuse("the shortest poll and the first back-off must be longer than nothing".into());
    }
    match &settings.relay_id {
        Some(id) if id.is_empty() || id.contains('\0') => refuse("the relay's id is empty or contains U+0000".into()),
        _ => Ok(()),
    }
}
