//! The loop of a running consumer: takes deliveries, keeps each aggregate in line, ends gracefully.

use std::{future::Future, pin::pin, sync::Arc};

use futures_util::{
    future::OptionFuture,
    stream::{FuturesUnordered, StreamExt as _},
};

use super::{
    Acknowledge, ConsumeError, Incoming, Source, SourceError,
    deliver::{Deliver, Matter, Settled},
    handlers::Dispatch,
    line::{Key, Lines, Work},
    retry::{Bell, Halt, Reader},
    slot::{Slot, Slots},
};
use crate::observe::{self, chain};

/// Deliveries taken from the source ahead of those in work: a hot aggregate must not hide the others behind it. Those
/// that the database refuses count among them: all are in memory, and unacknowledged.
const AHEAD: usize = 256;

/// What happened next.
enum Turn {
    Ended(Key, Result<(), Halt>),
    Due(Vec<Key>),
    Came(Result<Option<Incoming>, SourceError>),
    Stop,
    /// A place at work is free.
    Freed,
}

/// Everything runs inside this one future: dropping it drops every delivery in work, unacknowledged, and its
/// transaction with it.
pub(super) async fn run<H: Dispatch, S: Source>(
    deliver: Deliver<H>,
    concurrency: usize,
    source: S,
    shutdown: impl Future,
) -> Result<(), ConsumeError> {
    let (bell, slots) = (Bell::new(), Slots::new(concurrency));
    let mut shutdown = pin!(shutdown);
    let opened = tokio::select! {
        opened = deliver.open(&bell) => opened,
        _ = &mut shutdown => return Ok(()),
    };
    if let Err(Halt::Broken(error)) = opened {
        return Err(error);
    }
    let _running = Running::new(&deliver);

    let mut reader = Reader::new(source);
    let mut lines = Lines::default();
    let mut in_work = FuturesUnordered::new();
    let mut due = Some(Box::pin(deliver.due(&bell, false, 0)));
    let mut is_closed = false;
    let mut broken = None;
    loop {
        while lines.is_ready()
            && let Some(slot) = slots.take()
            && let Some((key, work)) = lines.start()
        {
            in_work.push(work_on(&deliver, &bell, slot, key, work));
        }
        let is_stopping = bell.is_stopped();
        let takes = !is_closed && !is_stopping;
        if !takes {
            // It may hold the connection that the deliveries in work wait for.
            due = None;
            if in_work.is_empty() {
                break;
            }
        }
        let turn = tokio::select! {
            Some((key, ended)) = in_work.next(), if !in_work.is_empty() => Turn::Ended(key, ended),
            keys = async { OptionFuture::from(due.as_mut()).await.unwrap_or_default() }, if due.is_some() => Turn::Due(keys),
            came = reader.next(), if takes && lines.waiting() + slots.aside() < AHEAD => Turn::Came(came),
            () = slots.freed() => Turn::Freed,
            _ = &mut shutdown, if !is_stopping => Turn::Stop,
        };
        match turn {
            Turn::Ended(key, ended) => {
                lines.finish(&key);
                if let Err(Halt::Broken(error)) = ended {
                    broken.get_or_insert(error);
                    bell.stop();
                }
            }
            Turn::Due(keys) => {
                let free: Vec<Key> = keys.into_iter().filter(|key| !lines.is_busy(key)).collect();
                due = Some(Box::pin(deliver.due(&bell, free.is_empty(), in_work.len())));
                for key in free {
                    lines.arrive(key.clone(), Work::Due(key));
                }
            }
            Turn::Came(Ok(Some(incoming))) => {
                let context = &incoming.envelope.context;
                let key = (context.aggregate_type.clone(), context.aggregate_id.clone());
                lines.deliver(key, incoming);
            }
            Turn::Came(Ok(None)) => is_closed = true,
            Turn::Came(Err(error)) => {
                is_closed = true;
                broken.get_or_insert(error.into());
            }
            Turn::Stop => bell.stop(),
            Turn::Freed => {}
        }
        if bell.is_stopped() {
            lines.give_back();
        }
    }
    broken.map_or(Ok(()), Err)
}

async fn work_on<H: Dispatch>(
    deliver: &Deliver<H>,
    bell: &Bell,
    mut slot: Slot<'_>,
    key: Key,
    work: Work,
) -> (Key, Result<(), Halt>) {
    let ended = match work {
        Work::Delivery(incoming, copies) => take(deliver, bell, &mut slot, &key, incoming, copies).await,
        Work::Due(key) => deliver.follow(key, bell, &mut slot).await,
    };
    (key, ended)
}

/// Settles one delivery, acknowledges it and its copies, and goes on with what waited for it.
async fn take<H: Dispatch>(
    deliver: &Deliver<H>,
    bell: &Bell,
    slot: &mut Slot<'_>,
    key: &Key,
    incoming: Incoming,
    copies: Vec<Box<dyn Acknowledge>>,
) -> Result<(), Halt> {
    let Incoming { envelope, acknowledger } = incoming;
    let matter = Matter::Delivered(Arc::new(envelope.into_raw()));
    let settled = deliver.settle_surely(&matter, bell, slot).await?;
    acknowledge(acknowledger).await;
    for copy in copies {
        deliver.counter.count(&Settled::Duplicate { more: false });
        acknowledge(copy).await;
    }
    if settled.more() { deliver.follow(key.clone(), bell, slot).await } else { Ok(()) }
}

async fn acknowledge(acknowledger: Box<dyn Acknowledge>) {
    if let Err(error) = acknowledger.acknowledge().await {
        // It is delivered again and found to be a duplicate.
        let cause = chain(&error);
        observe::warning!(cause, "a settled delivery could not be acknowledged");
        drop(cause);
    }
}

/// Tells the status that the run has ended, however it ends.
struct Running<'d, H>(&'d Deliver<H>);

impl<'d, H> Running<'d, H> {
    fn new(deliver: &'d Deliver<H>) -> Self {
        deliver.counter.running(true);
        Self(deliver)
    }
}

impl<H> Drop for Running<'_, H> {
    fn drop(&mut self) {
        self.0.counter.running(false);
    }
}
