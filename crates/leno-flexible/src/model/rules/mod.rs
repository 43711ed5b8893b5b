//! The rules, one function each, and the functions that they share.
//!
//! A rule is a method that says whether its left side matches; if it does, the configuration is now the
//! right side. What a rule does not mention stays as it is.

mod beyond;
mod coroutine;
mod schedule;
mod thread;

use super::{Answer, Configuration, Process, Refusal, Value};
use crate::{Label, State};

impl Configuration {
    /// The bottom `k` of `m⟨Q⟩ₖ!`: the last of m's chain of callees.
    pub fn bottom(&self, m: usize) -> usize {
        let mut k = m;
        for _ in 0..=self.coroutines.len() {
            match self.coroutines[k].callee {
                Some(callee) => k = callee,
                None => return k,
            }
        }
        panic!("coroutine {m} calls itself, through others")
    }

    /// Makes `n̂⟨P⟩` of it: it will be scheduled.
    fn wait(&mut self, n: usize) {
        self.set(n, State::Waiting);
        self.queue.push(n);
    }

    fn set(&mut self, n: usize, state: State) {
        let before = self.coroutines[n].state;
        assert!(before.may_become(state), "{before} becomes {state}: no rule may do that");
        self.coroutines[n].state = state;
    }

    /// **K**, chasing a chain: an idle bottom becomes waiting, any other stays as it is.
    ///
    /// `K(m⟨Q⟩ₖ! | k⟨R⟩) = m⟨Q⟩ₖ! | k̂⟨R⟩`, else identity.
    pub fn meta_k(&mut self, m: usize) {
        let k = self.bottom(m);
        if self.coroutines[k].state == State::Idle {
            self.wait(k);
        }
    }

    /// **F**, which attached-only coroutines are activated: one with a caller, hence also the bottom of
    /// any chain.
    ///
    /// `F(n_C⟨P⟩⁻) = n_C⟨P⟩`, `F(n_C⟨P⟩ᵘ) = n_C⟨⟨P⟩⟩`.
    pub fn meta_f(&self, n: usize) -> State {
        match self.coroutines[n].caller {
            None if self.coroutines[n].attached_only => State::Idle,
            _ => State::Active,
        }
    }

    /// **S**, passing a parameter: `S(Q, π)`.
    fn substitute_parameter(&mut self, m: usize, parameter: Option<Value>) {
        self.coroutines[m].parameter = parameter;
    }

    /// **S**, passing an answer: `S(P, ρ)`.
    fn substitute_answer(&mut self, process: Process, answer: Answer) {
        self.place_mut(process).answer = Some(answer);
        self.place_mut(process).has_limit = false;
    }

    /// `n⟨⟨0⟩⟩` is gone. Of what is in φₙ, calls fail and kicks are forgotten.
    fn terminate(&mut self, n: usize) {
        self.set(n, State::Terminated);
        self.coroutines[n].caller = None;
        self.coroutines[n].parameter = None;
        for request in core::mem::take(&mut self.coroutines[n].requests) {
            if request.label == Label::Kick {
                continue;
            }
            match request.from {
                Process::Thread(t) => self.threads[t].calls = None,
                Process::Coroutine(c) => {
                    self.coroutines[c].waits_for = None;
                    self.wait(c);
                }
            }
            self.substitute_answer(request.from, Answer::Refused(Refusal::Terminated));
        }
    }

    fn state(&self, n: usize) -> State {
        self.coroutines[n].state
    }

    fn caller(&self, n: usize) -> Option<Process> {
        self.coroutines[n].caller
    }

    fn is_active(&self, n: usize) -> bool {
        self.state(n) == State::Active
    }
}
