//! Where calls of a process wait.
//!
//! Callers push under the lock; the process takes everything there is at once, and serves from what
//! it has taken (so guards, which are code of users, never run under the lock). `unserved` counts both,
//! for those mailboxes that have a limit.
//!
//! The race to win: a call that comes between looking and parking. The process looks and stands in line
//! in one critical section; a caller pushes and ends that wait in one. So either the process sees the
//! call, or the caller sees the process, and its wake-up is a permit.
//!
//! Callers of the process's own thread need no lock, which is most of what a call costs: they push into
//! `near`, and lock only to wake the process. Calls are served in order of arrival all the same:
//!
//! 1. Nothing is pushed into `near` while `far` says that there are calls behind the lock. So whatever is
//!    in `near` came before whatever is behind the lock, and the process takes it first.
//! 2. Who has seen a call arrive behind the lock sees `far` as well, until the process has taken that
//!    call: both are written before the lock is released.
//! 3. Caller and process are coroutines of one thread, and neither leaves in the middle: looking and
//!    parking are one step for them without any lock.
//!
//! Nor does such a process lock to wait. It says so by one word, `is_asleep`, and whoever takes that word back
//! wakes it, and is the only one who does:
//!
//! 4. The process says that it is asleep, and then looks at `far` once more. A caller behind the lock, or who
//!    stops it, writes `far` first and then takes the word back. All four are sequentially consistent, so
//!    either the process sees `far`, or the caller sees that it is asleep. One of its own thread need not look
//!    twice, by 3.
//! 5. Who takes the word back counts the process as busy (`group.rs`), before it can be idle itself. The process
//!    counts itself out after it has said that it is asleep: for a moment it may count twice, never less than
//!    once while there is a call.
//!
//! One that waits by another coroutine than its own waits behind the lock; meanwhile `far` sends all callers there.
//!
//! In mailboxes with a limit all calls go behind the lock; so do all of a process that may move to another thread, on a
//! coroutine of its own.

use core::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::{
    AtomicBool, AtomicU8,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, OnceLock, Weak};

use leno_kernel::layer::queue::{First, Guard, Left, Shared, Stage, WaitQueue};
use leno_kernel::layer::user::{self, Panic};
use leno_kernel::layer::{current_on_own_stack, current_stack, is_planted, park_on, world};
use leno_kernel::log::Operation;
use leno_kernel::{Co, Name, Reason, Waiter, Wake};
use leno_kernel::{current, exit};

use super::about::{About, Fail};
use super::error::drop_all;
use super::group::{Group, Stop};
use super::{Refusal, Refused, Status};
use crate::line::{meet_first, next_after};
use crate::raw::{Inside, Owned};
use crate::step;

mod room;

/// Why callers of the process's own thread may not use `near`, in bits: there are calls behind the lock,
/// it takes no more calls, it has a limit, it waits behind the lock.
const CALLS: u8 = 1;
const CLOSED: u8 = 2;
const LIMITED: u8 = 4;
const AWAITED: u8 = 8;

pub(crate) struct Mailbox<M> {
    pub(crate) about: Arc<About>,
    /// See the module. Written under the lock.
    far: AtomicU8,
    near: Owned<Near<M>>,
    /// Whether the process waits without the lock; see the module.
    is_asleep: AtomicBool,
    /// The process, if it waits so.
    sleeper: OnceLock<Co>,
    inner: WaitQueue<Shared, Inner<M>, (), 2>,
    group: Option<Arc<Group>>,
    capacity: usize,
    /// Whether a full one refuses calls, instead of making callers wait.
    refuses: bool,
}

/// What only the process's own thread touches.
struct Near<M> {
    calls: VecDeque<M>,
}

struct Inner<M> {
    queue: VecDeque<M>,
    /// How many calls were taken in and not served, if there is a limit.
    unserved: usize,
    status: Status,
    is_stopping: bool,
    /// That the process has panicked, and does not begin again, or that it has come to its end.
    over: Option<Refusal>,
    /// Whether it begins again if it panics now.
    begins_again: bool,
}

/// The line of callers that wait for room.
const CALLERS: usize = 0;
/// The line of the process, while it waits for a call behind the lock. Just then its status is `Waiting`.
const SERVER: usize = 1;

/// A mailbox that is locked.
type Locked<'a, M> = Guard<'a, Shared, Inner<M>, (), 2>;

/// What a look into the mailbox has found.
pub(crate) enum Look {
    Calls,
    Stopped,
}

impl<M> Inner<M> {
    /// Why it takes no calls, if it does not.
    fn is_closed(&self) -> Option<Refusal> {
        match self.over {
            Some(Refusal::Ended) | None if self.is_stopping => Some(Refusal::Stopped),
            over => over,
        }
    }
}

