//! One event, one transaction: apply it, park it, or find that it was done before.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use sea_orm::{ConnectionTrait as _, DatabaseConnection, DbErr, TransactionOptions};
use uuid::Uuid;

use super::{
    Delivery, RetryPolicy,
    error::is_outage,
    failure::Failure,
    handlers::Dispatch,
    line::Key,
    order::{Verdict, judge},
    status::Counter,
};
use crate::{
    event::{Envelope, RawEvent},
    observe::chain,
    store::{
        StoreError, Tx, TxError,
        dialect::PROBE,
        inbox::{Inbox, ParkReason, ParkedHead, Parking},
    },
};

/// What is to be settled.
#[derive(Clone, Debug)]
pub(super) enum Matter {
    /// A delivery.
    Delivered(Arc<RawEvent>),
    /// The lowest parked event of an aggregate.
    Parked(Key),
}

impl Matter {
    /// Whose event it is: type and id.
    pub(super) fn aggregate(&self) -> (&str, &str) {
        match self {
            Self::Delivered(event) => (&event.context.aggregate_type, &event.context.aggregate_id),
            Self::Parked((aggregate_type, aggregate_id)) => (aggregate_type, aggregate_id),
        }
    }
}

/// Which event, and which attempt at it.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) event_id: Uuid,
    pub(super) aggregate_type: String,
    pub(super) aggregate_id: String,
    pub(super) sequence: i64,
    pub(super) attempt: u32,
}

/// What one transaction has committed. `more`: the event after it is parked and now due.
#[derive(Debug)]
pub(super) enum Settled {
    Applied {
        subject: Subject,
        more: bool,
    },
    Ignored {
        more: bool,
    },
    Duplicate {
        more: bool,
    },
    Parked {
        subject: Subject,
        reason: ParkReason,
        is_new: bool,
        is_failure: bool,
        error: Option<String>,
    },
    /// A missing event has not arrived in the time that it was given.
    Overdue(Subject),
    /// Nothing parked, or its time has not come.
    Stays,
}

impl Settled {
    pub(super) fn more(&self) -> bool {
        matches!(
            self,
            Self::Applied { more: true, .. } | Self::Ignored { more: true, .. } | Self::Duplicate { more: true }
        )
    }
}

/// An attempt that failed by the event's or the handler's fault.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) subject: Subject,
    pub(super) failure: Failure,
}

/// Nothing was committed (after a failed COMMIT: perhaps).
#[derive(Debug)]
pub(super) struct Undone {
    pub(super) cause: Cause,
    /// A rerun at once may succeed: deadlock, serialization failure, busy database.
    pub(super) is_transient: bool,
}

/// Whose fault it is that nothing was committed.
#[derive(Debug)]
pub(super) enum Cause {
    Event(Failed),
    Store(StoreError),
}

impl<E: Into<StoreError>> From<E> for Cause {
    fn from(error: E) -> Self {
        Self::Store(error.into())
    }
}

/// Everything that settling takes.
#[derive(Debug)]
pub(super) struct Deliver<H> {
    pub(super) db: DatabaseConnection,
    pub(super) inbox: Inbox,
    pub(super) consumer: Arc<str>,
    pub(super) handlers: H,
    pub(super) retries: RetryPolicy,
    pub(super) gap_alarm: Duration,
    pub(super) counter: Counter,
}

impl<H: Dispatch> Deliver<H> {
    /// One transaction. With `failed` the attempt of that event is written down instead of made again, provided
    /// that the event is still where it was: another program of the same name may have settled it meanwhile.
    pub(super) async fn settle(&self, matter: &Matter, failed: Option<&Failed>) -> Result<Settled, Undone> {
        let tx = match Tx::open(&self.db, TransactionOptions::default()).await {
            Ok(tx) => tx,
            Err(error) => return Err(Undone { is_transient: error.is_transient(&self.db), cause: error.into() }),
        };
        let settled = match matter {
            Matter::Delivered(event) => self.delivered(&tx, event, failed).await,
            Matter::Parked(key) => self.parked(&tx, key, failed).await,
        };
        let mut is_transient = tx.saw_transient_failure();
        match settled {
            Ok(settled) => match tx.finish().await {
                Ok(()) => Ok(settled),
                Err(refusal) => {
                    is_transient |= refusal.is_transient(&self.db);
                    Err(Undone { cause: refused(settled, refusal, is_transient), is_transient })
                }
            },
            Err(cause) => {
                let cause = unless_lost(&tx, cause).await;
                tx.abandon().await;
                Err(Undone { cause, is_transient })
            }
        }
    }

