//! One event on its way to the broker, and the back-off of lanes whose events are not taken.

use std::{collections::HashMap, sync::Arc, time::Duration};

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use tokio::time::Instant;

use super::{queue::Key, wake};
use crate::{
    event::Envelope,
    publish::{PublishError, Publisher},
    store::lanes::Lease,
};

/// How a send ended.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) key: Key,
    pub(super) lease: Lease,
    pub(super) envelope: Envelope,
    pub(super) answer: Result<(), PublishError>,
}

/// Publishes one event. After `limit` the publisher's future is dropped, which its contract allows.
pub(super) async fn send<P: Publisher>(
    publisher: Arc<P>,
    key: Key,
    lease: Lease,
    envelope: Envelope,
    limit: Duration,
) -> Sent {
    let answer = wake::within(limit, publisher.publish(&envelope)).await.unwrap_or_else(|| {
        Err(PublishError::unavailable(format!("no acknowledgement within {} ms", limit.as_millis())))
    });
    Sent { key, lease, envelope, answer }
}

/// Lanes that wait after a failed send.
#[derive(Debug)]
pub(super) struct Blocked {
    lanes: HashMap<i16, (Instant, ExponentialBackoff)>,
    first: Duration,
    longest: Duration,
}

impl Blocked {
    pub(super) fn new(first: Duration, longest: Duration) -> Self {
        Self { lanes: HashMap::new(), first, longest }
    }

    /// The lane may be used.
    pub(super) fn is_open(&self, lane: i16, now: Instant) -> bool {
        self.lanes.get(&lane).is_none_or(|(until, _)| *until <= now)
    }

    /// A send failed. Failures of sends that were under way already do not lengthen the wait: `false`.
    pub(super) fn failed(&mut self, lane: i16) -> bool {
        let now = Instant::now();
        if !self.is_open(lane, now) {
            return false;
        }
        let (first, longest) = (self.first, self.longest);
        let (until, delays) = self.lanes.entry(lane).or_insert_with(|| {
            let delays = ExponentialBuilder::new().with_min_delay(first).with_max_delay(longest);
            (now, delays.without_max_times().with_jitter().build())
        });
        *until = now + delays.next().unwrap_or(longest);
        true
    }

    /// A send succeeded.
    pub(super) fn succeeded(&mut self, lane: i16) {
        self.lanes.remove(&lane);
    }

    /// When the next lane opens.
    pub(super) fn next_opening(&self, now: Instant) -> Option<Instant> {
        self.lanes.values().map(|(until, _)| *until).filter(|until| *until > now).min()
    }

    /// Lanes that wait now.
    pub(super) fn len(&self, now: Instant) -> usize {
        self.lanes.values().filter(|(until, _)| *until > now).count()
    }
}
