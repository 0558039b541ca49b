//! A broker in the test's hands, events of a ledger, and what the consumer's tables hold.

use std::time::Duration;

use outbox_runtime::{
    ConsumerStatus, DecodeError, Delivery, Envelope, EventSet, HandlerError, Incoming, RawEvent, RetryPolicy, Tx,
};
use sea_orm::{ConnectionTrait, DatabaseConnection, DbBackend, DbErr};
use tokio::sync::{mpsc, watch};
use uuid::Uuid;

/// Long enough for a loaded machine; reached only by a test that fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// The ledger's events as a program knows them that reads up to version `NEWEST`.
#[derive(Debug)]
pub struct Added<const NEWEST: u16 = 1> {
    pub amount: i64,
}

impl<const NEWEST: u16> EventSet for Added<NEWEST> {
    fn decode(raw: &RawEvent) -> Result<Vec<Self>, DecodeError> {
        const TYPE: &str = "ledger.added";
        match &*raw.ty {
            "ledger.nothing" => Ok(Vec::new()),
            "ledger.added_twice" => Ok(vec![Self { amount: 1 }, Self { amount: 2 }]),
            TYPE if raw.version > NEWEST => {
                Err(DecodeError::NewerVersion { ty: TYPE, found: raw.version, known: NEWEST })
            }
            TYPE => serde_json::from_value(raw.payload["amount"].clone()).map(|amount| vec![Self { amount }]).map_err(
                |source| DecodeError::Payload { ty: TYPE, version: raw.version, path: "amount".into(), source },
            ),
            other => Err(DecodeError::UnknownType { ty: other.to_owned() }),
        }
    }
}

pub fn event(aggregate: &str, sequence: i64) -> Envelope {
    event_of("ledger.added", 1, aggregate, sequence)
}

pub fn event_of(ty: &str, version: u16, aggregate: &str, sequence: i64) -> Envelope {
    let mut raw = RawEvent::new(ty, version, serde_json::json!({ "amount": sequence }));
    raw.context.event_id = Uuid::now_v7();
    raw.context.aggregate_type = "ledger".into();
    raw.context.aggregate_id = aggregate.into();
    raw.context.aggregate_sequence = sequence;
    raw.into()
}

/// Delivers what the test says and hears what the consumer acknowledges.
pub struct Broker {
    deliveries: mpsc::Sender<Incoming>,
    acknowledged: mpsc::UnboundedReceiver<Uuid>,
    acknowledger: mpsc::UnboundedSender<Uuid>,
}

impl Broker {
    pub fn new() -> (Self, mpsc::Receiver<Incoming>) {
        let (deliveries, source) = mpsc::channel(64);
        let (acknowledger, heard) = mpsc::unbounded_channel();
        (Self { deliveries, acknowledged: heard, acknowledger }, source)
    }

    pub async fn deliver(&self, event: &Envelope) {
        let (id, acknowledger) = (event.context.event_id, self.acknowledger.clone());
        let acknowledge = async move || acknowledger.send(id).map_err(outbox_runtime::SourceError::unavailable);
        within(self.deliveries.send(Incoming::new(event.clone(), acknowledge))).await.expect("the consumer runs");
    }

    /// The next event that is acknowledged.
    pub async fn acknowledged(&mut self) -> Uuid {
        within(self.acknowledged.recv()).await.expect("this broker holds a sender")
    }

    /// Delivers and waits for the acknowledgement.
    pub async fn settle(&mut self, event: &Envelope) {
        self.deliver(event).await;
        assert_eq!(self.acknowledged().await, event.context.event_id);
    }

    /// Nothing was acknowledged that was not heard.
    pub fn heard_all(&mut self) -> bool {
        self.acknowledged.try_recv().is_err()
    }
}

pub async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.expect("in time")
}

pub async fn until(
    status: &mut watch::Receiver<ConsumerStatus>,
    reached: impl FnMut(&ConsumerStatus) -> bool,
) -> ConsumerStatus {
    let status = within(status.wait_for(reached)).await;
    *status.expect("the consumer is not dropped while a test waits")
}

/// Soon again, so that tests do not take long.
pub fn soon() -> RetryPolicy {
    RetryPolicy::default().max_attempts(3).delays(Duration::from_millis(10), Duration::from_millis(20))
}

pub async fn make_ledger(db: &DatabaseConnection) {
    let key = match db.get_database_backend() {
        DbBackend::Postgres => "id bigserial PRIMARY KEY",
        _ => "id INTEGER PRIMARY KEY AUTOINCREMENT",
    };
    db.execute_unprepared(&format!(
        "CREATE TABLE ledger ({key}, consumer text NOT NULL, aggregate text NOT NULL, seq bigint NOT NULL, amount bigint NOT NULL)"
    ))
    .await
    .expect("ledger");
}

/// The effect: one row per call.
pub async fn add<const NEWEST: u16>(event: Added<NEWEST>, delivery: Delivery, tx: &Tx) -> Result<(), HandlerError> {
    let (consumer, aggregate) = (delivery.consumer(), delivery.aggregate_id());
    let (sequence, amount) = (delivery.aggregate_sequence(), event.amount);
    let sql = format!(
        "INSERT INTO ledger (consumer, aggregate, seq, amount) VALUES ('{consumer}', '{aggregate}', {sequence}, {amount})"
    );
    tx.execute_unprepared(&sql).await?;
    Ok(())
}

async fn column<T: sea_orm::TryGetable>(db: &DatabaseConnection, sql: &str) -> Vec<T> {
    let rows = db.query_all_raw(sea_orm::Statement::from_string(db.get_database_backend(), sql)).await.expect(sql);
    rows.iter().map(|row| row.try_get_by_index(0)).collect::<Result<_, DbErr>>().expect(sql)
}

/// Sequences of the aggregate's effects, in the order in which they took place.
pub async fn effects(db: &DatabaseConnection, aggregate: &str) -> Vec<i64> {
    column(db, &format!("SELECT seq FROM ledger WHERE aggregate = '{aggregate}' ORDER BY id")).await
}

/// What is parked, as `sequence reason attempts`, in sequence.
pub async fn parked(db: &DatabaseConnection, aggregate: &str) -> Vec<String> {
    let sql = format!(
        "SELECT CAST(aggregate_sequence AS text) || ' ' || reason || ' ' || CAST(attempt_count AS text) \
         FROM consumer_parked WHERE aggregate_id = '{aggregate}' ORDER BY aggregate_sequence, event_id"
    );
    column(db, &sql).await
}

pub async fn last_errors(db: &DatabaseConnection, aggregate: &str) -> Vec<String> {
    column(db, &format!("SELECT COALESCE(last_error, '') FROM consumer_parked WHERE aggregate_id = '{aggregate}' ORDER BY aggregate_sequence")).await
}

/// The last sequence applied of the aggregate, if it was seen.
pub async fn mark(db: &DatabaseConnection, aggregate: &str) -> Option<i64> {
    let sql = format!("SELECT last_sequence FROM consumer_positions WHERE aggregate_id = '{aggregate}'");
    column(db, &sql).await.pop()
}

pub async fn inbox_rows(db: &DatabaseConnection) -> usize {
    column::<String>(db, "SELECT CAST(event_id AS text) FROM processed_events").await.len()
}
