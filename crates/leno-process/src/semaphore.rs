//! A semaphore, from a lock and parking.
//!
//! Madsen 2021 makes it by switching preemption off, which protects it on one core only, as its own
//! library says. Here its state is under a [`Lock`](crate::Lock), whose holder is not preempted, and
//! whoever has to wait parks.
//!
//! Protocol: whoever finds no permit stands in line under the lock, and then parks. A signal takes the
//! first out of the line, under the lock, and wakes it; who is not in line any more has its permit. One
//! that is to exit leaves the line; if it is not there any more, it passes its permit on.

use core::fmt;
use std::collections::VecDeque;
use std::sync::Arc;

use leno_kernel::{Exiting, Name, Object, Reason, Sign, Waiter, Wake, exit, park_on};

use crate::Locked;

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
    line: Locked<Line>,
    /// Whether a signal for which nobody waits is kept.
    keeps: bool,
}

#[derive(Default)]
struct Line {
    permits: usize,
    waiting: VecDeque<(Place, Waiter)>,
    next: u64,
}

/// Where someone stands in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u64);

impl Semaphore {
    /// So many permits.
    pub fn new(permits: usize) -> Semaphore {
        let line = Line { permits, ..Line::default() };
        Semaphore { sign: Sign::new(Object::shared()), line: Locked::new(line), keeps: true }
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
        self.line.section(|line| line.permits > 0)
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
        match self.take_or_stand() {
            None => Ok(()),
            Some(place) => self.await_turn(place),
        }
    }

    /// Takes a permit, if there is one.
    pub fn try_wait(&self) -> bool {
        self.line.section(Line::take)
    }

    /// Gives a permit (V): to whoever waits longest, or to keep. There are `usize::MAX` at most.
    pub fn signal(&self) {
        let next = self.line.section(|line| {
            let next = line.waiting.pop_front();
            if next.is_none() && self.keeps {
                line.permits = line.permits.saturating_add(1);
            }
            next
        });
        if let Some((_, waiter)) = next {
            waiter.wake();
        }
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.line.section(|line| line.waiting.len())
    }

    fn take_or_stand(&self) -> Option<Place> {
        if self.try_wait() {
            return None;
        }
        // It panics where nobody can wait: before the lock is taken.
        let waiter = Waiter::current();
        self.line.section(|line| if line.take() { None } else { Some(line.stand(waiter)) })
    }

    /// Stands in line, whatever there is.
    pub(crate) fn stand(&self) -> Place {
        let waiter = Waiter::current();
        self.line.section(|line| line.stand(waiter))
    }

    /// Waits to be taken out of the line.
    #[track_caller]
    pub(crate) fn await_turn(&self, place: Place) -> Result<(), Exiting> {
        loop {
            let wake = park_on(Reason::Lock(self.sign.object()), &self.sign);
            let is_waiting = self.line.section(|line| line.holds(place));
            if wake != Wake::Exit {
                if is_waiting {
                    continue;
                }
                return Ok(());
            }
            if is_waiting && self.line.section(|line| line.leave(place)) {
                return Err(exit());
            }
            self.signal();
            return Err(exit());
        }
    }
}

/// Copies what there is to show first: what is written to may use the semaphore.
impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (permits, waiting) = self.line.section(|line| (line.permits, line.waiting.len()));
        let name = self.name();
        f.debug_struct("Semaphore")
            .field("name", &name.as_ref().and_then(|name| name.as_str()))
            .field("permits", &permits)
            .field("waiting", &waiting)
            .finish()
    }
}

impl Line {
    fn take(&mut self) -> bool {
        let has_one = self.permits > 0 && self.waiting.is_empty();
        self.permits -= usize::from(has_one);
        has_one
    }

    fn stand(&mut self, waiter: Waiter) -> Place {
        self.next += 1;
        let place = Place(self.next);
        self.waiting.push_back((place, waiter));
        place
    }

    fn holds(&self, place: Place) -> bool {
        self.waiting.iter().any(|(other, _)| *other == place)
    }

    /// Whether it stood there.
    fn leave(&mut self, place: Place) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|(other, _)| *other != place);
        self.waiting.len() < before
    }
}