impl<M: Send + 'static> Mailbox<M> {
    /// In its place, where those who have an answer to give find it.
    pub(crate) fn settled(self) -> Arc<Mailbox<M>> {
        let mailbox = Arc::new(self);
        let own: Weak<Mailbox<M>> = Arc::downgrade(&mailbox);
        mailbox.about.settle(own);
        mailbox
    }
}

impl<M> Mailbox<M> {
    pub(crate) fn new(
        name: Name,
        capacity: usize,
        refuses: bool,
        group: Option<Arc<Group>>,
    ) -> Mailbox<M> {
        let inner = Inner {
            queue: VecDeque::new(),
            unserved: 0,
            status: Status::New,
            is_stopping: false,
            over: None,
            begins_again: false,
        };
        let about = Arc::new(About::new(name));
        let far = AtomicU8::new(if capacity == usize::MAX { 0 } else { LIMITED });
        let near = Owned::new(Near { calls: VecDeque::new() });
        let inner = WaitQueue::new(inner);
        let is_asleep = AtomicBool::new(false);
        let sleeper = OnceLock::new();
        Mailbox {
            about,
            far,
            near,
            is_asleep,
            sleeper,
            inner,
            group,
            capacity: capacity.max(1),
            refuses,
        }
    }

    /// Only under the lock.
    fn set_far(&self, set: u8, unset: u8) {
        self.far.store(self.far.load(Relaxed) & !unset | set, SeqCst);
    }

