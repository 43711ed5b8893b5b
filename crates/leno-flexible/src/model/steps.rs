//! What may happen next, and what comes of it.

use super::program::Next;
use super::{Answer, Configuration, Operation, Process, Program, Refusal, Target};
use crate::{Label, Rule, State};

/// Something that may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// A thread, or the active coroutine, performs its next operation, or ends.
    Perform(Process),
    /// A waiting coroutine is scheduled (4.16).
    Schedule(usize),
    /// A request is taken out of a coroutine's local set (4.17, 4.18).
    Attach {
        /// Whose set.
        coroutine: usize,
        /// Which request, in order of arrival.
        place: usize,
    },
    /// What a coroutine waits for outside happens.
    Return(usize),
    /// The time for a call is over.
    GiveUp(Process),
}

/// What has come of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// This rule was applied.
    Applied(Rule),
    /// No rule matches: nothing has changed.
    Refused(Refusal),
    /// There was nobody to operate on, or a thread has tried what threads cannot do.
    Skipped,
}

/// How much is left open. The rules leave everything open; a system has policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Freedom {
    /// Any waiting coroutine may be scheduled, not only the first.
    pub any_waiting: bool,
    /// Any request may be attached, not only the first.
    pub any_request: bool,
    /// Attachment may come later than at once.
    pub late_attachment: bool,
}

impl Freedom {
    /// As the rules have it.
    pub const ALL: Freedom =
        Freedom { any_waiting: true, any_request: true, late_attachment: true };
    /// As a system does it, under any policy: a request is attached in the very operation that makes it
    /// possible.
    pub const PROMPT: Freedom =
        Freedom { any_waiting: true, any_request: true, late_attachment: false };
    /// As a system does it by default: the first, in both queues.
    pub const FIRST: Freedom =
        Freedom { any_waiting: false, any_request: false, late_attachment: false };
}

impl Configuration {
    /// Everything that may happen next.
    pub fn steps(&self, program: &Program, freedom: Freedom) -> Vec<Step> {
        let mut steps = Vec::new();
        for (coroutine, own) in self.coroutines.iter().enumerate() {
            let is_free = own.state == State::Idle && own.caller.is_none();
            if is_free && own.callee.is_none() {
                let places = if freedom.any_request { own.requests.len() } else { 1 };
                let places = 0..places.min(own.requests.len());
                steps.extend(places.map(|place| Step::Attach { coroutine, place }));
            }
        }
        if !steps.is_empty() && !freedom.late_attachment {
            return steps;
        }
        match self.active() {
            Some(n) => steps.push(Step::Perform(Process::Coroutine(n))),
            None => {
                let waiting = if freedom.any_waiting { self.queue.len() } else { 1 };
                steps.extend(self.queue.iter().take(waiting).map(|n| Step::Schedule(*n)));
            }
        }
        for (number, thread) in self.threads.iter().enumerate() {
            let process = Process::Thread(number);
            if thread.calls.is_none() && program.next(self, process) != Next::Nothing {
                steps.push(Step::Perform(process));
            }
            if thread.calls.is_some() && thread.place.has_limit {
                steps.push(Step::GiveUp(process));
            }
        }
        for (n, own) in self.coroutines.iter().enumerate() {
            match own.state {
                State::Parked => steps.push(Step::Return(n)),
                State::Calling if own.place.has_limit => {
                    steps.push(Step::GiveUp(Process::Coroutine(n)));
                }
                _ => {}
            }
        }
        steps
    }

    /// Takes a step that [`steps`](Self::steps) has listed.
    ///
    /// # Panics
    /// If it cannot be taken.
    pub fn take(&mut self, program: &Program, step: Step) -> Effect {
        match step {
            Step::Perform(process) => self.perform(program, process),
            Step::Schedule(n) => {
                assert!(self.rule_4_16(n), "{n} cannot be scheduled in {self:?}");
                let is_active = self.coroutines[n].state == State::Active;
                Effect::Applied(if is_active { Rule::Schedule } else { Rule::ScheduleInVain })
            }
            Step::Attach { coroutine, place } => {
                if self.rule_4_17(coroutine, place) {
                    return Effect::Applied(Rule::AttachCall);
                }
                assert!(self.rule_4_18(coroutine, place), "nothing to attach in {self:?}");
                Effect::Applied(Rule::AttachKick)
            }
            Step::Return(n) => {
                assert!(self.rule_return(n), "{n} is not outside in {self:?}");
                Effect::Applied(Rule::Return)
            }
            Step::GiveUp(process) => {
                if self.rule_withdraw_pending(process) {
                    return Effect::Applied(Rule::WithdrawPending);
                }
                assert!(self.rule_withdraw_served(process), "{process:?} calls nobody in {self:?}");
                Effect::Applied(Rule::WithdrawServed)
            }
        }
    }

