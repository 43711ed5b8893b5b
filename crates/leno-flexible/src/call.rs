//! One call: its parameter, its answer, and who waits for that.
//!
//! A parameter waits here with its caller until it is attached; an answer belongs to the call, so that
//! whatever the coroutine serves later cannot change it.
//!
//! # Protocol
//! ```text
//!   caller                                             system
//!   W1  lock the call: stand in its line               S1  lock the system: put the answer; say that the call is settled
//!   W2  look: if it is settled, or there is something  S2  look whether somebody waits, or has waited
//!       to steer, leave the line                       S3  unlocked; if so, lock the call: take the waiter out
//!   W3  park; leave the line; look again               S4  not locked: wake it
//! ```
//! The system settles a call once. An answer may be put here before that; nobody sees it until the call is settled. W1 and
//! S1 write before W2 and S2 look, each at what the other has written, so one of the two sees the other. W1 and S3 need the
//! lock of the call, so a waiter is woken as long as it is there, and its frame is not touched after that. A caller that
//! blocks does so in its own frame, and only when it has looked: most calls of a system that it steers itself are settled
//! before W1, and nobody locks anything then for S3. A caller that gives up withdraws under the system's lock, so either it
//! finds the answer, or nobody will ever settle the call. One that is to steer is woken by S3 and S4 as well, and stays in
//! line meanwhile.
//!
//! What checks it: the explored tests, with `LENO_PLANTED=call-look`, a caller that does not look at W2.
//!
//! A future owns its call and cannot borrow from it, so it has no node in the [line](leno_kernel::layer::queue): its waker is in
//! the state of the queue, under the same lock. There is one at most, as only the future that has made the call polls for
//! it.

use core::any::Any;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::Arc;
use std::task::Waker;

use leno_kernel::layer::queue::{First, Guard, Next, Shared, Stage, WaitQueue};
use leno_kernel::layer::user;
use leno_kernel::{Waiter, Wake};

use crate::{CallError, Refusal};

/// The types of a coroutine's parameters and answers, and no others that they could be coerced to: who calls and who
/// serves know each other by them.
pub(crate) type Types<P, R> = PhantomData<Exactly<P, R>>;

type Exactly<P, R> = fn(P, R) -> Both<P, R>;

type Both<P, R> = (P, R);

/// See the module.
pub(crate) struct Call<P, R> {
    is_settled: AtomicBool,
    /// Whether there is, or was, somebody in line, or a waker.
    is_awaited: AtomicBool,
    /// Whether its caller blocks, and can steer meanwhile. Else that is a future, which may never be polled again.
    blocks: bool,
    inner: WaitQueue<Shared, Inner<P, R>, (), 1>,
}

struct Inner<P, R> {
    parameter: Option<P>,
    answer: Option<Result<R, CallError>>,
    /// What was put here when the system ended, and is dropped with the call, not under a lock.
    void: Vec<Result<R, CallError>>,
    /// What wakes the future that has called.
    waker: Option<Waker>,
}

/// The line of those who wait for the answer: the caller.
const CALLER: usize = 0;

/// What it carries belongs to users: the last one who knows it drops it where their code may run.
impl<P, R> Drop for Call<P, R> {
    #[inline(always)]
    fn drop(&mut self) {
        user::assert_outside();
    }
}

/// A call, whatever it carries.
pub(crate) trait AnyCall: Send + Sync {
    /// The body has ended: that is the answer of one that gives nothing back.
    fn end(&self, coroutine: &Arc<str>);

    /// The answer that was put here is there for the caller. Whether that waits: then it is woken when the system is
    /// unlocked.
    fn settle(&self) -> bool;

    /// How the caller is woken, if it waits; once, if the call is settled.
    fn waiter(&self) -> Option<Waiter>;

    /// Whether its caller blocks. If it does not wait in line yet, it will look before it parks.
    fn blocks(&self) -> bool;

    /// There will be no answer. Its caller is to be woken.
    fn fail(&self, error: CallError);

    /// Nobody waits for an answer any more, so there is no parameter either; it is given back, to be dropped.
    fn withdraw(&self) -> Box<dyn Send>;

    fn as_any(&self) -> &dyn Any;
}

impl<P, R> Call<P, R> {
    /// One by a caller that blocks.
    pub(crate) fn new(parameter: P) -> Call<P, R> {
        Call::with(parameter, None)
    }

    /// One by a future.
    pub(crate) fn polled(parameter: P, waker: Waker) -> Call<P, R> {
        Call::with(parameter, Some(waker))
    }

    fn with(parameter: P, waker: Option<Waker>) -> Call<P, R> {
        let blocks = waker.is_none();
        let is_awaited = AtomicBool::new(!blocks);
        let inner = Inner { parameter: Some(parameter), answer: None, void: Vec::new(), waker };
        let inner = WaitQueue::new(inner);
        Call { is_settled: AtomicBool::new(false), is_awaited, blocks, inner }
    }

