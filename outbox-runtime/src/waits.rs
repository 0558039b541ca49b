//! How long to wait between tries: twice as long each time, with jitter, never longer than the longest.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};

/// Waits that grow from `first` to `longest` and go on for ever.
#[derive(Debug)]
pub(crate) struct Waits {
    growing: ExponentialBackoff,
    longest: Duration,
}

impl Waits {
    /// Neither is taken to be longer than ten years.
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        const TEN_YEARS: Duration = Duration::from_hours(10 * 365 * 24);
        let (first, longest) = (first.min(TEN_YEARS), longest.min(TEN_YEARS));
        let growing = ExponentialBuilder::new()
            .with_min_delay(first)
            // The jitter comes on top, up to as much again.
            .with_max_delay((longest / 2).max(first))
            .without_max_times()
            .with_jitter()
            .build();
        Self { growing, longest }
    }

    /// The next wait.
    pub(crate) fn next(&mut self) -> Duration {
        self.growing.next().unwrap_or(self.longest).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_durations_do_no_harm() {
        let mut waits = Waits::new(Duration::MAX, Duration::MAX);
        assert!((0..5).all(|_| waits.next() > Duration::from_hours(1)));
    }

    #[test]
    fn waits_grow_and_never_exceed_the_longest() {
        let (first, longest) = (Duration::from_millis(10), Duration::from_secs(1));
        let mut waits = Waits::new(first, longest);
        let all: Vec<Duration> = (0..20).map(|_| waits.next()).collect();
        assert!(all.iter().all(|wait| (first..=longest).contains(wait)), "{all:?}");
        assert!(all.iter().skip(8).all(|wait| *wait >= longest / 2), "{all:?}");
    }
}
