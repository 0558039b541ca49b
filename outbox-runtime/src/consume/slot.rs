//! Who may work: so many deliveries at once, without those that the database refuses.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Notify, Semaphore, SemaphorePermit};

use super::retry::{Bell, Halt};

/// The places at work of one run.
#[derive(Debug)]
pub(super) struct Slots {
    free: Semaphore,
    freed: Notify,
    aside: AtomicUsize,
}

impl Slots {
    pub(super) fn new(concurrency: usize) -> Self {
        Self { free: Semaphore::new(concurrency), freed: Notify::new(), aside: AtomicUsize::new(0) }
    }

    /// A place, if one is free. Those who come back from aside go first.
    pub(super) fn take(&self) -> Option<Slot<'_>> {
        let permit = self.free.try_acquire().ok()?;
        Some(Slot { slots: self, permit: Some(permit) })
    }

    /// Somebody stepped aside.
    pub(super) async fn freed(&self) {
        self.freed.notified().await;
    }

    /// How many wait aside.
    pub(super) fn aside(&self) -> usize {
        self.aside.load(Ordering::Acquire)
    }
}

/// A place at work, given back when dropped.
#[derive(Debug)]
pub(super) struct Slot<'s> {
    slots: &'s Slots,
    permit: Option<SemaphorePermit<'s>>,
}

impl Slot<'_> {
    /// Leaves the place to others while `wait` lasts, and takes one again.
    pub(super) async fn step_aside(
        &mut self,
        bell: &Bell,
        wait: impl Future<Output = Result<(), Halt>>,
    ) -> Result<(), Halt> {
        let _aside = Aside::new(self.slots);
        self.permit = None;
        self.slots.freed.notify_one();
        wait.await?;
        tokio::select! {
            permit = self.slots.free.acquire() => self.permit = permit.ok(),
            () = bell.stopped() => return Err(Halt::Stopped),
        }
        Ok(())
    }
}

/// Counted for as long as it lives.
struct Aside<'s>(&'s AtomicUsize);

impl<'s> Aside<'s> {
    fn new(slots: &'s Slots) -> Self {
        slots.aside.fetch_add(1, Ordering::AcqRel);
        Self(&slots.aside)
    }
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
