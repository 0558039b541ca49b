//! One event on its way to the broker, and the back-off of lanes whose events are not taken.

use std::{
    any::Any,
    collections::{HashMap, HashSet},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::Duration,
};

use futures_util::FutureExt as _;
use tokio::time::Instant;

use super::{queue::Key, wake};
use crate::{
    event::Envelope,
    publish::{PublishError, Publisher},
    store::lanes::Lease,
    waits::Waits,
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
    // A panic is this event's failure, not the end of the relay.
    let publishing = AssertUnwindSafe(publisher.publish(&envelope)).catch_unwind();
    let answer = match wake::within(limit, publishing).await {
        Some(Ok(answer)) => answer,
        Some(Err(panic)) => Err(panicked(&*panic)),
        None => Err(PublishError::unavailable(format!("no acknowledgement within {} ms", limit.as_millis()))),
    };
    Sent { key, lease, envelope, answer }
}

/// Lanes that wait after a failed send.
#[derive(Debug)]
pub(super) struct Blocked {
    lanes: HashMap<i16, Block>,
    first: Duration,
    longest: Duration,
}

#[derive(Debug)]
struct Block {
    until: Instant,
    waits: Waits,
    /// The lines whose heads were not taken. The waits grow until each of them got through.
    keys: HashSet<Key>,
}

impl Blocked {
    pub(super) fn new(first: Duration, longest: Duration) -> Self {
        Self { lanes: HashMap::new(), first, longest }
    }

    /// The lane may be used.
    pub(super) fn is_open(&self, lane: i16, now: Instant) -> bool {
        self.lanes.get(&lane).is_none_or(|block| block.until <= now)
    }

    /// A send failed. Failures of sends that were under way already do not lengthen the wait: `false`.
    pub(super) fn failed(&mut self, key: &Key) -> bool {
        let now = Instant::now();
        let was_open = self.is_open(key.lane, now);
        let (first, longest) = (self.first, self.longest);
        let block = self.lanes.entry(key.lane).or_insert_with(|| Block {
            until: now,
            waits: Waits::new(first, longest),
            keys: HashSet::new(),
        });
        block.keys.insert(key.clone());
        if was_open {
            block.until = now + block.waits.next();
        }
        was_open
    }

    /// A send succeeded. Others of its lane may still be failing.
    pub(super) fn succeeded(&mut self, key: &Key) {
        if let Some(block) = self.lanes.get_mut(&key.lane) {
            block.keys.remove(key);
            if block.keys.is_empty() {
                self.lanes.remove(&key.lane);
            }
        }
    }

    /// The lane is not ours any more.
    pub(super) fn forget(&mut self, lane: i16) {
        self.lanes.remove(&lane);
    }

    /// When the next lane opens.
    pub(super) fn next_opening(&self, now: Instant) -> Option<Instant> {
        self.lanes.values().map(|block| block.until).filter(|until| *until > now).min()
    }

    /// Lanes that wait now.
    pub(super) fn len(&self, now: Instant) -> usize {
        self.lanes.values().filter(|block| block.until > now).count()
    }
}

/// What a publisher said when it panicked.
fn panicked(payload: &(dyn Any + Send)) -> PublishError {
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(|s| &**s));
    PublishError::rejected_for_now(format!("the publisher panicked: {}", text.unwrap_or("no message")))
}
