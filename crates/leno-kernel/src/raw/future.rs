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

use crate::join::Filler;
use crate::spawn::finish;
use crate::user;

/// See the module.
pub(crate) struct FutureBody<T, F> {
    /// There until the end, and dropped before that is told, whether it has run or not: fields go in this
    /// order.
    future: Option<F>,
    /// There until the end.
    filler: Option<Filler<T>>,
}

impl<T, F: Future<Output = T>> FutureBody<T, F> {
    pub(crate) fn new(filler: Filler<T>, future: F) -> FutureBody<T, F> {
        FutureBody { future: Some(future), filler: Some(filler) }
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
        let result = match user::call(|| running.poll(context)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(value)) => Ok(value),
            Err(panic) => Err(panic),
        };
        if leno_context::is_planted("body-unwinds") {
            future.set(None);
        }
        // A destructor that panics is part of the coroutine, as it is in one with a stack.
        let result = match (result, user::call(|| future.set(None))) {
            (Ok(value), Ok(())) => Ok(value),
            (Ok(value), Err(panic)) => {
                user::dispose(value);
                Err(panic.into_payload())
            }
            (Err(first), dropped) => {
                let panic = user::first(Some(first), dropped.err());
                Err(panic.expect("there is one").into_payload())
            }
        };
        finish(filler.take().expect("it ends once"), result);
        Poll::Ready(())
    }
}
