//! Parking and waking: how a coroutine comes to wait, and how it goes on.
//!
//! A wake-up is a *permit*: one that comes while the coroutine runs is kept, and its next park ends at once, so none is
//! lost. An exit is a wake-up that is never used up; it is seen at every park and yield, unless the coroutine is deaf to
//! it for the moment (`masked`).
//!
//! Invariants:
//! - A coroutine comes into a queue by [`Core::make_ready`], which counts it there, or, where a policy is told of it first,
//!   by [`Core::yield_to_policy`]. One that is attached becomes ready in the hands of its scheduler.
//! - What parks or yields has done everything else before: when it leaves, nothing is borrowed, and others run.
//!
//! Not here: the switch itself (`turn.rs`), and what a body calls to wait ([`crate::wait`]).

use super::{Core, Exit, Task};
use crate::log::What;
use crate::mailbox::Message;
use crate::policy::{Candidate, Choice, ChoiceKind, Hint, Why};
use crate::raw::entered::Inside;
use crate::{Co, Outcome, Reason, State, Time, Wake};

impl Core {
    /// Whether a policy was asked where to put it.
    #[inline(always)]
    pub(super) fn make_ready(&self, co: Co, task: &Task, why: Why, hint: Hint) -> bool {
        self.leave_parked(task);
        self.log(self.entry.running.get().co(), || match why {
            Why::Yielded => What::Yielded,
            why => What::Woke { co, why },
        });
        task.become_(State::Ready);
        task.since.set(self.roughly_now());
        if task.has_sink.get() && self.give_to_sink(co, task) {
            return false;
        }
        self.enqueue(co, why, hint)
    }

    /// Puts a coroutine that is ready into the core's own queue. Whether that is a policy's.
    #[inline(always)]
    pub(super) fn enqueue(&self, co: Co, why: Why, hint: Hint) -> bool {
        self.ready.add(co, why, hint, || self.roughly_now());
        if leno_context::is_planted("scope-leaves-early") {
            self.tell_policy();
        }
        self.ready.is_policed()
    }

    /// Gives a coroutine of this core its permit: it goes on now, or does not park next time. Whether it
    /// does now, and a policy decides when: then the running one may [give way](Self::give_way).
    #[inline(always)]
    pub(crate) fn unpark(&self, co: Co, why: Why, hint: Hint) -> bool {
        let Some(task) = self.tasks.get(co) else { return self.unpark_movable(co) };
        let why = match task.state() {
            State::Parked(_) => why,
            State::Calling(_) if !task.attaches.get() => why,
            State::New => Why::Spawned,
            State::Finished(_) => return false,
            _ => {
                task.permit.set(!leno_context::is_planted("wake"));
                return false;
            }
        };
        let is_policy = self.make_ready(co, task, why, hint);
        if is_policy {
            self.ready.woke(co);
        }
        is_policy
    }

    /// Asks the policy who goes on: the running coroutine, or the one that it has made ready last. It
    /// is no place to exit: what the coroutine was doing is done.
    #[cold]
    pub(crate) fn give_way(&self, inside: &Inside<'_>) {
        let Some(woken) = self.ready.take_woken() else { return };
        if self.tell_policy() {
            inside.check_after_hook();
        }
        let is_ready = self.tasks.get(woken).is_some_and(|other| other.state() == State::Ready);
        if !is_ready || is_to_exit(inside.task) || !inside.can_leave() {
            return;
        }
        let candidates = [Candidate::Co(inside.co), Candidate::Co(woken)];
        if self.choose(&Choice::new(ChoiceKind::After, None, &candidates)) == 0 {
            return;
        }
        inside.check_after_hook();
        self.ready.prefer(woken);
        self.give_turn(inside);
    }

    /// Unparks a movable future that has set a timer here, and may be on any core.
    #[cold]
    fn unpark_movable(&self, co: Co) -> bool {
        if co.core() != self.number()
            && let Some(team) = self.membership.team()
        {
            team.answer(&Message::Unpark(co));
        }
        false
    }

