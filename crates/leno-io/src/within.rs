//! A future with a deadline.

use core::pin::Pin;
use core::task::{Context, Poll};

use leno_kernel::{Alarm, Time, now};

/// Gives what the future gives, or `None` if that takes too long.
pub(crate) struct Within<F> {
    future: Pin<Box<F>>,
    deadline: Option<Time>,
    alarm: Option<Alarm>,
}

/// Waits for a future, until `deadline` at most.
pub(crate) fn within<F: Future>(deadline: Option<Time>, future: F) -> Within<F> {
    Within { future: Box::pin(future), deadline, alarm: None }
}

impl<F: Future> Future for Within<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(output) = self.future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        let Some(deadline) = self.deadline else { return Poll::Pending };
        if now() >= deadline {
            return Poll::Ready(None);
        }
        // Anew each time: another waker may be meant, or another core.
        self.alarm = None;
        self.alarm = Some(Alarm::set(deadline, context));
        Poll::Pending
    }
}
