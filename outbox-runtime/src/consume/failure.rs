//! What becomes of an event whose handler failed or that could not be read.

use std::{any::Any, time::Duration};

use super::RetryPolicy;
use crate::{
    event::{BoxError, DecodeError},
    observe::chain,
    store::inbox::{ParkReason, Parking},
};

/// Why an event could not be applied; nothing of it was committed.
#[derive(Debug)]
pub enum Failure {
    /// It could not be read.
    Decode(DecodeError),
    /// The handler said so, or its transaction must not be committed.
    Handler(BoxError),
}

impl Failure {
    /// A panic is a failure of this event, not of the consumer: it is counted and quarantined like an error.
    pub(super) fn panicked(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(|s| &**s));
        Self::Handler(format!("the handler panicked: {}", text.unwrap_or("no message")).into())
    }

    /// What to write beside the event after this attempt.
    pub(super) fn parking(&self, attempt: u32, policy: &RetryPolicy) -> Parking {
        let (reason, attempts, retry_after): (_, _, Option<Duration>) = match self {
            // No attempt is burnt: nothing was tried.
            Self::Decode(DecodeError::NewerVersion { .. }) => {
                (ParkReason::NewerVersion, attempt.saturating_sub(1), None)
            }
            // Reading is pure code: the same bytes give the same error until the program is repaired.
            Self::Decode(_) => (ParkReason::Quarantined, attempt, None),
            Self::Handler(_) => match policy.delay_after(attempt) {
                Some(delay) => (ParkReason::Failing, attempt, Some(delay)),
                None => (ParkReason::Quarantined, attempt, None),
            },
        };
        Parking { reason, attempts, retry_after, error: Some(self.text()) }
    }

    /// The error and its causes.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Decode(error) => chain(error),
            Self::Handler(error) => chain(&**error),
        }
    }
}
