//! Counts the purchases of this run, and pulls the plug when told to.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::{Result, bail};
use indicatif::ProgressBar;

#[derive(Clone, Debug)]
pub struct Till {
    counts: Arc<Counts>,
    bar: ProgressBar,
}

#[derive(Debug)]
struct Counts {
    /// Committed.
    made: AtomicUsize,
    /// May still begin before the crash.
    open: AtomicUsize,
    crash_after: Option<usize>,
}

impl Till {
    pub fn new(crash_after: Option<usize>, bar: ProgressBar) -> Self {
        let open = AtomicUsize::new(crash_after.unwrap_or(usize::MAX));
        Self { counts: Arc::new(Counts { made: AtomicUsize::new(0), open, crash_after }), bar }
    }

    /// How many of so many purchases may be made now. Once the last before the crash is under way, it waits for ever.
    pub async fn admit(&self, wanted: usize) -> usize {
        let open = self
            .counts
            .open
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |open| open.checked_sub(wanted.min(open)));
        match open.unwrap_or_default().min(wanted) {
            0 => std::future::pending().await,
            admitted => admitted,
        }
    }

    /// Called after COMMIT.
    pub fn made(&self, purchases: usize) -> Result<()> {
        let made = self.counts.made.fetch_add(purchases, Ordering::SeqCst) + purchases;
        self.bar.set_message(format!("{made} purchases made"));
        if self.counts.crash_after.is_some_and(|after| made >= after) { crash() } else { Ok(()) }
    }
}

/// `kill -9` of the own process: nothing is flushed, no destructor runs.
#[cfg(unix)]
fn crash() -> Result<()> {
    use rustix::process::{Signal, getpid, kill_process};
    kill_process(getpid(), Signal::KILL)?;
    bail!("the process outlived its SIGKILL");
}

#[cfg(not(unix))]
fn crash() -> Result<()> {
    std::process::abort()
}
