//! What a core's loop does between two turns because user code may not be called earlier.

use core::cell::{Cell, RefCell};
use std::task::Waker;

use super::Core;
use crate::report::Failure;
use crate::user::{self, Panic, is_exit};
use crate::{Co, Name, Waiter, world};

/// See the module.
#[derive(Default)]
pub(crate) struct Chores {
    /// Wakers to be called.
    wakers: RefCell<Vec<Waker>>,
    /// What a policy has panicked with.
    complaint: Cell<Option<Panic>>,
    /// The exit of a coroutine around the loop, by which a body has ended.
    exit: Cell<Option<Panic>>,
    is_exiting: Cell<bool>,
}

impl Chores {
    /// A policy has panicked; the first time counts.
    pub(super) fn complain(&self, panic: Panic) {
        let first = self.complaint.take();
        self.complaint.set(user::first(first, Some(panic)));
    }

    pub(super) fn complaint(&self) -> Option<Panic> {
        self.complaint.take()
    }

    /// A body has ended by the exit of the code around the loop: that goes on when the body is gone.
    pub(crate) fn exits(&self, exit: Option<Panic>) {
        let dropped = self.exit.replace(exit);
        self.is_exiting.set(true);
        drop(dropped);
    }
}

impl Core {
    /// Lets a waiter go on; one that is user code, at the loop's next look.
    pub(super) fn wake_later(&self, waiter: Option<Waiter>) {
        match waiter {
            Some(Waiter::Waker(waker)) => {
                self.chores.wakers.borrow_mut().push(waker);
                self.orphans.set(true);
            }
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

    /// Goes on with the exit of the code around the loop, if a body that is gone now has ended by it.
    #[inline(always)]
    pub(super) fn pass_exit_on(&self) {
        if self.chores.is_exiting.get() {
            self.raise_exit();
        }
    }

    #[cold]
    #[inline(never)]
    fn raise_exit(&self) {
        self.chores.is_exiting.set(false);
        if let Some(exit) = self.chores.exit.take() {
            exit.resume();
        }
    }

    /// Calls user code in the core's loop. An exit is that of the code around the loop, and goes on.
    pub(super) fn call_user<R>(&self, f: impl FnOnce() -> R) -> Result<R, Panic> {
        match user::call(f) {
            Err(panic) if is_exit(&panic) => panic.resume(),
            called => called,
        }
    }

    /// User code of a coroutine has panicked where nobody can be told but the report.
    #[cold]
    pub(crate) fn failed(&self, co: Co, name: Name, panic: Panic) {
        world::saw_panic(name.or_id(co.bits()).to_string(), panic.payload());
        let failure = Failure { co, name, payload: panic };
        self.failures.borrow_mut().push(failure);
    }

    /// User code of no coroutine in particular has panicked.
    #[cold]
    pub(crate) fn failed_itself(&self, what: &str, panic: Panic) {
        let number = self.number();
        self.failed(Co::of_core(number), Name::from(format!("{what} of core {number}")), panic);
    }

    /// Ends what is a user's and is left, before the core goes.
    pub(crate) fn dispose(&self) {
        self.drop_policy();
        user::dispose(self.lodger.take());
        self.chores.wakers.take().into_iter().for_each(user::dispose);
        drop(self.chores.complaint());
        drop(self.chores.exit.take());
        drop(self.failures.take());
    }
}
