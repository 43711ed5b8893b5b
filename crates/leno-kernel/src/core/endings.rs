//! How bodies end on a core: what the running one has said, what goes on when it is gone, and panics that nobody
//! waits for.
//!
//! Invariants:
//! - `running` is what the body that runs has said of its end, or nothing. It is read once, when the body has left.
//!   Code that runs meanwhile, on top or in a destructor, has ends of its own: it finds nothing, and leaves what was
//!   there.
//! - An exit that goes on is that of the code around the core's loop, by which a body has ended; the loop raises it when
//!   that body is gone.
//! - A panic is kept until a report takes it, or the scope whose child it was. Nothing is borrowed when one is dropped.
//!
//! Not here: what is counted when one ends ([`Core::count_end`]), and what becomes of its slot and result (`turn.rs`).

use core::cell::Cell;

use super::{Core, StateCell};
use crate::report::Failure;
use crate::user::Panic;
use crate::{Co, Name, Outcome, world};

/// See the module.
pub(crate) struct Endings {
    /// How the running body has ended.
    running: Cell<Option<Outcome>>,
    /// How the coroutine did that has ended last.
    last: Cell<Outcome>,
    /// The exit of a coroutine around the loop, by which a body has ended.
    exit: Cell<Option<Panic>>,
    is_exiting: Cell<bool>,
    /// Panics that nobody waits for.
    failures: StateCell<Vec<Failure>>,
}

impl Endings {
    pub(super) fn new() -> Endings {
        Endings {
            running: Cell::new(None),
            last: Cell::new(Outcome::Exited),
            exit: Cell::new(None),
            is_exiting: Cell::new(false),
            failures: StateCell::default(),
        }
    }

    /// The running body has ended so; or, what was [taken](Self::take) goes on.
    #[inline(always)]
    pub(crate) fn set(&self, outcome: Option<Outcome>) {
        self.running.set(outcome);
    }

    /// How the running body has ended, if it has said so.
    #[inline(always)]
    pub(crate) fn take(&self) -> Option<Outcome> {
        self.running.take()
    }

    /// A coroutine has ended, and its slot is free.
    #[inline(always)]
    pub(super) fn set_last(&self, outcome: Outcome) {
        self.last.set(outcome);
    }

    /// How the coroutine did that has ended last.
    pub(super) fn last(&self) -> Outcome {
        self.last.get()
    }

    /// A body has ended by the exit of the code around the loop: that goes on when the body is gone.
    pub(crate) fn exits(&self, exit: Option<Panic>) {
        let dropped = self.exit.replace(exit);
        self.is_exiting.set(true);
        drop(dropped);
    }

    /// Keeps a panic that nobody waits for.
    pub(crate) fn add_failure(&self, failure: Failure) {
        self.failures.borrow_mut().push(failure);
    }

    /// The panics that nobody waits for, which are the caller's now.
    pub(crate) fn take_failures(&self) -> Vec<Failure> {
        self.failures.take()
    }

    /// Those of some coroutines, which are the caller's now.
    pub(crate) fn take_failures_of(&self, cos: &[Co]) -> Vec<Failure> {
        let mut failures = self.failures.borrow_mut();
        failures.extract_if(.., |failure| cos.contains(&failure.co)).collect()
    }

    /// Keeps what was taken, before what has come since.
    pub(crate) fn put_failures_back(&self, taken: Vec<Failure>) {
        self.failures.borrow_mut().splice(..0, taken);
    }

    /// Drops what is left of a user's, before the core goes.
    pub(super) fn dispose(&self) {
        drop(self.exit.take());
        drop(self.failures.take());
    }
}

impl Core {
    /// Goes on with the exit of the code around the loop, if a body that is gone now has ended by it.
    #[inline(always)]
    pub(super) fn pass_exit_on(&self) {
        if self.endings.is_exiting.get() {
            self.raise_exit();
        }
    }

    #[cold]
    #[inline(never)]
    fn raise_exit(&self) {
        self.endings.is_exiting.set(false);
        if let Some(exit) = self.endings.exit.take() {
            exit.resume();
        }
    }

    /// User code of a coroutine has panicked where nobody can be told but the report.
    #[cold]
    pub(crate) fn failed(&self, co: Co, name: Name, panic: Panic) {
        world::saw_panic(name.or_id(co.bits()).to_string(), panic.payload());
        self.endings.add_failure(Failure { co, name, payload: panic });
    }

    /// User code of no coroutine in particular has panicked.
    #[cold]
    pub(crate) fn failed_itself(&self, what: &str, panic: Panic) {
        let number = self.number();
        self.failed(Co::of_core(number), Name::from(format!("{what} of core {number}")), panic);
    }
}
