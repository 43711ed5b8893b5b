//! Rules 4.16 to 4.18: what happens by itself.

use std::sync::Arc;

use leno_kernel::Co;
use leno_kernel::layer::has_policy;

use super::{Caller, Id, Question, Request, Requester, Stackless, Table};
use crate::call::AnyCall;
use crate::policy::Waiting;
use crate::{Rule, State};

/// What a coroutine runs.
pub(crate) type Body = Box<dyn FnOnce() + Send>;

/// What comes of scheduling.
pub(crate) enum Next {
    /// Nobody waits, or somebody is active.
    Nobody,
    /// A policy has to choose: see [`Shared::answer`](crate::shared::Shared::answer).
    Ask(Question),
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
        if self.queue.len() > 1 && (self.schedule.is_some() || has_policy()) {
            return Next::Ask(self.question());
        }
        self.schedule_at(0)
    }

    /// The same, when it is known whom.
    pub(super) fn schedule_at(&mut self, place: usize) -> Next {
        let id = self.queue.remove(place).expect("somebody waits there");
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

    pub(super) fn as_waiting(&self, id: Id) -> Waiting {
        let cell = self.cell(id);
        Waiting {
            name: cell.name.clone(),
            priority: cell.priority,
            caller: cell.caller.as_ref().map(|caller| caller.from.party()),
            requests: cell.requests.len(),
        }
    }

    /// 4.17, 4.18. Serves a request, if n is idle and has neither caller nor callee.
    ///
    /// If a policy has to choose one of several, it does so when the lock is free, and n is idle until then. What
    /// others do to n meanwhile are rules that apply to an idle one.
    pub(super) fn attach(&mut self, n: Id) {
        let is_chosen = self.cell(n).serve.is_some() || has_policy();
        if self.can_attach(n) && !self.cell(n).is_undecided {
            if is_chosen && self.cell(n).requests.len() > 1 {
                self.cell_mut(n).is_undecided = true;
                self.undecided.push(n);
            } else {
                self.attach_at(n, 0);
            }
        }
    }

    pub(super) fn can_attach(&self, n: Id) -> bool {
        let cell = self.cell(n);
        let is_free = cell.caller.is_none() || leno_context::is_planted("attach");
        cell.state == State::Idle && is_free && cell.callee.is_none() && !cell.requests.is_empty()
    }

    /// The same, when it is known which request.
    pub(super) fn attach_at(&mut self, n: Id, place: usize) {
        let Request { from, call, .. } = self.cell_mut(n).requests.remove(place);
        let told = self.is_observed.then(|| from.clone());
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

    /// The active coroutine has stopped running without an operation of the system: it waits for
    /// something outside, or (`is_ready`) has let others run. Not if it had ended its turn before, and code of users
    /// that is called after that has done so. Whether it was active.
    pub(crate) fn left(&mut self, id: Id, is_ready: bool) -> bool {
        let was_active = self.is_active(id);
        match is_ready {
            _ if !was_active => {}
            true => self.yield_now(id),
            false => self.park(id),
        }
        was_active
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
