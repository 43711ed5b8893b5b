//! Rules 4.3 to 4.10: what the active coroutine does.

use std::sync::Arc;

use super::{Caller, Id, Request, Requester, Table};
use crate::call::AnyCall;
use crate::event::What;
use crate::{Refusal, Rule, State};

impl Table {
    /// What ends a turn is done in a turn: not by a body without a stack that has ended its turn already, nor by one
    /// that somebody else than its scheduler has attached.
    pub(crate) fn check_turn(&self, n: Id) -> Result<(), Refusal> {
        match self.is_active(n) {
            true => Ok(()),
            false => Err(Refusal::TurnEnded { coroutine: self.name(n) }),
        }
    }

    /// 4.4. A coroutine calls another.
    pub(crate) fn call(&mut self, n: Id, m: Id, call: Arc<dyn AnyCall>) -> Result<(), Refusal> {
        let k = self.bottom(m);
        if let Some(refusal) = self.refusal(n, m, k, true) {
            return Err(self.refuse(n, m, refusal));
        }
        let from = self.as_requester(n);
        self.set(n, State::Calling);
        self.cell_mut(n).callee = Some(m);
        self.cell_mut(m).caller = Some(Caller { from: from.clone(), call });
        self.wait(k);
        self.tell_rule(Rule::CallByCoroutine, &from, Some(m));
        Ok(())
    }

    /// The same, but if m is busy, n waits for its turn with it. A wait that n itself would have to end is
    /// refused.
    pub(crate) fn call_wait(
        &mut self,
        n: Id,
        m: Id,
        call: Arc<dyn AnyCall>,
    ) -> Result<(), Refusal> {
        match self.refusal(n, m, self.bottom(m), true) {
            Some(Refusal::Busy { .. }) => {}
            _ => return self.call(n, m, call),
        }
        if self.would_wait_for(m, n) {
            let refusal = Refusal::Cycle { caller: self.name(n), callee: self.name(m) };
            return Err(self.refuse(n, m, refusal));
        }
        let from = self.as_requester(n);
        self.set(n, State::Calling);
        self.cell_mut(n).waits_for = Some(m);
        self.request(m, from.clone(), Some(call));
        if self.cell(m).callee.is_some() {
            self.chase(m);
        }
        self.tell_rule(Rule::CallWait, &from, Some(m));
        Ok(())
    }

    /// n's time for its call of m is over, whether m serves it or not: n goes on. `None` if it does so
    /// anyway, because its call is settled.
    pub(crate) fn give_up(&mut self, n: Id, m: Id) -> Option<Option<State>> {
        if self.state(n) != State::Calling {
            return None;
        }
        self.cell_mut(n).callee = None;
        self.cell_mut(n).waits_for = None;
        let is_own =
            |from: &Requester| matches!(from, Requester::Coroutine(other, _) if *other == n);
        let is_gone = |request: &mut Request| request.call.is_some() && is_own(&request.from);
        let cell = self.cell_mut(m);
        let gone: Vec<_> = cell.requests.extract_if(.., is_gone).collect();
        let caller = cell.caller.take_if(|caller| is_own(&caller.from));
        let served = caller.is_some().then_some(cell.state);
        let calls = gone.into_iter().filter_map(|request| request.call);
        calls.chain(caller.map(|caller| caller.call)).for_each(|call| self.spend(call));
        self.wait(n);
        let rule = if served.is_some() { Rule::WithdrawServed } else { Rule::WithdrawPending };
        self.tell_own(rule, n, Some(m));
        self.attach(m);
        Some(served)
    }

    /// Whether m can be free only after n has gone on.
    fn would_wait_for(&self, m: Id, n: Id) -> bool {
        let mut m = m;
        for _ in 0..=self.slots.len() {
            let k = self.bottom(m);
            match self.cell(k).waits_for {
                _ if k == n => return true,
                Some(next) => m = next,
                None => return false,
            }
        }
        true
    }

