//! What a publisher answers when there is no acknowledgement.

use crate::event::BoxError;

/// Why an event was not acknowledged.
///
/// ```
/// use outbox_runtime::PublishError;
///
/// let error = PublishError::unavailable("connection refused");
/// assert!(matches!(error, PublishError::Unavailable { .. }));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The broker, the connection, a permission or the destination is missing: every event would fare the same.
    #[error("the broker is unavailable")]
    Unavailable {
        /// What the client said.
        #[source]
        source: BoxError,
    },
    /// The broker refuses this event.
    #[error("the broker refused the event")]
    Rejected {
        /// A later try may succeed.
        retryable: bool,
        /// What the client said.
        #[source]
        source: BoxError,
    },
}

impl PublishError {
    /// Not the event's fault.
    pub fn unavailable(source: impl Into<BoxError>) -> Self {
        Self::Unavailable { source: source.into() }
    }

    /// The event's fault, for good.
    pub fn rejected(source: impl Into<BoxError>) -> Self {
        Self::Rejected { retryable: false, source: source.into() }
    }

    /// The event's fault, but a later try may succeed.
    pub fn rejected_for_now(source: impl Into<BoxError>) -> Self {
        Self::Rejected { retryable: true, source: source.into() }
    }
}