    #[track_caller]
    fn lock(&self) -> Locked<'_, M> {
        self.inner.lock()
    }

    fn has_limit(&self) -> bool {
        self.capacity != usize::MAX
    }

    pub(crate) fn status(&self) -> Status {
        let status = self.lock().status;
        // One that is asleep has not said so behind the lock.
        if status == Status::Active && self.is_asleep.load(SeqCst) {
            return Status::Waiting;
        }
        status
    }

    pub(crate) fn group(&self) -> Option<&Arc<Group>> {
        self.group.as_ref()
    }

    /// The process has started, on the calling coroutine.
    pub(crate) fn begin(&self) {
        if let Some(co) = current() {
            self.about.begin(co);
        }
        if let Some(own) = current_on_own_stack() {
            let _ = self.sleeper.set(own);
            self.near.claim();
        }
        self.lock().status = Status::Active;
    }

    fn refused(&self, why: Refusal, message: M) -> Refused<M> {
        Refused { why, process: self.about.name.clone(), arguments: message }
    }

    /// Puts a call in. `make` is called first, and where every invariant holds: it may be anything.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn post(&self, make: impl FnOnce() -> M) -> Result<(), Refused<M>> {
        // Which object it is need not be known otherwise.
        if world::is_observed() {
            world::point(Operation::Send, Some(self.about.sign.object()));
        }
        if self.may_go_near() && self.near.is_own() {
            let call = make();
            step();
            if let Some(mut near) = self.near()
                && has_room(&near.calls)
            {
                near.calls.push_back(call);
                drop(near);
                step();
                if self.is_asleep.load(Relaxed) {
                    self.wake();
                }
                return Ok(());
            }
            // It grows, or `make` has let others call.
            return self.post_later(Box::new(call));
        }
        self.post_elsewhere(make())
    }

    /// Whether calls of the process's own thread need no lock now.
    #[inline(always)]
    fn may_go_near(&self) -> bool {
        let far = self.far.load(Relaxed);
        // With `LENO_PLANTED=near` they overtake those behind the lock: exploration must notice.
        far == 0 || far == CALLS && is_planted("near")
    }

    /// The calls of the process's own thread, if the calling code may add to them.
    #[inline(always)]
    fn near(&self) -> Option<Inside<'_, Near<M>>> {
        if self.may_go_near() { self.near.enter() } else { None }
    }

    #[cold]
    #[track_caller]
    #[allow(
        clippy::boxed_local,
        reason = "a call whose address nobody needs is made where it stays"
    )]
    fn post_later(&self, call: Box<M>) -> Result<(), Refused<M>> {
        self.post_elsewhere(*call)
    }

    /// Puts a call in that there is no room for in `near`, or that cannot go there.
    #[inline(never)]
    #[track_caller]
    fn post_elsewhere(&self, call: M) -> Result<(), Refused<M>> {
        if let Some(mut near) = self.near() {
            near.calls.push_back(call);
            drop(near);
            self.wake();
            return Ok(());
        }
        self.post_behind_the_lock(call)
    }

    /// Wakes the process, if it is asleep.
    #[inline(never)]
    fn wake(&self) {
        if let Some(server) = self.rouse_sleeper() {
            server.wake();
        }
    }

    /// Takes the process out of its sleep, if it is asleep; see the module.
    #[inline]
    fn rouse_sleeper(&self) -> Option<Waiter> {
        if !self.is_asleep.swap(false, SeqCst) {
            return None;
        }
        if let Some(group) = &self.group {
            group.busy();
        }
        self.sleeper.get().copied().map(Waiter::Co)
    }

    #[track_caller]
    fn post_behind_the_lock(&self, message: M) -> Result<(), Refused<M>> {
        loop {
            let mut inner = self.lock();
            if let Some(why) = inner.is_closed() {
                drop(inner);
                return Err(self.refused(why, message));
            }
            if self.has_limit() {
                if inner.unserved >= self.capacity {
                    drop(inner);
                    match self.wait_for_room() {
                        Ok(()) => continue,
                        Err(why) => return Err(self.refused(why, message)),
                    }
                }
                inner.unserved += 1;
            }
            inner.queue.push_back(message);
            self.set_far(CALLS, 0);
            let server = self.rouse(&mut inner);
            drop(inner);
            if let Some(server) = server {
                server.wake();
            }
            return Ok(());
        }
    }

    /// Takes the process out of its wait, if it waits.
    fn rouse(&self, inner: &mut Locked<'_, M>) -> Option<Waiter> {
        if inner.is_empty(SERVER) {
            return self.rouse_sleeper();
        }
        self.goes_on_behind_the_lock(inner);
        meet_first(inner, SERVER)
    }

    /// The process, which waits behind the lock, is busy from now on.
    fn goes_on_behind_the_lock(&self, inner: &mut Locked<'_, M>) {
        self.set_far(0, AWAITED);
        inner.status = Status::Active;
        if let Some(group) = &self.group {
            group.busy();
        }
    }

    /// Takes all calls there are; waits while there are none. Nothing is borrowed while it waits.
    #[track_caller]
    pub(crate) fn take(&self, calls: &RefCell<VecDeque<M>>) -> Look {
        let sign = &self.about.sign;
        world::point(Operation::Receive, Some(sign.object()));
        self.goes_on();
        let mut waiter = None;
        loop {
            let mut has_calls = false;
            if let Some(mut near) = self.near.enter() {
                has_calls = take_all(&mut near.calls, &mut calls.borrow_mut());
            }
            // Whoever has called so has woken it, if it was waiting.
            if has_calls && self.far.load(Relaxed) & CALLS == 0 {
                return Look::Calls;
            }
            if !has_calls && self.far.load(Relaxed) & (CALLS | CLOSED) == 0 && self.may_sleep() {
                if self.sleep() == Wake::Exit {
                    exit();
                    return Look::Stopped;
                }
                continue;
            }
            let mut inner = self.lock();
            if take_all(&mut inner.queue, &mut calls.borrow_mut()) || has_calls {
                self.set_far(0, CALLS);
                return Look::Calls;
            }
            if inner.is_stopping {
                return Look::Stopped;
            }
            let Some(own) = waiter.clone() else {
                drop(inner);
                // It panics where nobody can wait.
                waiter = Some(Waiter::current());
                continue;
            };
            if self.wait_behind_the_lock(inner, own) == Wake::Exit {
                exit();
                return Look::Stopped;
            }
        }
    }

    /// The process waits for a call, by whichever coroutine or thread calls this.
    #[track_caller]
    fn wait_behind_the_lock(&self, mut inner: Locked<'_, M>, waiter: Waiter) -> Wake {
        self.set_far(AWAITED, 0);
        inner.status = Status::Waiting;
        let is_last = self.counts_out();
        let first = || {
            self.tell_idle(is_last);
            First::Wait
        };
        let sign = &self.about.sign;
        let mut wake = Wake::Unparked;
        let next = || {
            wake = park_on(Reason::Entry(sign.object()), sign);
            next_after(wake)
        };
        // The code that has ended its wait has counted it as busy.
        let leaves = |mut inner: Locked<'_, M>, left: Left<()>| {
            if left.stage == Stage::Waiting {
                self.goes_on_behind_the_lock(&mut inner);
            }
        };
        let (inner, left) = inner.wait(SERVER, waiter, (), first, next, leaves);
        leaves(inner, left);
        wake
    }

    /// Whether the calling coroutine is the one that is woken from its sleep.
    #[inline]
    fn may_sleep(&self) -> bool {
        self.sleeper.get().is_some_and(|own| current_stack() == Some(*own))
    }

    /// The process waits, without the lock; see the module.
    #[track_caller]
    fn sleep(&self) -> Wake {
        step();
        self.is_asleep.swap(true, SeqCst);
        step();
        // With `LENO_PLANTED=asleep` it does not look: exploration must notice.
        if self.far.load(SeqCst) & (CALLS | CLOSED) != 0 && !is_planted("asleep") {
            // Whoever has taken the word back has counted the process, which had not counted itself out.
            step();
            let was_counted = !self.is_asleep.swap(false, SeqCst);
            self.tell_idle(was_counted && self.counts_out());
            return Wake::Unparked;
        }
        step();
        self.tell_idle(self.counts_out());
        let sign = &self.about.sign;
        let wake = park_on(Reason::Entry(sign.object()), sign);
        if self.is_asleep.load(SeqCst) {
            // Nobody has called; it goes on all the same.
            drop(self.rouse_sleeper());
        }
        wake
    }

    /// The process is not busy any more. Says whether it was the last of its group; see [`Self::tell_idle`].
    #[must_use = "those who wait until all are idle are to be told"]
    fn counts_out(&self) -> bool {
        self.group.as_ref().is_some_and(|group| group.idle())
    }

    /// Wakes those who wait until all are idle, if that is so. Not under the lock.
    fn tell_idle(&self, is_last: bool) {
        if is_last && let Some(group) = &self.group {
            group.wake();
        }
    }

    /// The process begins, for the first time or again.
    pub(crate) fn begins(&self, begins_again: bool) {
        self.lock().begins_again = begins_again;
    }

    /// The process takes no calls from now on: it has panicked and will not begin again, or has come to its
    /// end.
    pub(crate) fn is_over(&self, why: Refusal) {
        let mut inner = self.lock();
        inner.over = Some(why);
        self.set_far(CLOSED, 0);
    }

    /// The process looks for calls, or serves one. If it has panicked before, its own code has caught that.
    #[inline]
    pub(crate) fn goes_on(&self) {
        if self.far.load(Relaxed) & CLOSED != 0 {
            self.opens_again();
        }
    }

    #[cold]
    fn opens_again(&self) {
        let mut inner = self.lock();
        inner.over = None;
        if !inner.is_stopping {
            self.set_far(0, CLOSED);
        }
    }

    /// The process has ended. What it has not served is dropped, by which those who wait for replies
    /// learn. Returns an exit that was raised meanwhile; see [`drop_all`].
    #[must_use = "an exit goes on"]
    pub(crate) fn terminate(&self) -> Option<Panic> {
        let mut inner = self.lock();
        if inner.status == Status::Terminated {
            return None;
        }
        // One that has not started counts as busy, too.
        let was_waiting = inner.status == Status::Waiting || self.is_asleep.swap(false, SeqCst);
        inner.status = Status::Terminated;
        inner.over.get_or_insert(Refusal::Ended);
        self.set_far(CLOSED, 0);
        let queue = core::mem::take(&mut inner.queue);
        let callers = inner.settle_all(CALLERS, Stage::Refused);
        drop(inner);
        let near = self.near.enter().map(|mut near| core::mem::take(&mut near.calls));
        let exit = drop_all(near.into_iter().flatten().chain(queue));
        user::wake_all(callers);
        if let Some(group) = &self.group {
            let is_last = !was_waiting && group.idle();
            self.tell_idle(is_last);
            group.leave();
        }
        exit
    }

    /// No calls any more; those that are there are served.
    pub(crate) fn stop(&self) {
        let mut inner = self.lock();
        inner.is_stopping = true;
        self.set_far(CLOSED, 0);
        let server = self.rouse(&mut inner);
        let callers = inner.settle_all(CALLERS, Stage::Refused);
        drop(inner);
        user::wake_all(server.into_iter().chain(callers));
    }
}