    /// Why n may not call or resume m, whose bottom is k.
    fn refusal(&self, n: Id, m: Id, k: Id, is_call: bool) -> Option<Refusal> {
        let (own, state) = (self.cell(m), self.state(k));
        if self.is_stopped {
            return Some(Refusal::Stopped { coroutine: own.name.clone() });
        }
        if k == n {
            return Some(Refusal::Cycle { caller: self.name(n), callee: self.name(m) });
        }
        if state == State::Terminated {
            let by = self.as_requester(n).party();
            return Some(self.terminated(by, m));
        }
        let is_attached = own.caller.is_some() && (is_call || self.is_simula);
        if state == State::Idle && !is_attached {
            return None;
        }
        let caller = own.caller.as_ref().map(|caller| caller.from.party());
        Some(Refusal::Busy { by: self.name(n), coroutine: own.name.clone(), state, caller })
    }

    fn refuse(&mut self, n: Id, m: Id, refusal: Refusal) -> Refusal {
        self.tell(|table| {
            let by = table.as_requester(n).party();
            (by, What::Refused(refusal.clone()), Some(table.name(m)))
        });
        refusal
    }

    /// 4.5, 4.6, 4.14. Detach: `settle` gives the answer to the call, and is left if there is none.
    pub(crate) fn detach<F: FnOnce(&dyn AnyCall)>(&mut self, m: Id, settle: &mut Option<F>) {
        let mut settle = |call: &dyn AnyCall| settle.take().into_iter().for_each(|own| own(call));
        let rule = match self.cell_mut(m).caller.take() {
            Some(Caller { from: Requester::Coroutine(n, _), call }) => {
                // It will be scheduled, and needs no other waking.
                settle(&*call);
                self.spend(call);
                self.cell_mut(n).callee = None;
                self.wait(n);
                Rule::DetachFromCoroutine
            }
            Some(Caller { from: Requester::Outside(_), call }) => {
                settle(&*call);
                self.wake_caller(call);
                Rule::DetachFromThread
            }
            None => {
                self.back_to_main(m);
                Rule::DetachAlone
            }
        };
        self.set(m, State::Idle);
        self.tell_own(rule, m, None);
        self.attach(m);
    }

    /// In Simula mode: whoever leaves without a caller goes to main.
    pub(super) fn back_to_main(&mut self, n: Id) {
        let main = self.main.filter(|main| *main != n && self.get(*main).is_some());
        if let Some(main) = main.filter(|_| self.is_simula) {
            self.chase(main);
        }
    }

    /// 4.7. Resume.
    pub(crate) fn resume(&mut self, n: Id, m: Id) -> Result<(), Refusal> {
        let k = if leno_context::is_planted("chain") { m } else { self.bottom(m) };
        if let Some(refusal) = self.refusal(n, m, k, false) {
            return Err(self.refuse(n, m, refusal));
        }
        self.wait(k);
        self.set(n, State::Idle);
        self.tell_own(Rule::Resume, n, Some(m));
        self.attach(n);
        Ok(())
    }

    /// 4.9. Passivate. With a permit, it is as if it were kicked at once.
    pub(crate) fn passivate(&mut self, n: Id) {
        if core::mem::take(&mut self.cell_mut(n).permit) {
            self.wait(n);
            self.tell_own(Rule::PassivateProdded, n, None);
            return;
        }
        self.set(n, State::Idle);
        self.tell_own(Rule::Passivate, n, None);
        self.attach(n);
    }

    /// 4.10. Yield.
    pub(crate) fn yield_now(&mut self, n: Id) {
        self.wait(n);
        self.tell_own(Rule::Yield, n, None);
    }

    /// 4.6.1. A spinning body begins again.
    pub(crate) fn spin(&mut self, n: Id) {
        self.tell_own(Rule::Spin, n, None);
    }

    /// K: an idle bottom becomes waiting.
    pub(super) fn chase(&mut self, m: Id) {
        let k = self.bottom(m);
        if self.state(k) == State::Idle {
            self.wait(k);
        }
    }
}
