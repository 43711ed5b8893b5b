//! Where a descriptor is registered: with no reactor, a core's, or the helper's.
//!
//! It is registered at the first wait, with the reactor of whoever waits, and stays there; so a
//! connection that is accepted on one core and served on another is watched where it is served. It
//! moves when its reactor has ended, and from the helper to a core. Moving loses nothing: whoever adds
//! a descriptor is told at once what is so.
//!
//! Locks are taken in this order: registration, then a reactor's table, then the line; none is held while
//! someone is woken.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;

use super::badge::Badge;
use super::beacon::{Beacon, Watcher};
use super::reactor::Inner;
use crate::sync::{Mutex, lock};

/// What a reactor knows of a descriptor.
pub(crate) struct Registered {
    pub(super) beacon: Beacon,
    registration: Mutex<Option<Registration>>,
}

struct Registration {
    reactor: Arc<Inner>,
    badge: Badge,
    /// What its owner has said: code of a user, which may name another one later.
    number: RawFd,
}

impl Registration {
    /// Ends the watch. If its owner names another descriptor now, that one's watch is left alone; what is reported of
    /// the first is for a badge that nobody has. So it is if its owner names none.
    fn end(self, fd: Option<BorrowedFd<'_>>) {
        let fd = fd.filter(|fd| fd.as_raw_fd() == self.number);
        self.reactor.remove(fd, self.badge);
    }
}

impl Registered {
    pub(super) fn new() -> Arc<Registered> {
        Arc::new(Registered { beacon: Beacon::new(), registration: Mutex::new(None) })
    }

    /// Has the descriptor watched, by this reactor if by none yet.
    pub(super) fn register(
        self: &Arc<Self>,
        fd: BorrowedFd<'_>,
        watcher: Watcher,
        reactor: &Arc<Inner>,
    ) -> io::Result<()> {
        let mut registration = lock(&self.registration);
        if registration.is_none() {
            self.beacon.begin(watcher);
        } else if self.beacon.watcher() != Watcher::Helper || watcher == Watcher::Helper {
            return Ok(());
        }
        match reactor.add(fd, self.clone()) {
            Ok(badge) => {
                let (reactor, number) = (reactor.clone(), fd.as_raw_fd());
                let old = registration.replace(Registration { reactor, badge, number });
                if let Some(old) = old {
                    self.beacon.moved();
                    old.end(Some(fd));
                }
                Ok(())
            }
            Err(error) => {
                if registration.is_none() {
                    self.beacon.end();
                }
                Err(explained(&error, fd))
            }
        }
    }

    /// Nobody needs the descriptor to be watched any more; `None` if its owner does not say which it is.
    pub(super) fn deregister(&self, fd: Option<BorrowedFd<'_>>) {
        let mut registration = lock(&self.registration);
        if let Some(old) = registration.take() {
            old.end(fd);
            self.beacon.end();
        }
        drop(registration);
        self.beacon.wake_all();
    }

    /// Its reactor has ended.
    pub(super) fn leave(&self, reactor: &Arc<Inner>) {
        let mut registration = lock(&self.registration);
        let left = registration.take_if(|own| Arc::ptr_eq(&own.reactor, reactor));
        if left.is_some() {
            self.beacon.end();
        }
        drop(registration);
        self.beacon.wake_all();
    }
}

/// Says which rule was broken, where the system has only a number.
fn explained(error: &io::Error, fd: BorrowedFd<'_>) -> io::Error {
    let why = match error.raw_os_error() {
        Some(libc::EPERM) => {
            "files and folders on a disk are always ready; use `blocking` for what takes long"
        }
        Some(libc::EEXIST) => {
            "it is watched already for another `Descriptor`; share that one instead"
        }
        _ => "the system refuses to watch it",
    };
    let message = format!("descriptor {} cannot be waited for: {why} ({error})", fd.as_raw_fd());
    io::Error::new(error.kind(), message)
}
