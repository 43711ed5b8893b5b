//! Locks of this crate, and wakers, of which [`leno_kernel::layer::user`] has the rule: none is called, cloned or dropped
//! while one of the locks is held.

use leno_kernel::Waiter;
use leno_kernel::layer::user::{self, Panic};

pub(crate) use leno_kernel::layer::user::{Locked, lock};

/// Wakes all of them, also those after one that panics. Returns the first panic that no failure hook has heard
/// of.
pub(crate) fn wake_all(waiters: impl IntoIterator<Item = Waiter>) -> Option<Panic> {
    if leno_context::is_planted("uring-late-guard") {
        waiters.into_iter().for_each(leno_kernel::layer::user::wake_unguarded);
        return None;
    }
    waiters.into_iter().fold(None, |raised, waiter| user::first(raised, wake(waiter).err()))
}

fn wake(waiter: Waiter) -> Result<(), Panic> {
    match waiter {
        Waiter::Waker(waker) => {
            user::call(|| waker.wake()).or_else(|panic| user::try_report("a waker", panic))
        }
        waiter => user::call(|| waiter.wake()),
    }
}

/// Goes on unwinding with what was raised, if anything was; unless the thread unwinds already: destructors
/// wake, too.
pub(crate) fn raise(raised: Option<Panic>) {
    if let Some(panic) = raised
        && !std::thread::panicking()
    {
        panic.resume();
    }
}
