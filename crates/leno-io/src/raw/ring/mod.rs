//! File operations through io_uring: one ring for each thread that waits for files.
//!
//! An operation is given to the system at once. What is done by then (the page cache had it) is taken
//! at once too, and nobody parks. The others fly; the ring's descriptor is watched by the reactor of
//! the core that waits, which therefore sleeps in epoll, as for sockets.
//!
//! # Claims
//! - Memory that an operation reads or writes is there until it has landed. It is either borrowed by
//!   [`perform()`], which neither returns nor unwinds before; or it belongs to the table of flights
//!   ([`Cargo`]), which keeps it until then, whatever becomes of whoever waits.
//!   A coroutine that is to exit waits, deaf, until the system has stopped or finished the operation
//!   (`fs/flight.rs`). One whose stack is leaked never comes back, but neither does its stack.
//! - A ring is not closed while an operation flies: the system would go on with it after that.
//! - An operation names its file by a descriptor that is open until it has landed: borrowed, or cargo.
//! - The object that takes an operation back (`Aloft`, of `perform.rs` and `perform_owned.rs`) knows its
//!   number before the system gets it; so wakers that panic when others' operations have landed leave none
//!   behind.
//! - No waker is called, cloned or dropped under the lock.
//!
//! # Protocol
//! ```text
//!   whoever waits, W                        the reaper, called by a reactor, R
//!   W1  under the lock: submit; take what   R1  under the lock: take what has landed, and end
//!       has landed; if it is ours, done         the waits in its lines
//!   W2  under the lock: landed? else        R2  wake those who waited
//!       come into its line                  R3  watched still? have itself called at the next
//!   W3  have the reaper called at the           event (R1 again, if there was one since)
//!       next event; if there was one, R1    R4  else end all waits and wake all: they go to W2,
//!   W4  in line still? park until not;          and so have it watched where they are
//!       then go to W2
//! ```
//! The table of operations is the state of a [wait queue](leno_kernel::layer::queue), which has a line for each number. A
//! coroutine waits in its own frame, a future with a node on the heap, which the queue uses again.
//!
//! The race to win: an operation lands between W2 and W4. Either W3 finds the event, because the
//! descriptor's readiness is not forgotten if it has changed since it was looked at; or the reaper,
//! which is in line by then, is called.
//!
//! # Rejected
//! - One ring for the process: its events would all go to one core, which may be in a long turn.
//! - Copying through memory of the operation's own for coroutines too: simpler, and an exit would not
//!   wait; but a copy and an allocation per operation, and direct I/O needs aligned memory.
//! - Collecting operations and submitting them together: needs a place in the core's loop, and what
//!   the page cache has would wait for it.
//! - The ring's eventfd for "asynchronous" completions: it is silent about those that complete on the
//!   submitting thread.

mod flights;
mod perform;
mod perform_owned;
#[cfg(test)]
mod tests;
mod uring;

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use core::task::{Context, Poll};
use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Wake, Waker};

use io_uring::squeue::Entry;
use leno_kernel::Waiter;
use leno_kernel::io::{Descriptor, Interest};
use leno_kernel::layer::queue::{First, Guard, HeapNode, Next, Shared, Stage, WaitQueue};
use leno_kernel::layer::user::{Panic, call, dispose, first};

use crate::user::{raise, wake_all};
use flights::{Cargo, Flights, Landed};
pub(crate) use perform::perform;
pub(crate) use perform_owned::perform_owned;
use uring::Uring;

/// See the module.
pub(crate) struct Ring {
    queue: WaitQueue<Shared, Inner, (), 0>,
    /// The ring's own descriptor, once more.
    watch: Descriptor<OwnedFd>,
    /// Calls [`Ring::reap`].
    reaper: Waker,
    /// The system takes no more; see `uring.rs`.
    is_broken: AtomicBool,
}

struct Inner {
    uring: Uring,
    flights: Flights,
    /// Those that have landed and whose lines were not looked at; empty if nobody has the lock.
    landed: Vec<u32>,
}

/// A ring that is locked.
type Locked<'a> = Guard<'a, Shared, Inner, (), 0>;

/// A future's place in the line of its operation, left when it is dropped.
type Place<'a> = HeapNode<'a, Shared, Inner, (), 0>;

/// What is to be done when the lock is released: to wake, and to drop.
type After = (Vec<Waiter>, Vec<Cargo>);

/// Does it. Returns what the first waker has raised; all are called.
#[must_use = "wakers may panic"]
fn finish((woken, cargo): After) -> Option<Panic> {
    drop(cargo);
    wake_all(woken)
}

