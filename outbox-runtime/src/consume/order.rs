//! Where a delivery stands in the order of its aggregate.

use uuid::Uuid;

use crate::store::inbox::ParkReason;

/// What is to be done with a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is the next one.
    Apply,
    /// It is parked already.
    Duplicate,
    /// It was passed: a duplicate if the inbox knows it, a conflict if not.
    Passed,
    /// It must wait.
    Park(ParkReason),
}

/// Judges by the mark (the last sequence applied) and by the lowest parked event, if any.
pub(super) fn judge(mark: i64, head: Option<(Uuid, i64)>, event_id: Uuid, sequence: i64) -> Verdict {
    if sequence <= mark {
        return Verdict::Passed;
    }
    match head {
        Some((parked, _)) if parked == event_id => Verdict::Duplicate,
        Some((_, lowest)) if lowest < sequence => Verdict::Park(ParkReason::BehindParked),
        // Two different events with one number: a producer was restored from an older state.
        Some((_, lowest)) if lowest == sequence => Verdict::Park(ParkReason::SequenceConflict),
        _ if sequence == mark.saturating_add(1) => Verdict::Apply,
        _ => Verdict::Park(ParkReason::Gap),
    }
}
