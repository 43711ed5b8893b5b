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
//!
//! # Protocol
//! ```text
//!   whoever waits, W                        the reaper, called by a reactor, R
//!   W1  under the lock: submit; take what   R1  under the lock: take what has landed
//!       has landed; if it is ours, done     R2  wake who waited for that
//!   W2  under the lock: landed? else        R3  watched still? have itself called at the next
//!       leave a waiter                          event (R1 again, if there was one since)
//!   W3  have the reaper called at the       R4  else wake all who wait: they go to W2, and so
//!       next event; if there was one, R1        have it watched where they are
//!   W4  landed? else park; go to W2
//! ```
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

use core::task::{Context, Poll};
use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Wake, Waker};

use io_uring::squeue::Entry;
use leno_kernel::Waiter;
use leno_kernel::io::{Descriptor, Interest};

use flights::{Cargo, Flights, Landed};
pub(crate) use perform::perform;
pub(crate) use perform_owned::perform_owned;
use uring::Uring;

/// See the module.
pub(crate) struct Ring {
    inner: Mutex<Inner>,
    /// The ring's own descriptor, once more.
    watch: Descriptor<OwnedFd>,
    /// Calls [`Ring::reap`].
    reaper: Waker,
}

struct Inner {
    uring: Uring,
    flights: Flights,
}

/// How a flight begins.
enum Start {
    /// It was done at once.
    Landed(Landed),
    Aloft(u32),
}

/// What is to be done when the lock is released: to wake, and to drop.
#[derive(Default)]
struct After {
    waiters: Vec<Waiter>,
    cargo: Vec<Cargo>,
}

impl After {
    fn finish(self) {
        self.waiters.into_iter().for_each(Waiter::wake);
    }
}

/// Whether the system gives rings that can do what is needed; asked once.
pub(crate) fn is_available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| Uring::new().is_ok_and(|uring| uring.is_able()))
}

/// This thread's ring, if the system gives one.
pub(crate) fn current() -> Option<Arc<Ring>> {
    thread_local!(static RING: RefCell<Option<Arc<Ring>>> = const { RefCell::new(None) });
    if !is_available() {
        return None;
    }
    let ring = RING.try_with(|own| {
        let mut own = own.borrow_mut();
        if own.is_none() {
            // If it fails, because there are too many descriptors, say, the next one may succeed.
            *own = Ring::new().ok();
        }
        own.clone()
    });
    ring.ok().flatten()
}

impl Ring {
    fn new() -> io::Result<Arc<Ring>> {
        let uring = Uring::new()?;
        let watch = Descriptor::new(uring.descriptor()?)?;
        let inner = Mutex::new(Inner { uring, flights: Flights::default() });
        Ok(Arc::new_cyclic(|ring: &Weak<Ring>| {
            let reaper = Waker::from(Arc::new(Reaper(ring.clone())));
            Ring { inner, watch, reaper }
        }))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// W1. The entry is made with the memory of the cargo, if there is any.
    ///
    /// # Safety
    /// The memory and the descriptor that the entry names are there until it has landed.
    unsafe fn start(&self, cargo: Option<Cargo>, entry: impl FnOnce(&mut [u8]) -> Entry) -> Start {
        let mut after = After::default();
        let start = {
            let mut inner = self.inner();
            let flight = inner.flights.add(cargo);
            let entry = entry(inner.flights.memory(flight));
            // SAFETY: as the caller promises.
            unsafe { inner.begin(flight, entry) };
            inner.reap(&mut after);
            inner.flights.take(flight).map_or(Start::Aloft(flight), Start::Landed)
        };
        after.finish();
        start
    }

    /// W2 to W4, but for parking: whether it has landed.
    fn has_landed(&self, flight: u32, waiter: &Waiter) -> bool {
        let waiter = waiter.clone();
        let before = self.inner().flights.set_waiter(flight, waiter);
        drop(before);
        if self.inner().flights.has_landed(flight) {
            return true;
        }
        if self.watch().is_err() {
            // Nobody would tell of it.
            self.block(flight);
        }
        self.inner().flights.has_landed(flight)
    }

    /// W3 and R3: has the reaper called at the next event.
    fn watch(&self) -> io::Result<()> {
        let mut context = Context::from_waker(&self.reaper);
        loop {
            match self.watch.poll_ready(&mut context, Interest::READ) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Ready(Ok(seen)) => {
                    self.reap();
                    self.watch.clear(seen, Interest::READ);
                }
            }
        }
    }

    /// R1 and R2.
    fn reap(&self) {
        let mut after = After::default();
        self.inner().reap(&mut after);
        after.finish();
    }

    /// Asks the system to stop it.
    fn cancel(&self, flight: u32) {
        let mut after = After::default();
        {
            let mut inner = self.inner();
            // Under the lock, in which no number is used again.
            if !inner.flights.has_landed(flight) {
                inner.uring.cancel(flight);
                inner.reap(&mut after);
            }
        }
        after.finish();
    }

    /// Nobody waits for it any more: stops it, if it can be stopped, and drops its cargo when it has
    /// landed.
    fn abandon(&self, flight: u32) {
        self.cancel(flight);
        let left = self.inner().flights.abandon(flight);
        drop(left);
    }

    /// Blocks the thread until it has landed.
    fn block(&self, flight: u32) {
        let mut after = After::default();
        {
            let mut inner = self.inner();
            while !inner.flights.has_landed(flight) {
                inner.uring.wait();
                inner.reap(&mut after);
            }
        }
        after.finish();
    }
}

impl Inner {
    /// Gives an operation to the system.
    ///
    /// # Safety
    /// As for [`Ring::start`].
    unsafe fn begin(&mut self, flight: u32, entry: Entry) {
        // SAFETY: as the caller promises.
        let begun = unsafe { self.uring.submit(flight, entry) };
        if let Err(error) = begun {
            // The system has not taken it, and never will: see `Uring`.
            let _ = self.flights.land(flight, -error.raw_os_error().unwrap_or(libc::EIO));
        }
    }

    /// Takes what has landed.
    fn reap(&mut self, after: &mut After) {
        let Inner { uring, flights } = self;
        uring.completions(|flight, result| {
            let (waiter, cargo) = flights.land(flight, result);
            after.waiters.extend(waiter);
            after.cargo.extend(cargo);
        });
    }
}

impl Drop for Ring {
    /// Whoever waits has the ring, so all that still flies is abandoned. The system has been asked to
    /// stop it; the end of the thread that began it would have to wait for it too.
    fn drop(&mut self) {
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut after = After::default();
        while inner.flights.aloft() > 0 {
            inner.uring.wait();
            inner.reap(&mut after);
        }
    }
}

/// Whom a reactor wakes: takes what has landed, on the reactor's thread.
struct Reaper(Weak<Ring>);

impl Wake for Reaper {
    fn wake(self: Arc<Self>) {
        let Some(ring) = self.0.upgrade() else { return };
        ring.reap();
        if ring.inner().flights.aloft() == 0 {
            return;
        }
        if !ring.watch.is_watched() || ring.watch().is_err() {
            let waiters = ring.inner().flights.waiters();
            waiters.into_iter().for_each(Waiter::wake);
        }
    }
}
