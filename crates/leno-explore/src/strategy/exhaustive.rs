//! Every schedule, in order, each once.
//!
//! A run follows a path of decisions from the root of a tree; the next run takes the next branch at
//! the deepest place where one is left. With a bound, a thread that could go on is interrupted only so
//! often in a run.
//!
//! # Reduction
//! Schedules that differ only in the order of steps that do not depend on each other need not all be
//! run. With reduction, each place keeps a *sleep set*: those whose step was tried here before, and
//! which nobody has disturbed since; to run them now would give a schedule that was run already. A
//! step depends on another if both touch the same object, or if either may touch anything. It is
//! right only if what threads share is leno's objects.

use std::collections::BTreeSet;

use leno_kernel::layer::world::Trouble;
use leno_kernel::policy::ChoiceKind;

use super::{Candidates, Strategy, Target};

/// See the module.
pub(crate) struct Exhaustive {
    path: Vec<Place>,
    /// Where in the path the run is.
    depth: usize,
    most_interruptions: Option<usize>,
    interruptions: usize,
    reduces: bool,
    /// Who sleeps now, and what its next step touches.
    asleep: Vec<(usize, Step)>,
    /// What each thread will touch next.
    pending: Vec<Step>,
    /// All that could run sleep: the rest of this run was seen before.
    is_cut: bool,
    began: bool,
    complete: bool,
}

/// What one step touches.
type Step = BTreeSet<Target>;

/// A decision on the path.
struct Place {
    of: usize,
    took: usize,
    /// Branches that need not be tried.
    skipped: Vec<usize>,
    /// With reduction: who the candidates are, and who slept when the run came here.
    who: Vec<usize>,
    asleep: Vec<(usize, Step)>,
    /// What the step of each branch that was taken touched.
    touched: Vec<(usize, Step)>,
}

impl Exhaustive {
    pub(crate) fn new(most_interruptions: Option<usize>, reduces: bool) -> Exhaustive {
        Exhaustive {
            path: Vec::new(),
            depth: 0,
            most_interruptions,
            interruptions: 0,
            reduces,
            asleep: Vec::new(),
            pending: Vec::new(),
            is_cut: false,
            began: false,
            complete: false,
        }
    }

    /// The next branch at the deepest place that has one.
    fn advance(&mut self) -> bool {
        while let Some(place) = self.path.last_mut() {
            let next = (place.took + 1..place.of).find(|branch| !place.skipped.contains(branch));
            if let Some(next) = next {
                place.took = next;
                return true;
            }
            self.path.pop();
        }
        false
    }

    fn decide(&mut self, of: usize, skipped: Vec<usize>, who: Vec<usize>) -> usize {
        if self.is_cut {
            return 0;
        }
        if self.depth == self.path.len() {
            let first = (0..of).find(|branch| !skipped.contains(branch)).unwrap_or(0);
            let (asleep, touched) = (self.asleep.clone(), Vec::new());
            self.path.push(Place { of, took: first, skipped, who, asleep, touched });
        }
        let took = self.path[self.depth].took;
        self.depth += 1;
        took
    }

    /// The step of `who` is made: whoever depends on it is awake again.
    fn step(&mut self, step: &Step) {
        let depends = |one: &Step, other: &Step| {
            one.contains(&Target::Anything) && !other.is_empty()
                || other.contains(&Target::Anything) && !one.is_empty()
                || one.intersection(other).next().is_some()
        };
        self.asleep.retain(|(_, asleep)| !depends(asleep, step));
    }

    fn pending(&mut self, who: usize) -> Step {
        self.pending.get(who).cloned().unwrap_or_default()
    }

    fn pick_reduced(&mut self, among: &Candidates<'_>) -> usize {
        let sleeps = |asleep: &[(usize, Step)], who: usize| asleep.iter().any(|(co, _)| *co == who);
        let slept: Vec<usize> =
            (0..among.who.len()).filter(|n| sleeps(&self.asleep, among.who[*n])).collect();
        if slept.len() == among.who.len() {
            self.is_cut = true;
            return 0;
        }
        let place = self.depth;
        let took = self.decide(among.who.len(), slept, among.who.to_vec());
        if self.is_cut {
            return took;
        }
        // Those whose branch was tried before sleep, as long as nobody disturbs them.
        let step = self.pending(among.who[took]);
        let here = &mut self.path[place];
        if !here.touched.iter().any(|(branch, _)| *branch == took) {
            here.touched.push((took, step.clone()));
        }
        self.asleep = here.asleep.clone();
        let tried = here.touched.iter().filter(|(branch, _)| *branch != took);
        self.asleep.extend(tried.map(|(branch, step)| (here.who[*branch], step.clone())));
        self.step(&step);
        took
    }
}

impl Strategy for Exhaustive {
    fn begin(&mut self) -> bool {
        if self.began && !self.advance() {
            self.complete = true;
            return false;
        }
        self.began = true;
        self.depth = 0;
        self.interruptions = 0;
        self.asleep.clear();
        self.pending.clear();
        self.is_cut = false;
        true
    }

    fn pick(&mut self, among: &Candidates<'_>) -> usize {
        if among.goes_on && self.most_interruptions.is_some_and(|most| self.interruptions >= most) {
            return 0;
        }
        let took = if self.reduces && among.are_threads {
            self.pick_reduced(among)
        } else {
            self.decide(among.who.len(), Vec::new(), Vec::new())
        };
        if among.goes_on && took != 0 {
            self.interruptions += 1;
        }
        took
    }

    fn choose(&mut self, _: ChoiceKind, of: usize) -> usize {
        self.decide(of, Vec::new(), Vec::new())
    }

    fn alone(&mut self, who: usize) {
        if !self.reduces || self.is_cut {
            return;
        }
        if self.asleep.iter().any(|(co, _)| *co == who) {
            self.is_cut = true;
        }
        let step = self.pending(who);
        self.step(&step);
    }

    fn about_to(&mut self, who: usize, target: Target) {
        if self.pending.len() <= who {
            self.pending.resize(who + 1, Step::new());
        }
        self.pending[who] = Step::from([target]);
    }

    fn trouble(&mut self) -> Option<Trouble> {
        self.is_cut.then_some(Trouble::Cut)
    }

    fn is_complete(&self) -> bool {
        self.complete && self.most_interruptions.is_none()
    }

    fn origin(&self) -> String {
        "exhaustive".to_owned()
    }
}
