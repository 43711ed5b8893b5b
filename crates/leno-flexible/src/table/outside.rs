//! Rules 4.8, 4.11 to 4.15: what threads do, and kicks, which coroutines do in the same way.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use super::{Id, Request, Requester, Table};
use crate::call::AnyCall;
use crate::event::What;
use crate::{Refusal, Rule, State};

impl Table {
    /// 4.3, 4.11. A coroutine was created.
    pub(crate) fn created(&mut self, by: &Requester, id: Id) {
        let rule = match by {
            Requester::Coroutine(..) => Rule::CreateByCoroutine,
            Requester::Outside(_) => Rule::CreateByThread,
        };
        self.tell_rule(rule, by, Some(id));
    }

    fn refuse_outside(&mut self, by: &Requester, m: Id) -> Option<Refusal> {
        let refusal = match self.state(m) {
            _ if self.is_stopped => Refusal::Stopped { coroutine: self.name(m) },
            State::Terminated => self.terminated(by.party(), m),
            _ => return None,
        };
        self.tell(|table| (by.party(), What::Refused(refusal.clone()), Some(table.name(m))));
        Some(refusal)
    }

    /// 4.12φ1, 4.12φ2. A thread calls.
    pub(crate) fn call_from_outside(
        &mut self,
        from: Requester,
        m: Id,
        call: Arc<dyn AnyCall>,
    ) -> Result<(), Refusal> {
        if let Some(refusal) = self.refuse_outside(&from, m) {
            return Err(refusal);
        }
        let told = self.is_observed.then(|| from.clone());
        self.request(m, from, Some(call));
        let rule = if self.cell(m).callee.is_some() {
            self.chase(m);
            Rule::CallByThreadChain
        } else {
            Rule::CallByThreadPlain
        };
        if let Some(from) = told {
            self.tell_rule(rule, &from, Some(m));
        }
        self.attach(m);
        Ok(())
    }

    /// 4.8, 4.8φ, 4.15, 4.15φ. A kick: an idle bottom becomes waiting, else it is kept by m.
    pub(crate) fn kick(&mut self, from: &Requester, m: Id) -> Result<(), Refusal> {
        if let Some(refusal) = self.refuse_outside(from, m) {
            return Err(refusal);
        }
        let k = self.bottom(m);
        let state = self.state(k);
        if state == State::Idle {
            self.wait(k);
        } else {
            let keeper = if leno_context::is_planted("keep") { k } else { m };
            self.request(keeper, from.clone(), None);
        }
        let rule = match (from, state) {
            (Requester::Coroutine(..), State::Idle) => Rule::KickByCoroutine,
            (Requester::Coroutine(..), State::Active) => Rule::KickByCoroutineActive,
            (Requester::Coroutine(..), _) => Rule::KickByCoroutineWaiting,
            (Requester::Outside(_), State::Idle) => Rule::KickByThread,
            (Requester::Outside(_), State::Active) => Rule::KickByThreadActive,
            (Requester::Outside(_), _) => Rule::KickByThreadWaiting,
        };
        self.tell_rule(rule, from, Some(m));
        Ok(())
    }

    /// A kick that is kept for the next passivate, if m is doing something else.
    pub(crate) fn permit(&mut self, from: &Requester, m: Id) -> Result<(), Refusal> {
        if let Some(refusal) = self.refuse_outside(from, m) {
            return Err(refusal);
        }
        let rule = if self.state(self.bottom(m)) == State::Idle {
            self.chase(m);
            Rule::Prod
        } else {
            self.cell_mut(m).permit = true;
            Rule::ProdKept
        };
        self.tell_rule(rule, from, Some(m));
        Ok(())
    }

    /// A caller gives up. What was done for it when it did: `None` if the call was still pending, else
    /// what the coroutine was doing, which goes on without it.
    pub(crate) fn withdraw(&mut self, m: Id, call: &Arc<dyn AnyCall>) -> Option<State> {
        self.get(m)?;
        let is_it = |other: &Arc<dyn AnyCall>| Arc::ptr_eq(other, call);
        let cell = self.cell_mut(m);
        let pending = |request: &Request| request.call.as_ref().is_some_and(is_it);
        if let Some(place) = cell.requests.iter().position(pending) {
            let request = cell.requests.remove(place);
            self.garbage.push(call.withdraw());
            self.tell_rule(Rule::WithdrawPending, &request.from, Some(m));
            self.calls_no_more(&request.from);
            return None;
        }
        // Whoever gives up has the call still, so it is not dropped here.
        let caller = cell.caller.take_if(|caller| is_it(&caller.call))?;
        let state = cell.state;
        self.garbage.push(call.withdraw());
        self.tell_rule(Rule::WithdrawServed, &caller.from, Some(m));
        self.calls_no_more(&caller.from);
        self.attach(m);
        Some(state)
    }

    /// A coroutine without a stack has given up its call. In the turn in which it has made that, it goes on with its
    /// turn. Later it stands in the queue: what it waits for besides may have happened meanwhile.
    fn calls_no_more(&mut self, from: &Requester) {
        let Requester::Coroutine(n, _) = *from else { return };
        let Some(cell) = self.get_mut(n) else { return };
        cell.callee = None;
        cell.waits_for = None;
        let (state, is_polled) = (cell.state, cell.stackless.is_none());
        match state {
            State::Calling if self.is_stopped => {}
            // Nobody else is active: whoever polls it has the helm.
            State::Calling if is_polled => self.set(n, State::Active),
            State::Calling => self.wait(n),
            _ => {}
        }
    }

    /// The system ends: nobody who waits will be answered.
    pub(crate) fn stop(&mut self) {
        self.is_stopped = true;
        self.has_ended.store(true, SeqCst);
        // What has happened before is still told.
        self.is_observed = false;
        if self.events.is_empty() {
            let observer = self.observer.take();
            self.garbage.push(Box::new(observer));
        }
        let ids: Vec<Id> = self.ids().collect();
        for id in ids {
            let coroutine = self.name(id);
            let cell = self.cell_mut(id);
            let body = cell.body.take();
            let outside = cell.caller.take_if(|own| matches!(own.from, Requester::Outside(_)));
            let requests = core::mem::take(&mut cell.requests);
            let of_coroutine = |own: &Request| match own.from {
                Requester::Coroutine(n, _) => own.call.is_some().then_some(n),
                Requester::Outside(_) => None,
            };
            // They name it no more: it may be gone before they are.
            let waiting: Vec<_> = requests.iter().filter_map(of_coroutine).collect();
            let calls = requests.into_iter().filter_map(|own| own.call);
            let calls = calls.chain(outside.map(|caller| caller.call));
            let error = || Refusal::Stopped { coroutine: coroutine.clone() }.into();
            let calls: Vec<_> = calls.collect();
            for n in waiting {
                self.get_mut(n).into_iter().for_each(|cell| cell.waits_for = None);
            }
            for call in calls {
                call.fail(error());
                self.wake_caller(call);
            }
            self.garbage.push(Box::new(body));
        }
    }
}
