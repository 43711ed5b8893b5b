//! Calls of user code, and the sections in which there must be none.
//!
//! User code is everything that leno calls and did not write: bodies and closures, `Drop`, `Clone`,
//! `PartialEq`, `Display`, serialisers, wakers, policies, platforms, iterators, futures, hooks,
//! observers, stores, panic payloads. It may panic (with a payload whose `Drop` panics), re-enter the
//! object that calls it, suspend, cancel or forget anything it can reach, or never return.
//!
//! # The rule
//! User code is called only where every invariant of leno holds, and through this module:
//!
//! - [`call`] runs it and catches what leaves it; [`dispose`] and [`try_dispose`] drop a value of a
//!   user's type.
//! - What was caught is a [`Panic`], which can be dropped anywhere outside of a section: a payload
//!   whose `Drop` panics in turn does not unwind the caller.
//! - A [`Section`] is open while an invariant does not hold: a lock of leno's own is held, a core's state
//!   is borrowed, a control block or a queue is between two states. Debug builds end the process when user
//!   code is called, or a stack is left, while one is open on the thread; release builds pay nothing.
//!
//! A caught exit (see [`crate::unwind`]) is a [`Panic`] like any other. Code that runs on behalf of a coroutine passes
//! on the exits of coroutines around it, with [`Panic::resume`]; see [`Panic::is_exit`].

use core::fmt;
use core::marker::PhantomData;
use core::mem;
use core::ops::Deref;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::{control, unwind};

mod cell;
mod lock;

pub use cell::{StateCell, StateRef, StateRefMut};
pub use lock::{Locked, lock};

/// How many payloads are dropped one after the other, each raised by the `Drop` of the one before it,
/// until the next one is leaked.
const PAYLOADS: usize = 8;

/// What user code has raised. Dropping it drops the payload; a panic of the payload's own `Drop` goes no
/// further.
#[must_use = "a panic that is dropped is lost; report it, return it, or say so with `drop`"]
pub struct Panic(Box<dyn Any + Send>);

impl Panic {
    /// Wraps a payload.
    pub fn new(payload: Box<dyn Any + Send>) -> Panic {
        Panic(payload)
    }

    /// Returns the payload, whose `Drop` may panic.
    pub fn into_payload(mut self) -> Box<dyn Any + Send> {
        self.take()
    }

    /// Leaves nothing in place of the payload, which allocates nothing.
    fn take(&mut self) -> Box<dyn Any + Send> {
        mem::replace(&mut self.0, Box::new(()))
    }

    /// Returns the payload by reference.
    pub fn payload(&self) -> &(dyn Any + Send) {
        &*self.0
    }

    /// Whether it is an exit, of any coroutine, in code that a coroutine runs. It need not be the exit of that one: an
    /// exit that was caught elsewhere and raised again here is to count as a panic like any other. Code that passes
    /// exits on asks `leno_coroutine::floor::is_exit_here`, or `leno_kernel::layer::user::is_exit`, which tell them apart.
    pub fn is_exit(&self) -> bool {
        !control::current().is_null() && unwind::is_exit(self.payload())
    }

    /// Returns the message, if the payload is a string.
    pub fn message(&self) -> Option<&str> {
        let payload = self.payload();
        payload
            .downcast_ref::<&'static str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
    }

    /// Goes on unwinding with it.
    pub fn resume(self) -> ! {
        resume_unwind(self.into_payload())
    }
}

impl Deref for Panic {
    type Target = dyn Any + Send;

    fn deref(&self) -> &(dyn Any + Send) {
        self.payload()
    }
}

impl Drop for Panic {
    fn drop(&mut self) {
        let first = self.take();
        if crate::is_planted("payload-unwinds") {
            return drop(first);
        }
        let mut next = Some(first);
        for _ in 0..PAYLOADS {
            let Some(payload) = next.take() else { return };
            next = call(|| drop(payload)).err().map(Panic::into_payload);
        }
        mem::forget(next);
    }
}

impl fmt::Debug for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.message(), self.is_exit()) {
            (_, true) => f.write_str("Panic(exit)"),
            (Some(message), _) => write!(f, "Panic({message:?})"),
            (None, _) => f.write_str("Panic(..)"),
        }
    }
}

/// Calls user code and catches what leaves it.
///
/// The value it returns is the user's, too: its `Drop` is user code.
///
/// # Errors
/// With what it raised, an exit included.
#[inline(always)]
#[track_caller]
pub fn call<R>(f: impl FnOnce() -> R) -> Result<R, Panic> {
    assert_outside();
    catch_unwind(AssertUnwindSafe(f)).map_err(Panic::new)
}

/// Drops a value of a user's type; a panic goes no further.
#[inline(always)]
#[track_caller]
pub fn dispose<T>(value: T) {
    drop(try_dispose(value));
}

/// Drops a value of a user's type.
///
/// # Errors
/// With what its `Drop` raised.
#[inline(always)]
#[track_caller]
pub fn try_dispose<T>(value: T) -> Result<(), Panic> {
    if !mem::needs_drop::<T>() {
        mem::forget(value);
        return Ok(());
    }
    call(|| drop(value))
}

/// A stretch of code in which an invariant of leno does not hold, and no user code may be called.
///
/// It is a guard: open as long as it lives, on the thread that opened it.
#[must_use = "a section is open while its guard lives"]
pub struct Section {
    of_thread: PhantomData<*const ()>,
}

impl Section {
    /// Opens a section.
    #[inline(always)]
    #[track_caller]
    pub fn open() -> Section {
        #[cfg(debug_assertions)]
        checks::opened();
        Section { of_thread: PhantomData }
    }
}

impl Drop for Section {
    #[inline(always)]
    fn drop(&mut self) {
        #[cfg(debug_assertions)]
        checks::closed();
    }
}

impl fmt::Debug for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Section")
    }
}

/// Ends the process in debug builds if a [`Section`] is open on this thread: user code is about to run, or
/// this stack to be left. Does nothing in release builds.
#[inline(always)]
#[track_caller]
pub fn assert_outside() {
    #[cfg(debug_assertions)]
    checks::assert_outside();
}

/// How many sections are open on each thread; in debug builds only.
#[cfg(debug_assertions)]
mod checks {
    use core::cell::Cell;
    use core::panic::Location;

    thread_local! {
        static OPEN: Cell<usize> = const { Cell::new(0) };
        /// Where the last one was opened.
        static SITE: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
    }

    #[inline(never)]
    #[track_caller]
    pub(super) fn opened() {
        OPEN.set(OPEN.get() + 1);
        SITE.set(Some(Location::caller()));
    }

    #[inline(never)]
    pub(super) fn closed() {
        OPEN.set(OPEN.get() - 1);
    }

    #[inline(never)]
    #[track_caller]
    pub(super) fn assert_outside() {
        if OPEN.get() == 0 {
            return;
        }
        let (caller, site) = (Location::caller(), SITE.get().expect("one is open"));
        crate::unwind::give_up(format_args!(
            "user code is called, or a stack left, at {caller} inside a critical section of leno's (the \
             last was opened at {site}): this is a bug of leno's"
        ));
    }
}

#[cfg(test)]
mod tests;
