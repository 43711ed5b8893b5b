//! A thread's call that nothing is in the way of: served at once, by that thread, in two critical sections.
//!
//! Rules 4.12φ2, 4.17 and 4.16 follow each other here without anything that could come between, and so do
//! 4.14 and leaving the helm. What these do one by one is done in one: of a queue into which one is put to be
//! taken out again, nothing remains. Whenever somebody watches, or anything is otherwise than here, the rules
//! are applied one by one.

use super::{Caller, Id, Next, Requester, Stackless, Table};
use crate::State;

impl Table {
    /// A thread's call is served at once, and the helm is taken, if nobody is active or ready, nobody has the
    /// helm, and m is idle and nobody's. What is to be polled; then the caller is taken.
    pub(crate) fn call_directly(&mut self, m: Id, caller: &mut Option<Caller>) -> Option<Next> {
        let is_quiet = self.active.is_none() && self.queue.is_empty() && !self.is_steered;
        if !is_quiet || self.is_stopped || self.is_observed {
            return None;
        }
        let turn = self.turns + 1;
        let cell = self.cell_mut(m);
        let is_free = cell.state == State::Idle && cell.caller.is_none() && cell.callee.is_none();
        if !is_free || !cell.requests.is_empty() {
            return None;
        }
        let mut stackless = cell.stackless.take()?;
        stackless.inner = cell.inner.take();
        cell.state = State::Active;
        let call = caller.as_ref().map(|caller| caller.call.clone());
        cell.caller = caller.take();
        self.active = Some(m);
        self.turns = turn;
        self.is_steered = true;
        Some(Next::Poll { id: m, stackless, turn, call })
    }

    /// A detach from a thread that has the helm, and nothing else is to be done: its body is put back, and the
    /// helm is left. Else the body is given back.
    pub(crate) fn detach_directly(&mut self, id: Id, stackless: Stackless) -> Option<Stackless> {
        if !self.queue.is_empty() || self.is_stopped || self.is_observed {
            return Some(stackless);
        }
        let cell = self.cell_mut(id);
        let is_own = |caller: &Caller| matches!(caller.from, Requester::Outside(_));
        if !cell.requests.is_empty() || !cell.caller.as_ref().is_some_and(is_own) {
            return Some(stackless);
        }
        let caller = cell.caller.take();
        let waiter = caller.as_ref().and_then(|caller| caller.call.settle());
        cell.state = State::Idle;
        cell.is_woken = false;
        cell.stackless = Some(stackless);
        self.active = None;
        self.is_steered = false;
        self.wakes.extend(waiter);
        if let Some(caller) = caller {
            self.spend(caller.call);
        }
        None
    }
}

#[cfg(test)]
mod tests;
