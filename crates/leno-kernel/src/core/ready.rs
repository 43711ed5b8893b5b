//! Who is ready on a core, in the order in which they have their turns.
//!
//! Coroutines of the core are here by name. Movable futures that a policy puts in order are here themselves, because
//! nobody else has them meanwhile.
//!
//! Invariants:
//! - `length` counts exactly those that are here: the core's coroutines that are ready and in no sink, and `movables`.
//!   What adds one counts it in the same function. One that is picked is counted until its turn begins, which is at
//!   once: no code of users runs in between.
//! - `is_policed` says whether `order` is a policy's, for those who ask at each turn.
//! - Nothing is borrowed when a policy is called: that is done in `policed.rs`, which takes it out meanwhile. `calls`
//!   counts how many of its calls have not returned, since one may be in a coroutine that is suspended.
//!
//! Not here: what the order is ([`super::queue`]), and when a policy is asked.

use core::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::queue::{Note, Queue};
use super::{Core, StateCell};
use crate::policy::{Hint, Policy, Why};
use crate::system::Movable;
use crate::world::Steps;
use crate::{Co, Time};

/// Queues longer than this are loaded early.
pub(super) const FITS_CACHE: usize = 512;
/// How many turns before its own a coroutine is loaded; what the core knows of it, twice as many.
pub(super) const AHEAD: usize = 8;

/// See the module.
pub(super) struct ReadyQueue {
    order: StateCell<Queue>,
    length: Cell<usize>,
    is_policed: Cell<bool>,
    /// How many calls of the policy have not returned.
    calls: Cell<u32>,
    movables: StateCell<HashMap<Co, Arc<Movable>>>,
}

impl ReadyQueue {
    /// An empty one, in the order of a policy, if there is one; see [`Queue::new`].
    pub(super) fn new(policy: Option<Box<dyn Policy>>, steps: Option<Steps>) -> ReadyQueue {
        ReadyQueue {
            is_policed: Cell::new(policy.is_some()),
            order: StateCell::new(Queue::new(policy, steps)),
            length: Cell::new(0),
            calls: Cell::new(0),
            movables: StateCell::default(),
        }
    }

    #[inline(always)]
    pub(super) fn length(&self) -> usize {
        self.length.get()
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.length.get() == 0
    }

    /// Whether a policy decides who runs next.
    #[inline(always)]
    pub(super) fn is_policed(&self) -> bool {
        self.is_policed.get()
    }

    /// Adds a coroutine that has become ready. `now` says what time it is, if a policy is to be told.
    #[inline(always)]
    pub(super) fn add(&self, co: Co, why: Why, hint: Hint, now: impl FnOnce() -> Time) {
        self.length.set(self.length.get() + 1);
        self.order.borrow_mut().ready(co, why, hint, now);
    }

    /// Adds a coroutine of which the policy was told already.
    pub(super) fn add_told(&self) {
        self.length.set(self.length.get() + 1);
    }

    /// Adds a movable future, for a policy to put in order.
    pub(super) fn add_movable(
        &self,
        movable: Arc<Movable>,
        why: Why,
        hint: Hint,
        now: impl FnOnce() -> Time,
    ) {
        let co = movable.co;
        let before = self.movables.borrow_mut().insert(co, movable);
        drop(before);
        self.add(co, why, hint, now);
    }

    /// The turn of the one that was picked begins.
    #[inline(always)]
    pub(super) fn begin_turn(&self) {
        self.length.set(self.length.get() - 1);
    }

    /// Takes out a coroutine that will not have its turn by this queue.
    pub(super) fn forget(&self, co: Co) {
        self.order.borrow_mut().forget(co);
        self.length.set(self.length.get() - 1);
    }

    /// Who came first, if that decides.
    #[inline(always)]
    pub(super) fn first(&self) -> Option<Co> {
        self.order.borrow().first_come()
    }

    /// In the order in which they came, if that decides.
    pub(super) fn in_order(&self) -> Option<Vec<Co>> {
        match &*self.order.borrow() {
            Queue::Fifo(queue) => Some(queue.iter().copied().collect()),
            Queue::Policy(_) => None,
        }
    }

    /// How many the order has, if it has them itself.
    pub(super) fn length_of_order(&self) -> Option<usize> {
        match &*self.order.borrow() {
            Queue::Fifo(queue) => Some(queue.len()),
            Queue::Policy(_) => None,
        }
    }

    /// How many movable futures are here.
    pub(super) fn movables(&self) -> usize {
        self.movables.borrow().len()
    }