    async fn delivered(&self, tx: &Tx, event: &Arc<RawEvent>, failed: Option<&Failed>) -> Result<Settled, Cause> {
        let context = &event.context;
        let (aggregate, sequence) = ((&*context.aggregate_type, &*context.aggregate_id), context.aggregate_sequence);
        let mark = self.inbox.lock_position(tx, aggregate, sequence.saturating_sub(1)).await?;
        let head = self.inbox.first_parked(tx, aggregate).await?.map(|head| (head.event_id, head.sequence));
        let reason = match judge(mark, head, context.event_id, sequence) {
            Verdict::Duplicate => return Ok(Settled::Duplicate { more: false }),
            Verdict::Passed if self.inbox.is_processed(tx, context.event_id).await? => {
                return Ok(Settled::Duplicate { more: false });
            }
            Verdict::Passed => ParkReason::SequenceConflict,
            Verdict::Park(reason) => reason,
            Verdict::Apply => match failed {
                None => return self.apply(tx, event, 1, Waiting { this: false, others: head.is_some() }).await,
                Some(failed) => return self.park(tx, event, failed.failure.parking(1, &self.retries), true).await,
            },
        };
        // A gap is looked at again to raise the alarm; the missing event itself makes it due at once.
        let retry_after = (reason == ParkReason::Gap).then_some(self.gap_alarm);
        self.park(tx, event, Parking { reason, attempts: 0, retry_after, error: None }, false).await
    }

    async fn park(&self, tx: &Tx, event: &Arc<RawEvent>, parking: Parking, was_tried: bool) -> Result<Settled, Cause> {
        let envelope = Envelope::from(RawEvent::clone(event));
        let is_new = self.inbox.park(tx, &envelope, &parking).await?;
        if !is_new {
            return Ok(Settled::Duplicate { more: false });
        }
        let subject = subject(event, parking.attempts);
        Ok(Settled::Parked {
            subject,
            reason: parking.reason,
            is_new,
            is_failure: was_tried && parking.reason != ParkReason::NewerVersion,
            error: parking.error,
        })
    }

    async fn parked(&self, tx: &Tx, key: &Key, failed: Option<&Failed>) -> Result<Settled, Cause> {
        let aggregate = (&*key.0, &*key.1);
        // Read first to know where a position that was deleted starts, and again under its lock.
        let Some(head) = self.inbox.first_parked(tx, aggregate).await? else { return Ok(Settled::Stays) };
        let mark = self.inbox.lock_position(tx, aggregate, head.sequence.saturating_sub(1)).await?;
        let Some(head) = self.inbox.first_parked(tx, aggregate).await? else { return Ok(Settled::Stays) };
        if head.sequence <= mark && self.inbox.is_processed(tx, head.event_id).await? {
            self.inbox.unpark(tx, head.event_id).await?;
            let more = self.wake_follower(tx, aggregate, mark).await?;
            return Ok(Settled::Duplicate { more });
        }
        if head.sequence != mark.saturating_add(1) {
            if head.is_due {
                // Somebody asked for a retry that cannot be. Without a time it is not asked for again and again.
                let reason = if head.sequence <= mark { ParkReason::SequenceConflict } else { ParkReason::Gap };
                let parking = Parking { reason, attempts: head.attempts, retry_after: None, error: None };
                self.inbox.park_again(tx, head.event_id, &parking).await?;
                if reason == ParkReason::Gap {
                    return Ok(Settled::Overdue(head_subject(key, &head, head.attempts)));
                }
            }
            return Ok(Settled::Stays);
        }
        if !head.is_due && !waits_for_others(&head) {
            return Ok(Settled::Stays);
        }
        let attempt = head.attempts.saturating_add(1);
        let subject = head_subject(key, &head, attempt);
        let event = match head.envelope {
            Ok(envelope) => Arc::new(envelope.into_raw()),
            Err(problem) => return self.quarantine_unreadable(tx, subject, problem).await,
        };
        match failed {
            None => self.apply(tx, &event, attempt, Waiting { this: true, others: true }).await,
            Some(failed) if failed.subject.event_id != head.event_id || failed.subject.attempt != attempt => {
                Ok(Settled::Stays)
            }
            Some(failed) => {
                let parking = failed.failure.parking(attempt, &self.retries);
                self.inbox.park_again(tx, head.event_id, &parking).await?;
                Ok(Settled::Parked {
                    subject,
                    reason: parking.reason,
                    is_new: false,
                    is_failure: parking.reason != ParkReason::NewerVersion,
                    error: parking.error,
                })
            }
        }
    }

