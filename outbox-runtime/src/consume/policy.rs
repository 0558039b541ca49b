//! What a consumer is told at build time: how often to try, and what order means.

use std::time::Duration;

use crate::waits::Waits;

/// How often a failing handler is tried before its event is quarantined, and how long to wait in between.
///
/// The waits are counted by the database's clock and survive a restart.
///
/// ```
/// use std::time::Duration;
/// use outbox_runtime::RetryPolicy;
///
/// let policy = RetryPolicy::default().max_attempts(5).delays(Duration::from_secs(2), Duration::from_secs(120));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    max_attempts: u32,
    first_delay: Duration,
    max_delay: Duration,
}

impl Default for RetryPolicy {
    /// 8 attempts, 1 second to 5 minutes between them.
    fn default() -> Self {
        Self { max_attempts: 8, first_delay: Duration::from_secs(1), max_delay: Duration::from_mins(5) }
    }
}

impl RetryPolicy {
    /// How often a handler is called for one event at most, the first time included; at least once.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts.max(1);
        self
    }

    /// The wait before the second attempt, and the longest wait; it doubles in between, with jitter.
    pub fn delays(mut self, first: Duration, longest: Duration) -> Self {
        self.first_delay = first;
        self.max_delay = longest.max(first);
        self
    }

    /// How long to wait after the attempt of this number failed. `None`: it was the last.
    pub(super) fn delay_after(&self, attempt: u32) -> Option<Duration> {
        if attempt >= self.max_attempts {
            return None;
        }
        let mut waits = Waits::new(self.first_delay, self.max_delay);
        for _ in 1..attempt {
            waits.next();
        }
        Some(waits.next())
    }
}

/// What a consumer does with events that arrive out of order.
///
/// ```
/// use outbox_runtime::OrderPolicy;
///
/// assert_eq!(OrderPolicy::default(), OrderPolicy::Ordered);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OrderPolicy {
    /// The first event seen of an aggregate sets the mark; a later one waits, parked, for the missing one.
    #[default]
    Ordered,
}