/// Whether the system gives rings that can do what is needed; asked once.
pub(crate) fn is_available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| Uring::new().is_ok_and(|uring| uring.is_able()))
}

/// This thread's ring, if the system gives one and takes operations.
pub(crate) fn current() -> Option<Arc<Ring>> {
    thread_local!(static RING: RefCell<Option<Arc<Ring>>> = const { RefCell::new(None) });
    if !is_available() {
        return None;
    }
    let known = RING.try_with(|own| own.borrow().clone()).ok()?;
    let ring = known.or_else(|| {
        // If it fails, because there are too many descriptors, say, the next one may succeed. It asks the
        // platform, which is code of a user, and may get here as well: nothing is borrowed meanwhile.
        let made = Ring::new().ok()?;
        RING.try_with(|own| own.borrow_mut().get_or_insert(made).clone()).ok()
    });
    ring.filter(|ring| !ring.is_broken.load(Relaxed))
}

impl Ring {
    fn new() -> io::Result<Arc<Ring>> {
        let uring = Uring::new()?;
        let watch = Descriptor::new(uring.descriptor()?)?;
        let inner = Inner { uring, flights: Flights::default(), landed: Vec::new() };
        Ok(Arc::new_cyclic(|ring: &Weak<Ring>| {
            let reaper = Waker::from(Arc::new(Reaper(ring.clone())));
            let queue = WaitQueue::new(inner);
            Ring { queue, watch, reaper, is_broken: AtomicBool::new(false) }
        }))
    }

    #[track_caller]
    fn inner(&self) -> Locked<'_> {
        self.queue.lock()
    }

    /// W1. The entry is made with the memory of the cargo, if there is any. Its number is in `number` before
    /// the system gets it, and stays there, unless it has landed at once and is returned.
    ///
    /// # Panics
    /// With what a waker has raised of another operation that has landed, if this one has not.
    ///
    /// # Safety
    /// The memory and the descriptor that the entry names are there until it has landed, also if this
    /// function unwinds: then, too, `number` says whether it flies.
    unsafe fn start(
        &self,
        cargo: Option<Cargo>,
        entry: impl FnOnce(&mut [u8]) -> Entry,
        number: &mut Option<u32>,
    ) -> Option<Landed> {
        let mut after = After::default();
        let landed = {
            let mut inner = self.inner();
            let flight = inner.flights.add(cargo);
            let numbers = inner.flights.numbers();
            inner.make_lines(numbers);
            *number = Some(flight);
            let entry = entry(inner.flights.memory(flight));
            // SAFETY: as the caller promises.
            let begun = unsafe { inner.begin(flight, entry) };
            self.is_broken.fetch_or(!begun, Relaxed);
            reap(&mut inner, &mut after);
            inner.flights.take(flight)
        };
        let raised = finish(after);
        if landed.is_some() {
            // What was done counts.
            *number = None;
            drop(raised);
        } else {
            raise(raised);
        }
        landed
    }

    /// W2 to W4. `next` parks, and may end the wait. Whether it has landed; if not, the caller waits again.
    ///
    /// # Panics
    /// With what a waker of another operation that has landed has raised, and with what `next` raises.
    fn wait(&self, flight: u32, waiter: Waiter, next: impl FnMut() -> Next) -> bool {
        let inner = self.inner();
        if inner.flights.has_landed(flight) {
            return true;
        }
        let first = || match self.watch() {
            // Watching wakes others, who may bring a member of a ring to another thread.
            Ok(()) => First::LookAs(Waiter::current()),
            Err(_) => {
                // Nobody would tell of it.
                self.block(flight);
                First::Leave
            }
        };
        let end = |inner: Locked<'_>, _, _: &mut ()| inner.flights.has_landed(flight);
        inner.wait_then(flight as usize, waiter, (), first, next, |_, _| (), end)
    }

    /// W2 to W4 for a future, which stands in line with this waiter from now on, unless it has landed: whether it has.
    ///
    /// # Panics
    /// With what a waker has raised: the one before it when it was dropped, or that of another operation that has landed.
    fn enlist<'a>(&'a self, flight: u32, place: &mut Option<Place<'a>>, waiter: Waiter) -> bool {
        let mut inner = self.inner();
        if !inner.flights.has_landed(flight) {
            let before = inner.link_again(place, flight as usize, waiter, ());
            drop(inner);
            drop(before);
            if self.watch().is_err() {
                // Nobody would tell of it.
                self.block(flight);
            }
            inner = self.inner();
        }
        if !inner.flights.has_landed(flight) {
            return false;
        }
        let left = place.take().map(|place| inner.leave(place));
        drop(inner);
        drop(left);
        true
    }

    /// W3 and R3: has the reaper called at the next event.
    fn watch(&self) -> io::Result<()> {
        let mut context = Context::from_waker(&self.reaper);
        loop {
            match self.watch.poll_ready(&mut context, Interest::READ) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Ready(Ok(seen)) => {
                    let raised = self.reap();
                    self.watch.clear(seen, Interest::READ);
                    raise(raised);
                }
            }
        }
    }

    /// R1 and R2. Returns what a waker has raised.
    #[must_use = "wakers may panic"]
    fn reap(&self) -> Option<Panic> {
        let mut after = After::default();
        reap(&mut self.inner(), &mut after);
        finish(after)
    }

    /// Asks the system to stop it. What wakers raise goes no further: destructors call this.
    fn cancel(&self, flight: u32) {
        let mut after = After::default();
        {
            let mut inner = self.inner();
            // Under the lock, in which no number is used again.
            if !inner.flights.has_landed(flight) {
                inner.uring.cancel(flight);
                reap(&mut inner, &mut after);
            }
        }
        drop(finish(after));
    }

    /// Nobody waits for it any more: leaves its line, stops it, if it can be stopped, and drops its cargo when it has
    /// landed.
    fn abandon<'a>(&'a self, flight: u32, place: Option<Place<'a>>) {
        self.cancel(flight);
        let mut inner = self.inner();
        let left = place.map(|place| inner.leave(place));
        let cargo = inner.flights.abandon(flight);
        drop(inner);
        drop(cargo);
        dispose(left);
    }

    /// R4: ends all waits; they begin again. Returns how to wake those who wait.
    fn settle_all(&self) -> Vec<Waiter> {
        let mut inner = self.inner();
        let numbers = inner.flights.numbers();
        (0..numbers).flat_map(|line| inner.settle_all(line, Stage::Refused)).collect()
    }

    /// Blocks the thread until it has landed. What wakers raise goes no further, as for [`Self::cancel`].
    fn block(&self, flight: u32) {
        let mut after = After::default();
        {
            let mut inner = self.inner();
            while !inner.flights.has_landed(flight) {
                inner.uring.wait();
                reap(&mut inner, &mut after);
            }
        }
        drop(finish(after));
    }
}

