//! A core's reactor: made when first needed, polled while the core runs, closed when it stops.
//!
//! A core that does not run looks after nobody. So its reactor is closed when its loop ends; whoever
//! waits for descriptors there registers them elsewhere. If one of its coroutines runs another system,
//! that one's core looks at both reactors as long as it is busy; before it sleeps it closes the outer
//! one.

use core::cell::{Cell, RefCell};
use core::time::Duration;
use std::sync::Arc;

use super::reactor::{Inner, Reactor};
use crate::core::Core;
use crate::{Time, raw::entered, user};

/// How long a busy core runs between two looks at its descriptors. A look takes less than a
/// hundredth of that.
const PATIENCE: Duration = Duration::from_micros(50);

/// See the module.
#[derive(Default)]
pub(crate) struct Attention {
    reactor: RefCell<Option<Reactor>>,
    /// Whether there is one.
    is_on: Cell<bool>,
    /// When it was last seen to be polled, and how often it had been.
    polled: Cell<Time>,
    polls: Cell<usize>,
}

/// Ends a core's attention when its loop ends.
pub(crate) struct Attending<'a>(&'a Core);

impl Drop for Attending<'_> {
    fn drop(&mut self) {
        self.0.attention.end(self.0);
    }
}

/// A core's loop begins: until the result is dropped it may look after descriptors.
pub(crate) fn attend(core: &Core) -> Attending<'_> {
    Attending(core)
}

/// A core is about to sleep, and with it all others that its thread has entered. Whether that has
/// concerned anyone, who may now be ready.
pub(crate) fn end_others(core: &Core) -> bool {
    let mut reactors = Reactors::default();
    entered::each_core(|other| {
        if !core::ptr::eq(other, core) {
            reactors.add(other.attention.take(other));
        }
    });
    let any = reactors.first.is_some();
    reactors.each(|reactor| reactor.close());
    any
}

/// Reactors of several cores, to be used when nothing refers to the cores any more: their wakers are code of users,
/// which may hop to another stack, where a core that this thread has entered comes to its end.
#[derive(Default)]
struct Reactors {
    first: Option<Arc<Inner>>,
    /// Of systems that run in coroutines of others; mostly none.
    rest: Vec<Arc<Inner>>,
}

impl Reactors {
    fn add(&mut self, reactor: Option<Arc<Inner>>) {
        match (&self.first, reactor) {
            (None, reactor) => self.first = reactor,
            (Some(_), reactor) => self.rest.extend(reactor),
        }
    }

    /// All of them, also if a waker of one raises an exit.
    fn each(self, f: impl Fn(&Arc<Inner>)) {
        user::each("a waker", self.first.iter().chain(&self.rest), f);
    }
}

impl Attention {
    /// The reactor of this core, which runs, if it has one already.
    pub(super) fn reactor(&self) -> Option<Arc<Inner>> {
        self.reactor.borrow().as_ref().map(|reactor| reactor.0.clone())
    }

    /// Uses this one from now on, unless there is one. The platform has made it, which is code of a user: what
    /// it was made for may be otherwise by now.
    #[cold]
    pub(super) fn begin(&self, core: &Core, reactor: Reactor) {
        if !self.is_on.get() {
            core.mail.bell().set_sleeper(Some(reactor.0.clone()));
            *self.reactor.borrow_mut() = Some(reactor);
            self.is_on.set(true);
        }
    }

    fn end(&self, core: &Core) {
        if let Some(reactor) = self.take(core) {
            reactor.close();
        }
    }

    /// It has none any more; the reactor is to be closed.
    fn take(&self, core: &Core) -> Option<Arc<Inner>> {
        let reactor = self.reactor.take()?;
        self.is_on.set(false);
        core.mail.bell().set_sleeper(None);
        Some(reactor.0.clone())
    }

    /// Looks at the descriptors, if that was long ago.
    #[inline(always)]
    pub(crate) fn poll_if_due(&self, now: Time) {
        if self.is_on.get() && now.since(self.polled.get()) >= PATIENCE {
            self.poll_unless_slept(now);
        }
    }

    /// A core that slept since has looked.
    #[inline(never)]
    fn poll_unless_slept(&self, now: Time) {
        let polls = || self.reactor.borrow().as_ref().map_or(0, |reactor| reactor.0.polls());
        self.polled.set(now);
        let count = polls();
        if self.polls.replace(count) == count {
            poll_all();
            self.polls.set(polls());
        }
    }

    /// Whether there is a reactor to poll.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.get()
    }
}

/// Looks at the descriptors of all cores that the thread has entered.
#[inline(never)]
pub(crate) fn poll_all() {
    let mut reactors = Reactors::default();
    entered::each_core(|core| {
        reactors.add(core.attention.reactor().filter(|reactor| !reactor.is_empty()));
    });
    reactors.each(|reactor| {
        reactor.poll();
    });
}
