//! The processes of one system, and when all of them are idle.
//!
//! `busy` counts the processes that do anything but wait for a call. A process that waits counts itself out,
//! and is counted in again by whoever calls it: both under the lock of its mailbox, or as the word by which it
//! sleeps changes hands (`mailbox.rs`, 5). A caller that is a process is itself counted in meanwhile. So once
//! the count is 0 it stays 0, unless someone from outside calls: every scheduler is idle, nobody sleeps, and
//! nobody waits for a reply.
//!
//! One that waits until a count is 0 looks at it and stands in line under one lock. The thread that makes it 0 wakes all in
//! line after that: either it was 0 at the look, or the line is locked again after the look, by the one who wakes.

use core::any::Any;
use core::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Weak};

use leno_kernel::layer::queue::{First, Shared, Stage, WaitQueue};
use leno_kernel::layer::user;
use leno_kernel::{Co, Exiting, Name, Object, Reason, Waiter, Wake, current, exit, park};

use crate::line::next_after;

/// See the module.
pub(crate) struct Group {
    busy: AtomicUsize,
    live: AtomicUsize,
    started: AtomicUsize,
    /// In line are those who wait until a count is 0.
    inner: WaitQueue<Shared, Inner, (), 1>,
}

#[derive(Default)]
struct Inner {
    members: Vec<Weak<dyn Stop>>,
    /// How many members there are when those that have gone are next looked for.
    crowd: usize,
    failures: Vec<Failure>,
    restarts: usize,
    is_stopped: bool,
}

/// What can be stopped: a mailbox.
pub(crate) trait Stop: Send + Sync {
    fn stop(&self);
    /// What its process is called, if that runs on this coroutine.
    fn name_if(&self, co: Co) -> Option<Name>;
}

/// A process that panicked, and was not started again.
pub struct Failure {
    /// Which.
    pub process: Name,
    /// With what.
    pub payload: Box<dyn Any + Send>,
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| self.payload.downcast_ref::<String>().cloned());
        let text = text.unwrap_or_else(|| "something that is no text".to_owned());
        write!(f, "process {} panicked: {text}", self.process.or_id(0))
    }
}

/// What became of the processes of a system.
#[derive(Debug)]
#[non_exhaustive]
pub struct Ended {
    /// How many were started.
    pub started: usize,
    /// How often one was started again.
    pub restarts: usize,
    /// Those that panicked, and were not started again.
    pub failures: Vec<Failure>,
}

impl Default for Group {
    fn default() -> Group {
        Group {
            busy: AtomicUsize::new(0),
            live: AtomicUsize::new(0),
            started: AtomicUsize::new(0),
            inner: WaitQueue::new(Inner::default()),
        }
    }
}

impl Group {
    fn with<R>(&self, f: impl FnOnce(&mut Inner) -> R) -> R {
        f(&mut self.inner.lock())
    }

    /// A process joins. Says whether the group is stopped already.
    pub(crate) fn join(&self, member: Weak<dyn Stop>) -> bool {
        self.live.fetch_add(1, SeqCst);
        self.started.fetch_add(1, SeqCst);
        self.busy.fetch_add(1, SeqCst);
        self.with(|inner| {
            // Each time that they have doubled, so that very many cost no more each than a few.
            if inner.members.len() >= inner.crowd {
                inner.members.retain(|member| member.strong_count() > 0);
                inner.crowd = (2 * inner.members.len()).max(64);
            }
            inner.members.push(member);
            inner.is_stopped
        })
    }

    /// One waits for a call no longer.
    pub(crate) fn busy(&self) {
        self.busy.fetch_add(1, SeqCst);
    }

    /// One waits for a call. Whether it was the last: then [`Self::wake`] is called, under no lock.
    #[must_use = "those who wait are to be woken"]
    pub(crate) fn idle(&self) -> bool {
        self.busy.fetch_sub(1, SeqCst) == 1
    }

    /// One has ended, and is not counted as busy any more.
    pub(crate) fn leave(&self) {
        if self.live.fetch_sub(1, SeqCst) == 1 {
            self.wake();
        }
    }

    pub(crate) fn restarted(&self) {
        self.with(|inner| inner.restarts += 1);
    }

    pub(crate) fn failed(&self, failure: Failure) {
        self.with(|inner| inner.failures.push(failure));
    }

    /// Wakes those who wait until all are idle, or have ended.
    pub(crate) fn wake(&self) {
        let woken = self.inner.lock().settle_all(0, Stage::Met);
        user::wake_all(woken);
    }

    /// Stops all of them.
    pub(crate) fn stop(&self) {
        let members = self.with(|inner| {
            inner.is_stopped = true;
            inner.members.clone()
        });
        let members: Vec<Arc<dyn Stop>> = members.iter().filter_map(Weak::upgrade).collect();
        members.iter().for_each(|member| member.stop());
    }

    /// Waits until all are idle, or until all have ended.
    ///
    /// # Panics
    /// In one of them: it would wait for itself.
    #[track_caller]
    pub(crate) fn wait(&self, for_the_end: bool) -> Result<(), Exiting> {
        if let Some(name) = current().and_then(|co| self.name_of(co)) {
            panic!(
                "process {} cannot wait for its own system: it would wait for itself",
                name.or_id(0)
            );
        }
        let count = if for_the_end { &self.live } else { &self.busy };
        loop {
            let waiter = Waiter::current();
            let inner = self.inner.lock();
            if count.load(SeqCst) == 0 {
                return Ok(());
            }
            let mut wake = Wake::Unparked;
            let next = || {
                wake = park(Reason::Answer(Object::shared()));
                next_after(wake)
            };
            let (inner, left) = inner.wait(0, waiter, (), || First::Wait, next, |_, _| ());
            drop(inner);
            drop(left);
            if wake == Wake::Exit {
                return Err(exit());
            }
        }
    }

    /// What the process that runs on this coroutine is called, if it is one of them.
    fn name_of(&self, co: Co) -> Option<Name> {
        let members = self.with(|inner| inner.members.clone());
        members.iter().filter_map(Weak::upgrade).find_map(|member| member.name_if(co))
    }

    pub(crate) fn ended(&self) -> Ended {
        let (failures, restarts) =
            self.with(|inner| (core::mem::take(&mut inner.failures), inner.restarts));
        Ended { started: self.started.load(SeqCst), restarts, failures }
    }
}

impl Drop for Group {
    /// Nobody has asked for the failures: their payloads are dropped, whatever they raise.
    fn drop(&mut self) {
        let failures = self.with(|inner| core::mem::take(&mut inner.failures));
        user::discard_all(failures);
    }
}
