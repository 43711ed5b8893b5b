//! What holds in every configuration that can be reached.

use super::{Configuration, Process};
use crate::{Label, State};

impl Configuration {
    /// What does not hold though it must: empty, unless a rule is wrong.
    ///
    /// - F10: at most one coroutine is active.
    /// - F34: an active coroutine has no callee (Dovland 2006, fig. 4.5).
    /// - F38: the queue holds those that are waiting, each once.
    /// - Links are mutual, chains have a bottom, and exactly those with a callee are calling.
    /// - A thread is calling exactly while one coroutine is attached to it or has its request.
    /// - What has terminated has nothing left.
    pub fn check(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let actives = self.coroutines.iter().filter(|own| own.state == State::Active).count();
        if actives > 1 {
            wrong.push(format!("F10: {actives} coroutines are active"));
        }
        let mut queue = self.queue.clone();
        queue.sort_unstable();
        let is_waiting = |n: &usize| self.coroutines[*n].state == State::Waiting;
        if queue != (0..self.coroutines.len()).filter(is_waiting).collect::<Vec<_>>() {
            wrong.push(format!("F38: the queue is {:?}", self.queue));
        }
        for n in 0..self.coroutines.len() {
            self.check_coroutine(n, &mut wrong);
        }
        for t in 0..self.threads.len() {
            self.check_thread(t, &mut wrong);
        }
        wrong
    }

    fn check_coroutine(&self, n: usize, wrong: &mut Vec<String>) {
        let own = &self.coroutines[n];
        if own.state == State::Active && own.callee.is_some() {
            wrong.push(format!("F34: {n} is active and has a callee"));
        }
        let calls = own.callee.or(own.waits_for);
        let is_one = own.callee.is_none() || own.waits_for.is_none();
        if calls.is_some() != (own.state == State::Calling) || !is_one {
            wrong.push(format!("{n} is {} with callee {:?}", own.state, calls));
        }
        let process = Process::Coroutine(n);
        if own.waits_for.is_some_and(|m| !self.has_request(m, process, Label::Call)) {
            wrong.push(format!("{n} waits for one that does not know of it"));
        }
        if own.callee.is_some_and(|m| self.coroutines[m].caller != Some(Process::Coroutine(n))) {
            wrong.push(format!("{n} has a callee that is not attached to it"));
        }
        if let Some(Process::Coroutine(c)) = own.caller
            && self.coroutines[c].callee != Some(n)
        {
            wrong.push(format!("{n} is attached to {c}, which does not call it"));
        }
        let mut k = n;
        for _ in 0..=self.coroutines.len() {
            k = self.coroutines[k].callee.unwrap_or(k);
        }
        if self.coroutines[k].callee.is_some() {
            wrong.push(format!("{n} is on a cycle of calls"));
        }
        let has_something = own.caller.is_some() || !own.requests.is_empty();
        if own.state == State::Terminated && has_something {
            wrong.push(format!("{n} has terminated, but not left"));
        }
        if own.parameter.is_some() && own.caller.is_none() {
            wrong.push(format!("{n} has a parameter of nobody"));
        }
    }

    fn check_thread(&self, t: usize, wrong: &mut Vec<String>) {
        let process = Process::Thread(t);
        let attached = self.coroutines.iter().filter(|own| own.caller == Some(process)).count();
        let requests = self.coroutines.iter().flat_map(|own| &own.requests);
        let calls = requests.filter(|one| one.from == process && one.label == Label::Call).count();
        if attached + calls != usize::from(self.threads[t].calls.is_some()) {
            wrong.push(format!("F14: thread {t} calls, but {attached} serve it, {calls} will"));
        }
    }
}