    /// The movable future of this name, if it is here.
    pub(super) fn movable(&self, co: Co) -> Option<Arc<Movable>> {
        self.movables.borrow().get(&co).cloned()
    }

    pub(super) fn has_movable(&self, co: Co) -> bool {
        self.movables.borrow().contains_key(&co)
    }

    /// The movable future of this name, whose turn begins.
    pub(super) fn take_movable(&self, co: Co) -> Option<Arc<Movable>> {
        self.movables.borrow_mut().remove(&co)
    }
}

/// What a policy decides, and is told.
impl ReadyQueue {
    /// Remembers whom the running coroutine has made ready.
    #[inline(always)]
    pub(super) fn woke(&self, co: Co) {
        self.order.borrow_mut().woke(co);
    }

    /// Whom the running coroutine has made ready last, unless it was asked before.
    pub(super) fn take_woken(&self) -> Option<Co> {
        self.order.borrow_mut().take_woken()
    }

    /// Has one that is ready run next.
    pub(super) fn prefer(&self, co: Co) {
        self.order.borrow_mut().prefer(co);
    }

    /// Takes out who runs next, if the order says so itself; its [turn begins](Self::begin_turn).
    pub(super) fn pick(&self) -> Option<Co> {
        self.order.borrow_mut().pick()
    }

    /// The list that is changed in place of telling the policy.
    pub(super) fn steps(&self) -> Option<Steps> {
        self.order.borrow().steps()
    }

    /// Whether the policy has not been told everything.
    pub(super) fn has_notes(&self) -> bool {
        self.order.borrow().has_notes()
    }

    /// The next thing that the policy is to be told.
    pub(super) fn next_note(&self) -> Option<Note> {
        self.order.borrow_mut().next_note()
    }

    /// The policy has given back one of which it has not been told.
    pub(super) fn heard_of(&self, co: Co) {
        self.order.borrow_mut().heard_of(co);
    }

    /// Takes the policy out, to call it. `None` if there is none, or it is being called.
    pub(super) fn take_policy(&self) -> Option<Box<dyn Policy>> {
        self.order.borrow_mut().take_policy()
    }

    /// Puts the policy back after a call; gives it back if it decides no more.
    pub(super) fn put_back(&self, policy: Box<dyn Policy>) -> Option<Box<dyn Policy>> {
        self.order.borrow_mut().put_back(policy)
    }

    /// Whether there is a policy, which is being called.
    pub(super) fn is_away(&self) -> bool {
        self.order.borrow().is_away()
    }

    /// First come, first served from now on, beginning with these and with the movable futures. Gives back the policy,
    /// if it is not being called.
    pub(super) fn depose(&self, mut ready: VecDeque<Co>) -> Option<Box<dyn Policy>> {
        ready.extend(self.movables.borrow().keys());
        self.length.set(ready.len());
        self.is_policed.set(false);
        self.order.borrow_mut().depose(ready)
    }

    /// A call of the policy begins.
    pub(super) fn begin_call(&self) {
        self.calls.set(self.calls.get() + 1);
    }

    /// It is over, and nothing that it refers to is left.
    pub(super) fn end_call(&self) {
        self.calls.set(self.calls.get() - 1);
    }

    /// Whether a call of the policy has not returned.
    pub(super) fn is_in_call(&self) -> bool {
        self.calls.get() > 0
    }
}

impl Core {
    /// Takes out of the queue who runs next, and whose turn is to begin. In a long queue those who run soon are in no
    /// cache: starts loading them.
    #[inline(always)]
    pub(super) fn pick(&self) -> Option<Co> {
        if self.ready.is_policed() {
            return self.ask_policy();
        }
        let mut order = self.ready.order.borrow_mut();
        let next = order.pick();
        if self.ready.length() > FITS_CACHE {
            self.load_early(order.peek(2 * AHEAD), order.peek(AHEAD));
        }
        next
    }

    /// Starts loading those who run later, and soon.
    #[inline(always)]
    pub(super) fn load_early(&self, later: Option<Co>, soon: Option<Co>) {
        if let Some(later) = later {
            self.tasks.prefetch(later);
        }
        if let Some(task) = soon.and_then(|soon| self.tasks.get(soon)) {
            task.seat.prefetch();
        }
    }
}

#[cfg(all(test, not(loom)))]
impl ReadyQueue {
    /// The order, in which a test plants what the checks must find.
    pub(super) fn order(&self) -> &StateCell<Queue> {
        &self.order
    }
}
