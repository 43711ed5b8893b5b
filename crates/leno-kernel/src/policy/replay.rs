//! Deciding as it was decided before.

use core::fmt;
use std::collections::VecDeque;

use super::log::{ChoiceLog, Cursor, Decided};
use super::{Candidate, Choice, Policy, Ready};
use crate::{Co, Name};

/// A policy that makes the decisions of a log again, as [`Recorded`](super::Recorded) wrote it.
///
/// Hints are not honoured: whatever came of them is in the log.
///
/// A step that does not fit the log *diverges*: it is of another kind, or has another number of
/// candidates, or the log is at its end. Then the program is not the one that was recorded, or depends
/// on something that no policy decides.
///
/// # Panics
/// When it diverges, naming the step, what the log expects and what is there.
///
/// # Examples
/// ```
/// use leno_kernel::policy::{Candidate, Choice, ChoiceKind, Policy, Replay};
///
/// let mut policy = Replay::new("V2.1".parse().unwrap());
/// let candidates = [Candidate::Core(0), Candidate::Core(1)];
/// assert_eq!(policy.choose(&Choice::new(ChoiceKind::Victim, None, &candidates)), 1);
/// ```
#[derive(Clone, Debug)]
pub struct Replay {
    log: ChoiceLog,
    cursor: Cursor,
    /// How many steps were made.
    steps: u64,
    ends_strictly: bool,
    /// Who is ready, in the order of becoming so.
    waiting: VecDeque<(Co, Name)>,
}

impl Replay {
    /// Follows this log, and diverges at its end.
    pub fn new(log: ChoiceLog) -> Replay {
        let (cursor, waiting) = Default::default();
        Replay { log, cursor, steps: 0, ends_strictly: true, waiting }
    }

    /// After the end of the log it goes on, and always takes the first. For a log that was cut off.
    pub fn then_first(mut self) -> Replay {
        self.ends_strictly = false;
        self
    }

    /// Which of `of` candidates is taken, or why that cannot be said.
    fn decide(&mut self, kind: Decided, of: usize) -> Result<usize, String> {
        if of < 2 {
            return Ok(0);
        }
        let step = self.steps + 1;
        let len = self.log.len();
        match self.cursor.next(&self.log) {
            Some(logged) if (logged.kind(), logged.of()) == (kind, of) => {
                self.steps = step;
                Ok(logged.took())
            }
            Some(logged) => Err(format!(
                "step {step} of {len} should be a {} among {}, but is a {kind} among {of}",
                logged.kind(),
                logged.of(),
            )),
            None if self.ends_strictly => Err(format!(
                "the log ends after {len} steps, but step {step} is a {kind} among {of}"
            )),
            None => Ok(0),
        }
    }
}

impl Policy for Replay {
    fn ready(&mut self, ready: &Ready<'_>) {
        self.waiting.push_back((ready.co, ready.name.clone()));
    }

    fn pick(&mut self) -> Option<Co> {
        match self.decide(Decided::Pick, self.waiting.len()) {
            Ok(took) => self.waiting.remove(took).map(|(co, _)| co),
            Err(why) => panic!("diverged: {why}: {}", List(self.waiting.iter().map(Named))),
        }
    }

    fn peek(&self, ahead: usize) -> Option<Co> {
        if ahead > 0 {
            return None;
        }
        let of = self.waiting.len();
        let logged = if of > 1 { self.cursor.clone().next(&self.log) } else { None };
        let took = match logged {
            Some(logged) if (logged.kind(), logged.of()) == (Decided::Pick, of) => logged.took(),
            Some(_) => return None,
            None => 0,
        };
        self.waiting.get(took).map(|&(co, _)| co)
    }

    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        match self.decide(Decided::Choose(choice.kind), choice.candidates.len()) {
            Ok(took) => took,
            Err(why) => panic!("diverged: {why}: {}", List(choice.candidates.iter().map(Shown))),
        }
    }

    fn forget(&mut self, co: Co) {
        if let Some(place) = self.waiting.iter().position(|&(other, _)| other == co) {
            self.waiting.remove(place);
        }
    }

    fn name(&self) -> &str {
        "replay"
    }
}

struct Named<'a>(&'a (Co, Name));

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (co, name) = self.0;
        match name.as_str() {
            Some(name) => write!(f, "'{name}'"),
            None => write!(f, "{co}"),
        }
    }
}

struct Shown<'a>(&'a Candidate);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Candidate::Co(co) => write!(f, "{co}"),
            Candidate::Other(number) => write!(f, "other {number}"),
            Candidate::Object(object) => write!(f, "object {object}"),
            Candidate::Core(number) => write!(f, "core {number}"),
            Candidate::Number(number) => write!(f, "{number}"),
        }
    }
}