/// Whether a call can be added without the queue growing. Where it can, the call is made where it stays: moved
/// there it would be written in parts and read as a whole at once, and machines stall at that. A queue that grows,
/// which may panic, would need its address.
#[inline(always)]
fn has_room<M>(calls: &VecDeque<M>) -> bool {
    calls.len() < calls.capacity()
}

/// Moves calls to the end of others; whether there were any.
fn take_all<M>(from: &mut VecDeque<M>, to: &mut VecDeque<M>) -> bool {
    if from.is_empty() {
        return false;
    }
    if to.is_empty() {
        core::mem::swap(from, to);
    } else {
        to.append(from);
    }
    true
}

impl<M: Send> Fail for Mailbox<M> {
    fn fail(&self, why: Refusal) {
        // Nobody begins again after an exit.
        if why == Refusal::Ended || !self.lock().begins_again {
            self.is_over(why);
        }
    }
}

#[cfg(all(test, not(miri)))]
mod explored;

impl<M: Send> Stop for Mailbox<M> {
    fn stop(&self) {
        Mailbox::stop(self);
    }

    fn name_if(&self, co: Co) -> Option<Name> {
        let is_it = self.about.is(co) && self.status() != Status::Terminated;
        is_it.then(|| self.about.name.clone())
    }
}
