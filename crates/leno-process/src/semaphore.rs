//! A semaphore: a number of permits, and a line of the kernel's [wait queue](leno_kernel::layer::queue).
//!
//! Madsen 2021 makes it by switching preemption off, which protects it on one core only, as its own
//! library says. Here its state is under the queue's lock. There is no safepoint in that section, so its
//! holder is not preempted, and nobody of the same core waits for a lock whose holder cannot run.
//!
//! Protocol: a caller that finds no permit stands in line, in its own frame, and parks. A signal ends the
//! wait of the first in line, under the lock, and wakes it; one whose wait was ended so has its permit. One
//! that is to exit, or whose wait unwinds, leaves the line; if it has a permit by then, that goes to the
//! next, under the same lock.

use core::fmt;
use std::sync::Arc;

use leno_kernel::layer::queue::{First, Guard, Left, Shared, Stage, WaitQueue};
use leno_kernel::layer::{Sign, park_on, user, world};
use leno_kernel::log::Operation;
use leno_kernel::{Exiting, Name, Object, Reason, Waiter, Wake, exit};

use crate::line::{meet_first, next_after};

/// Permits, and a line of those who wait for one; first come, first served. For coroutines and threads
/// of any core; futures have `leno_channel::Semaphore`.
///
/// # Examples
/// ```
/// use leno_process::Semaphore;
///
/// let items = Semaphore::new(0);
/// std::thread::scope(|scope| {
///     scope.spawn(|| items.signal());
///     items.wait().unwrap();
/// });
/// assert!(!items.try_wait());
/// ```
pub struct Semaphore {
    sign: Sign,
    /// The permits that nobody has, and those who wait for one.
    line: WaitQueue<Shared, usize, (), 1>,
    /// Whether a signal for which nobody waits is kept.
    keeps: bool,
}

/// The lock of a semaphore: its permits, and those who wait.
type Line<'a> = Guard<'a, Shared, usize, (), 1>;

impl Semaphore {
    /// So many permits.
    pub fn new(permits: usize) -> Semaphore {
        let line = WaitQueue::new(permits);
        Semaphore { sign: Sign::new(Object::shared()), line, keeps: true }
    }

    /// One whose signals are lost if nobody waits: a condition's.
    pub(crate) fn forgetful() -> Semaphore {
        Semaphore { keeps: false, ..Semaphore::new(0) }
    }

    /// Named, in dumps.
    pub fn named(self, name: impl Into<Name>) -> Semaphore {
        self.sign.set_name(name);
        self
    }

    /// Returns its name, if it has one.
    pub(crate) fn name(&self) -> Option<Arc<Name>> {
        self.sign.name()
    }

    /// Whether there is a permit now.
    pub(crate) fn has_permit(&self) -> bool {
        *self.lock() > 0
    }

    #[track_caller]
    fn lock(&self) -> Line<'_> {
        world::point(Operation::Lock, None);
        self.line.lock()
    }

    /// Takes a permit (P).
    ///
    /// # Blocking
    /// Until there is one: parks the calling coroutine, or blocks the calling thread.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds, and a permit goes to the next.
    ///
    /// # Errors
    /// While the coroutine's own stack unwinds, if it would have to wait.
    ///
    /// # Panics
    /// Inside a future that a core polls, if it would have to wait.
    #[track_caller]
    pub fn wait(&self) -> Result<(), Exiting> {
        if self.try_wait() {
            return Ok(());
        }
        // It panics where nobody can wait: before the lock is taken.
        let waiter = Waiter::current();
        let mut line = self.lock();
        if take(&mut line) {
            return Ok(());
        }
        self.wait_in(line, waiter, || ())
    }

    /// Takes a permit, if there is one.
    pub fn try_wait(&self) -> bool {
        take(&mut self.lock())
    }

    /// Gives a permit (V): to whoever waits longest, or to keep. There are `usize::MAX` at most.
    pub fn signal(&self) {
        self.give(self.lock());
    }

    /// Gives a permit to each that waits now.
    pub(crate) fn signal_all(&self) {
        let woken = self.lock().settle_all(0, Stage::Met);
        user::wake_all(woken);
    }

    /// How many wait. It takes the longer the more they are.
    pub fn waiting(&self) -> usize {
        self.lock().iter(0).count()
    }

    /// Stands in line, whatever there is, calls `first`, and waits for a permit.
    #[track_caller]
    pub(crate) fn stand(&self, first: impl FnOnce()) -> Result<(), Exiting> {
        let waiter = Waiter::current();
        self.wait_in(self.lock(), waiter, first)
    }

    #[track_caller]
    fn wait_in(&self, line: Line<'_>, waiter: Waiter, first: impl FnOnce()) -> Result<(), Exiting> {
        let mut wake = Wake::Unparked;
        let first = || {
            first();
            First::Wait
        };
        let next = || {
            wake = park_on(Reason::Lock(self.sign.object()), &self.sign);
            next_after(wake)
        };
        let abandon = |line, left| self.leave(line, left);
        let (line, left) = line.wait(0, waiter, (), first, next, abandon);
        if wake != Wake::Exit {
            drop(line);
            return Ok(());
        }
        self.leave(line, left);
        Err(exit())
    }

    /// One that has waited needs no permit: if it was given one, that goes to the next.
    #[cold]
    fn leave(&self, line: Line<'_>, left: Left<()>) {
        if left.stage == Stage::Met {
            return self.give(line);
        }
        drop(line);
    }

    /// Gives a permit, and unlocks.
    fn give(&self, mut line: Line<'_>) {
        if line.is_empty(0) {
            if self.keeps {
                *line = line.saturating_add(1);
            }
            return;
        }
        let next = meet_first(&mut line, 0);
        drop(line);
        if let Some(next) = next {
            next.wake();
        }
    }
}

fn take(line: &mut Line<'_>) -> bool {
    let has_one = **line > 0 && line.is_empty(0);
    **line -= usize::from(has_one);
    has_one
}

/// Copies what there is to show first: what is written to may use the semaphore.
impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.lock();
        let (permits, waiting) = (*line, line.iter(0).count());
        drop(line);
        let name = self.name();
        f.debug_struct("Semaphore")
            .field("name", &name.as_ref().and_then(|name| name.as_str()))
            .field("permits", &permits)
            .field("waiting", &waiting)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::Semaphore;

    #[test]
    fn a_wait_that_unwinds_leaves_its_line_and_its_permit() {
        for has_permit in [false, true] {
            let gate = Semaphore::new(0);
            let first = || {
                assert_eq!(gate.waiting(), 1);
                if has_permit {
                    gate.signal();
                }
                panic!("it unwinds");
            };
            assert!(catch_unwind(AssertUnwindSafe(|| gate.stand(first))).is_err());
            assert_eq!((gate.waiting(), gate.try_wait()), (0, has_permit));
        }
    }
}
