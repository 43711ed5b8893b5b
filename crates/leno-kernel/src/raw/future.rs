//! What a core polls for a future: the future itself, and whoever waits for its result.
//!
//! Written by hand, because an `async fn` that is given a future keeps it twice: where it was given, and
//! where it was pinned. For a connection with a buffer that is kilobytes.
//!
//! Claim: a future that was polled is not moved until it is dropped. Argument: it is a field of a body
//! that is pinned when it is polled; nothing but [`FutureBody::poll`] reaches the field; and the body is
//! [`Unpin`] only if the future is.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::join::Filler;
use crate::spawn::finish;

/// See the module.
pub(crate) struct FutureBody<T, F> {
    /// There until the end.
    filler: Option<Filler<T>>,
    /// The same: it is dropped before its end is told.
    future: Option<F>,
}

impl<T, F: Future<Output = T>> FutureBody<T, F> {
    pub(crate) fn new(filler: Filler<T>, future: F) -> FutureBody<T, F> {
        FutureBody { filler: Some(filler), future: Some(future) }
    }

    /// The filler, which may move, and the future, which stays where it is.
    fn project(self: Pin<&mut Self>) -> (&mut Option<Filler<T>>, Pin<&mut Option<F>>) {
        // SAFETY: only the filler is moved out of what this gives.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: the body is pinned, and so is its field; see the module.
        (&mut this.filler, unsafe { Pin::new_unchecked(&mut this.future) })
    }
}

impl<T, F: Future<Output = T>> Future for FutureBody<T, F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let (filler, mut future) = self.project();
        let running = future.as_mut().as_pin_mut().expect("it has not ended");
        let result = match catch_unwind(AssertUnwindSafe(|| running.poll(context))) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(value)) => Ok(value),
            Err(payload) => Err(payload),
        };
        future.set(None);
        finish(filler.take().expect("it ends once"), result);
        Poll::Ready(())
    }
}