    #[track_caller]
    fn lock(&self) -> Guard<'_, Shared, Inner<P, R>, (), 1> {
        self.inner.lock()
    }

    pub(crate) fn take_parameter(&self) -> Option<P> {
        self.lock().parameter.take()
    }

    /// The answer, once.
    pub(crate) fn take_answer(&self) -> Option<Result<R, CallError>> {
        if !self.is_settled() {
            return None;
        }
        let mut inner = self.lock();
        let (answer, waker) = (inner.answer.take(), inner.waker.take());
        drop(inner);
        if let Some(waker) = waker {
            user::without_exit(|| user::discard(waker));
        }
        answer
    }

    /// The same; if nobody else knows the call any more, without locking it.
    pub(crate) fn into_answer(mut self: Arc<Self>) -> Option<Result<R, CallError>> {
        match Arc::get_mut(&mut self) {
            Some(own) if own.is_settled() => own.inner.get_mut().answer.take(),
            _ => self.take_answer(),
        }
    }

    /// Whether there is an answer, or was.
    pub(crate) fn is_settled(&self) -> bool {
        self.is_settled.load(SeqCst)
    }

    /// C4 and C5 of [`helm`](crate::helm): stands in line and parks, by `park`, until it is woken. Not if the call is
    /// settled, or `is_to_look` says so, once it stands there.
    pub(crate) fn wait(
        &self,
        waiter: Waiter,
        is_to_look: impl FnOnce() -> bool,
        park: impl FnOnce() -> Wake,
    ) -> Wake {
        let (mut wake, mut park) = (Wake::Unparked, Some(park));
        let first = || match self.is_settled() || is_to_look() {
            true if !leno_context::is_planted("call-look") => First::Leave,
            _ => First::Wait,
        };
        let next = || {
            wake = park.take().map_or(Wake::Unparked, |park| park());
            Next::Leave
        };
        let inner = self.lock();
        self.is_awaited.store(true, SeqCst);
        // What is left is no waker.
        drop(inner.wait(CALLER, waiter, (), first, next, |_, _| ()));
        wake
    }

    /// Has another waker woken.
    pub(crate) fn set_waker(&self, waker: Waker) {
        let before = self.lock().waker.replace(waker);
        self.is_awaited.store(true, SeqCst);
        user::discard(before);
    }

    /// Puts the answer here, for when the call is settled. If it was settled meanwhile, as its system has ended, the
    /// answer is void. Nothing is dropped here, where code of users must not run.
    pub(crate) fn put(&self, answer: Result<R, CallError>) {
        let mut inner = self.lock();
        let is_void = self.is_settled();
        let void = if is_void { Some(answer) } else { inner.answer.replace(answer) };
        inner.void.extend(void);
    }
}

impl<P: Send + 'static, R: Send + 'static> Call<P, R> {
    /// Settles it. Its caller is to be woken.
    pub(crate) fn answer(&self, answer: Result<R, CallError>) {
        self.put(answer);
        self.settle();
    }
}

impl<P: Send + 'static, R: Send + 'static> AnyCall for Call<P, R> {
    fn end(&self, coroutine: &Arc<str>) {
        let nothing: Box<dyn Any> = Box::new(());
        let answer = match nothing.downcast::<R>() {
            Ok(nothing) => Ok(*nothing),
            Err(_) => Err(CallError::NoAnswer { coroutine: coroutine.clone() }),
        };
        self.answer(answer);
    }

    fn settle(&self) -> bool {
        self.is_settled.store(true, SeqCst);
        self.is_awaited.load(SeqCst)
    }

    fn waiter(&self) -> Option<Waiter> {
        if !self.is_awaited.load(SeqCst) {
            return None;
        }
        let mut inner = self.lock();
        if let Some(waker) = inner.waker.take() {
            return Some(Waiter::Waker(waker));
        }
        if self.is_settled() {
            let settled = inner.settle_first(CALLER, Stage::Met, (), |_, ()| ());
            return settled.ok().and_then(|((), waiter)| waiter);
        }
        // It waits on. Cloning it is no code of a user: who stands in line is a coroutine or a thread.
        inner.first(CALLER).and_then(|own| own.waiter.cloned())
    }

    fn blocks(&self) -> bool {
        self.blocks
    }

    fn fail(&self, error: CallError) {
        self.answer(Err(error));
    }

    fn withdraw(&self) -> Box<dyn Send> {
        Box::new(self.take_parameter())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The call as whoever serves it knows it.
pub(crate) fn typed<P: Send + 'static, R: Send + 'static>(call: &dyn AnyCall) -> &Call<P, R> {
    match call.as_any().downcast_ref() {
        Some(call) => call,
        None => unreachable!("a coroutine is called through a handle of its own types"),
    }
}

/// What a call that is refused gives.
pub(crate) fn refused<R>(refusal: Refusal) -> Result<R, CallError> {
    Err(CallError::Refused(refusal))
}
