//! What Dovland 2006 does not have, or only wishes for (8.3): waiting for a busy coroutine, prods, waiting
//! for something outside, giving up a call.
//!
//! `n⟨P⟩ₘ?` is a coroutine that waits for m's attention: it is calling, its request is in φₘ, and it has no
//! callee yet. `n°⟨P⟩` waits for something outside, and `n•` has a prod that was kept.

use super::super::{Answer, Configuration, Process, Request, Value};
use crate::{Label, State};

impl Configuration {
    /// **4.4w** A coroutine calls one that is busy, and waits for its turn, unless that could come only
    /// after it has gone on itself.
    ///
    /// `n⟨⟨call_wait(m, π).P⟩⟩ | m[Q]ₖ! → n⟨P⟩ₘ? | K(m[Q]ₖ!)   (m busy, no chain of calls and waits leads
    /// from m to n, φₘ ◁ (n_call, π))`
    pub fn rule_4_4_wait(&mut self, n: usize, m: usize, parameter: Value) -> bool {
        let matches =
            self.is_active(n) && self.state(m) != State::Terminated && !self.would_wait_for(m, n);
        if matches {
            self.set(n, State::Calling);
            self.coroutines[n].waits_for = Some(m);
            let from = Process::Coroutine(n);
            let request = Request { from, label: Label::Call, parameter: Some(parameter) };
            self.coroutines[m].requests.push(request);
            if self.coroutines[m].callee.is_some() {
                self.meta_k(m);
            }
        }
        matches
    }

    /// Whether m can be free only after n has gone on.
    pub(in super::super) fn would_wait_for(&self, m: usize, n: usize) -> bool {
        let mut m = m;
        for _ in 0..=self.coroutines.len() {
            let k = self.bottom(m);
            if k == n {
                return true;
            }
            let Some(next) = self.coroutines[k].waits_for else { return false };
            m = next;
        }
        true
    }

    /// `k̂⟨R⟩`, or what is beyond that work: one that waits for something outside, or for its turn with a
    /// busy one.
    pub(super) fn is_waiting_somehow(&self, k: usize) -> bool {
        matches!(self.state(k), State::Waiting | State::Parked | State::Calling)
    }

    /// **4.8p** A prod of one whose chain ends in an idle one is a kick.
    ///
    /// `m⟨Q⟩ₖ! | k⟨R⟩ → m⟨Q⟩ | k̂⟨R⟩`
    pub fn rule_prod(&mut self, m: usize) -> bool {
        let k = self.bottom(m);
        let matches = self.state(k) == State::Idle;
        if matches {
            self.wait(k);
        }
        matches
    }

    /// **4.8pφ** The same, and the bottom is busy: the prod is kept by the one named.
    ///
    /// `m⟨Q⟩ₖ! | k[R] → m•⟨Q⟩ | k[R]   (k not idle)`
    pub fn rule_prod_kept(&mut self, m: usize) -> bool {
        let is_alive = self.state(m) != State::Terminated;
        let matches = is_alive && self.state(self.bottom(m)) != State::Idle;
        if matches {
            self.coroutines[m].permit = true;
        }
        matches
    }

    /// **4.9p** Passivate, with a prod that was kept: it goes on as if it were kicked.
    ///
    /// `n•⟨⟨passivate.P⟩⟩ → n̂⟨P⟩`
    pub fn rule_4_9_prodded(&mut self, n: usize) -> bool {
        let matches = self.is_active(n) && self.coroutines[n].permit;
        if matches {
            self.coroutines[n].permit = false;
            self.wait(n);
        }
        matches
    }

    /// **park** A coroutine waits for something outside; it keeps its caller, as with passivate.
    ///
    /// `n⟨⟨outside.P⟩⟩ → n°⟨P⟩`
    pub fn rule_park(&mut self, n: usize) -> bool {
        let matches = self.is_active(n);
        if matches {
            self.set(n, State::Parked);
        }
        matches
    }

    /// **return** What it waits for has happened.
    ///
    /// `n°⟨P⟩ → n̂⟨P⟩`
    pub fn rule_return(&mut self, n: usize) -> bool {
        let matches = self.state(n) == State::Parked;
        if matches {
            self.wait(n);
        }
        matches
    }

    /// **withdrawφ** A caller gives up before its call is served.
    ///
    /// `t̃{P} → t{P}   (φₘ ▷ (t_call, π))`, and of a coroutine `n⟨P⟩ₘ? → n̂⟨P⟩`
    pub fn rule_withdraw_pending(&mut self, process: Process) -> bool {
        let callee = match process {
            Process::Thread(t) => self.threads[t].calls,
            Process::Coroutine(n) => self.coroutines[n].waits_for,
        };
        let is_own = |one: &Request| one.from == process && one.label == Label::Call;
        let place = callee.and_then(|m| {
            let place = self.coroutines[m].requests.iter().position(is_own)?;
            Some((m, place))
        });
        let Some((m, place)) = place else { return false };
        self.coroutines[m].requests.remove(place);
        self.goes_on(process);
        true
    }

    /// **withdraw** A caller gives up while its call is served: the one called goes on without it.
    ///
    /// `t̃{P} | m[Q]ᵗ → t{P} | m[Q]⁻`, and of a coroutine `n⟨P⟩ₘ | m[Q]ⁿ → n̂⟨P⟩₋ | m[Q]⁻`
    pub fn rule_withdraw_served(&mut self, process: Process) -> bool {
        let callee = match process {
            Process::Thread(t) => self.threads[t].calls,
            Process::Coroutine(n) => self.coroutines[n].callee,
        };
        let Some(m) = callee.filter(|m| self.caller(*m) == Some(process)) else { return false };
        self.coroutines[m].caller = None;
        self.substitute_parameter(m, None);
        self.goes_on(process);
        true
    }

    fn goes_on(&mut self, process: Process) {
        match process {
            Process::Thread(t) => self.threads[t].calls = None,
            Process::Coroutine(n) => {
                self.coroutines[n].callee = None;
                self.coroutines[n].waits_for = None;
                self.wait(n);
            }
        }
        self.substitute_answer(process, Answer::TimedOut);
    }
}
