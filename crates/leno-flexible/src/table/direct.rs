//! A thread's call that nothing is in the way of: served at once, by that thread, in two critical sections.
//!
//! Rules 4.12φ2, 4.17 and 4.16 follow each other here without anything that could come between, and so do
//! 4.14 and leaving the helm. What these do one by one is done in one: of a queue into which one is put to be
//! taken out again, nothing remains. Whenever anything is otherwise than here, the rules are applied one by one.
//!
//! An observer is told of the rules all the same, each with the system as it would be after it.
//!
//! In a world others may do something between two rules, so the driver says whether a call that could be served at
//! once is: then this is what runs. A detach and what follows it are one critical section in any case.

use super::{Caller, Id, Next, Requester, Spent, Stackless, Table};
use crate::policy::Pending;
use crate::snapshot::Snapshot;
use crate::{Label, Rule, State};

impl Table {
    /// Whether a thread's call could be served at once: nobody is active or ready, nobody has the helm, and m is idle
    /// and nobody's.
    pub(crate) fn serves_at_once(&self, m: Id) -> bool {
        let is_quiet = self.active.is_none() && self.queue.is_empty() && !self.is_steered;
        if !is_quiet || self.is_stopped {
            return false;
        }
        let cell = self.cell(m);
        let is_free = cell.state == State::Idle && cell.caller.is_none() && cell.callee.is_none();
        is_free && cell.requests.is_empty() && cell.stackless.is_some()
    }

    /// A thread's call is served at once, and the helm is taken, if that can be. What is to be polled; then the caller
    /// is taken.
    pub(crate) fn call_directly(&mut self, m: Id, caller: &mut Option<Caller>) -> Option<Next> {
        if !self.serves_at_once(m) {
            return None;
        }
        let turn = self.turns + 1;
        let cell = self.cell_mut(m);
        let mut stackless = cell.stackless.take()?;
        stackless.inner = cell.inner.take();
        cell.state = State::Active;
        let call = caller.as_ref().map(|caller| caller.call.clone());
        cell.caller = caller.take();
        self.active = Some(m);
        self.turns = turn;
        self.is_steered = true;
        if self.is_observed {
            self.tell_served(m);
        }
        Some(Next::Poll { id: m, stackless, turn, call })
    }

    /// A detach from a thread that has the helm, and nothing else is to be done: its body is put back, and the
    /// helm is left. Else the body is given back.
    pub(crate) fn detach_directly(&mut self, id: Id, stackless: Stackless) -> Option<Stackless> {
        if !self.queue.is_empty() || self.is_stopped {
            return Some(stackless);
        }
        let cell = self.cell_mut(id);
        let is_own = |caller: &Caller| matches!(caller.from, Requester::Outside(_));
        let is_asked = !cell.requests.is_empty() && !leno_context::is_planted("direct");
        if is_asked || !cell.caller.as_ref().is_some_and(is_own) {
            return Some(stackless);
        }
        let caller = cell.caller.take();
        cell.state = State::Idle;
        cell.is_woken = false;
        cell.stackless = Some(stackless);
        self.active = None;
        self.is_steered = false;
        if let Some(caller) = caller {
            let wakes = caller.call.settle();
            self.leave_call(Spent { call: caller.call, wakes });
        }
        if self.is_observed {
            self.tell_own(Rule::DetachFromThread, id, None);
        }
        None
    }

    /// Tells the observer of the rules by which a call of m would have come this far.
    #[cold]
    fn tell_served(&mut self, m: Id) {
        let Some(from) = self.cell(m).caller.as_ref().map(|caller| caller.from.clone()) else {
            return;
        };
        self.tell_rule(Rule::CallByThreadPlain, &from, Some(m));
        self.change_last(m, |seen, own| {
            let caller = seen.coroutines[own].caller.take();
            let pending = caller.map(|from| Pending { label: Label::Call, from });
            seen.coroutines[own].requests.extend(pending);
            seen.coroutines[own].state = State::Idle;
        });
        self.tell_rule(Rule::AttachCall, &from, Some(m));
        self.change_last(m, |seen, own| {
            seen.coroutines[own].state = State::Waiting;
            seen.queue.push(seen.coroutines[own].name.clone());
        });
        self.tell_own(Rule::Schedule, m, None);
    }

    /// Changes what was seen at the last event, given the place of m.
    fn change_last(&mut self, m: Id, change: impl FnOnce(&mut Snapshot, usize)) {
        let place = self.ids().position(|id| id == m);
        if let Some((_, Some(seen))) = self.events.back_mut()
            && let Some(place) = place
        {
            change(seen, place);
        }
    }
}

#[cfg(test)]
mod tests;
