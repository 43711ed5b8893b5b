//! One call: its parameter, its answer, and who waits for that.
//!
//! A parameter waits here with its caller until it is attached; an answer belongs to the call, so that
//! whatever the coroutine serves later cannot change it.
//!
//! Protocol, between the caller and the system: the system settles a call once, while it is locked, and
//! wakes the waiter after it has unlocked, if there is one. An answer may be put here before that; nobody
//! sees it until the call is settled. A caller that blocks leaves its waiter only when it is about to park,
//! and looks again then: most calls of a system that it steers itself are settled before. Whoever settles
//! says so first and looks for a waiter then, so one of the two sees the other. A caller that gives up
//! withdraws under the system's lock, so either it finds the answer, or nobody will ever settle the call.

use core::any::Any;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use leno_kernel::{Waiter, user};

use crate::{CallError, Refusal};
use leno_kernel::user::{Locked, lock};

/// The types of a coroutine's parameters and answers, and no others that they could be coerced to: who calls and who
/// serves know each other by them.
pub(crate) type Types<P, R> = PhantomData<Exactly<P, R>>;

type Exactly<P, R> = fn(P, R) -> Both<P, R>;

type Both<P, R> = (P, R);

/// See the module.
pub(crate) struct Call<P, R> {
    is_settled: AtomicBool,
    has_waiter: AtomicBool,
    inner: Mutex<Inner<P, R>>,
}

struct Inner<P, R> {
    parameter: Option<P>,
    answer: Option<Result<R, CallError>>,
    /// What was put here when the system ended, and is dropped with the call, not under a lock.
    void: Vec<Result<R, CallError>>,
    waiter: Option<Waiter>,
}

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
    fn end(&self, coroutine: &Arc<str>) -> Option<Waiter>;

    /// The answer that was put here is there for the caller. Whoever is returned is to be woken.
    fn settle(&self) -> Option<Waiter>;

    /// Who waits for it, if it blocks: without a waiter it will look before it parks. `None` for a future:
    /// whoever polls that may never do so again.
    fn blocked(&self) -> Option<Option<Waiter>>;

    /// There will be no answer.
    fn fail(&self, error: CallError) -> Option<Waiter>;

    /// Nobody waits for an answer any more, so there is no parameter either; it is given back, to be dropped.
    fn withdraw(&self) -> Box<dyn Send>;

    fn as_any(&self) -> &dyn Any;
}

impl<P, R> Call<P, R> {
    pub(crate) fn new(parameter: P, waiter: Option<Waiter>) -> Call<P, R> {
        let has_waiter = AtomicBool::new(waiter.is_some());
        let inner = Mutex::new(Inner {
            parameter: Some(parameter),
            answer: None,
            void: Vec::new(),
            waiter,
        });
        Call { is_settled: AtomicBool::new(false), has_waiter, inner }
    }

    #[track_caller]
    fn lock(&self) -> Locked<'_, Inner<P, R>> {
        lock(&self.inner)
    }

    pub(crate) fn take_parameter(&self) -> Option<P> {
        self.lock().parameter.take()
    }

    /// The answer, once.
    pub(crate) fn take_answer(&self) -> Option<Result<R, CallError>> {
        self.is_settled().then(|| self.lock().answer.take()).flatten()
    }

    /// The same; if nobody else knows the call any more, without locking it.
    pub(crate) fn into_answer(mut self: Arc<Self>) -> Option<Result<R, CallError>> {
        match Arc::get_mut(&mut self) {
            Some(own) if own.is_settled() => {
                own.inner.get_mut().unwrap_or_else(PoisonError::into_inner).answer.take()
            }
            _ => self.take_answer(),
        }
    }

    /// Whether there is an answer, or was.
    pub(crate) fn is_settled(&self) -> bool {
        self.is_settled.load(SeqCst)
    }

    /// Has another waiter woken.
    pub(crate) fn set_waiter(&self, waiter: Waiter) {
        let before = self.lock().waiter.replace(waiter);
        self.has_waiter.store(true, SeqCst);
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
    /// Settles it. Whoever is returned is to be woken.
    pub(crate) fn answer(&self, answer: Result<R, CallError>) -> Option<Waiter> {
        self.put(answer);
        self.settle()
    }
}

impl<P: Send + 'static, R: Send + 'static> AnyCall for Call<P, R> {
    fn end(&self, coroutine: &Arc<str>) -> Option<Waiter> {
        let nothing: Box<dyn Any> = Box::new(());
        let answer = match nothing.downcast::<R>() {
            Ok(nothing) => Ok(*nothing),
            Err(_) => Err(CallError::NoAnswer { coroutine: coroutine.clone() }),
        };
        self.answer(answer)
    }

    fn settle(&self) -> Option<Waiter> {
        self.is_settled.store(true, SeqCst);
        self.has_waiter.load(SeqCst).then(|| self.lock().waiter.take()).flatten()
    }

    fn blocked(&self) -> Option<Option<Waiter>> {
        match &self.lock().waiter {
            Some(Waiter::Waker(_)) => None,
            waiter => Some(waiter.clone()),
        }
    }

    fn fail(&self, error: CallError) -> Option<Waiter> {
        self.answer(Err(error))
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
