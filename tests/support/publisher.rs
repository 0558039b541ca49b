//! Publishers that record what reached them, fail on demand, and wait for a signal.

use std::sync::{Arc, Mutex};

use outbox_runtime::{Envelope, PublishError, Publisher};
use tokio::sync::{Semaphore, watch};
use uuid::Uuid;

/// Records every event it acknowledged, in order.
#[derive(Clone, Debug)]
pub struct Recorder {
    log: Arc<Mutex<Vec<Envelope>>>,
    count: watch::Sender<usize>,
}

impl Recorder {
    pub fn new() -> Self {
        Self { log: Arc::default(), count: watch::Sender::new(0) }
    }

    pub fn log(&self) -> Vec<Envelope> {
        self.log.lock().unwrap().clone()
    }

    pub fn ids(&self) -> Vec<Uuid> {
        self.log.lock().unwrap().iter().map(|e| e.context.event_id).collect()
    }

    pub fn record(&self, event: &Envelope) {
        let mut log = self.log.lock().unwrap();
        log.push(event.clone());
        self.count.send_replace(log.len());
    }

    /// Returns when at least `n` events, duplicates counted, were acknowledged.
    pub async fn wait_for(&self, n: usize) {
        let waiting = self.count.subscribe().wait_for(|count| *count >= n).await.map(drop);
        waiting.unwrap();
    }

    /// Per aggregate, the sequences in the order of arrival.
    pub fn sequences(&self, aggregate_id: &str) -> Vec<i64> {
        let log = self.log.lock().unwrap();
        let of_it = log.iter().filter(|e| e.context.aggregate_id == aggregate_id);
        of_it.map(|e| e.context.aggregate_sequence).collect()
    }
}

impl Publisher for Recorder {
    async fn publish(&self, event: &Envelope) -> Result<(), PublishError> {
        self.record(event);
        Ok(())
    }
}

/// Calls a function before it records; an error is answered and not recorded.
#[derive(Clone)]
pub struct Failing<F> {
    pub recorder: Recorder,
    pub judge: F,
}

impl<F> Publisher for Failing<F>
where
    F: Fn(&Envelope) -> Result<(), PublishError> + Send + Sync + 'static,
{
    async fn publish(&self, event: &Envelope) -> Result<(), PublishError> {
        (self.judge)(event)?;
        self.recorder.record(event);
        Ok(())
    }
}

/// Holds every event at a gate until permits are given.
#[derive(Clone, Debug)]
pub struct Gated {
    pub recorder: Recorder,
    gate: Arc<Semaphore>,
    arrived: watch::Sender<usize>,
}

impl Gated {
    pub fn new() -> Self {
        Self { recorder: Recorder::new(), gate: Arc::new(Semaphore::new(0)), arrived: watch::Sender::new(0) }
    }

    pub fn let_through(&self, events: usize) {
        self.gate.add_permits(events);
    }

    /// Returns when at least `n` events have arrived at the gate.
    pub async fn wait_for_arrivals(&self, n: usize) {
        let waiting = self.arrived.subscribe().wait_for(|arrived| *arrived >= n).await.map(drop);
        waiting.unwrap();
    }
}

impl Publisher for Gated {
    async fn publish(&self, event: &Envelope) -> Result<(), PublishError> {
        self.arrived.send_modify(|arrived| *arrived += 1);
        let permit = self.gate.acquire().await.map_err(PublishError::unavailable)?;
        permit.forget();
        self.recorder.record(event);
        Ok(())
    }
}
