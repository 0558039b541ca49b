//! Drops a future at a chosen await, as a time-out or a lost client does.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

/// Polls `future` at most `polls` times and then drops it; with `linger` only when it asks to be polled again.
pub async fn drop_after<F: Future>(polls: usize, linger: bool, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(move |cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 && !linger => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}