/// The first few of many.
struct List<I>(I);

impl<I: ExactSizeIterator<Item: fmt::Display> + Clone> fmt::Display for List<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        for (n, item) in self.0.clone().take(SHOWN).enumerate() {
            write!(f, "{}{item}", if n > 0 { ", " } else { "" })?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{
        ChoiceKind, EarliestDeadline, Fifo, Hint, Lifo, NextSlot, Priority, Recorded, Recording,
        SeededRandom, Why,
    };
    use super::*;

    /// A program of a kind: what it does next depends on who was picked.
    fn run(policy: &mut dyn Policy) -> Vec<u64> {
        let mut random = Random(5);
        let mut happened = Vec::new();
        (0..5).for_each(|n| policy.ready(&ready(n)));
        for next in 5..300 {
            let Some(picked) = policy.pick() else { break };
            happened.push(picked.slot().into());
            if picked.slot() % 7 == 3 {
                let chosen = with_choice(3, |choice| policy.choose(choice));
                happened.push(1000 + chosen as u64);
            }
            let hint = [Hint::Back, Hint::Front, Hint::Next][picked.slot() as usize % 3];
            let why = if picked.slot() % 2 == 0 { Why::Yielded } else { Why::Unparked };
            policy.ready(&Ready { why, priority: hint as i32, ..hinted(picked.slot(), hint) });
            match random.below(4) {
                0 => policy.ready(&ready(next)),
                1 => policy.forget(picked),
                _ => {}
            }
        }
        happened
    }

    #[test]
    fn a_replay_does_as_every_policy_did() {
        does_as(Fifo::new());
        does_as(Lifo::new());
        does_as(NextSlot::new());
        does_as(Priority::new());
        does_as(EarliestDeadline::new());
        does_as(SeededRandom::new(9));
    }

    fn does_as(policy: impl Policy) {
        let recording = Recording::new();
        let mut policy = Recorded::new(policy, &recording);
        let happened = run(&mut policy);
        let token = recording.to_string();
        let mut replay = replay(&token);
        assert_eq!(run(&mut replay), happened, "{} {token}", policy.name());
        assert_eq!(replay.steps, recording.log().len());
    }

    #[test]
    fn it_keeps_the_contract() {
        keeps_the_contract(|| Replay::new(ChoiceLog::new()).then_first());
    }

    fn replay(token: &str) -> Replay {
        Replay::new(token.parse().expect("a token is a log"))
    }

    #[test]
    fn where_there_is_no_choice_no_step_is_made() {
        let mut policy = replay("P2.1");
        assert_eq!(policy.pick(), None);
        policy.ready(&ready(1));
        assert_eq!((policy.peek(0), policy.pick()), (Some(co(1)), Some(co(1))));
        (2..4).for_each(|n| policy.ready(&ready(n)));
        assert_eq!((policy.peek(0), policy.peek(1)), (Some(co(3)), None));
        assert_eq!(all(&mut policy), [3, 2]);
    }

    #[test]
    #[should_panic(
        expected = "diverged: step 2 of 2 should be a pick among 3, but is a pick among 2: 'a', #0.2"
    )]
    fn another_number_of_candidates_diverges() {
        let mut policy = replay("P3P3");
        let name = Name::from("a");
        policy.ready(&ready(0));
        policy.ready(&Ready { name: &name, ..ready(1) });
        policy.ready(&ready(2));
        policy.pick();
        assert_eq!(policy.peek(0), None);
        policy.pick();
    }

    #[test]
    #[should_panic(
        expected = "step 1 of 1 should be a choice of a timer among 9, but is a choice of \
                               an alternative among 9: other 0, other 1, other 2, other 3, other 4, \
                               other 5, other 6, other 7 and 1 more"
    )]
    fn another_kind_diverges() {
        with_choice(9, |choice| replay("T9").choose(choice));
    }

    #[test]
    #[should_panic(
        expected = "diverged: the log ends after 0 steps, but step 1 is a choice of a victim among 2: \
                    core 0, core 4"
    )]
    fn the_end_of_the_log_diverges() {
        let cores = [Candidate::Core(0), Candidate::Core(4)];
        replay("-").choose(&Choice::new(ChoiceKind::Victim, None, &cores));
    }

    #[test]
    fn a_log_that_was_cut_off_goes_on_with_the_first() {
        let mut policy = replay("P4.2").then_first();
        (0..4).for_each(|n| policy.ready(&ready(n)));
        assert_eq!(all(&mut policy), [2, 0, 1, 3]);
        assert_eq!(with_choice(2, |choice| policy.choose(choice)), 0);
    }
}
