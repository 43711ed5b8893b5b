//! Between a world and a strategy: writes down what was decided, and watches the monitors.

use leno_kernel::layer::world::{Driver, Step, Trouble};
use leno_kernel::log::Operation;
use leno_kernel::policy::{Choice, ChoiceLog, Decided, Decision};
use leno_kernel::{Co, Object};

use crate::monitor::Heats;
use crate::strategy::{Candidates, Strategy, Target};

/// See the module.
pub(crate) struct Recorder {
    strategy: Box<dyn Strategy>,
    decided: Vec<Decision>,
    /// Coroutines and objects in the order in which they were first seen: the same in every run that
    /// has decided alike so far, as their numbers are not.
    cos: Vec<Co>,
    objects: Vec<Object>,
    /// Kept for its memory.
    who: Vec<usize>,
    /// For how many operations a monitor may be hot.
    patience: u64,
    pub(crate) heats: Heats,
}

impl Recorder {
    pub(crate) fn new(strategy: Box<dyn Strategy>, patience: u64) -> Recorder {
        let (decided, cos, objects, who, heats) = Default::default();
        Recorder { strategy, decided, cos, objects, who, patience, heats }
    }

    /// Begins another run; whether there is one.
    pub(crate) fn begin(&mut self) -> bool {
        self.decided.clear();
        self.cos.clear();
        self.objects.clear();
        self.heats.clear();
        self.strategy.begin()
    }

    /// What was decided in this run.
    pub(crate) fn token(&self) -> ChoiceLog {
        self.decided.iter().copied().collect()
    }

    pub(crate) fn decided(&self) -> &[Decision] {
        &self.decided
    }

    pub(crate) fn strategy(&mut self) -> &mut dyn Strategy {
        &mut *self.strategy
    }

    /// What is wrong with the decisions of a run that has ended, and that nothing else has failed.
    pub(crate) fn left_over(&mut self) -> Option<Trouble> {
        self.strategy.left_over()
    }

    fn number_of(&mut self, co: Co) -> usize {
        place(&mut self.cos, co)
    }
}

fn place<T: PartialEq>(known: &mut Vec<T>, one: T) -> usize {
    known.iter().position(|other| *other == one).unwrap_or_else(|| {
        known.push(one);
        known.len() - 1
    })
}

impl Driver for Recorder {
    fn pick(&mut self, among: &[Step]) -> usize {
        let first = among[0];
        if among.len() == 1 {
            if first.is_thread && !self.strategy.is_blind() {
                let who = self.number_of(first.co);
                self.strategy.alone(who);
            }
            return 0;
        }
        let mut who = core::mem::take(&mut self.who);
        who.clear();
        if self.strategy.is_blind() {
            who.resize(among.len(), 0);
        } else {
            who.extend(among.iter().map(|step| self.number_of(step.co)));
        }
        let candidates =
            Candidates { who: &who, are_threads: first.is_thread, goes_on: first.would_go_on };
        let took = self.strategy.pick(&candidates);
        self.who = who;
        self.decided.push(Decision::new(Decided::Pick, among.len(), took));
        took
    }

    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        let of = choice.candidates.len();
        let took = self.strategy.choose(choice.kind, of);
        self.decided.push(Decision::new(Decided::Choose(choice.kind), of, took));
        took
    }

    fn about_to(&mut self, thread: Co, pending: Option<(Operation, Object)>) -> Option<Trouble> {
        if !self.strategy.is_blind() {
            let who = self.number_of(thread);
            let target = match pending {
                Some((_, object)) => Target::Object(place(&mut self.objects, object)),
                None => Target::Anything,
            };
            self.strategy.about_to(who, target);
        }
        if let Some(name) = self.heats.tick(self.patience) {
            let name = name.as_str().unwrap_or("?");
            let what = format!("no progress: '{name}' was owed for {} operations", self.patience);
            return Some(Trouble::Broken(what));
        }
        self.strategy.trouble()
    }
}
