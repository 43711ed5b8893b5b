//! Each rule alone; that they are disjoint; everything that can happen to small programs.

mod programs;
mod rules;

use super::{Body, Configuration, Process, Program};
use crate::State;

/// Idle coroutines and active threads, all with empty bodies.
pub(super) fn idle(coroutines: usize, threads: usize) -> Configuration {
    nothing(coroutines, threads).begin()
}

pub(super) fn nothing(coroutines: usize, threads: usize) -> Program {
    Program {
        bodies: vec![Body::new([])],
        coroutines: vec![0; coroutines],
        threads: vec![vec![]; threads],
    }
}

impl Configuration {
    /// `n⟨⟨P⟩⟩`
    fn activate(mut self, n: usize) -> Configuration {
        self.coroutines[n].state = State::Active;
        self
    }

    /// `n̂⟨P⟩`
    fn waits(mut self, n: usize) -> Configuration {
        self.coroutines[n].state = State::Waiting;
        self.queue.push(n);
        self
    }

    /// `n⟨P⟩ₘ | m⟨Q⟩ⁿ`
    fn link(mut self, n: usize, m: usize) -> Configuration {
        self.coroutines[n].state = State::Calling;
        self.coroutines[n].callee = Some(m);
        self.coroutines[m].caller = Some(Process::Coroutine(n));
        self
    }

    /// `t̃{P} | m⟨Q⟩ᵗ`
    fn serve(mut self, m: usize, t: usize) -> Configuration {
        self.coroutines[m].caller = Some(Process::Thread(t));
        self.threads[t].calls = Some(m);
        self
    }

    /// Fails if something does not hold that must.
    #[track_caller]
    fn checked(self) -> Configuration {
        assert_eq!(self.check(), Vec::<String>::new(), "{self:?}");
        self
    }

    fn states(&self) -> Vec<State> {
        self.coroutines.iter().map(|own| own.state).collect()
    }
}
