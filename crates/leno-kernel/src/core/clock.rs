//! A core's time: its platform's clock, what that last said, and who is to be woken when.
//!
//! The platform's clock may be slow, and it may be code of a user. So the loop asks it once for some turns, and what
//! happens between two looks happened at the time of the first ([`CoreClock::roughly`]).
//!
//! Invariants:
//! - `looked` is what the platform's clock has said last; it never goes back if that does not, which a platform promises.
//! - The clock of a user is asked by the loop, between turns, and for code that asks for the time itself; never in the
//!   middle of an operation ([`CoreClock::in_operation`]).
//! - A timer that fires is taken out first: who is woken by it finds it gone.
//!
//! Not here: the wheel in which timers are kept ([`crate::timers`]).

use core::cell::Cell;
use std::rc::Rc;

use super::{Core, StateCell};
use crate::policy::{Candidate, Choice, ChoiceKind, Hint, Why};
use crate::timers::{TimerKey, Timers};
use crate::{Co, Platform, Time};

/// See the module.
pub(crate) struct CoreClock {
    platform: Rc<dyn Platform>,
    /// Whether time is virtual, as the platform has said once.
    is_virtual: bool,
    /// The platform is code of a user.
    is_foreign: bool,
    /// What time it was when the core last looked.
    looked: Cell<Time>,
    timers: StateCell<Timers<Co>>,
}

impl CoreClock {
    /// That of a platform on which it is `now`.
    pub(super) fn new(platform: Box<dyn Platform>, now: Time, is_virtual: bool) -> CoreClock {
        CoreClock {
            platform: platform.into(),
            is_virtual,
            is_foreign: false,
            looked: Cell::new(now),
            timers: StateCell::new(Timers::new(now)),
        }
    }

    /// Says whether the platform is code of a user.
    pub(super) fn set_foreign(&mut self, is_foreign: bool) {
        self.is_foreign = is_foreign;
    }

    /// The machine below, which may be code of a user: other code than the loop's clones it, and calls it when nothing
    /// refers to the core.
    pub(crate) fn platform(&self) -> &Rc<dyn Platform> {
        &self.platform
    }

    #[inline(always)]
    pub(crate) fn is_virtual(&self) -> bool {
        self.is_virtual
    }

    /// What time it was when the core last looked.
    #[inline(always)]
    pub(crate) fn roughly(&self) -> Time {
        self.looked.get()
    }

    /// What time it is in the middle of an operation: by a clock of a user's, when it was last asked.
    pub(crate) fn in_operation(&self) -> Time {
        if self.is_foreign { self.looked.get() } else { self.platform.now() }
    }

    /// Asks the platform.
    fn look(&self) -> Time {
        let now = self.platform.now();
        self.looked.set(now);
        now
    }

    /// When the next timer is due.
    #[inline(always)]
    pub(crate) fn next_timer(&self) -> Option<Time> {
        self.timers.borrow().next()
    }

    /// How many timers are set.
    pub(super) fn timers(&self) -> usize {
        self.timers.borrow().len()
    }

    /// Whether a timer may be due by now. The clock of a user is not asked in the middle of an operation: the loop
    /// does, if any timer is set.
    pub(super) fn is_timer_due(&self) -> bool {
        let next = self.next_timer();
        next.is_some_and(|when| self.is_foreign || when <= self.in_operation())
    }

    /// Whose timers are due at the same time.
    fn due_now(&self) -> Vec<Candidate> {
        self.timers.borrow_mut().ties().map(|(_, co)| Candidate::Co(*co)).collect()
    }
}

impl Core {
    /// What time it is, roughly: when the loop last looked.
    #[inline(always)]
    pub(crate) fn roughly_now(&self) -> Time {
        self.clock.roughly()
    }

    /// Whether someone is due to be woken by time.
    pub(crate) fn has_timers(&self) -> bool {
        self.clock.next_timer().is_some()
    }

    /// Unparks a coroutine at a certain time, unless the timer is removed before.
    pub(crate) fn arm(&self, when: Time, co: Co) -> TimerKey {
        self.clock.timers.borrow_mut().insert(when, co)
    }

    /// Removes a timer; whether it was still armed.
    pub(crate) fn disarm(&self, key: TimerKey) -> bool {
        self.clock.timers.borrow_mut().remove(key).is_some()
    }

    fn look_at_clock(&self) -> Time {
        let now = self.clock.look();
        self.observation.window().looked(now);
        now
    }

    /// Looks at the clock, and wakes those whose time has come.
    pub(super) fn fire_timers(&self) {
        if self.clock.timers.borrow().is_empty() {
            self.look_at_clock();
            return;
        }
        let now = self.look_at_clock();
        self.clock.timers.borrow_mut().advance(now);
        loop {
            let due = self.take_due();
            let Some((_, co)) = due else { return };
            self.unpark(co, Why::Time, Hint::Back);
        }
    }

    /// The timer that fires next; which of those that are due at the same time, a policy says.
    fn take_due(&self) -> Option<(Time, Co)> {
        if !self.ready.is_policed() {
            return self.clock.timers.borrow_mut().pop_due();
        }
        let ties = self.clock.due_now();
        if ties.len() < 2 {
            return self.clock.timers.borrow_mut().pop_due();
        }
        let chosen = self.choose(&Choice::new(ChoiceKind::Timer, None, &ties));
        // What the policy did meanwhile may have set or removed timers.
        let chosen = if self.clock.due_now() == ties { chosen } else { 0 };
        self.clock.timers.borrow_mut().pop_due_nth(chosen)
    }
}
