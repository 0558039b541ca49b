//! Rates of both sides, round by round, and the ratio of their medians.

use std::time::Duration;

use serde_json::json;

/// One case, measured on both sides in alternating rounds.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) suite: &'static str,
    pub(crate) name: String,
    pub(crate) rival: &'static str,
    pub(crate) items: u32,
    pub(crate) ours: Vec<Duration>,
    pub(crate) theirs: Vec<Duration>,
    /// The ratio to reach.
    pub(crate) target: f64,
}

impl Case {
    fn rate(&self, time: Duration) -> f64 {
        f64::from(self.items) / time.as_secs_f64()
    }

    fn median(&self, times: &[Duration]) -> f64 {
        let mut rates: Vec<f64> = times.iter().map(|time| self.rate(*time)).collect();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied().unwrap_or_default()
    }

    pub(crate) fn print(&self, as_json: bool) {
        let (ours, theirs) = (self.median(&self.ours), self.median(&self.theirs));
        let ratio = ours / theirs;
        let met = ratio >= self.target;
        if as_json {
            let line = json!({
                "suite": self.suite, "case": self.name, "unit": "events/s", "ours": ours, "rival": self.rival,
                "theirs": theirs, "ratio": ratio, "target": self.target, "met": met,
            });
            println!("{line}");
            return;
        }
        println!("{}: {} (events/s)", self.suite, self.name);
        println!("{:>8} {:>12} {:>16}", "round", "ours", self.rival);
        for (round, (ours, theirs)) in self.ours.iter().zip(&self.theirs).enumerate() {
            println!("{:>8} {:>12.0} {:>16.0}", round + 1, self.rate(*ours), self.rate(*theirs));
        }
        println!("{:>8} {ours:>12.0} {theirs:>16.0}   ratio {ratio:.2} (to reach {:.2})", "median", self.target);
    }
}
