//! Writing down what a policy decides.

use core::fmt;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use super::log::{ChoiceLog, Decided, Decision};
use super::{Choice, Policy, Ready};
use crate::Co;
use crate::user::{self, Locked};

/// A policy whose decisions are written down, so that [`Replay`](super::Replay) can make them again.
///
/// A decision is where there was more than one candidate. A pick is written down as a number among all
/// that were ready, in the order in which they became so, whatever the policy's own order.
///
/// Hints, fairness and choices are those of the policy inside. A pick costs a search among those that
/// are ready, which begins with whoever has waited longest.
///
/// # Panics
/// If the policy breaks the rules: it picks somebody who is not ready, or nobody although somebody is,
/// or chooses a candidate that there is not.
///
/// # Examples
/// ```
/// use leno_kernel::policy::{Candidate, Choice, ChoiceKind, Fifo, Policy, Recorded, Recording};
///
/// let recording = Recording::new();
/// let mut policy = Recorded::new(Fifo::new(), &recording);
/// let candidates = [Candidate::Core(0), Candidate::Core(1)];
/// policy.choose(&Choice::new(ChoiceKind::Victim, None, &candidates));
/// assert_eq!(recording.to_string(), "V2");
/// ```
#[derive(Debug)]
pub struct Recorded<P> {
    policy: P,
    name: String,
    recording: Recording,
    /// Who is ready, in the order of becoming so.
    waiting: VecDeque<Co>,
}

impl<P: Policy> Recorded<P> {
    /// Decides like `policy`. One recording is for one policy at a time.
    pub fn new(policy: P, recording: &Recording) -> Recorded<P> {
        let name = format!("{}, recorded", policy.name());
        Recorded { policy, name, recording: recording.clone(), waiting: VecDeque::new() }
    }

    fn decided(&self, kind: Decided, of: usize, took: usize) {
        if of > 1 {
            self.recording.lock().push(Decision::new(kind, of, took));
        }
    }
}

impl<P: Policy> Policy for Recorded<P> {
    fn ready(&mut self, ready: &Ready<'_>) {
        self.waiting.push_back(ready.co);
        self.policy.ready(ready);
    }

    fn pick(&mut self) -> Option<Co> {
        let Some(picked) = self.policy.pick() else {
            let none = self.waiting.is_empty();
            assert!(none, "the policy {} picks nobody of those that are ready", self.policy.name());
            return None;
        };
        let Some(took) = self.waiting.iter().position(|&co| co == picked) else {
            panic!("the policy {} picks {picked}, which is not ready", self.policy.name());
        };
        self.decided(Decided::Pick, self.waiting.len(), took);
        self.waiting.remove(took);
        Some(picked)
    }

    fn peek(&self, ahead: usize) -> Option<Co> {
        self.policy.peek(ahead)
    }

    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        let took = self.policy.choose(choice);
        let of = choice.candidates.len();
        assert!(took < of, "the policy {} chooses {took} among {of}", self.policy.name());
        self.decided(Decided::Choose(choice.kind), of, took);
        took
    }

    fn forget(&mut self, co: Co) {
        if let Some(place) = self.waiting.iter().position(|&other| other == co) {
            self.waiting.remove(place);
        }
        self.policy.forget(co);
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// What a [`Recorded`] policy writes to: a handle that any thread may read, also after a panic.
///
/// It prints as the token of its log.
#[derive(Clone, Default)]
pub struct Recording {
    log: Arc<Mutex<ChoiceLog>>,
}

impl Recording {
    /// Nothing decided yet.
    pub fn new() -> Recording {
        Recording::default()
    }

    /// What was decided by now.
    pub fn log(&self) -> ChoiceLog {
        self.lock().clone()
    }

    /// Takes what was decided by now, and goes on with nothing.
    pub fn take(&self) -> ChoiceLog {
        core::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> Locked<'_, ChoiceLog> {
        // Nobody panics in the middle of a push.
        user::lock(&self.log)
    }
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A copy: it is written by code of a user.
        self.log().fmt(f)
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").field("log", &self.log()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{Fifo, Hint, Lifo, SeededRandom};
    use super::*;

    #[test]
    fn it_keeps_the_contract() {
        let recording = Recording::new();
        keeps_the_contract(|| Recorded::new(Fifo::new(), &recording));
        keeps_the_contract(|| Recorded::new(SeededRandom::new(1), &recording));
    }

    #[test]
    fn picks_are_numbered_by_becoming_ready() {
        let recording = Recording::new();
        let mut policy = Recorded::new(Lifo::new(), &recording);
        (1..=4).for_each(|n| policy.ready(&ready(n)));
        policy.forget(co(3));
        assert_eq!(policy.peek(0), Some(co(4)));
        assert_eq!(all(&mut policy), [4, 2, 1]);
        // The last pick was among one.
        assert_eq!(recording.to_string(), "P3.2P2.1");
        assert_eq!(policy.name(), "lifo, recorded");
    }

    #[test]
    fn hints_do_not_change_the_numbers() {
        let recording = Recording::new();
        let mut policy = Recorded::new(Fifo::new(), &recording);
        policy.ready(&ready(1));
        policy.ready(&hinted(2, Hint::Front));
        assert_eq!(policy.pick(), Some(co(2)));
        assert_eq!(recording.take().to_string(), "P2.1");
        assert!(recording.log().is_empty());
    }

    struct Liar(Option<Co>);

    impl Policy for Liar {
        fn ready(&mut self, _: &Ready<'_>) {}

        fn pick(&mut self) -> Option<Co> {
            self.0
        }

        fn choose(&mut self, _: &Choice<'_>) -> usize {
            2
        }

        fn forget(&mut self, _: Co) {}
    }

    fn liar(pick: Option<Co>) -> Recorded<Liar> {
        let mut policy = Recorded::new(Liar(pick), &Recording::new());
        policy.ready(&ready(1));
        policy
    }

    #[test]
    #[should_panic(expected = "the policy unnamed policy picks #0.2, which is not ready")]
    fn a_policy_that_invents_somebody_is_found_out() {
        liar(Some(co(2))).pick();
    }

    #[test]
    #[should_panic(expected = "picks nobody of those that are ready")]
    fn a_policy_that_keeps_somebody_is_found_out() {
        liar(None).pick();
    }

    #[test]
    #[should_panic(expected = "chooses 2 among 2")]
    fn a_policy_that_chooses_nothing_is_found_out() {
        with_choice(2, |choice| liar(None).choose(choice));
    }
}
