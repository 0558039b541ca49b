//! The whole line in one process: writers, outbox, relay, in-process broker, three consumers.

use std::time::Duration;

use anyhow::{Result, bail};
use futures_util::future::try_join_all;
use indicatif::ProgressBar;
use outbox_runtime::{ConsumerStatus, DEFAULT_LANES, RelayStatus, prelude::*};
use sea_orm::DatabaseConnection;
use tokio::{sync::watch, task::JoinSet, time::timeout, try_join};

use crate::{input::Purchase, loyalty, revenue, shop, tiers, till::Till};

/// After a crash the dead relay's lanes are free when its lease ends: short, so that nobody waits long here.
const LEASE: Duration = Duration::from_secs(5);
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(3);
/// What waits at a consumer waits for its acknowledgement, too: no more under way than they take on at once (16 each).
const IN_FLIGHT: usize = 32;
/// A consumer that applies nothing for so long has a reason that the last line will tell.
const PATIENCE: Duration = Duration::from_mins(1);

/// Effects that a consumer has not written down yet.
#[derive(Clone, Copy, Debug)]
pub struct Missing {
    pub revenue: usize,
    pub loyalty: usize,
    pub tiers: usize,
}

impl Missing {
    pub fn sum(&self) -> usize {
        self.revenue + self.loyalty + self.tiers
    }
}

/// Makes the purchases and waits until every consumer has what it misses.
pub async fn run(
    db: &DatabaseConnection,
    todo: &[Purchase],
    missing: Missing,
    till: &Till,
    bar: &ProgressBar,
) -> Result<()> {
    let bus = LocalBus::new([revenue::NAME, loyalty::NAME, tiers::NAME])?;
    let revenue = Consumer::builder(db.clone(), revenue::NAME).on(revenue::book);
    let loyalty = Consumer::builder(db.clone(), loyalty::NAME).on(loyalty::reward);
    let tiers = Consumer::builder(db.clone(), tiers::NAME).on(tiers::count);
    let waits = [
        applied(revenue.status(), missing.revenue, bar),
        applied(loyalty.status(), missing.loyalty, bar),
        applied(tiers.status(), missing.tiers, bar),
    ];

    let mut consumers = JoinSet::new();
    consumers.spawn(revenue.run(bus.source(revenue::NAME)?));
    consumers.spawn(loyalty.run(bus.source(loyalty::NAME)?));
    consumers.spawn(tiers.run(bus.source(tiers::NAME)?));
    bus.ready().await;
    let relay = Relay::builder(db.clone(), bus)
        .lease(LEASE)
        .publish_timeout(PUBLISH_TIMEOUT)
        .max_in_flight(IN_FLIGHT)
        .start()
        .await?;

    let done = async {
        try_join!(shop::open(db, todo, till), try_join_all(waits))?;
        drained(relay.status()).await
    };
    tokio::select! {
        done = done => done?,
        Some(ended) = consumers.join_next() => {
            ended??;
            bail!("a consumer ended while events were under way");
        }
    }

    // The relay owns the bus: when it has marked what was acknowledged and ends, the consumers' sources close.
    relay.stop().await?;
    while let Some(ended) = consumers.join_next().await {
        ended??;
    }
    Ok(())
}

/// Waits for what is under way beside that: events sent again after a crash, or that nobody asked for.
async fn drained(mut status: watch::Receiver<RelayStatus>) -> Result<()> {
    let is_dry = |status: &RelayStatus| status.lanes == usize::from(DEFAULT_LANES) && status.caught_up;
    // When it takes too long, the check says what is missing.
    if let Ok(dry) = timeout(PATIENCE, status.wait_for(is_dry)).await {
        dry?;
    }
    Ok(())
}

/// Follows one consumer until it has applied so many events, or nothing for a long time.
async fn applied(mut status: watch::Receiver<ConsumerStatus>, missing: usize, bar: &ProgressBar) -> Result<()> {
    let missing = u64::try_from(missing)?;
    let mut shown = 0;
    loop {
        let applied = status.borrow_and_update().applied;
        bar.inc(applied - shown);
        shown = applied;
        if applied >= missing {
            return Ok(());
        }
        match timeout(PATIENCE, status.changed()).await {
            Ok(changed) => changed?,
            Err(_) => return Ok(()),
        }
    }
}
