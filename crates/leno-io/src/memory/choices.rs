//! Asking the policy of the calling code what happens on a network.
//!
//! A policy is user code: it may use the network, panic, suspend the coroutine that asks it, or never return. So it
//! is asked while the network is not locked, and nothing is changed before it has answered.
//!
//! # Protocol
//! Of [`Inner::decide`]; all operations that leave something to the policy go through it.
//! ```text
//!   D1  locked      the operation runs; the state has the answers that were given so far
//!   D2  locked      it picks: an answer to the same question is there   it goes on
//!                             there is none                             it returns Undecided, before any change
//!   D3  locked      it needs no more answers: it acts, counters of what may go wrong included, and is done
//!   D4  not locked  Undecided: the policy is asked the question that has no answer; then D1
//! ```
//! Between D2 and the next D1 others may use the network, the policy itself included. So an answer counts only for
//! the same question: the same object and the same numbers, asked in the same place of the order. If others have
//! changed what is asked, this answer and those after it are dropped, and the policy is asked again. After [`ROUNDS`]
//! answers it is asked no more, and the first of the numbers is taken for each that is missing: with those nothing goes
//! wrong.
//!
//! Where nobody changes the network meanwhile, as in a system of one core and in an explored program, each question is
//! asked once, and in the order in which the operation picks.
//!
//! An operation that waits for answers stands in no line, and holds nothing. If the policy never returns, or its
//! coroutine is never resumed, this operation is never done, and no other is affected. If the coroutine is to exit, its
//! stack unwinds from D4, and the operation has done nothing; destructors close by the first of the numbers then, and
//! unwind after that.

use leno_kernel::Object;
use leno_kernel::layer::user::{self, Panic};
use leno_kernel::layer::{choose, has_policy};
use leno_kernel::policy::{Candidate, Choice, ChoiceKind};

use super::lines::Locked;
use super::network::Inner;
use super::state::State;
use crate::user::raise;

/// How many answers are asked for in one operation. It needs four at most if nothing changes meanwhile.
const ROUNDS: u32 = 16;

/// A question has no answer yet: nothing was changed, the policy is to be asked.
#[derive(Debug)]
pub(super) struct Undecided;

/// What came of something that the policy has a say in.
pub(super) type Decided<R> = Result<R, Undecided>;

/// Which of these numbers?
#[derive(Debug, PartialEq, Eq)]
struct Question {
    about: Object,
    numbers: Vec<u64>,
}

impl Question {
    /// Asks. This runs user code.
    fn ask(&self) -> usize {
        let candidates: Vec<_> = self.numbers.iter().copied().map(Candidate::Number).collect();
        choose(&Choice::new(ChoiceKind::Network, Some(self.about), &candidates))
    }
}

/// What one operation was answered so far.
#[derive(Debug, Default)]
pub(super) struct Choices {
    given: Vec<(Question, usize)>,
    /// How many of them this run of the operation has used.
    used: usize,
    missing: Option<Question>,
    rounds: u32,
}

impl Choices {
    /// Which of these numbers the policy of the calling code takes: an index.
    ///
    /// # Errors
    /// If it was not asked yet.
    pub(super) fn pick(&mut self, about: Object, numbers: &[u64]) -> Decided<usize> {
        if numbers.len() < 2 || !has_policy() {
            return Ok(0);
        }
        if let Some((question, answer)) = self.given.get(self.used) {
            if question.about == about && question.numbers == numbers {
                self.used += 1;
                return Ok(*answer);
            }
            self.given.truncate(self.used);
        }
        if self.rounds >= ROUNDS {
            return Ok(0);
        }
        self.missing = Some(Question { about, numbers: numbers.to_vec() });
        Err(Undecided)
    }

    /// The operation has done a part of its work, which is not done again: drops the answers for that.
    pub(super) fn settle(&mut self) {
        self.given.drain(..self.used);
        self.used = 0;
    }

    /// D4.
    fn ask(&mut self) {
        self.rounds += 1;
        self.used = 0;
        if let Some(question) = self.missing.take() {
            let answer = question.ask();
            self.given.push((question, answer));
        }
    }

    /// Asks no more.
    fn give_up(&mut self) {
        self.rounds = ROUNDS;
    }
}

impl Inner {
    /// Runs an operation that leaves something to the policy of the calling code; see the module.
    ///
    /// # Panics
    /// With the exit of the calling coroutine, if the policy's code raises it.
    pub(super) fn decide<R>(&self, run: impl FnMut(&mut State) -> Decided<R>) -> R {
        let (result, raised) = self.decide_raised(run);
        raise(raised);
        result
    }

    /// Does what [`Self::decide`] does for something that must not be lost: also returns the exit that comes out of a
    /// waker after it is done.
    ///
    /// # Panics
    /// As [`Self::decide`]; nothing is done then.
    pub(super) fn decide_raised<R>(
        &self,
        run: impl FnMut(&mut State) -> Decided<R>,
    ) -> (R, Option<Panic>) {
        self.decide_then(run, |_, _| ())
    }

    /// As [`Self::decide_raised`]. When it is decided, `then` comes into line, under the same lock.
    ///
    /// # Panics
    /// As [`Self::decide`]; nothing is done then.
    pub(super) fn decide_then<'a, R>(
        &'a self,
        run: impl FnMut(&mut State) -> Decided<R>,
        then: impl FnMut(&mut Locked<'a>, &R),
    ) -> (R, Option<Panic>) {
        self.decide_by(run, then, Choices::ask)
    }

    /// Does what [`Self::decide`] does in a destructor, which is done in any case: if the policy's code raises something,
    /// the first of the numbers is taken. Also returns what was raised, by wakers too.
    pub(super) fn decide_anyway<R>(
        &self,
        run: impl FnMut(&mut State) -> Decided<R>,
    ) -> (R, Option<Panic>) {
        let mut raised = None;
        let ask = |choices: &mut Choices| {
            if let Err(panic) = user::call(|| choices.ask()) {
                choices.give_up();
                raised = user::first(raised.take(), Some(panic));
            }
        };
        let (result, woken) = self.decide_by(run, |_, _| (), ask);
        (result, user::first(raised, woken))
    }

    fn decide_by<'a, R>(
        &'a self,
        mut run: impl FnMut(&mut State) -> Decided<R>,
        mut then: impl FnMut(&mut Locked<'a>, &R),
        mut ask: impl FnMut(&mut Choices),
    ) -> (R, Option<Panic>) {
        let (mut choices, mut raised) = (Choices::default(), None);
        loop {
            let run = |state: &mut State| {
                state.choices = core::mem::take(&mut choices);
                let decided = run(state);
                choices = core::mem::take(&mut state.choices);
                decided
            };
            let then = |network: &mut Locked<'a>, decided: &Decided<R>| {
                decided.iter().for_each(|result| then(network, result));
            };
            let (decided, woken) = self.with_then(run, then);
            raised = user::first(raised, woken);
            match decided {
                Ok(result) => return (result, raised),
                Err(Undecided) => ask(&mut choices),
            }
        }
    }
}

#[cfg(test)]
mod tests;
