//! INV-1 to INV-5 at once: many write, roll back and are cut off, while relays and consumers run, are dropped and
//! started again, and deliver twice.

use std::{
    collections::{BTreeMap, HashSet},
    env,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use outbox_runtime::{
    Consumer, ConsumerStatus, Delivery, Envelope, LocalBus, PublishError, Publisher, Relay, RetryPolicy, Tx, TxError,
    TxPolicy, transact,
};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use sea_orm::{ConnectionTrait as _, DatabaseConnection, DbErr, Statement, Value};
use tokio::{sync::watch, task::JoinHandle};
use uuid::Uuid;

use crate::{
    models::{
        self,
        order::{Order, OrderEvent},
    },
    relay::{orders, pending, quick},
    support::{Failed, Kind, TestDb, drop_after, each_database},
};

const AGGREGATES: usize = 10;
const WRITERS: usize = 32;
/// How often everything but the writers is dropped and started again, plus one.
const PHASES: usize = 4;

/// Every third event is sent twice, every fifth is acknowledged by the consumers and refused to the relay.
struct Twice {
    bus: LocalBus,
    count: AtomicU64,
}

impl Publisher for Twice {
    async fn publish(&self, event: &Envelope) -> Result<(), PublishError> {
        self.bus.publish(event).await?;
        let nth = self.count.fetch_add(1, Ordering::SeqCst);
        if nth.is_multiple_of(3) {
            self.bus.publish(event).await?;
        }
        if nth % 5 == 4 { Err(PublishError::unavailable("the answer was lost")) } else { Ok(()) }
    }
}

/// Writes down each effect; a second one of the same event would be a second row.
async fn effect(consumer: &str, delivery: &Delivery, tx: &Tx) -> Result<(), DbErr> {
    let backend = tx.get_database_backend();
    let sql = match backend {
        sea_orm::DbBackend::Postgres => "INSERT INTO effects (consumer, aggregate_id, sequence) VALUES ($1, $2, $3)",
        _ => "INSERT INTO effects (consumer, aggregate_id, sequence) VALUES (?1, ?2, ?3)",
    };
    let values: [Value; 3] = [consumer.into(), delivery.aggregate_id().into(), delivery.aggregate_sequence().into()];
    tx.execute_raw(Statement::from_sql_and_values(backend, sql, values)).await?;
    Ok(())
}

struct Running {
    task: JoinHandle<()>,
    status: watch::Receiver<ConsumerStatus>,
}

fn consumers(db: &DatabaseConnection, bus: &LocalBus) -> [Running; 2] {
    ["billing", "loyalty"].map(|name| {
        let consumer = Consumer::builder(db.clone(), name)
            .retries(
                RetryPolicy::default().max_attempts(50).delays(Duration::from_millis(5), Duration::from_millis(50)),
            )
            .concurrency(4)
            .on(async move |_: OrderEvent, delivery: Delivery, tx: &Tx| {
                effect(name, &delivery, tx).await?;
                // Every seventh event fails at its first attempt, after its effect was written.
                if delivery.aggregate_sequence() % 7 == 3 && delivery.attempt() == 1 {
                    return Err("not the first time".into());
                }
                Ok(())
            });
        let (source, status) = (bus.source(name).unwrap(), consumer.status());
        let task = tokio::spawn(async move {
            consumer.run(source).await.unwrap();
        });
        Running { task, status }
    })
}

async fn drop_consumers(running: [Running; 2]) {
    for Running { task, .. } in running {
        task.abort();
        // The bus counts a consumer as gone when its source is dropped.
        assert!(task.await.unwrap_err().is_cancelled());
    }
}

async fn relays(db: &TestDb, bus: &LocalBus) -> [Relay; 2] {
    let publisher = || Twice { bus: bus.clone(), count: AtomicU64::new(0) };
    [quick(&db.conn, publisher()).start().await.unwrap(), quick(&db.conn, publisher()).start().await.unwrap()]
}

/// What a writer knows of the events that it emitted.
#[derive(Default)]
struct Ledger {
    committed: HashSet<Uuid>,
    unknown: HashSet<Uuid>,
    rolled_back: HashSet<Uuid>,
}

#[derive(Clone, Copy, Debug)]
struct Plan {
    aggregate: usize,
    by: i64,
    /// A third of the transactions: on purpose, or by a statement that fails.
    roll_back: Option<bool>,
    /// A tenth: dropped after so many polls, at once or when asked for the next.
    cut_off: Option<(usize, bool)>,
}

impl Plan {
    fn draw(rng: &mut StdRng) -> Self {
        Self {
            aggregate: rng.random_range(0..AGGREGATES),
            by: rng.random_range(1..100),
            roll_back: rng.random_ratio(1, 3).then(|| rng.random()),
            cut_off: rng.random_ratio(1, 10).then(|| (rng.random_range(1..40), rng.random())),
        }
    }

    async fn run(self, db: &DatabaseConnection, ids: &[Uuid], ledger: &Mutex<Ledger>) {
        // The event of the attempt that runs now; those of earlier attempts were rolled back.
        let current = Mutex::new(None);
        let work = transact(db, TxPolicy::default().max_attempts(30), async |tx| {
            let mut order = Order::load(tx, ids[self.aggregate]).await?;
            order.raise(self.by);
            let before = current.lock().unwrap().replace(order.pending()[0].event_id());
            ledger.lock().unwrap().rolled_back.extend(before);
            order.save(tx).await?;
            match self.roll_back {
                Some(true) => Err(Failed::OnPurpose),
                Some(false) => Ok(tx.execute_unprepared("SELECT nothing FROM nowhere").await.map(drop)?),
                None => Ok(()),
            }
        });
        let outcome = match self.cut_off {
            Some((polls, linger)) => drop_after(polls, linger, work).await,
            None => Some(work.await),
        };
        let event = current.lock().unwrap().take();
        let ledger = &mut *ledger.lock().unwrap();
        match outcome {
            Some(Ok(())) => {
                assert!(self.roll_back.is_none(), "{self:?}");
                ledger.committed.extend(event);
            }
            None | Some(Err(Failed::Tx(TxError::Commit(_)))) => ledger.unknown.extend(event),
            Some(Err(error)) => {
                assert!(self.roll_back.is_some(), "{self:?}: {error}");
                ledger.rolled_back.extend(event);
            }
        }
    }
}

/// How far the test is: writers go on into a phase when it has begun, so that they write in each.
#[derive(Clone)]
struct Progress {
    phase: watch::Sender<usize>,
    done: watch::Sender<usize>,
}

impl Progress {
    fn writers(
        &self,
        db: &DatabaseConnection,
        ids: &[Uuid],
        rounds: usize,
        seeds: &mut StdRng,
    ) -> Vec<JoinHandle<Ledger>> {
        let writer = |mut rng: StdRng| {
            let (db, ids, progress) = (db.clone(), ids.to_vec(), self.clone());
            async move {
                let ledger = Mutex::default();
                let mut phase = progress.phase.subscribe();
                for round in 0..rounds {
                    phase.wait_for(|phase| *phase >= round * PHASES / rounds).await.unwrap();
                    Plan::draw(&mut rng).run(&db, &ids, &ledger).await;
                    progress.done.send_modify(|done| *done += 1);
                }
                ledger.into_inner().unwrap()
            }
        };
        (0..WRITERS).map(|_| tokio::spawn(writer(StdRng::seed_from_u64(seeds.random())))).collect()
    }
}

async fn make_effects_table(db: &TestDb) {
    let key = db.either("INTEGER PRIMARY KEY AUTOINCREMENT", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY");
    db.run(&format!("CREATE TABLE effects (nth {key}, consumer text, aggregate_id text, sequence bigint)")).await;
}

each_database! {
    async fn rows_events_and_effects_match_whatever_is_cut_off_dropped_and_delivered_twice(db: TestDb) {
        let seed = env::var("OUTBOX_TEST_SEED").map_or_else(|_| rand::random(), |seed| seed.parse().unwrap());
        #[allow(clippy::print_stderr, reason = "it is what a failure is repeated with")]
        { eprintln!("OUTBOX_TEST_SEED={seed}"); }
        run_all(&db, seed).await;
    }
}

/// The seed decides who does what; who comes first is for the machine to say.
async fn run_all(db: &TestDb, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    models::create_tables(db).await;
    make_effects_table(db).await;
    let ids = orders(db, AGGREGATES, 1).await;
    let rounds = if db.kind == Kind::Sqlite { 12 } else { 40 };
    let progress = Progress { phase: watch::Sender::new(0), done: watch::Sender::new(0) };
    let writers = progress.writers(&db.connect_with(24).await, &ids, rounds, &mut rng);

    let bus = LocalBus::new(["billing", "loyalty"]).unwrap();
    let mut running = consumers(&db.conn, &bus);
    let mut relaying = relays(db, &bus).await;
    for phase in 1..PHASES {
        // In the middle of what the writers may do by now.
        let middle = WRITERS * rounds * (2 * phase - 1) / (2 * PHASES);
        progress.done.subscribe().wait_for(|done| *done >= middle).await.unwrap();
        let [mut one, mut other] = relaying.each_ref().map(Relay::status);
        tokio::select! {
            published = one.wait_for(|status| status.published >= 10) => drop(published.unwrap()),
            published = other.wait_for(|status| status.published >= 10) => drop(published.unwrap()),
        }
        let consumers_first = rng.random();
        if consumers_first {
            drop_consumers(running).await;
            drop(relaying);
        } else {
            drop(relaying);
            drop_consumers(running).await;
        }
        running = consumers(&db.conn, &bus);
        relaying = relays(db, &bus).await;
        progress.phase.send_replace(phase);
    }
    let mut all = Ledger::default();
    for writer in writers {
        let ledger = writer.await.unwrap();
        all.committed.extend(ledger.committed);
        all.unknown.extend(ledger.unknown);
        all.rolled_back.extend(ledger.rolled_back);
    }
    assert!(all.committed.len() > WRITERS * rounds / 3 && all.rolled_back.len() > WRITERS * rounds / 10);
    applied(db, &mut running).await;
    for relay in &relaying {
        relay.status().wait_for(|status| status.caught_up).await.unwrap();
    }
    assert_eq!(pending(db).await, 0);
    for relay in relaying {
        relay.stop().await.unwrap();
    }
    verify_log(db, &ids, &all).await;
    verify_effects(db, &ids).await;
    drop_consumers(running).await;
}

/// Returns when each consumer has applied every event; looks whenever one of them has done something.
async fn applied(db: &TestDb, running: &mut [Running; 2]) {
    let [Running { status: one, .. }, Running { status: other, .. }] = running;
    loop {
        for status in [&mut *one, &mut *other] {
            let status = *status.borrow_and_update();
            assert_eq!((status.quarantined, status.conflicts, status.refused), (0, 0, 0), "{status:?}");
        }
        // Of an effect that is not seen here its consumer tells after this look.
        if db.rows("effects").await >= 2 * db.rows("outbox_events").await && db.rows("consumer_parked").await == 0 {
            return;
        }
        tokio::select! {
            changed = one.changed() => changed.unwrap(),
            changed = other.changed() => changed.unwrap(),
        }
    }
}

/// What was committed is in the log, what was rolled back is not, and the rows are what their events add up to.
async fn verify_log(db: &TestDb, ids: &[Uuid], all: &Ledger) {
    let log = db.log().await;
    let stored: HashSet<Uuid> = log.iter().map(|event| event.event_id.parse().unwrap()).collect();
    let placed: HashSet<Uuid> =
        log.iter().filter(|event| event.sequence == 1).map(|event| event.event_id.parse().unwrap()).collect();
    assert_eq!(placed.len(), ids.len());
    assert!(all.committed.is_subset(&stored), "a committed event is missing");
    assert!(all.rolled_back.is_disjoint(&stored), "a rolled-back event is stored");
    assert!(
        stored.difference(&placed).all(|id| all.committed.contains(id) || all.unknown.contains(id)),
        "a stored event was never emitted"
    );
    let mut folded: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for event in &log {
        let (last, total) = folded.entry(event.aggregate_id.clone()).or_default();
        *last += 1;
        assert_eq!(event.sequence, *last, "{event:?}");
        if let OrderEvent::OrderRaised(raised) = event.decode().remove(0) {
            *total += raised.by_cents;
        }
    }
    for id in ids {
        let literal = match db.kind {
            Kind::Postgres => format!("'{id}'"),
            Kind::Sqlite => format!("x'{}'", id.simple()),
        };
        let row = db.count(&format!("SELECT CAST(total_cents AS bigint) FROM orders WHERE id = {literal}")).await;
        assert_eq!(row, folded[&id.to_string()].1);
    }
}

/// Each consumer saw every event of every aggregate once and in sequence.
async fn verify_effects(db: &TestDb, ids: &[Uuid]) {
    let rows = db
        .texts("SELECT consumer || '/' || aggregate_id || '/' || CAST(sequence AS text) FROM effects ORDER BY nth")
        .await;
    let mut effects: BTreeMap<(String, String), Vec<i64>> = BTreeMap::new();
    for row in &rows {
        let parts: Vec<&str> = row.split('/').collect();
        effects.entry((parts[0].into(), parts[1].into())).or_default().push(parts[2].parse().unwrap());
    }
    assert_eq!(effects.len(), 2 * ids.len());
    for ((consumer, aggregate), sequences) in effects {
        let events = db.count(&format!("SELECT count(*) FROM outbox_events WHERE aggregate_id = '{aggregate}'")).await;
        let expected: Vec<i64> = (1..=events).collect();
        assert_eq!(sequences, expected, "{consumer} saw {aggregate} out of order, twice or not at all");
    }
    assert_eq!(rows.len(), 2 * usize::try_from(db.rows("outbox_events").await).unwrap());
}
