//! Rules 4.11 to 4.15: what threads do, and what is done for them.

use super::super::{Answer, Configuration, Process, Program, Request, Value};
use crate::{Label, State};

impl Configuration {
    /// **4.11** A thread creates a coroutine, as 4.3.
    ///
    /// `t{create(Q, x).P} → t{P(m/x)} | m⟨Q⟩⁻₋   m fresh`
    pub fn rule_4_11(&mut self, program: &Program, t: usize, body: usize) -> bool {
        let matches = self.threads[t].calls.is_none();
        if matches {
            self.threads[t].place.made = Some(self.coroutines.len());
            self.coroutines.push(program.make(body));
        }
        matches
    }

    /// **4.12** A thread calls an idle coroutine that is free.
    ///
    /// `t{call(m).P} | m⟨Q⟩⁻ₖ! | k⟨R⟩ → t̃{P} | m⟨Q⟩ᵗ | k̂⟨R⟩`
    ///
    /// With the local sets 4.12φ1 and 4.12φ2 take its place. Where m has no callee, φ2 and then 4.17
    /// come to the same; that is how this one is done here.
    pub fn rule_4_12(&mut self, t: usize, m: usize, parameter: Value) -> bool {
        let free = &self.coroutines[m];
        let matches =
            free.state == State::Idle && free.caller.is_none() && free.requests.is_empty();
        matches && self.rule_4_12_phi2(t, m, parameter) && self.rule_4_17(m, 0)
    }

    /// **4.12φ1** A thread calls a coroutine that has a callee: the chain is to finish first. With its
    /// parameter, 4.12π.
    ///
    /// `t{call(m, π).P} | m⟨Q⟩ₖ! | k[R] → t̃{P} | K(m⟨Q⟩ₖ! | k[R])   (m ≠ k, φₘ ◁ (t_call, π))`
    pub fn rule_4_12_phi1(&mut self, t: usize, m: usize, parameter: Value) -> bool {
        let matches = self.may_call(t, m) && self.coroutines[m].callee.is_some();
        if matches {
            self.postpone_call(t, m, parameter);
            self.meta_k(m);
        }
        matches
    }

    /// **4.12φ2** A thread calls a coroutine that has no callee: the attachment rules will see to it, so
    /// that one call is one activation.
    ///
    /// `t{call(m, π).P} | m[Q]₋ → t̃{P} | m[Q]₋   (φₘ ◁ (t_call, π))`
    pub fn rule_4_12_phi2(&mut self, t: usize, m: usize, parameter: Value) -> bool {
        let matches = self.may_call(t, m) && self.coroutines[m].callee.is_none();
        if matches {
            self.postpone_call(t, m, parameter);
        }
        matches
    }

    fn may_call(&self, t: usize, m: usize) -> bool {
        self.threads[t].calls.is_none() && self.state(m) != State::Terminated
    }

    /// `φₘ ◁ (t_call, π)`
    fn postpone_call(&mut self, t: usize, m: usize, parameter: Value) {
        let from = Process::Thread(t);
        let request = Request { from, label: Label::Call, parameter: Some(parameter) };
        self.coroutines[m].requests.push(request);
        self.threads[t].calls = Some(m);
    }

    /// **4.13** A body ends, and a thread has called it.
    ///
    /// `t̃{P} | m⟨⟨0⟩⟩ᵗ → t{P}`
    pub fn rule_4_13(&mut self, m: usize) -> bool {
        let Some(Process::Thread(t)) = self.caller(m) else { return false };
        if !self.is_active(m) {
            return false;
        }
        self.terminate(m);
        self.threads[t].calls = None;
        self.substitute_answer(Process::Thread(t), Answer::Nothing);
        true
    }

    /// **4.14** Detach from a thread; with its answer, 4.14ρ.
    ///
    /// `t̃{P} | m⟨⟨detach_ρ.Q⟩⟩ᵗ → t{S(P, ρ)} | m⟨Q⟩⁻`
    pub fn rule_4_14(&mut self, m: usize, answer: Value) -> bool {
        let Some(Process::Thread(t)) = self.caller(m) else { return false };
        if !self.is_active(m) {
            return false;
        }
        self.threads[t].calls = None;
        self.substitute_answer(Process::Thread(t), Answer::Value(answer));
        self.coroutines[m].caller = None;
        self.substitute_parameter(m, None);
        self.set(m, State::Idle);
        true
    }

    /// **4.15** A thread kicks a coroutine.
    ///
    /// `t{kick(m).P} | m⟨Q⟩ₖ! | k⟨R⟩ → t{P} | m⟨Q⟩ | k̂⟨R⟩`
    pub fn rule_4_15(&mut self, t: usize, m: usize) -> bool {
        let k = self.bottom(m);
        let matches = self.threads[t].calls.is_none() && self.state(k) == State::Idle;
        if matches {
            self.wait(k);
        }
        matches
    }

    /// **4.15φ1** The same, and the chain's bottom is active.
    ///
    /// `t{kick(m).P} | m⟨Q⟩ₖ! | k⟨⟨R⟩⟩ → t{P} | m⟨Q⟩ | k⟨⟨R⟩⟩   (φₘ ◁ t_kick)`
    pub fn rule_4_15_phi1(&mut self, t: usize, m: usize) -> bool {
        let matches = self.threads[t].calls.is_none() && self.is_active(self.bottom(m));
        if matches {
            self.postpone_kick(m, Process::Thread(t));
        }
        matches
    }

    /// **4.15φ2** The same, and the chain's bottom is waiting.
    ///
    /// `t{kick(m).P} | m⟨Q⟩ₖ! | k̂⟨R⟩ → t{P} | m⟨Q⟩ | k̂⟨R⟩   (φₘ ◁ t_kick)`
    pub fn rule_4_15_phi2(&mut self, t: usize, m: usize) -> bool {
        let waits = self.is_waiting_somehow(self.bottom(m));
        let matches = self.threads[t].calls.is_none() && waits;
        if matches {
            self.postpone_kick(m, Process::Thread(t));
        }
        matches
    }
}