    /// Makes a coroutine of this core exit, unless it is doing so already. Returns whether it was
    /// alive.
    pub(crate) fn cancel(&self, co: Co, as_: Outcome) -> bool {
        let Some(task) = self.tasks.get(co) else { return false };
        if task.exit.get() == Exit::No {
            task.exit.set(Exit::Asked { as_, raised: 0 });
            match task.state() {
                State::Parked(_) if task.masked.get() == 0 => {
                    self.make_ready(co, task, Why::Exit, Hint::Back);
                }
                State::Calling(_) if task.masked.get() == 0 && !task.attaches.get() => {
                    self.make_ready(co, task, Why::Exit, Hint::Back);
                }
                State::New => {
                    self.make_ready(co, task, Why::Exit, Hint::Back);
                }
                // Its scheduler may never attach it again.
                State::Ready if task.has_sink.get() => self.take_from_sink(co, task),
                _ => {}
            }
        }
        true
    }

    /// Parks the running coroutine until it is unparked or is to exit.
    #[inline(always)]
    pub(crate) fn park(&self, inside: &Inside<'_>, reason: Reason) -> Wake {
        let task = inside.task;
        if let Some(wake) = may_not_park(inside) {
            return wake;
        }
        self.log(Some(inside.co), || What::Parked(reason));
        self.set_parked(task, reason);
        self.leave(inside);
        wake_of(task)
    }

    /// Hands over to `callee` and parks the running coroutine until it is unparked or is to exit.
    pub(crate) fn call(&self, inside: &Inside<'_>, callee: Co) -> Wake {
        let task = inside.task;
        if let Some(wake) = may_not_park(inside) {
            return wake;
        }
        self.log(Some(inside.co), || What::Calls(callee));
        task.become_(State::Calling(callee));
        crate::wait::unpark_quietly(callee, Hint::Next);
        self.leave(inside);
        wake_of(task)
    }

    /// As [`Self::park`], until `deadline` at most; how often the coroutine had parked before the clock was asked, and
    /// what that said.
    pub(crate) fn park_until(
        &self,
        inside: &Inside<'_>,
        reason: Reason,
        deadline: Time,
        (parks, now): (u32, Time),
    ) -> Wake {
        if deadline <= now {
            return may_not_park(inside).unwrap_or(Wake::TimedOut);
        }
        if inside.task.parks.get() != parks {
            // The clock has parked, and may have taken a wake that is meant for this wait: the caller looks again.
            return wake_of(inside.task);
        }
        let key = self.arm(deadline, inside.co);
        let wake = self.park(inside, reason);
        let fired = !self.disarm(key);
        if fired && wake == Wake::Unparked { Wake::TimedOut } else { wake }
    }

    /// Lets others have their turn first.
    #[inline(always)]
    pub(crate) fn yield_now(&self, inside: &Inside<'_>) -> Wake {
        let task = inside.task;
        if is_to_exit(task) || !inside.can_leave() {
            return Wake::Exit;
        }
        self.give_turn(inside);
        wake_of(task)
    }

    /// The running coroutine is ready, and leaves.
    #[inline(always)]
    pub(super) fn give_turn(&self, inside: &Inside<'_>) {
        if self.ready.is_policed() && !inside.task.has_sink.get() {
            return self.yield_to_policy(inside);
        }
        self.make_ready(inside.co, inside.task, Why::Yielded, Hint::Back);
        self.leave(inside);
    }
}

#[inline(always)]
pub(super) fn is_to_exit(task: &Task) -> bool {
    task.exit.get() != Exit::No && task.masked.get() == 0
}

/// What parking gives at once.
#[inline(always)]
fn may_not_park(inside: &Inside<'_>) -> Option<Wake> {
    let task = inside.task;
    task.parks.set(task.parks.get().wrapping_add(1));
    if is_to_exit(task) || !inside.can_leave() {
        return Some(Wake::Exit);
    }
    task.permit.replace(false).then_some(Wake::Unparked)
}

#[inline(always)]
pub(super) fn wake_of(task: &Task) -> Wake {
    if is_to_exit(task) { Wake::Exit } else { Wake::Unparked }
}
