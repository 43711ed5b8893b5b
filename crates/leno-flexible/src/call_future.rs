//! A call by a future.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Arc;

use leno_kernel::Waiter;

use crate::call::Call;
use crate::party::Outsider;
use crate::table::Requester;
use crate::{CallError, Flexible};

/// A call of a coroutine by a future; made by [`Flexible::call_async`].
#[must_use = "a future does nothing unless it is polled"]
pub struct CallFuture<P: Send + 'static, R: Send + 'static> {
    callee: Flexible<P, R>,
    step: Step<P, R>,
}

enum Step<P, R> {
    New(P),
    Waits(Arc<Call<P, R>>),
    Done,
}

impl<P: Send + 'static, R: Send + 'static> CallFuture<P, R> {
    pub(crate) fn new(callee: Flexible<P, R>, parameter: P) -> CallFuture<P, R> {
        CallFuture { callee, step: Step::New(parameter) }
    }
}

// Nothing in it is pinned.
impl<P: Send + 'static, R: Send + 'static> Unpin for CallFuture<P, R> {}

impl<P: Send + 'static, R: Send + 'static> Future for CallFuture<P, R> {
    type Output = Result<R, CallError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let waiter = Waiter::Waker(context.waker().clone());
        let call = match core::mem::replace(&mut self.step, Step::Done) {
            Step::New(parameter) => {
                let call = Arc::new(Call::new(parameter, waiter));
                let from = Requester::Outside(Outsider::here());
                let (shared, id) = (self.callee.shared(), self.callee.id());
                shared.point();
                shared.operate_from_outside(|table| {
                    table.call_from_outside(from, id, call.clone())
                })?;
                call
            }
            Step::Waits(call) => {
                call.set_waiter(waiter);
                call
            }
            Step::Done => panic!("a call of '{}' was polled after it was done", self.callee.name()),
        };
        match call.take_answer() {
            Some(answer) => Poll::Ready(answer),
            None => {
                self.step = Step::Waits(call);
                Poll::Pending
            }
        }
    }
}

impl<P: Send + 'static, R: Send + 'static> Drop for CallFuture<P, R> {
    fn drop(&mut self) {
        if let Step::Waits(call) = core::mem::replace(&mut self.step, Step::Done) {
            self.callee.withdraw(call);
        }
    }
}

impl<P: Send + 'static, R: Send + 'static> fmt::Debug for CallFuture<P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallFuture({})", self.callee)
    }
}
