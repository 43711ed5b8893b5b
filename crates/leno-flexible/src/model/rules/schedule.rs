//! Rules 4.16 to 4.18: what happens by itself.

use super::super::{Configuration, Process};
use crate::{Label, State};

impl Configuration {
    /// **4.16** While nobody is active, a waiting coroutine becomes so. Which one, the system's policy
    /// says.
    ///
    /// `(no active coroutine)   n̂⟨P⟩ → n⟨⟨P⟩⟩   (n scheduled)`, and for attached-only ones
    /// `(no active coroutine)   n̂_C⟨P⟩ → F(n_C⟨P⟩)   (n scheduled)`
    pub fn rule_4_16(&mut self, n: usize) -> bool {
        let matches = self.active().is_none() && self.state(n) == State::Waiting;
        if matches {
            self.queue.retain(|other| *other != n);
            self.set(n, self.meta_f(n));
        }
        matches
    }

    /// Whether 4.17 and 4.18 may look at n: `n⟨P⟩⁻₋`.
    fn may_attach(&self, n: usize) -> bool {
        let coroutine = &self.coroutines[n];
        coroutine.state == State::Idle && coroutine.caller.is_none() && coroutine.callee.is_none()
    }

    /// **4.17** A pending call is attached; with its parameter, 4.17π. `place` is where the request is in
    /// the local set; which one it is, the coroutine's policy says.
    ///
    /// `((t_call, π) ∈ φₙ)   n⟨P⟩⁻₋ → n̂⟨S(P, π)⟩ᵗ   (φₙ ▷ (t_call, π))`
    ///
    /// Of a coroutine c that waits for its turn the same, and then c has n as its callee.
    pub fn rule_4_17(&mut self, n: usize, place: usize) -> bool {
        let request = self.coroutines[n].requests.get(place).copied();
        let Some(request) = request.filter(|request| request.label == Label::Call) else {
            return false;
        };
        let matches = self.may_attach(n);
        if matches {
            self.coroutines[n].requests.remove(place);
            if let Process::Coroutine(c) = request.from {
                self.coroutines[c].waits_for = None;
                self.coroutines[c].callee = Some(n);
            }
            self.coroutines[n].caller = Some(request.from);
            self.substitute_parameter(n, request.parameter);
            self.wait(n);
        }
        matches
    }

    /// **4.18** A pending kick is served: the coroutine is attached to nobody.
    ///
    /// `(t_kick ∈ φₙ)   n⟨P⟩⁻₋ → n̂⟨P⟩⁻   (φₙ ▷ t_kick)`
    pub fn rule_4_18(&mut self, n: usize, place: usize) -> bool {
        let request = self.coroutines[n].requests.get(place);
        let is_kick = request.is_some_and(|request| request.label == Label::Kick);
        let matches = is_kick && self.may_attach(n);
        if matches {
            self.coroutines[n].requests.remove(place);
            self.wait(n);
        }
        matches
    }
}
