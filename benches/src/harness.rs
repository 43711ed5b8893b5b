//! Takes the measurements: all contenders of all cases of a bench take turns, round after round.
//!
//! Turns are interleaved because a shared machine changes speed from second to second: contenders,
//! or points of a curve, measured one after another would be measured on different machines. Each
//! round starts with another contender, so that none always runs in the wake of the same neighbour. Before the first
//! round each contender finds how many operations fill a turn, which also warms it up.
//!
//! A contender that fails once takes no further turn of that case; its failure is the result.
//! Deliberately not here: any judgement of the figures, which belongs to each bench.

use std::panic::{self, AssertUnwindSafe};
use std::time::{Duration, Instant};

use crate::bench::{Bench, Case, Load, Scale};
use crate::child;
use crate::contender::{Contender, Failure, Result};
use crate::options::Peers;
use crate::outcome::{CaseOutcome, Entry, Outcome};
use crate::progress::Progress;

/// External programs start anew for each turn: they take one turn in so many rounds.
const EXTERNAL_EVERY: usize = 3;

/// Measures one bench.
pub fn measure(
    bench: &'static Bench,
    scale: Scale,
    peers: &Peers,
    progress: &mut Progress,
) -> Outcome {
    let mut cases = Vec::new();
    for mut case in (bench.cases)(scale) {
        case.contenders.retain(|c| peers.admits(c));
        if !case.contenders.is_empty() {
            cases.push(CaseRun::new(bench, case, scale, progress));
        }
    }
    for round in 0..scale.rounds() {
        for case in cases.iter_mut().filter(|case| case.joins(round, scale.rounds())) {
            case.round(round, progress);
        }
    }
    progress.clear();
    Outcome { bench, cases: cases.into_iter().map(CaseRun::finish).collect() }
}

/// One case on its way through the rounds.
struct CaseRun {
    parameter: Option<u64>,
    rounds: usize,
    taken: usize,
    runners: Vec<Runner>,
}

impl CaseRun {
    fn new(bench: &'static Bench, case: Case, scale: Scale, progress: &mut Progress) -> Self {
        let Case { parameter, load, isolated, rounds, contenders } = case;
        let rounds = rounds.unwrap_or(scale.rounds()).min(scale.rounds());
        let mut runners = Vec::new();
        for contender in contenders {
            progress.show(bench.name, parameter, contender.name, "warming up");
            let mut runner = Runner::new(bench, parameter, isolated, scale, contender);
            runner.settle(load);
            runners.push(runner);
        }
        Self { parameter, rounds, taken: 0, runners }
    }

    /// Whether this case is part of a round. Those with fewer rounds spread them over all.
    fn joins(&self, round: usize, of: usize) -> bool {
        (round + 1) * self.rounds / of > round * self.rounds / of
    }

    fn round(&mut self, round: usize, progress: &mut Progress) {
        let step = format!("round {} of {}", self.taken + 1, self.rounds);
        for place in 0..self.runners.len() {
            let at = (place + self.taken) % self.runners.len();
            let runner = &mut self.runners[at];
            if runner.contender.external && !self.taken.is_multiple_of(EXTERNAL_EVERY) {
                continue;
            }
            progress.show(runner.bench.name, self.parameter, runner.contender.name, &step);
            runner.take_turn(round);
        }
        self.taken += 1;
    }

    fn finish(self) -> CaseOutcome {
        let entries = self.runners.into_iter().map(|runner| runner.entry).collect();
        CaseOutcome { parameter: self.parameter, entries }
    }
}

/// One contender on its way through the rounds of a case.
struct Runner {
    bench: &'static Bench,
    parameter: Option<u64>,
    isolated: bool,
    scale: Scale,
    contender: Contender,
    operations: u64,
    entry: Entry,
}

impl Runner {
    fn new(
        bench: &'static Bench,
        parameter: Option<u64>,
        isolated: bool,
        scale: Scale,
        contender: Contender,
    ) -> Self {
        let entry = Entry {
            name: contender.name,
            version: contender.version.clone(),
            samples: Vec::new(),
            note: None,
            failure: None,
        };
        Self { bench, parameter, isolated, scale, contender, operations: 1, entry }
    }

    /// Finds how many operations fill a turn. External programs know that themselves.
    fn settle(&mut self, load: Load) {
        let granule = match load {
            Load::Fixed(operations) => {
                self.operations = operations;
                return;
            }
            Load::Filling { granule } => granule,
        };
        self.operations = granule;
        if self.contender.external {
            return;
        }
        let full = self.scale.turn();
        loop {
            let start = Instant::now();
            if let Err(failure) = self.run() {
                self.entry.failure = Some(failure);
                return;
            }
            let took = start.elapsed().max(Duration::from_nanos(100));
            if took * 4 >= full {
                let share = full.as_secs_f64() / took.as_secs_f64();
                let granules = (self.operations as f64 * share / granule as f64).ceil();
                self.operations = granule * (granules as u64).max(1);
                return;
            }
            self.operations *= 4;
        }
    }

    fn take_turn(&mut self, round: usize) {
        if self.entry.failure.is_some() {
            return;
        }
        match self.run() {
            Ok(turn) => {
                self.entry.samples.push((round, turn.value));
                self.entry.note = turn.note;
                if let Some(version) = turn.version {
                    self.entry.version = version;
                }
            }
            Err(failure) => self.entry.failure = Some(failure),
        }
    }

    fn run(&mut self) -> Result {
        if self.isolated && !self.contender.external {
            let name = self.contender.name;
            return child::turn(self.bench, self.parameter, name, self.operations, self.scale);
        }
        guarded(|| self.contender.turn(self.operations))
    }
}

/// Turns a panic of a contender into its failure. Some peers panic where others return an error.
pub fn guarded(turn: impl FnOnce() -> Result) -> Result {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let caught = panic::catch_unwind(AssertUnwindSafe(turn));
    panic::set_hook(hook);
    caught.unwrap_or_else(|payload| {
        let text = (payload.downcast_ref::<String>().map(String::as_str))
            .or_else(|| payload.downcast_ref::<&str>().copied());
        Err(Failure::Failed(format!("panicked: {}", text.unwrap_or("without a message"))))
    })
}
