//! One call: its parameter, its answer, and who waits for that.
//!
//! A parameter waits here with its caller until it is attached; an answer belongs to the call, so that
//! whatever the coroutine serves later cannot change it.
//!
//! Protocol, between the caller and the system: the system settles a call once, while it is locked, and
//! wakes the waiter after it has unlocked, if there is one. A caller that blocks leaves its waiter only
//! when it is about to park, and looks again then: most calls of a system that it steers itself are
//! settled before. A caller that gives up withdraws under the same lock, so either it finds the answer, or
//! nobody will ever settle the call.

use core::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use leno_kernel::Waiter;

use crate::{CallError, Refusal};

/// See the module.
pub(crate) struct Call<P, R> {
    inner: Mutex<Inner<P, R>>,
}

struct Inner<P, R> {
    parameter: Option<P>,
    answer: Option<Result<R, CallError>>,
    is_settled: bool,
    waiter: Option<Waiter>,
}

/// A call, whatever it carries.
pub(crate) trait AnyCall: Send + Sync {
    /// The body has ended: that is the answer of one that gives nothing back.
    fn end(&self, coroutine: &Arc<str>) -> Option<Waiter>;

    /// Who waits for it, if it is parked or about to.
    fn waiter(&self) -> Option<Waiter>;

    /// There will be no answer.
    fn fail(&self, error: CallError) -> Option<Waiter>;

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<P, R> Call<P, R> {
    pub(crate) fn new(parameter: P, waiter: Option<Waiter>) -> Call<P, R> {
        let inner = Inner { parameter: Some(parameter), answer: None, is_settled: false, waiter };
        Call { inner: Mutex::new(inner) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<P, R>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn take_parameter(&self) -> Option<P> {
        self.lock().parameter.take()
    }

    /// The answer, once.
    pub(crate) fn take_answer(&self) -> Option<Result<R, CallError>> {
        self.lock().answer.take()
    }

    /// Whether there is an answer, or was.
    pub(crate) fn is_settled(&self) -> bool {
        self.lock().is_settled
    }

    /// Has another waiter woken.
    pub(crate) fn set_waiter(&self, waiter: Waiter) {
        let before = self.lock().waiter.replace(waiter);
        drop(before);
    }

    /// Settles it. Whoever is returned is to be woken.
    pub(crate) fn answer(&self, answer: Result<R, CallError>) -> Option<Waiter> {
        let mut inner = self.lock();
        debug_assert!(!inner.is_settled, "a call is settled once");
        inner.is_settled = true;
        inner.answer = Some(answer);
        inner.waiter.take()
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

    fn waiter(&self) -> Option<Waiter> {
        self.lock().waiter.clone()
    }

    fn fail(&self, error: CallError) -> Option<Waiter> {
        self.answer(Err(error))
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// The call as whoever serves it knows it.
pub(crate) fn typed<P: Send + 'static, R: Send + 'static>(
    call: Arc<dyn AnyCall>,
) -> Arc<Call<P, R>> {
    match call.into_any().downcast() {
        Ok(call) => call,
        Err(_) => unreachable!("a coroutine is called through a handle of its own types"),
    }
}

/// What a call that is refused gives.
pub(crate) fn refused<R>(refusal: Refusal) -> Result<R, CallError> {
    Err(CallError::Refused(refusal))
}