impl Inner {
    /// Gives an operation to the system; whether it has taken it.
    ///
    /// # Safety
    /// As for [`Ring::start`].
    unsafe fn begin(&mut self, flight: u32, entry: Entry) -> bool {
        // SAFETY: as the caller promises.
        let begun = unsafe { self.uring.submit(flight, entry) };
        if let Err(error) = &begun {
            // The system has not taken it, and never will: see `Uring`.
            let _ = self.flights.land(flight, -error.raw_os_error().unwrap_or(libc::EIO));
        }
        begun.is_ok()
    }
}

/// Takes what has landed, and ends the waits for it.
fn reap(locked: &mut Locked<'_>, (woken, cargo): &mut After) {
    let inner: &mut Inner = locked;
    let mut landed = core::mem::take(&mut inner.landed);
    inner.uring.completions(|flight, result| {
        cargo.extend(inner.flights.land(flight, result));
        landed.push(flight);
    });
    for flight in landed.drain(..) {
        let mut settle = || locked.settle_first(flight as usize, Stage::Met, (), |_, ()| ()).ok();
        woken.extend(core::iter::from_fn(&mut settle).filter_map(|((), waiter)| waiter));
    }
    locked.landed = landed;
}

impl Drop for Ring {
    /// Whoever waits has the ring, so all that still flies is abandoned. The system has been asked to
    /// stop it; the end of the thread that began it would have to wait for it too.
    fn drop(&mut self) {
        let mut inner = self.inner();
        let mut after = After::default();
        while inner.flights.aloft() > 0 {
            inner.uring.wait();
            reap(&mut inner, &mut after);
        }
        drop(inner);
        // Nobody waits; what is left in the table are buffers and files.
        dispose(after);
    }
}

/// Whom a reactor wakes: takes what has landed, on the reactor's thread.
struct Reaper(Weak<Ring>);

impl Wake for Reaper {
    fn wake(self: Arc<Self>) {
        let Some(ring) = self.0.upgrade() else { return };
        let mut raised = ring.reap();
        if ring.inner().flights.aloft() > 0 {
            // Whatever wakers raise, someone watches what still flies.
            let watched = call(|| ring.watch.is_watched() && ring.watch().is_ok());
            if !matches!(watched, Ok(true)) {
                raised = first(raised, wake_all(ring.settle_all()));
            }
            raised = first(raised, watched.err());
        }
        raise(raised);
    }
}
