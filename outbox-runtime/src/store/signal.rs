//! "Something was committed": from the producing side to whoever waits in the same process.
//!
//! It carries no data and may be lost without harm: polling is the truth.

use std::sync::LazyLock;

use tokio::sync::watch;

/// How often each was said since the program started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// A transaction of ours with events in it has committed.
    pub(crate) commits: u64,
    /// Events were appended in somebody else's transaction, which may commit soon.
    pub(crate) hints: u64,
}

static SAID: LazyLock<watch::Sender<Said>> = LazyLock::new(|| watch::Sender::new(Said::default()));

pub(crate) fn committed() {
    SAID.send_modify(|said| said.commits = said.commits.wrapping_add(1));
}

pub(crate) fn hinted() {
    SAID.send_modify(|said| said.hints = said.hints.wrapping_add(1));
}

pub(crate) fn listen() -> watch::Receiver<Said> {
    SAID.subscribe()
}
