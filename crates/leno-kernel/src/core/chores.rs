//! What a core's loop does between two turns because user code may not be called earlier.
//!
//! Invariant: code that leaves something here, or closes a sink whose coroutines are the core's from then on, sets the
//! flag afterwards. The loop takes the flag back first, and then does everything: so nothing is left for longer than
//! one round, and what comes meanwhile is for the next one.
//!
//! Not here: panics that are only kept, and the exit by which a body has ended ([`super::endings`]).

use core::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;

use super::Core;
use crate::Waiter;
use crate::user::{self, Panic, is_exit};

/// See the module.
#[derive(Default)]
pub(crate) struct Chores {
    /// Whether the loop has to look: something is here, or a sink has gone and its coroutines are the core's again. Sinks
    /// share it.
    flag: Rc<Cell<bool>>,
    /// Wakers to be called.
    wakers: RefCell<Vec<Waker>>,
    /// What a policy has panicked with.
    complaint: Cell<Option<Panic>>,
}

impl Chores {
    /// Makes the loop look at what was put off, and at what sinks have left, when it is set.
    pub(crate) fn flag(&self) -> &Rc<Cell<bool>> {
        &self.flag
    }

    /// Whether there may be something to do.
    #[inline(always)]
    pub(super) fn are_due(&self) -> bool {
        self.flag.get()
    }

    /// Whether there may be something to do, which is done now.
    #[inline(always)]
    pub(super) fn begin(&self) -> bool {
        self.flag.replace(false)
    }

    fn put_off(&self, waker: Waker) {
        self.wakers.borrow_mut().push(waker);
        self.flag.set(true);
    }

    /// A policy has panicked; the first time counts.
    pub(super) fn complain(&self, panic: Panic) {
        let first = self.complaint.take();
        self.complaint.set(user::first(first, Some(panic)));
        self.flag.set(true);
    }

    pub(super) fn complaint(&self) -> Option<Panic> {
        self.complaint.take()
    }
}

impl Core {
    /// Lets a waiter go on; one that is user code, at the loop's next look.
    pub(super) fn wake_later(&self, waiter: Option<Waiter>) {
        match waiter {
            Some(Waiter::Waker(waker)) => self.chores.put_off(waker),
            Some(waiter) => waiter.wake(),
            None => {}
        }
    }

    /// Does what was put off.
    #[cold]
    pub(super) fn do_chores(&self) {
        let mut exit = None;
        for waker in self.chores.wakers.take() {
            match user::call(|| waker.wake()) {
                Ok(()) => {}
                // That of the code around the loop, when all are woken.
                Err(panic) if is_exit(&panic) => exit = user::first(exit, Some(panic)),
                Err(panic) => self.failed_itself("a waker", panic),
            }
        }
        if let Some(exit) = exit {
            exit.resume();
        }
        self.raise_complaint();
    }

    /// Calls user code in the core's loop. An exit is that of the code around the loop, and goes on.
    pub(super) fn call_user<R>(&self, f: impl FnOnce() -> R) -> Result<R, Panic> {
        match user::call(f) {
            Err(panic) if is_exit(&panic) => panic.resume(),
            called => called,
        }
    }

    /// Ends what is a user's and is left, before the core goes.
    pub(crate) fn dispose(&self) {
        self.drop_policy();
        user::dispose(self.membership.extend(None));
        self.chores.wakers.take().into_iter().for_each(user::dispose);
        drop(self.chores.complaint());
        self.endings.dispose();
    }
}
