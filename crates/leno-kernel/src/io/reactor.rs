//! A reactor: learns from the system which descriptors have become ready, and wakes who waits.
//!
//! One epoll instance, edge-triggered; each descriptor is added once, for both directions. One thread
//! takes events out, its owner: a core, or the helper. Any thread may take a descriptor out.
//!
//! An eventfd ends the owner's sleep. It is edge-triggered too: every write is an event, and nobody
//! has to read it.

use core::time::Duration;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use super::badge::{Badge, Table};
use super::interest::Flags;
use super::registered::Registered;
use crate::bell::Sleeper;
use crate::raw::epoll::{self, Epoll};
use crate::sync::{AtomicUsize, Mutex, Ordering::Relaxed, lock};
use crate::user;

/// Watches descriptors for a core; what a [`Platform`](crate::Platform) supplies.
///
/// # Examples
/// A platform that counts how many reactors were made.
/// ```
/// use leno_kernel::{LocalSystem, Platform, RealTime, Time, io};
/// use leno_kernel::layer::bell::Bell;
/// use std::{cell::Cell, os::unix::net::UnixStream, rc::Rc};
///
/// struct Counting(RealTime, Rc<Cell<u32>>);
///
/// impl Platform for Counting {
///     fn now(&self) -> Time {
///         self.0.now()
///     }
///     fn idle(&self, bell: &Bell, deadline: Option<Time>) {
///         self.0.idle(bell, deadline);
///     }
///     fn reactor(&self) -> std::io::Result<io::Reactor> {
///         self.1.set(self.1.get() + 1);
///         io::Reactor::new()
///     }
/// }
///
/// let made = Rc::new(Cell::new(0));
/// let system = LocalSystem::builder().platform(Counting(RealTime::new(), made.clone())).build();
/// let wait = system.spawn(|| {
///     let (near, _far) = UnixStream::pair()?;
///     io::Descriptor::new(near)?.wait(io::Interest::WRITE)
/// });
/// system.run()?;
/// assert!(wait.join()?.is_ok());
/// assert_eq!(made.get(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Reactor(pub(super) Arc<Inner>);

/// What the owner and the descriptors share.
pub(crate) struct Inner {
    epoll: Epoll,
    eventfd: File,
    registered: Mutex<Table<Registered>>,
    count: AtomicUsize,
    /// How often the system was asked.
    polls: AtomicUsize,
    /// Taken from the system, and not told yet. Used by the owner.
    events: Mutex<VecDeque<(Badge, Flags)>>,
}

/// The eventfd's; no descriptor has it.
const BELL: Badge = u64::MAX;

impl Reactor {
    /// A reactor that watches nothing yet.
    ///
    /// # Errors
    /// When the system has no more descriptors or memory.
    pub fn new() -> io::Result<Reactor> {
        let (epoll, eventfd) = (Epoll::new()?, File::from(epoll::eventfd()?));
        epoll.add_readable(eventfd.as_fd(), BELL)?;
        Ok(Reactor(Arc::new(Inner {
            epoll,
            eventfd,
            registered: Mutex::new(Table::new()),
            count: AtomicUsize::new(0),
            polls: AtomicUsize::new(0),
            events: Mutex::default(),
        })))
    }
}

impl Inner {
    /// Watches a descriptor from now on; what is so already is told as the first event.
    pub(super) fn add(&self, fd: BorrowedFd<'_>, what: Arc<Registered>) -> io::Result<Badge> {
        let badge = lock(&self.registered).insert(what);
        match self.epoll.add(fd, badge) {
            Ok(()) => {
                self.count.fetch_add(1, Relaxed);
                Ok(badge)
            }
            Err(error) => {
                lock(&self.registered).remove(badge);
                Err(error)
            }
        }
    }

    /// Watches it no more; `None` if nobody knows its descriptor.
    pub(super) fn remove(&self, fd: Option<BorrowedFd<'_>>, badge: Badge) {
        // It may be closed elsewhere, by which it is removed.
        let _ = fd.map(|fd| self.epoll.remove(fd));
        let was = lock(&self.registered).remove(badge);
        if was.is_some() {
            self.count.fetch_sub(1, Relaxed);
        }
    }

    /// Whether there is nothing to watch.
    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Relaxed) == 0
    }

    /// How often the system was asked, while asleep or awake.
    pub(super) fn polls(&self) -> usize {
        self.polls.load(Relaxed)
    }

    /// Takes what has happened, and tells it.
    pub(super) fn poll(&self) {
        self.sleep(Some(Duration::ZERO));
        self.serve();
    }

    /// The owner ends: whoever waits has to find another reactor.
    pub(super) fn close(self: &Arc<Self>) {
        let left = lock(&self.registered).take_all();
        self.count.store(0, Relaxed);
        user::each("a waker", left, |registered| registered.leave(self));
    }
}

impl Sleeper for Inner {
    fn sleep(&self, limit: Option<Duration>) {
        self.polls.fetch_add(1, Relaxed);
        let mut events = lock(&self.events);
        // What a panic has kept from being told is never told again by the system.
        let limit = if events.is_empty() { limit } else { Some(Duration::ZERO) };
        self.epoll.wait(limit, |badge, flags| {
            if badge != BELL {
                events.push_back((badge, flags));
            }
        });
    }

    fn rouse(&self) {
        // It fails when 2^64 - 1 wake-ups have not been read, which is never.
        let _ = (&self.eventfd).write(&1u64.to_ne_bytes());
    }

    fn serve(&self) {
        // One by one: whoever is woken may be anyone's code.
        loop {
            let event = lock(&self.events).pop_front();
            let Some((badge, flags)) = event else { return };
            let registered = lock(&self.registered).get(badge);
            if let Some(registered) = registered {
                registered.beacon.raise(flags);
            }
        }
    }
}

impl core::fmt::Debug for Reactor {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Reactor({} descriptors)", self.0.count.load(Relaxed))
    }
}

#[cfg(test)]
mod tests;
