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

/// An error with its causes, as one line for a log or a table: at most `CHAIN` characters.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let more = next.to_string();
        // Transparent wrappers repeat their cause word for word.
        if !text.ends_with(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = next.source();
    }
    // PostgreSQL's text refuses U+0000.
    text.chars().map(|c| if c == '\0' { '\u{fffd}' } else { c }).take(CHAIN).collect()
}

const CHAIN: usize = 2_000;
