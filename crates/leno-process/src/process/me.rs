//! The process's own side.

use core::cell::RefCell;
use core::fmt;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use super::address::Held;
use super::mailbox::{Look, Mailbox};
use super::{Address, Plan, Process};
use crate::process::plan::Origin;

/// What a process has of itself: it serves calls by this.
pub struct Me<P: Process> {
    mailbox: Arc<Mailbox<P::Message>>,
    held: Weak<Held<P::Message>>,
    /// Calls that were taken out of the mailbox, and not served.
    pending: RefCell<VecDeque<P::Message>>,
    origin: Origin,
}

impl<P: Process> Me<P> {
    pub(crate) fn new(
        mailbox: Arc<Mailbox<P::Message>>,
        held: Weak<Held<P::Message>>,
        origin: Origin,
    ) -> Me<P> {
        Me { mailbox, held, pending: RefCell::default(), origin }
    }

    /// Serves one call: the oldest whose guard is open. `false` when the process was stopped and there
    /// is none.
    ///
    /// # Blocking
    /// While there is none: parks the process.
    ///
    /// # Cancellation
    /// When the process is to exit, its stack unwinds.
    #[inline]
    #[track_caller]
    pub fn exe_next(&self, process: &mut P) -> bool {
        self.exe_next_where(process, |_, _| true)
    }

    /// The same of those calls for which `guard` holds, besides their own guards. Others wait on.
    ///
    /// # Blocking
    /// As [`Self::exe_next`].
    ///
    /// # Cancellation
    /// As [`Self::exe_next`].
    ///
    /// # Panics
    /// When `guard` serves calls itself.
    #[inline]
    #[track_caller]
    pub fn exe_next_where(
        &self,
        process: &mut P,
        mut guard: impl FnMut(&P, &P::Message) -> bool,
    ) -> bool {
        loop {
            if let Some(message) = self.next(process, &mut guard) {
                self.mailbox.serves_one();
                self.mailbox.goes_on();
                if P::is_revoked(&message) {
                    continue;
                }
                process.serve(message, self);
                return true;
            }
            if let Look::Stopped = self.look() {
                return false;
            }
        }
    }

    /// Takes all calls there are; waits while there are none.
    #[inline(never)]
    #[track_caller]
    fn look(&self) -> Look {
        self.mailbox.take(&mut self.pending.borrow_mut())
    }

    #[inline(always)]
    fn next(
        &self,
        process: &P,
        guard: &mut impl FnMut(&P, &P::Message) -> bool,
    ) -> Option<P::Message> {
        let mut pending = self.pending.borrow_mut();
        let mut is_open =
            |message: &P::Message| process.may_serve(message) && guard(process, message);
        // Mostly the oldest is open.
        if is_open(pending.front()?) {
            return pending.pop_front();
        }
        let other = pending.iter().skip(1).position(is_open)?;
        pending.remove(1 + other)
    }

    /// How many calls wait to be served, as far as the process has looked.
    pub fn pending(&self) -> usize {
        self.pending.borrow().len()
    }

    /// Where others call this process; `None` when nobody can any more.
    pub fn address(&self) -> Option<P::Ref> {
        self.held.upgrade().map(|held| Address::new(held).into())
    }

    /// Starts another process in the same system, with this plan.
    pub fn start<Q: Process>(&self, plan: Plan, process: Q) -> Q::Ref {
        self.origin.start(plan, process)
    }

    /// No calls any more: serves what is queued, and ends.
    pub fn stop(&self) {
        self.mailbox.stop();
    }

    /// What is left when the process ends is dropped.
    pub(crate) fn clear(&self) {
        let left = self.pending.take();
        drop(left);
    }
}

impl<P: Process> fmt::Debug for Me<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Me({})", self.mailbox.about.name.or_id(0))
    }
}
