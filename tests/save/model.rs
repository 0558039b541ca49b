//! INV-1 and INV-2 against a model: whatever many writers do, the rows are the fold of their events.

use std::{
    collections::{BTreeMap, HashSet},
    env,
    sync::{Arc, Mutex},
    time::Duration,
};

use outbox_runtime::{Aggregate, SaveError, TxError, prelude::*};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use sea_orm::{DatabaseConnection, EntityTrait as _, TransactionSession as _, TransactionTrait as _};
use tokio::sync::watch;
use uuid::Uuid;

use crate::{
    models::{
        self,
        account::{self, Account, AccountEvent},
        tally::{self, Tally, TallyEvent},
    },
    support::{Failed, TestDb, begin_writing, drop_after, each_database},
};

const AGGREGATES: i64 = 10;

/// What a writer knows of the events that it emitted.
#[derive(Default)]
struct Ledger {
    committed: HashSet<Uuid>,
    unknown: HashSet<Uuid>,
    rolled_back: HashSet<Uuid>,
}

/// The events of the attempt that runs now; those of earlier attempts were rolled back.
#[derive(Clone, Default)]
struct Attempt(Arc<Mutex<(Vec<Uuid>, Vec<Uuid>)>>);

impl Attempt {
    fn restart(&self) {
        let (now, before) = &mut *self.0.lock().unwrap();
        before.append(now);
    }
    fn note<A: Aggregate>(&self, root: &A) {
        let ids = root.__parts().1.pending().iter().map(outbox_runtime::PendingEvent::event_id);
        self.0.lock().unwrap().0.extend(ids);
    }
    /// A savepoint takes its events with it.
    fn undone<A: Aggregate>(&self, root: &A) {
        let (now, before) = &mut *self.0.lock().unwrap();
        for event in root.__parts().1.pending() {
            now.retain(|id| *id != event.event_id());
            before.push(event.event_id());
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Plan {
    command: u32,
    first: i64,
    second: i64,
    by: i64,
    roll_back: bool,
    by_error: bool,
    /// (polls, linger)
    cancel: Option<(usize, bool)>,
}

impl Plan {
    fn draw(rng: &mut StdRng) -> Self {
        Self {
            command: rng.random_range(0..10),
            first: rng.random_range(0..AGGREGATES),
            second: rng.random_range(0..AGGREGATES),
            by: rng.random_range(-50..100),
            roll_back: rng.random_ratio(1, 3),
            by_error: rng.random(),
            cancel: rng.random_ratio(1, 10).then(|| (rng.random_range(1..40), rng.random())),
        }
    }

    /// A third of the transactions end like this.
    async fn end<C: sea_orm::ConnectionTrait>(&self, tx: &C) -> Result<(), Failed> {
        match (self.roll_back, self.by_error) {
            (true, true) => Ok(tx.execute_unprepared("SELECT nothing FROM nowhere").await.map(drop)?),
            (true, false) => Err(Failed::OnPurpose),
            (false, _) => Ok(()),
        }
    }

    async fn run(self, db: &DatabaseConnection, attempt: Attempt) -> Result<(), Failed> {
        let policy = TxPolicy::default().delays(Duration::from_millis(1), Duration::from_millis(20));
        match self.command {
            // Own transaction: refused if it is open already.
            0 => {
                let mut tally = Tally::open(self.first, self.by);
                attempt.note(&tally);
                tally.save(db).await.map(drop)?;
            }
            1 => {
                let mut tallies = [Tally::open(self.first, self.by), Tally::open(self.second, self.by)];
                tallies.iter().for_each(|tally| attempt.note(tally));
                save_all(&mut tallies, db).await.map(drop)?;
            }
            // Optimistic, on a bare connection: one of many wins.
            2 => {
                let mut account = match Account::find(db, self.first).await? {
                    Some(account) => account,
                    None => Account::open(self.first),
                };
                account.credit(self.by);
                attempt.note(&account);
                account.save(db).await.map(drop)?;
            }
            3 => {
                transact(db, policy, async move |tx| {
                    attempt.restart();
                    let mut account = Account::load(tx, self.first).await?;
                    account.credit(self.by);
                    attempt.note(&account);
                    account.save(tx).await?;
                    self.end(tx).await
                })
                .await?;
            }
            4 | 5 => {
                transact(db, policy, async move |tx| {
                    attempt.restart();
                    let mut tally = Tally::load(tx, self.first).await?;
                    tally.raise(self.by);
                    if self.command == 5 {
                        tally.pay();
                    }
                    attempt.note(&tally);
                    tally.save(tx).await?;
                    self.end(tx).await
                })
                .await?;
            }
            6 => {
                transact(db, policy, async move |tx| {
                    attempt.restart();
                    let mut tally = Tally::load(tx, self.first).await?;
                    tally.close();
                    attempt.note(&tally);
                    tally.delete(tx).await?;
                    if self.by % 2 == 0 {
                        let mut again = Tally::open(self.first, self.by);
                        attempt.note(&again);
                        again.save(tx).await?;
                    }
                    self.end(tx).await
                })
                .await?;
            }
            // Two of them, in any order: deadlocks happen and are rerun.
            7 => {
                transact(db, policy, async move |tx| {
                    attempt.restart();
                    let mut both = vec![Tally::load(tx, self.first).await?];
                    if self.second != self.first {
                        both.push(Tally::load(tx, self.second).await?);
                    }
                    for tally in &mut both {
                        tally.raise(self.by);
                        tally.raise(1);
                        attempt.note(tally);
                    }
                    save_all(&mut both, tx).await?;
                    self.end(tx).await
                })
                .await?;
            }
            // A savepoint that is undone, and the work beside it that is not.
            8 => {
                transact(db, policy, async move |tx| {
                    attempt.restart();
                    let savepoint = tx.begin().await?;
                    let mut tally = Tally::load(&savepoint, self.first).await?;
                    tally.raise(1_000);
                    attempt.undone(&tally);
                    tally.save(&savepoint).await?;
                    savepoint.rollback().await?;
                    let mut tally = Tally::load(tx, self.first).await?;
                    tally.raise(self.by);
                    attempt.note(&tally);
                    tally.save(tx).await?;
                    self.end(tx).await
                })
                .await?;
            }
            // The user's own transaction.
            _ => {
                let tx = begin_writing(db).await?;
                let mut tally = Tally::load(&tx, self.first).await?;
                tally.raise(self.by);
                attempt.note(&tally);
                tally.save(&tx).await?;
                if self.second != self.first {
                    let mut other = Tally::load(&tx, self.second).await?;
                    other.pay();
                    attempt.note(&other);
                    other.save(&tx).await?;
                }
                self.end(&tx).await?;
                tx.commit().await.map_err(TxError::Commit)?;
            }
        }
        Ok(())
    }
}

async fn write(db: DatabaseConnection, mut rng: StdRng, commands: usize, done: watch::Sender<usize>) -> Ledger {
    let mut ledger = Ledger::default();
    for _ in 0..commands {
        let plan = Plan::draw(&mut rng);
        let attempt = Attempt::default();
        let work = plan.run(&db, attempt.clone());
        let outcome = match plan.cancel {
            Some((polls, linger)) => drop_after(polls, linger, work).await,
            None => Some(work.await),
        };
        let (now, before) = std::mem::take(&mut *attempt.0.lock().unwrap());
        ledger.rolled_back.extend(before);
        match outcome {
            Some(Ok(())) => ledger.committed.extend(now),
            None | Some(Err(Failed::Tx(TxError::Commit(_)) | Failed::Save(SaveError::Tx(TxError::Commit(_))))) => {
                ledger.unknown.extend(now);
            }
            Some(Err(_)) => ledger.rolled_back.extend(now),
        }
        done.send_modify(|done| *done += 1);
    }
    ledger
}

/// Reads while the others write: what is committed has no hole, and each of its events waits in the queue.
async fn watch_prefixes(db: &TestDb, mut done: watch::Receiver<usize>, total: usize) -> usize {
    let (mut looks, mut next) = (0, 0);
    loop {
        let seen = *done.wait_for(|done| *done >= next).await.unwrap();
        let holes = db
            .count(
                "SELECT count(*) FROM (SELECT 1 AS hole FROM outbox_events GROUP BY aggregate_type, aggregate_id \
                HAVING count(*) <> max(aggregate_sequence) OR min(aggregate_sequence) <> 1) AS holes",
            )
            .await;
        assert_eq!(holes, 0, "a committed prefix has a hole");
        let unqueued = db
            .count(
                "SELECT count(*) FROM outbox_events e WHERE NOT EXISTS \
                (SELECT 1 FROM outbox_pending p WHERE p.event_id = e.event_id)",
            )
            .await;
        assert_eq!(unqueued, 0, "an event was committed and not queued");
        looks += 1;
        if seen >= total {
            return looks;
        }
        next = seen + 1;
    }
}

/// The rows that the events add up to.
fn fold(log: &[crate::support::log::Logged]) -> (BTreeMap<i64, (i64, bool)>, BTreeMap<i64, i64>) {
    let (mut tallies, mut accounts) = (BTreeMap::new(), BTreeMap::new());
    let mut sequences = BTreeMap::new();
    for event in log {
        let id: i64 = event.aggregate_id.parse().unwrap();
        let last = sequences.entry((event.aggregate_type.clone(), id)).or_insert(0);
        *last += 1;
        assert_eq!(event.sequence, *last, "{event:?}");
        if event.aggregate_type == "account" {
            let AccountEvent::Credited(credited) = event.decode().remove(0);
            *accounts.entry(id).or_insert(0) += credited.cents;
            continue;
        }
        let row = tallies.get(&id).copied();
        let after = match (event.decode::<TallyEvent>().remove(0), row) {
            (TallyEvent::Opened(e), None) => Some((e.total, false)),
            (TallyEvent::Raised(e), Some((total, paid))) => {
                assert_eq!(total + e.by, e.total, "sequence order is not commit order: {event:?}");
                Some((e.total, paid))
            }
            (TallyEvent::Paid(e), Some((total, false))) if e.total == total => Some((total, true)),
            (TallyEvent::Closed(e), Some((total, _))) if e.total == total => None,
            impossible => panic!("{impossible:?} at {event:?}"),
        };
        match after {
            Some(after) => tallies.insert(id, after),
            None => tallies.remove(&id),
        };
    }
    (tallies, accounts)
}

each_database! {
    async fn inv1_inv2_rows_are_exactly_the_fold_of_their_events(db: TestDb) {
        models::create_tables(&db).await;
        db.find_deadlocks_quickly().await;
        let seed = env::var("OUTBOX_TEST_SEED").map_or_else(|_| rand::random(), |seed| seed.parse().unwrap());
        #[allow(clippy::print_stderr, reason = "it is what a failure is repeated with")]
        { eprintln!("OUTBOX_TEST_SEED={seed}"); }
        let (writers, commands) = (32, 200);
        let mut seeds = StdRng::seed_from_u64(seed);
        let pool = db.connect_with(24).await;
        let done = watch::Sender::new(0);
        let tasks: Vec<_> = (0..writers)
            .map(|_| tokio::spawn(write(pool.clone(), StdRng::seed_from_u64(seeds.random()), commands, done.clone())))
            .collect();
        let looks = watch_prefixes(&db, done.subscribe(), writers * commands).await;
        assert!(looks > 3, "the reader only looked {looks} times");
        let mut all = Ledger::default();
        for task in tasks {
            let ledger = task.await.unwrap();
            all.committed.extend(ledger.committed);
            all.unknown.extend(ledger.unknown);
            all.rolled_back.extend(ledger.rolled_back);
        }
        assert!(all.committed.len() > writers * commands / 10 && all.rolled_back.len() > writers);

        let log = db.log().await;
        let stored: HashSet<Uuid> = log.iter().map(|event| event.event_id.parse().unwrap()).collect();
        assert!(all.committed.is_subset(&stored), "a committed event is missing");
        assert!(all.rolled_back.is_disjoint(&stored), "a rolled-back event is stored");
        assert!(stored.iter().all(|id| all.committed.contains(id) || all.unknown.contains(id)));
        assert!(log.iter().all(|event| event.lane.is_some()));
        assert_eq!(db.rows("outbox_pending").await, db.rows("outbox_events").await);

        let (tallies, accounts) = fold(&log);
        let rows = tally::Entity::find().all(&db.conn).await.unwrap();
        assert_eq!(rows.into_iter().map(|row| (row.id, (row.total, row.paid))).collect::<BTreeMap<_, _>>(), tallies);
        let rows = account::Entity::find().all(&db.conn).await.unwrap();
        assert_eq!(rows.into_iter().map(|row| (row.id, row.balance_cents)).collect::<BTreeMap<_, _>>(), accounts);
    }
}
