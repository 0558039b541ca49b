//! What the library says while it runs: `tracing` events, or nothing without the feature `tracing`.
//!
//! Payloads are never part of it.

/// Somebody should look at it soon.
macro_rules! failure {
    ($($arg:tt)*) => {{
        #[cfg(feature = "tracing")]
        ::tracing::error!($($arg)*);
    }};
}
/// Worth knowing; it mends itself or is only slow.
macro_rules! warning {
    ($($arg:tt)*) => {{
        #[cfg(feature = "tracing")]
        ::tracing::warn!($($arg)*);
    }};
}
/// Start, stop, hand-over.
macro_rules! notice {
    ($($arg:tt)*) => {{
        #[cfg(feature = "tracing")]
        ::tracing::info!($($arg)*);
    }};
}
/// For whoever debugs.
macro_rules! detail {
    ($($arg:tt)*) => {{
        #[cfg(feature = "tracing")]
        ::tracing::debug!($($arg)*);
    }};
}
pub(crate) use {detail, failure, notice, warning};