    fn perform(&mut self, program: &Program, process: Process) -> Effect {
        let next = program.next(self, process);
        let at = self.place(process).next;
        let is_last = match process {
            Process::Coroutine(_) => program.bodies[self.place(process).body].operations.len(),
            Process::Thread(number) => program.threads[number].len(),
        } == at;
        // A spinning one that may not begin again stays at its end.
        if !is_last {
            self.place_mut(process).next += 1;
        }
        match (next, process) {
            (Next::Nothing, _) => panic!("{process:?} has nothing to do in {self:?}"),
            (Next::End, Process::Coroutine(n)) => self.end(n),
            (Next::Spin, Process::Coroutine(n)) => {
                assert!(self.rule_spin(n), "{n} cannot spin");
                Effect::Applied(Rule::Spin)
            }
            (Next::Operation(operation), Process::Coroutine(n)) => {
                self.perform_as_coroutine(program, n, operation, at)
            }
            (Next::Operation(operation), Process::Thread(t)) => {
                self.perform_as_thread(program, t, operation, at)
            }
            (Next::End | Next::Spin, Process::Thread(_)) => unreachable!("threads just stop"),
        }
    }

    fn end(&mut self, n: usize) -> Effect {
        Effect::Applied(if self.rule_4_1(n) {
            Rule::EndAlone
        } else if self.rule_4_2(n) {
            Rule::EndToCoroutine
        } else {
            assert!(self.rule_4_13(n), "{n} cannot end in {self:?}");
            Rule::EndToThread
        })
    }

    fn target(&self, process: Process, target: Target) -> Option<usize> {
        match target {
            Target::Named(number) => Some(number),
            Target::Made => self.place(process).made,
        }
    }

    fn perform_as_coroutine(
        &mut self,
        program: &Program,
        n: usize,
        operation: Operation,
        at: usize,
    ) -> Effect {
        let own = Process::Coroutine(n);
        let applied = |done: bool, rule| done.then_some(Effect::Applied(rule));
        match operation {
            Operation::Create(body) => {
                applied(self.rule_4_3(program, n, body), Rule::CreateByCoroutine)
            }
            Operation::Call(target) => {
                let Some(m) = self.target(own, target) else { return Effect::Skipped };
                Some(self.call_as_coroutine(n, m, at, false))
            }
            Operation::CallWait(target) => {
                let Some(m) = self.target(own, target) else { return Effect::Skipped };
                Some(self.call_as_coroutine(n, m, at, true))
            }
            Operation::CallLimited(target) => {
                let Some(m) = self.target(own, target) else { return Effect::Skipped };
                let effect = self.call_as_coroutine(n, m, at, false);
                self.place_mut(own).has_limit = matches!(effect, Effect::Applied(_));
                Some(effect)
            }
            Operation::Detach => {
                let answer = Program::answer(n, at, self.coroutines[n].parameter);
                applied(self.rule_4_5(n, answer), Rule::DetachFromCoroutine)
                    .or_else(|| applied(self.rule_4_14(n, answer), Rule::DetachFromThread))
                    .or_else(|| applied(self.rule_4_6(n), Rule::DetachAlone))
            }
            Operation::Resume(target) => {
                let Some(m) = self.target(own, target) else { return Effect::Skipped };
                applied(self.rule_4_7(n, m), Rule::Resume)
                    .or_else(|| Some(Effect::Refused(self.refusal(n, m))))
            }
            Operation::Kick(target) => {
                let Some(m) = self.target(own, target) else { return Effect::Skipped };
                applied(self.rule_4_8(n, m), Rule::KickByCoroutine)
                    .or_else(|| applied(self.rule_4_8_phi1(n, m), Rule::KickByCoroutineActive))
                    .or_else(|| applied(self.rule_4_8_phi2(n, m), Rule::KickByCoroutineWaiting))
                    .or(Some(Effect::Refused(Refusal::Terminated)))
            }
            Operation::Prod(target) => {
                let Some(m) = self.target(own, target) else { return Effect::Skipped };
                Some(self.prod(m))
            }
            Operation::Passivate => applied(self.rule_4_9_prodded(n), Rule::PassivateProdded)
                .or_else(|| applied(self.rule_4_9(n), Rule::Passivate)),
            Operation::Wait => applied(self.rule_park(n), Rule::Park),
            Operation::Yield => applied(self.rule_4_10(n), Rule::Yield),
        }
        .unwrap_or_else(|| panic!("{n} is not active in {self:?}"))
    }

