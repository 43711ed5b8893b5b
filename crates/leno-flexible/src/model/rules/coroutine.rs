//! Rules 4.1 to 4.10: what the active coroutine does.

use super::super::{Answer, Configuration, Process, Program, Request, Value};
use crate::{Label, State};

impl Configuration {
    /// **4.1** A body ends, and nobody has called it.
    ///
    /// `n⟨⟨0⟩⟩⁻ → 0`
    pub fn rule_4_1(&mut self, n: usize) -> bool {
        let matches = self.is_active(n) && self.caller(n).is_none();
        if matches {
            self.terminate(n);
        }
        matches
    }

    /// **4.2** A body ends, and a coroutine has called it.
    ///
    /// `n⟨Q⟩ₘ | m⟨⟨0⟩⟩ⁿ → n̂⟨Q⟩₋`
    pub fn rule_4_2(&mut self, m: usize) -> bool {
        let Some(Process::Coroutine(n)) = self.caller(m) else { return false };
        if !self.is_active(m) {
            return false;
        }
        self.coroutines[n].callee = None;
        self.wait(n);
        self.substitute_answer(Process::Coroutine(n), Answer::Nothing);
        self.terminate(m);
        true
    }

    /// **4.6.1** The body of a spinning coroutine ends: it begins again, keeps its caller, and stays
    /// active.
    ///
    /// `n_Q⟨⟨0⟩⟩ᵘ → n_Q⟨⟨Q⟩⟩ᵘ`; as printed the right side is idle, with which the readers and writers of
    /// that work stall.
    pub fn rule_spin(&mut self, n: usize) -> bool {
        let matches = self.is_active(n) && self.coroutines[n].place.rounds > 0;
        if matches {
            self.coroutines[n].place.next = 0;
            self.coroutines[n].place.rounds -= 1;
        }
        matches
    }

    /// **4.3** A coroutine creates another, and stays active.
    ///
    /// `n⟨⟨create(Q, x).P⟩⟩ → n⟨⟨P(m/x)⟩⟩ | m⟨Q⟩⁻₋   m fresh`
    pub fn rule_4_3(&mut self, program: &Program, n: usize, body: usize) -> bool {
        let matches = self.is_active(n);
        if matches {
            self.coroutines[n].place.made = Some(self.coroutines.len());
            self.coroutines.push(program.make(body));
        }
        matches
    }

    /// **4.4** A coroutine calls another; with its parameter, 4.4π.
    ///
    /// `n⟨⟨call(m, π).P⟩⟩ | m⟨Q⟩⁻ₖ! | k⟨R⟩ → n⟨P⟩ₘ | m⟨S(Q, π)⟩ⁿ | k̂⟨R⟩   n ≠ m, k`
    pub fn rule_4_4(&mut self, n: usize, m: usize, parameter: Value) -> bool {
        let k = self.bottom(m);
        let matches = self.is_active(n)
            && n != m
            && n != k
            && self.caller(m).is_none()
            && self.state(k) == State::Idle;
        if matches {
            self.set(n, State::Calling);
            self.coroutines[n].callee = Some(m);
            self.coroutines[m].caller = Some(Process::Coroutine(n));
            self.substitute_parameter(m, Some(parameter));
            self.wait(k);
        }
        matches
    }

    /// **4.5** Detach from a coroutine; with its answer, 4.5ρ.
    ///
    /// `n⟨P⟩ₘ | m⟨⟨detach_ρ.Q⟩⟩ⁿ → n̂⟨S(P, ρ)⟩₋ | m⟨Q⟩⁻`
    pub fn rule_4_5(&mut self, m: usize, answer: Value) -> bool {
        let Some(Process::Coroutine(n)) = self.caller(m) else { return false };
        if !self.is_active(m) {
            return false;
        }
        self.coroutines[n].callee = None;
        self.wait(n);
        self.substitute_answer(Process::Coroutine(n), Answer::Value(answer));
        self.coroutines[m].caller = None;
        self.substitute_parameter(m, None);
        self.set(m, State::Idle);
        true
    }

    /// **4.6** Detach, and nobody has called it.
    ///
    /// `n⟨⟨detach.P⟩⟩⁻ → n⟨P⟩⁻`
    pub fn rule_4_6(&mut self, n: usize) -> bool {
        let matches = self.is_active(n) && self.caller(n).is_none();
        if matches {
            self.set(n, State::Idle);
        }
        matches
    }

    /// **4.7** Resume: the performer keeps its caller.
    ///
    /// `n⟨⟨resume(m).P⟩⟩ | m⟨Q⟩ₖ! | k⟨R⟩ → n⟨P⟩ | m⟨Q⟩ | k̂⟨R⟩`
    pub fn rule_4_7(&mut self, n: usize, m: usize) -> bool {
        let k = self.bottom(m);
        let matches = self.is_active(n) && self.state(k) == State::Idle;
        if matches {
            self.wait(k);
            self.set(n, State::Idle);
        }
        matches
    }

    /// **4.8** A coroutine kicks another, and stays active.
    ///
    /// `n⟨⟨kick(m).P⟩⟩ | m⟨Q⟩ₖ! | k⟨R⟩ → n⟨⟨P⟩⟩ | m⟨Q⟩ | k̂⟨R⟩`
    pub fn rule_4_8(&mut self, n: usize, m: usize) -> bool {
        let k = self.bottom(m);
        let matches = self.is_active(n) && self.state(k) == State::Idle;
        if matches {
            self.wait(k);
        }
        matches
    }

    /// **4.8φ1** The same, and the chain's bottom is active: the performer itself is.
    ///
    /// `n⟨⟨kick(m).P⟩⟩ | m⟨Q⟩ₙ! → n⟨⟨P⟩⟩ | m⟨Q⟩   (φₘ ◁ n_kick)`
    pub fn rule_4_8_phi1(&mut self, n: usize, m: usize) -> bool {
        let matches = self.is_active(n) && self.is_active(self.bottom(m));
        if matches {
            self.postpone_kick(m, Process::Coroutine(n));
        }
        matches
    }

    /// **4.8φ2** The same, and the chain's bottom is waiting.
    ///
    /// `n⟨⟨kick(m).P⟩⟩ | m⟨Q⟩ₖ! | k̂⟨R⟩ → n⟨⟨P⟩⟩ | m⟨Q⟩ | k̂⟨R⟩   (φₘ ◁ n_kick)`
    pub fn rule_4_8_phi2(&mut self, n: usize, m: usize) -> bool {
        let matches = self.is_active(n) && self.is_waiting_somehow(self.bottom(m));
        if matches {
            self.postpone_kick(m, Process::Coroutine(n));
        }
        matches
    }

    /// `φₘ ◁ u_kick`: on the coroutine that is named, not on the bottom of its chain.
    pub(super) fn postpone_kick(&mut self, m: usize, from: Process) {
        let request = Request { from, label: Label::Kick, parameter: None };
        self.coroutines[m].requests.push(request);
    }

    /// **4.9** Passivate: it keeps its caller, which does not go on.
    ///
    /// `n⟨⟨passivate.P⟩⟩ → n⟨P⟩`
    pub fn rule_4_9(&mut self, n: usize) -> bool {
        let matches = self.is_active(n) && !self.coroutines[n].permit;
        if matches {
            self.set(n, State::Idle);
        }
        matches
    }

    /// **4.10** Yield.
    ///
    /// `n⟨⟨yield.P⟩⟩ → n̂⟨P⟩`
    pub fn rule_4_10(&mut self, n: usize) -> bool {
        let matches = self.is_active(n);
        if matches {
            self.wait(n);
        }
        matches
    }
}
