//! A method of a monitor: a desk that runs it when it is chosen.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use leno_kernel::layer::user;

use super::object::{Claimed, Core, Lifeline};
use crate::synchroniser::claim::{Claim, Outcome};
use crate::synchroniser::desk::{self, Desk, answered, ask, ask_async, guarded};
use crate::synchroniser::ground::Site;
use crate::{CallError, Failure};

/// What a client asks.
struct Asking<A> {
    argument: A,
    number: u64,
}

/// A method of a [`Monitor`](super::Monitor), to be called with an `A` for an `R`.
///
/// It is a handle: cloning it gives another one for the same method.
pub struct Method<A, R> {
    desk: Desk<Asking<A>, Result<R, Failure>>,
    part: Arc<dyn Part>,
}

/// What a method needs of its monitor, whatever the object is.
trait Part: Send + Sync {
    fn number(&self) -> u64;
    fn withdraw(&self, number: u64);
}

struct PartOf<T> {
    core: Arc<Core<T>>,
    desk: usize,
    _lifeline: Arc<Lifeline<T>>,
}

impl<T: Send> Part for PartOf<T> {
    fn number(&self) -> u64 {
        self.core.number()
    }

    fn withdraw(&self, number: u64) {
        self.core.withdraw(self.desk, number);
    }
}

/// A request, withdrawn at the end if it was not served by then.
struct Client<'a> {
    part: &'a dyn Part,
    number: u64,
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        self.part.withdraw(self.number);
    }
}

impl<A: Send + 'static, R: Send + 'static> Method<A, R> {
    pub(super) fn new<T: Send + 'static>(
        site: &Site,
        monitor: &str,
        name: Arc<str>,
        core: &Arc<Core<T>>,
        lifeline: Arc<Lifeline<T>>,
        mut body: impl FnMut(&mut T, A) -> R + Send + 'static,
    ) -> Method<A, R> {
        let number = core.add(name.clone());
        let name: Arc<str> = format!("{monitor}.{name}").into();
        let (own, over, called) = (core.clone(), core.clone(), name.clone());
        let serve = move |claim: &Arc<Claim<_, _>>| run(&own, number, &called, claim, &mut body);
        let desk: Desk<Asking<A>, _> = desk::open(site, name, serve, move || over.is_over());
        let handle = desk.clone();
        core.set_rouse(
            number,
            Arc::new(move |is_over| drop(if is_over { handle.kick() } else { handle.prod() })),
        );
        let part = PartOf { core: core.clone(), desk: number, _lifeline: lifeline };
        Method { desk, part: Arc::new(part) }
    }

    /// Has the method run with `argument`.
    ///
    /// # Blocking
    /// Until the scheduler has chosen this request and the method has run.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, a request that was not chosen yet is withdrawn, and its stack
    /// unwinds. A method that has begun runs to its end.
    ///
    /// # Errors
    /// When the method panics, the system has ended, or the caller's stack unwinds.
    ///
    /// # Panics
    /// Inside a future that a core polls; see [`Self::call_async`].
    #[track_caller]
    pub fn call(&self, argument: A) -> Result<R, CallError> {
        let (_client, asking) = self.client(argument);
        answered(ask(&self.desk, asking, None))
    }

    /// The same for at most `limit`.
    ///
    /// # Blocking
    /// As [`Self::call`]; a coroutine of the same system waits without a limit.
    ///
    /// # Cancellation
    /// As [`Self::call`].
    ///
    /// # Errors
    /// As [`Self::call`], and [`CallError::TimedOut`]; then the method has not begun, or its answer is lost.
    ///
    /// # Panics
    /// As [`Self::call`].
    #[track_caller]
    pub fn call_timeout(&self, argument: A, limit: Duration) -> Result<R, CallError> {
        let (_client, asking) = self.client(argument);
        answered(ask(&self.desk, asking, Some(limit)))
    }

    /// The same for a future, which withdraws its request when it is dropped.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub async fn call_async(&self, argument: A) -> Result<R, CallError> {
        let (_client, asking) = self.client(argument);
        answered(ask_async(&self.desk, asking).await)
    }

    fn client(&self, argument: A) -> (Client<'_>, Asking<A>) {
        let number = self.part.number();
        (Client { part: &*self.part, number }, Asking { argument, number })
    }
}

/// A desk looks at its client.
fn run<T, A, R>(
    core: &Core<T>,
    desk: usize,
    name: &Arc<str>,
    claim: &Claim<Asking<A>, Result<R, Failure>>,
    body: &mut impl FnMut(&mut T, A) -> R,
) -> Outcome {
    let mut number = 0;
    let look = |asking: &mut Asking<A>| {
        number = asking.number;
        None
    };
    if claim.decide(look) == Outcome::Over {
        return Outcome::Over;
    }
    #[cfg(test)]
    tests::between();
    let mut turn = match core.claim(desk, number) {
        Claimed::Later if claim.is_asked() => return Outcome::Waits,
        Claimed::Later => {
            // It has withdrawn, perhaps before its request was there.
            core.withdraw(desk, number);
            return Outcome::Over;
        }
        Claimed::Now(turn) => turn,
        Claimed::Broken(text) => {
            if let Some(asking) = claim.take() {
                claim.finish(Err(Failure::new(name.clone(), Box::new(text))));
                user::discard(asking);
            }
            return Outcome::Over;
        }
    };
    if let Some(asking) = claim.take() {
        let result = guarded(name, || body(turn.object(), asking.argument));
        drop(turn);
        claim.finish(result);
    }
    Outcome::Over
}

impl<A, R> Clone for Method<A, R> {
    fn clone(&self) -> Self {
        Method { desk: self.desk.clone(), part: self.part.clone() }
    }
}

impl<A, R> fmt::Debug for Method<A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Method({})", self.desk)
    }
}

#[cfg(test)]
mod tests;