    /// A stored row that somebody has damaged: it is that event's matter alone, and the row is kept as it is.
    async fn quarantine_unreadable(&self, tx: &Tx, subject: Subject, problem: String) -> Result<Settled, Cause> {
        let found = StoreError::Corrupt { table: "consumer_parked", found: problem };
        let (reason, attempts, error) = (ParkReason::Quarantined, subject.attempt.saturating_sub(1), chain(&found));
        let parking = Parking { reason, attempts, retry_after: None, error: Some(error.clone()) };
        self.inbox.park_again(tx, subject.event_id, &parking).await?;
        Ok(Settled::Parked { subject, reason, is_new: false, is_failure: false, error: Some(error) })
    }

    /// Our own statements come before the handler: a statement that the handler lets fail in silence must be
    /// found by [`Tx::finish`], not be met here as an error of ours.
    async fn apply(&self, tx: &Tx, event: &Arc<RawEvent>, attempt: u32, waiting: Waiting) -> Result<Settled, Cause> {
        let context = &event.context;
        let aggregate = (&*context.aggregate_type, &*context.aggregate_id);
        let is_first = self.inbox.claim(tx, context.event_id).await?;
        if waiting.this {
            self.inbox.unpark(tx, context.event_id).await?;
        }
        self.inbox.advance(tx, aggregate, context.aggregate_sequence).await?;
        let more = waiting.others && self.wake_follower(tx, aggregate, context.aggregate_sequence).await?;
        if !is_first {
            return Ok(Settled::Duplicate { more });
        }
        let subject = subject(event, attempt);
        let delivery = Delivery::new(Arc::clone(event), Arc::clone(&self.consumer), attempt);
        match AssertUnwindSafe(self.handlers.dispatch(event, &delivery, tx)).catch_unwind().await {
            Ok(Ok(true)) => Ok(Settled::Applied { subject, more }),
            Ok(Ok(false)) => Ok(Settled::Ignored { more }),
            Ok(Err(failure)) => Err(Cause::Event(Failed { subject, failure })),
            Err(panic) => Err(Cause::Event(Failed { subject, failure: Failure::panicked(&*panic) })),
        }
    }

    /// Makes the event after `mark` due if it waits for others only. In the same transaction, so that it is found
    /// again even if this program ends right after the commit.
    async fn wake_follower(&self, tx: &Tx, aggregate: (&str, &str), mark: i64) -> Result<bool, Cause> {
        let Some(next) = self.inbox.first_parked(tx, aggregate).await? else { return Ok(false) };
        if next.sequence != mark.saturating_add(1) {
            return Ok(false);
        }
        if let Some(reason) = next.reason
            && waits_for_others(&next)
        {
            let retry_after = Some(Duration::ZERO);
            let parking = Parking { reason, attempts: next.attempts, retry_after, error: None };
            self.inbox.park_again(tx, next.event_id, &parking).await?;
            return Ok(true);
        }
        Ok(next.is_due)
    }
}

/// What is parked of the aggregate of an event that is applied.
#[derive(Clone, Copy)]
struct Waiting {
    /// The event itself.
    this: bool,
    /// Perhaps others.
    others: bool,
}

fn waits_for_others(head: &ParkedHead) -> bool {
    matches!(head.reason, Some(ParkReason::Gap | ParkReason::BehindParked))
}

fn subject(event: &RawEvent, attempt: u32) -> Subject {
    let context = &event.context;
    Subject {
        event_id: context.event_id,
        aggregate_type: context.aggregate_type.clone(),
        aggregate_id: context.aggregate_id.clone(),
        sequence: context.aggregate_sequence,
        attempt,
    }
}

fn head_subject((aggregate_type, aggregate_id): &Key, head: &ParkedHead, attempt: u32) -> Subject {
    let (aggregate_type, aggregate_id) = (aggregate_type.clone(), aggregate_id.clone());
    Subject { event_id: head.event_id, aggregate_type, aggregate_id, sequence: head.sequence, attempt }
}

/// A handler fails when its connection breaks, and that says nothing about the event.
async fn unless_lost(tx: &Tx, cause: Cause) -> Cause {
    if !matches!(&cause, Cause::Event(Failed { failure: Failure::Handler(_), .. })) {
        return cause;
    }
    match tx.execute_unprepared(PROBE).await {
        Err(error) if is_outage(&error) => error.into(),
        _ => cause,
    }
}

/// A transaction that must not be committed, or that COMMIT refuses (a deferred constraint), is the handler's
/// failure, if a handler ran in it.
fn refused(settled: Settled, refusal: TxError, is_transient: bool) -> Cause {
    let is_handlers = match &refusal {
        TxError::Commit(error) => !is_transient && !is_outage(error) && !matches!(error, DbErr::Custom(_)),
        _ => true,
    };
    match settled {
        Settled::Applied { subject, .. } if is_handlers => {
            Cause::Event(Failed { subject, failure: Failure::Handler(Box::new(refusal)) })
        }
        _ => refusal.into(),
    }
}
