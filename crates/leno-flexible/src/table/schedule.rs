//! Rules 4.16 to 4.18: what happens by itself.

use std::sync::Arc;

use leno_kernel::policy::{Candidate, Choice, ChoiceKind};
use leno_kernel::{Co, choose, has_policy};

use super::{Caller, Id, Request, Requester, Stackless, Table, under_lock};
use crate::call::AnyCall;
use crate::policy::{Pending, Waiting};
use crate::{Rule, State};

/// What a coroutine runs.
pub(crate) type Body = Box<dyn FnOnce() + Send>;

/// What comes of scheduling.
pub(crate) enum Next {
    /// Nobody waits, or somebody is active.
    Nobody,
    /// One was scheduled and is idle: it is attached-only, and nobody has called it.
    InVain,
    /// This one is active now.
    Run {
        id: Id,
        co: Option<Co>,
        /// If it has not started.
        body: Option<Body>,
        stack_size: Option<usize>,
    },
    /// This one is active now, and has no stack.
    Poll {
        id: Id,
        stackless: Stackless,
        /// The number of its turn, which no other has.
        turn: u64,
        /// What it serves.
        call: Option<Arc<dyn AnyCall>>,
    },
}

impl Table {
    /// 4.16. Schedules one of those who wait.
    pub(crate) fn schedule(&mut self) -> Next {
        if !self.is_ready() {
            return Next::Nobody;
        }
        let place = self.pick_waiting();
        let id = self.queue.remove(place).expect("a policy picks one of those who wait");
        if self.cell(id).attached_only && self.cell(id).caller.is_none() {
            self.set(id, State::Idle);
            self.tell_own(Rule::ScheduleInVain, id, None);
            self.attach(id);
            return Next::InVain;
        }
        self.set(id, State::Active);
        self.tell_own(Rule::Schedule, id, None);
        self.turns += 1;
        let turn = self.turns;
        let cell = self.cell_mut(id);
        if let Some(mut stackless) = cell.stackless.take() {
            stackless.inner = cell.inner.take();
            let call = cell.caller.as_ref().map(|caller| caller.call.clone());
            return Next::Poll { id, stackless, turn, call };
        }
        Next::Run { id, co: cell.co, body: cell.body.take(), stack_size: cell.stack_size }
    }

    fn pick_waiting(&mut self) -> usize {
        let len = self.queue.len();
        if len < 2 {
            return 0;
        }
        if let Some(mut policy) = self.schedule.take() {
            let waiting: Vec<_> = self.queue.iter().map(|id| self.as_waiting(*id)).collect();
            let picked = under_lock(&self.has_ended, || {
                let place = policy.pick(&waiting);
                assert!(place < len, "a policy picked number {place} of {len} waiting coroutines");
                place
            });
            match picked {
                Ok(place) => {
                    self.schedule = Some(policy);
                    return place;
                }
                // Nothing has changed yet.
                Err(panic) => {
                    self.garbage.push(Box::new(policy));
                    panic.resume()
                }
            }
        }
        pick_by_kernel(len)
    }

    fn as_waiting(&self, id: Id) -> Waiting {
        let cell = self.cell(id);
        Waiting {
            name: cell.name.clone(),
            priority: cell.priority,
            caller: cell.caller.as_ref().map(|caller| caller.from.party()),
            requests: cell.requests.len(),
        }
    }

    /// 4.17, 4.18. Serves a request, if n is idle and has neither caller nor callee.
    pub(super) fn attach(&mut self, n: Id) {
        let cell = self.cell(n);
        let is_free = cell.caller.is_none() || leno_context::is_planted("attach");
        if cell.state != State::Idle
            || !is_free
            || cell.callee.is_some()
            || cell.requests.is_empty()
        {
            return;
        }
        let place = self.pick_request(n);
        let Request { from, call } = self.cell_mut(n).requests.remove(place);
        let told = self.observer.is_some().then(|| from.clone());
        let rule = match call {
            Some(call) => {
                if let Requester::Coroutine(caller, _) = &from {
                    self.cell_mut(*caller).waits_for = None;
                    self.cell_mut(*caller).callee = Some(n);
                }
                self.cell_mut(n).caller = Some(Caller { from, call });
                Rule::AttachCall
            }
            None => Rule::AttachKick,
        };
        self.wait(n);
        if let Some(from) = told {
            self.tell_rule(rule, &from, Some(n));
        }
    }

    fn pick_request(&mut self, n: Id) -> usize {
        let len = self.cell(n).requests.len();
        if len < 2 {
            return 0;
        }
        if let Some(mut policy) = self.cell_mut(n).serve.take() {
            let as_pending = |own: &Request| Pending { label: own.label(), from: own.from.party() };
            let pending: Vec<_> = self.cell(n).requests.iter().map(as_pending).collect();
            let picked = under_lock(&self.has_ended, || {
                let place = policy.pick(&pending);
                assert!(place < len, "a policy picked number {place} of {len} requests");
                place
            });
            match picked {
                Ok(place) => {
                    self.cell_mut(n).serve = Some(policy);
                    return place;
                }
                Err(panic) => {
                    self.failed(Box::new(policy), panic);
                    return 0;
                }
            }
        }
        pick_by_kernel(len)
    }

    /// The active coroutine has stopped running without an operation of the system: it waits for
    /// something outside, or (`is_ready`) has let others run.
    pub(crate) fn left(&mut self, id: Id, is_ready: bool) {
        if !self.is_active(id) {
            return;
        }
        if is_ready {
            self.yield_now(id);
        } else {
            self.park(id);
        }
    }

    /// It waits for something outside.
    pub(super) fn park(&mut self, id: Id) {
        self.set(id, State::Parked);
        self.tell_own(Rule::Park, id, None);
    }

    /// What it waits for outside has happened. Whether that was so.
    pub(crate) fn came_back(&mut self, id: Id) -> bool {
        let was_parked = self.state(id) == State::Parked;
        if was_parked {
            self.wait(id);
            self.tell_own(Rule::Return, id, None);
        }
        was_parked
    }

    /// It runs on this stack.
    pub(crate) fn started(&mut self, id: Id, co: Co) {
        self.cell_mut(id).co = Some(co);
        self.by_co.insert(co, id);
    }
}

/// The first, unless the kernel's policy says otherwise, as in tests that explore.
fn pick_by_kernel(len: usize) -> usize {
    if !has_policy() {
        return 0;
    }
    let candidates: Vec<_> = (0..len as u64).map(Candidate::Other).collect();
    choose(&Choice::new(ChoiceKind::Waiter, None, &candidates))
}
