//! What others have of a process.

use core::fmt;
use std::sync::Arc;

use leno_kernel::Name;

use super::about::About;
use super::mailbox::Mailbox;
use super::{Process, Refused, Status};

/// Where a process is called. When the last one is dropped, nobody can call it any more: the process
/// serves what is queued, and ends.
pub struct Address<P: Process> {
    held: Arc<Held<P::Message>>,
}

/// What all addresses of a process share. Gone when they are.
pub(crate) struct Held<M> {
    pub(crate) mailbox: Arc<Mailbox<M>>,
}

impl<M> Drop for Held<M> {
    fn drop(&mut self) {
        self.mailbox.stop();
    }
}

impl<P: Process> Address<P> {
    pub(crate) fn new(held: Arc<Held<P::Message>>) -> Address<P> {
        Address { held }
    }

    /// Calls an entry; see the methods that `#[process]` makes.
    ///
    /// # Blocking
    /// While the mailbox is full, if it has a limit and makes callers wait.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit while it waits for room, its stack unwinds.
    ///
    /// # Errors
    /// When the process was stopped, or its mailbox is full and refuses; the message comes back.
    ///
    /// # Panics
    /// Inside a future that a core polls, if it would have to wait.
    #[inline]
    #[track_caller]
    pub fn post(&self, message: P::Message) -> Result<(), Refused<P::Message>> {
        self.held.mailbox.post(move || message)
    }

    /// The same of a message that is made where it goes.
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    pub fn post_with(&self, make: impl FnOnce() -> P::Message) -> Result<(), Refused<P::Message>> {
        self.held.mailbox.post(make)
    }

    /// Stops the process: it serves what is queued, does what it does last, and ends. Later calls are
    /// refused.
    pub fn stop(&self) {
        self.held.mailbox.stop();
    }

    /// What it is doing.
    pub fn status(&self) -> Status {
        self.held.mailbox.status()
    }

    /// What it is called.
    pub fn name(&self) -> &Name {
        &self.held.mailbox.about.name
    }

    #[doc(hidden)]
    pub fn answer<T>(&self) -> (super::Answer<T>, super::Reply<T>) {
        super::reply::pair(self.about().clone())
    }

    pub(crate) fn about(&self) -> &Arc<About> {
        &self.held.mailbox.about
    }
}

impl<P: Process> Clone for Address<P> {
    fn clone(&self) -> Self {
        Address { held: self.held.clone() }
    }
}

impl<P: Process> fmt::Debug for Address<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({:?})", self.name().or_id(0), self.status())
    }
}
