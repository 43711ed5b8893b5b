//! Rules 4.1, 4.2, 4.13: how bodies end.

use core::any::Any;
use std::sync::Arc;

use leno_kernel::layer::user::Panic;

use super::{Caller, Id, Request, Requester, Table};
use crate::call::AnyCall;
use crate::{CallError, Failure, Party, Refusal, Rule, State};

/// How a body has ended.
pub(crate) enum Ending {
    /// It returned.
    Returned,
    /// It panicked.
    Panicked(Box<dyn Any + Send>),
    /// It was made to exit, with its system or alone.
    Exited,
}

impl Table {
    /// A body has ended. What it has panicked with is given back, if nobody has called it.
    ///
    /// `settle` gives the body's last answer to the call, if it has one, and is left if there is none.
    pub(crate) fn end<F: FnOnce(&dyn AnyCall)>(
        &mut self,
        m: Id,
        ending: Ending,
        settle: &mut Option<F>,
    ) -> Option<Failure> {
        if self.get(m).is_none_or(|cell| cell.state == State::Terminated) {
            // It has ended already: what was raised since was not raised by its body.
            if let Ending::Panicked(payload) = ending {
                self.garbage.push(Box::new(Panic::new(payload)));
            }
            return None;
        }
        let (own, name) = (self.as_requester(m), self.name(m));
        self.cell_mut(m).has_panicked = matches!(ending, Ending::Panicked(_));
        let (rule, failure) = match (self.cell_mut(m).caller.take(), ending) {
            (Some(Caller { from, call }), ending) => {
                match ending {
                    Ending::Returned => match settle.take() {
                        Some(settle) => settle(&*call),
                        None => call.end(&name),
                    },
                    Ending::Panicked(payload) => {
                        call.fail(CallError::Failed(Failure::new(name, payload)))
                    }
                    Ending::Exited => call.fail(self.terminated(from.party(), m).into()),
                }
                (self.release(from, call), None)
            }
            (None, Ending::Panicked(payload)) => {
                (Rule::EndAlone, Some(Failure::new(name, payload)))
            }
            (None, _) => (Rule::EndAlone, None),
        };
        self.terminate(m);
        if rule == Rule::EndAlone {
            self.back_to_main(m);
        }
        self.tell_rule(rule, &own, None);
        failure
    }

    /// Why nobody can have it any more.
    pub(super) fn terminated(&self, by: Party, m: Id) -> Refusal {
        let has_panicked = self.cell(m).has_panicked;
        Refusal::Terminated { by, coroutine: self.name(m), has_panicked }
    }

    /// Whoever has called goes on.
    fn release(&mut self, from: Requester, call: Arc<dyn AnyCall>) -> Rule {
        match from {
            // It will be scheduled, and needs no other waking.
            Requester::Coroutine(n, _) => {
                self.spend(call);
                self.cell_mut(n).callee = None;
                self.go_on(n);
                Rule::EndToCoroutine
            }
            Requester::Outside(_) => {
                self.wake_caller(call);
                Rule::EndToThread
            }
        }
    }

    /// A caller whose callee has gone is waiting; unless it exits itself, with its system.
    fn go_on(&mut self, n: Id) {
        if self.state(n) == State::Calling {
            self.wait(n);
        }
    }

    /// Takes it out of everything. Of its requests, calls fail and kicks are forgotten.
    fn terminate(&mut self, m: Id) {
        if self.active == Some(m) {
            self.active = None;
        }
        self.queue.retain(|other| *other != m);
        // One that is unwound while it was calling leaves its callee to itself.
        if let Some(callee) = self.cell_mut(m).callee.take()
            && let Some(caller) = self.cell_mut(callee).caller.take()
        {
            self.spend(caller.call);
        }
        // When a system stops, requests go before those who have made them.
        let waits_for = self.cell_mut(m).waits_for.take();
        if let Some(other) = waits_for.filter(|other| self.get(*other).is_some()) {
            let is_own = |from: &Requester| matches!(from, Requester::Coroutine(n, _) if *n == m);
            let is_gone = |own: &mut Request| own.call.is_some() && is_own(&own.from);
            let gone: Vec<_> = self.cell_mut(other).requests.extract_if(.., is_gone).collect();
            gone.into_iter().filter_map(|own| own.call).for_each(|call| self.spend(call));
        }
        for request in core::mem::take(&mut self.cell_mut(m).requests) {
            let Some(call) = request.call else { continue };
            let by = request.from.party();
            let refusal = self.terminated(by, m);
            call.fail(refusal.into());
            match request.from {
                Requester::Outside(_) => self.wake_caller(call),
                Requester::Coroutine(n, _) => {
                    self.spend(call);
                    self.cell_mut(n).waits_for = None;
                    self.go_on(n);
                }
            }
        }
        self.cell_mut(m).state = State::Terminated;
        if let Some(co) = self.cell_mut(m).co.take() {
            self.by_co.remove(&co);
        }
        self.free_if_gone(m);
    }
}
