//! A call by a future.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Arc;
use std::task::Waker;

use leno_kernel::layer::user::Panic;

use crate::call::{Call, refused};
use crate::shared::raise;
use crate::table::Id;
use crate::{CallError, Flexible, Refusal, turn};

/// A call of a coroutine by a future; made by [`Flexible::call_async`].
#[must_use = "a future does nothing unless it is polled"]
pub struct CallFuture<P: Send + 'static, R: Send + 'static> {
    callee: Flexible<P, R>,
    /// As [`Flexible::call_wait`].
    waits: bool,
    step: Step<P, R>,
}

enum Step<P, R> {
    New(P),
    Waits(Arc<Call<P, R>>),
    Done,
}

impl<P: Send + 'static, R: Send + 'static> CallFuture<P, R> {
    pub(crate) fn new(callee: Flexible<P, R>, parameter: P, waits: bool) -> CallFuture<P, R> {
        CallFuture { callee, waits, step: Step::New(parameter) }
    }
}

// Nothing in it is pinned.
impl<P: Send + 'static, R: Send + 'static> Unpin for CallFuture<P, R> {}

impl<P: Send + 'static, R: Send + 'static> Future for CallFuture<P, R> {
    type Output = Result<R, CallError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let shared = self.callee.shared().clone();
        let own = shared.current().filter(|_| shared.is_threadless);
        if let Step::Waits(call) = &self.step
            && let Some(answer) = call.take_answer()
        {
            self.step = Step::Done;
            return Poll::Ready(answer);
        }
        let waker = context.waker().clone();
        let call = match core::mem::replace(&mut self.step, Step::Done) {
            Step::New(parameter) => {
                let call = Arc::new(Call::polled(parameter, waker));
                shared.point();
                match own {
                    Some(own) => self.call_as_coroutine(own, &call, context.waker())?,
                    // It would block its thread, whoever waits for it there.
                    None if turn::is_steering(&shared) && !turn::is_here() => {
                        let coroutine = self.callee.name();
                        return Poll::Ready(refused(Refusal::Steers { coroutine }));
                    }
                    None => self.call_from_outside(&call)?,
                }
                call
            }
            Step::Waits(call) => {
                // It is withdrawn if this unwinds.
                self.step = Step::Waits(call.clone());
                call.set_waker(waker);
                if own.is_none() && shared.is_threadless && !call.is_settled() {
                    self.callee.steer(&call, None);
                }
                call
            }
            Step::Done => panic!("a call of '{}' was polled after it was done", self.callee.name()),
        };
        match call.take_answer() {
            Some(answer) => {
                self.step = Step::Done;
                Poll::Ready(answer)
            }
            None => {
                self.step = Step::Waits(call);
                Poll::Pending
            }
        }
    }
}

impl<P: Send + 'static, R: Send + 'static> CallFuture<P, R> {
    fn call_as_coroutine(
        &self,
        own: Id,
        call: &Arc<Call<P, R>>,
        waker: &Waker,
    ) -> Result<(), Refusal> {
        let (id, waits, waker) = (self.callee.id(), self.waits, waker.clone());
        let shared = self.callee.shared();
        let made = call.clone();
        let (called, raised) = shared.operate_holding(|table| {
            table.check_turn(own)?;
            let result =
                if waits { table.call_wait(own, id, made) } else { table.call(own, id, made) };
            result.inspect(|()| table.leaves_in(own, waker))
        });
        self.take_back_if(&raised, call);
        raise(raised);
        called.inspect(|()| turn::has_ended(shared))
    }

    /// An observer or a policy has panicked after the call was made: the panic goes on, and nobody waits for an answer.
    fn take_back_if(&self, raised: &Option<Panic>, call: &Arc<Call<P, R>>) {
        if raised.is_some() && !std::thread::panicking() {
            self.callee.withdraw(call.clone());
        }
    }

    fn call_from_outside(&self, call: &Arc<Call<P, R>>) -> Result<(), Refusal> {
        let (id, made) = (self.callee.id(), call.clone());
        let (called, raised) =
            self.callee.shared().call_from_outside(id, made, None, || call.is_settled());
        self.take_back_if(&raised, call);
        raise(raised);
        called
    }
}

impl<P: Send + 'static, R: Send + 'static> Drop for CallFuture<P, R> {
    fn drop(&mut self) {
        if let Step::Waits(call) = core::mem::replace(&mut self.step, Step::Done) {
            self.callee.withdraw(call);
            turn::goes_on(self.callee.shared());
        }
    }
}

impl<P: Send + 'static, R: Send + 'static> fmt::Debug for CallFuture<P, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallFuture({})", self.callee)
    }
}
