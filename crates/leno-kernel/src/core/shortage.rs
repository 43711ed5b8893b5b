//! When there is no stack for a coroutine that is to start.
//!
//! It waits, and tries again from time to time, as long as a coroutine of its core that has a stack may end: about as
//! long as there was none so far, so that a long shortage costs few tries and a short one little time.
//!
//! Invariant: each coroutine that is parked for a stack has a timer, and what it is to run is in its slot. Nobody else
//! wakes it: who frees a stack does not know who lacks one.

use core::cell::Cell;
use core::time::Duration;

use leno_context::last_words;
use leno_context::stack::StackError;

use super::{Body, Core, Task};
use crate::raw::closure::Closure;
use crate::{Co, Reason, State, Time};

/// How long a coroutine that got no stack waits before it tries again: about as long as there was none, in these bounds.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(100);

/// See the module.
#[derive(Default)]
pub(super) struct Shortage {
    /// When a coroutine first got no stack, and when one last did not.
    began_and_last: Cell<Option<(Time, Time)>>,
}

impl Shortage {
    /// How long to wait after one more try in vain. Where nobody has tried for long, a new shortage begins.
    fn patience(&self, now: Time) -> Duration {
        let began = match self.began_and_last.get() {
            Some((began, last)) if now.since(last) <= 2 * LONGEST => began,
            _ => now,
        };
        self.began_and_last.set(Some((began, now)));
        now.since(began).clamp(SHORTEST, LONGEST)
    }
}

impl Core {
    /// There is no stack: it tries again from time to time, as long as a coroutine that has one may end.
    #[cold]
    pub(super) fn no_stack(
        &self,
        co: Co,
        task: &Task,
        error: &StackError,
        closure: Closure<'static>,
    ) {
        let is_possible = !matches!(error, StackError::TooLarge { .. });
        if is_possible && self.may_free_a_stack() {
            task.body.set(Body::Closure(closure));
            let now = self.roughly_now();
            self.arm(now + self.shortage.patience(now), co);
            self.set_parked(task, Reason::Stack);
            return;
        }
        let about = task.about.borrow().clone();
        last_words::say(format_args!(
            "coroutine {} (spawned at {}) cannot start: {error}",
            about.name.or_id(co.bits()),
            about.site,
        ));
        self.drop_body(co, task, Body::Closure(closure));
    }

    /// Whether a coroutine of this core that has a stack may end. Not if all wait for each other, or for those that
    /// have none yet.
    fn may_free_a_stack(&self) -> bool {
        if !self.tasks.iter().any(|(_, task)| !task.seat.is_free()) {
            return false;
        }
        let is_awake = !self.ready.is_empty()
            || self.membership.has_team()
            || self.is_open()
            || self.mail.bell().is_rung();
        // Each of those that have none has a timer.
        let lacks = |task: &Task| task.state() == State::Parked(Reason::Stack);
        let lacking = || self.tasks.iter().filter(|(_, task)| lacks(task)).count();
        is_awake || self.clock.timers() > lacking()
    }
}