    fn call_as_coroutine(&mut self, n: usize, m: usize, at: usize, waits: bool) -> Effect {
        let own = Process::Coroutine(n);
        let parameter = Program::parameter(own, at);
        if self.rule_4_4(n, m, parameter) {
            return Effect::Applied(Rule::CallByCoroutine);
        }
        let mut refusal = self.refusal(n, m);
        if waits && refusal == Refusal::Busy {
            if self.rule_4_4_wait(n, m, parameter) {
                return Effect::Applied(Rule::CallWait);
            }
            refusal = Refusal::Cycle;
        }
        self.place_mut(own).answer = Some(Answer::Refused(refusal));
        Effect::Refused(refusal)
    }

    fn prod(&mut self, m: usize) -> Effect {
        if self.rule_prod(m) {
            Effect::Applied(Rule::Prod)
        } else if self.rule_prod_kept(m) {
            Effect::Applied(Rule::ProdKept)
        } else {
            Effect::Refused(Refusal::Terminated)
        }
    }

    fn perform_as_thread(
        &mut self,
        program: &Program,
        t: usize,
        operation: Operation,
        at: usize,
    ) -> Effect {
        let own = Process::Thread(t);
        let applied = |done: bool, rule| done.then_some(Effect::Applied(rule));
        let effect = match operation {
            Operation::Create(body) => {
                applied(self.rule_4_11(program, t, body), Rule::CreateByThread)
            }
            Operation::Call(target)
            | Operation::CallWait(target)
            | Operation::CallLimited(target) => {
                let Some(m) = self.target(own, target) else { return Effect::Skipped };
                let parameter = Program::parameter(own, at);
                let refused = Refusal::Terminated;
                let has_limit = matches!(operation, Operation::CallLimited(_));
                self.place_mut(own).has_limit = has_limit;
                if self.rule_4_12_phi1(t, m, parameter) {
                    return Effect::Applied(Rule::CallByThreadChain);
                }
                if self.rule_4_12_phi2(t, m, parameter) {
                    return Effect::Applied(Rule::CallByThreadPlain);
                }
                self.place_mut(own).has_limit = false;
                self.place_mut(own).answer = Some(Answer::Refused(refused));
                Some(Effect::Refused(refused))
            }
            Operation::Kick(target) => {
                let Some(m) = self.target(own, target) else { return Effect::Skipped };
                applied(self.rule_4_15(t, m), Rule::KickByThread)
                    .or_else(|| applied(self.rule_4_15_phi1(t, m), Rule::KickByThreadActive))
                    .or_else(|| applied(self.rule_4_15_phi2(t, m), Rule::KickByThreadWaiting))
                    .or(Some(Effect::Refused(Refusal::Terminated)))
            }
            Operation::Prod(target) => {
                let Some(m) = self.target(own, target) else { return Effect::Skipped };
                Some(self.prod(m))
            }
            Operation::Detach
            | Operation::Resume(_)
            | Operation::Passivate
            | Operation::Wait
            | Operation::Yield => return Effect::Skipped,
        };
        effect.unwrap_or_else(|| panic!("thread {t} is not active in {self:?}"))
    }

    /// Why n's call or resume of m matches no rule.
    fn refusal(&self, n: usize, m: usize) -> Refusal {
        if self.bottom(m) == n {
            Refusal::Cycle
        } else if self.coroutines[m].state == State::Terminated {
            Refusal::Terminated
        } else {
            Refusal::Busy
        }
    }

    /// Whether a thread's request of this kind is in the local set of m.
    pub fn has_request(&self, m: usize, from: Process, label: Label) -> bool {
        let requests = &self.coroutines[m].requests;
        requests.iter().any(|request| request.from == from && request.label == label)
    }
}
