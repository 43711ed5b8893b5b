//! The process's own side.

use core::cell::{Cell, RefCell, RefMut};
use core::fmt;
use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use leno_context::user::Panic;

use super::address::Held;
use super::error::drop_all;
use super::mailbox::{Look, Mailbox};
use super::{Address, Plan, Process};
use crate::process::plan::Origin;

/// What a process has of itself: it serves calls by this.
pub struct Me<P: Process> {
    mailbox: Arc<Mailbox<P::Message>>,
    held: Weak<Held<P::Message>>,
    /// Calls that were taken out of the mailbox, and not served.
    pending: RefCell<VecDeque<P::Message>>,
    /// Whether it looks for calls, or waits for one.
    looks: Cell<bool>,
    origin: Origin,
}

impl<P: Process> Me<P> {
    pub(crate) fn new(
        mailbox: Arc<Mailbox<P::Message>>,
        held: Weak<Held<P::Message>>,
        origin: Origin,
    ) -> Me<P> {
        Me { mailbox, held, pending: RefCell::default(), looks: Cell::new(false), origin }
    }

    /// Serves one call: the oldest whose guard is open. `false` when the process was stopped and there
    /// is none.
    ///
    /// # Blocking
    /// While there is none: parks the process.
    ///
    /// # Cancellation
    /// When the process is to exit, its stack unwinds.
    ///
    /// # Panics
    /// When a guard serves calls, or another coroutine that has this does so while the process waits for one.
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
    /// As [`Self::exe_next`].
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
        /// Says so also when the wait unwinds.
        struct Looks<'a>(&'a Cell<bool>);
        impl Drop for Looks<'_> {
            fn drop(&mut self) {
                self.0.set(false);
            }
        }
        drop(self.pending_mut());
        self.looks.set(true);
        let _looks = Looks(&self.looks);
        self.mailbox.take(&self.pending)
    }

    /// What was taken out of the mailbox. It is borrowed by guards, which are user code, and by nobody across a wait.
    #[inline(always)]
    #[track_caller]
    fn pending_mut(&self) -> RefMut<'_, VecDeque<P::Message>> {
        match self.pending.try_borrow_mut() {
            Ok(pending) if !self.looks.get() => pending,
            _ => self.refuse(),
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn refuse(&self) -> ! {
        let name = self.mailbox.about.name.or_id(0);
        panic!(
            "process {name} serves one call at a time: neither a guard nor another coroutine serves calls while it \
             looks for one"
        )
    }

    #[inline(always)]
    #[track_caller]
    fn next(
        &self,
        process: &P,
        guard: &mut impl FnMut(&P, &P::Message) -> bool,
    ) -> Option<P::Message> {
        // What is borrowed here must not be what another coroutine waits to add to.
        if self.looks.get() {
            self.refuse();
        }
        let pending = self.pending.borrow();
        let mut is_open =
            |message: &P::Message| process.may_serve(message) && guard(process, message);
        // Mostly the oldest is open.
        let open = match is_open(pending.front()?) {
            true => 0,
            false => 1 + pending.iter().skip(1).position(is_open)?,
        };
        drop(pending);
        match open {
            0 => self.pending_mut().pop_front(),
            _ => self.pending_mut().remove(open),
        }
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

    /// What is left when the process ends is dropped. Returns an exit that was raised meanwhile.
    pub(crate) fn clear(&self) -> Option<Panic> {
        drop_all(self.pending.take())
    }
}

impl<P: Process> fmt::Debug for Me<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Me({})", self.mailbox.about.name.or_id(0))
    }
}
