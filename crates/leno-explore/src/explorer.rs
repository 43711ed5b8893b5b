//! Running a program again and again.

use core::cell::RefCell;
use core::fmt;
use std::rc::Rc;
use std::sync::Arc;

use leno_kernel::log::Log;
use leno_kernel::policy::{ChoiceLog, Decision};
use leno_kernel::world::{self, Setup, Trouble};

use crate::failure::{Failure, Found};
use crate::hook;
use crate::recorder::Recorder;
use crate::shrink::shrink;
use crate::strategy::{Exhaustive, Lenient, Pct, Random, Replay, Strategy};

/// The program that is explored.
pub(crate) type Program = Arc<dyn Fn() + Send + Sync>;

/// How a program is explored.
///
/// # Examples
/// ```
/// use leno_explore::Explorer;
///
/// let summary = Explorer::new().random(1).runs(50).run(|| {}).unwrap();
/// assert_eq!(summary.runs(), 50);
/// ```
#[derive(Clone, Debug)]
pub struct Explorer {
    how: How,
    runs: u64,
    most_operations: u64,
    patience: u64,
    shrinks: u32,
    events: usize,
}

#[derive(Clone, Debug)]
enum How {
    Both(u64),
    Random(u64),
    Pct(u64, usize),
    Exhaustive { most_interruptions: Option<usize>, reduces: bool },
    Replay(ChoiceLog),
}

/// What was seen, if nothing failed.
#[derive(Clone, Debug)]
pub struct Summary {
    runs: u64,
    cut: u64,
    operations: u64,
    is_complete: bool,
}

/// One run of a program.
pub(crate) struct Run {
    pub(crate) trouble: Option<Trouble>,
    pub(crate) site: Option<String>,
    pub(crate) log: Log,
    operations: u64,
}

impl Explorer {
    /// A thousand runs: half by lot at every choice, half by few interruptions (PCT of depth 3).
    /// `LENO_SEED` and `LENO_REPLAY` in the environment change that.
    pub fn new() -> Explorer {
        let seed = std::env::var("LENO_SEED").ok().and_then(|seed| seed.parse().ok());
        let explorer = Explorer {
            how: How::Both(seed.unwrap_or(0)),
            runs: 1_000,
            most_operations: 100_000,
            patience: 10_000,
            shrinks: 2_000,
            events: 10_000,
        };
        match std::env::var("LENO_REPLAY").ok().map(|token| token.parse()) {
            Some(Ok(token)) => explorer.replay(token),
            Some(Err(error)) => panic!("LENO_REPLAY: {error}"),
            None => explorer,
        }
    }

    /// Every choice by lot; the first run has this seed, each further one the next.
    pub fn random(mut self, seed: u64) -> Explorer {
        self.how = How::Random(seed);
        self
    }

    /// Few interruptions, well placed: finds mistakes that need `depth` events in the right order.
    pub fn pct(mut self, seed: u64, depth: usize) -> Explorer {
        self.how = How::Pct(seed, depth);
        self
    }

    /// Every schedule, each once, however many runs that takes up to [`Self::runs`].
    pub fn exhaustive(mut self) -> Explorer {
        self.how = How::Exhaustive { most_interruptions: None, reduces: false };
        self.runs = u64::MAX;
        self
    }

    /// With [`Self::exhaustive`]: only those in which threads that could go on are interrupted so
    /// often at most. Most mistakes need two.
    ///
    /// # Panics
    /// With another strategy.
    pub fn most_interruptions(mut self, most: usize) -> Explorer {
        match &mut self.how {
            How::Exhaustive { most_interruptions, .. } => *most_interruptions = Some(most),
            _ => panic!("most_interruptions is for exhaustive()"),
        }
        self
    }

    /// With [`Self::exhaustive`]: leaves out schedules that differ only in the order of operations on
    /// different objects. Right only if threads share nothing but leno's channels and locks.
    ///
    /// # Panics
    /// With another strategy.
    pub fn sharing_only_objects(mut self) -> Explorer {
        match &mut self.how {
            How::Exhaustive { reduces, .. } => *reduces = true,
            _ => panic!("sharing_only_objects is for exhaustive()"),
        }
        self
    }

    /// One run, decided as the token of a failure says.
    pub fn replay(mut self, token: ChoiceLog) -> Explorer {
        self.how = How::Replay(token);
        self.runs = 1;
        self
    }

    /// How many runs at most.
    pub fn runs(mut self, runs: u64) -> Explorer {
        self.runs = runs;
        self
    }

    /// After how many operations a run counts as endless; by default 100,000.
    pub fn most_operations(mut self, most: u64) -> Explorer {
        self.most_operations = most;
        self
    }

    /// For how many operations a [`Monitor`](crate::Monitor) may be hot; by default 10,000.
    pub fn patience(mut self, operations: u64) -> Explorer {
        self.patience = operations;
        self
    }

    /// How many runs are spent on making a failing schedule shorter; by default 2,000.
    pub fn shrinks(mut self, runs: u32) -> Explorer {
        self.shrinks = runs;
        self
    }

    /// Explores the program.
    ///
    /// # Panics
    /// When a run fails, with everything that is known about it.
    #[track_caller]
    pub fn check(self, program: impl Fn() + Send + Sync + 'static) {
        if let Err(failure) = self.run(program) {
            panic!("{failure}");
        }
    }

    /// Explores the program.
    ///
    /// # Errors
    /// When a run fails: how, and by which schedule.
    pub fn run(self, program: impl Fn() + Send + Sync + 'static) -> Result<Summary, Failure> {
        hook::install();
        let program: Program = Arc::new(program);
        let mut summary = Summary { runs: 0, cut: 0, operations: 0, is_complete: false };
        let halves: Vec<(Box<dyn Strategy>, u64)> = match &self.how {
            How::Both(seed) => vec![
                (Box::new(Random::new(*seed)), self.runs.div_ceil(2)),
                (Box::new(Pct::new(*seed, 3)), self.runs / 2),
            ],
            How::Random(seed) => vec![(Box::new(Random::new(*seed)), self.runs)],
            How::Pct(seed, depth) => vec![(Box::new(Pct::new(*seed, *depth)), self.runs)],
            How::Exhaustive { most_interruptions, reduces } => {
                vec![(Box::new(Exhaustive::new(*most_interruptions, *reduces)), self.runs)]
            }
            How::Replay(token) => {
                vec![(Box::new(Replay::new(token.iter().collect())), self.runs)]
            }
        };
        for (strategy, runs) in halves {
            self.run_with(strategy, runs, &program, &mut summary)?;
        }
        Ok(summary)
    }

    fn run_with(
        &self,
        strategy: Box<dyn Strategy>,
        runs: u64,
        program: &Program,
        summary: &mut Summary,
    ) -> Result<(), Failure> {
        let recorder = Rc::new(RefCell::new(Recorder::new(strategy, self.patience)));
        for _ in 0..runs {
            if !recorder.borrow_mut().begin() {
                summary.is_complete = recorder.borrow_mut().strategy().is_complete();
                return Ok(());
            }
            let run = self.run_once(&recorder, program, 0);
            summary.operations += run.operations;
            match run.trouble {
                None => summary.runs += 1,
                Some(Trouble::Cut) => summary.cut += 1,
                Some(trouble) => {
                    summary.runs += 1;
                    return Err(self.explain(&recorder, program, summary.runs, trouble));
                }
            }
        }
        Ok(())
    }

    /// Runs the program once, as the recorder's strategy decides.
    fn run_once(&self, recorder: &Rc<RefCell<Recorder>>, program: &Program, log: usize) -> Run {
        let (driver, program) = (recorder.clone(), program.clone());
        let heats = recorder.borrow().heats.clone();
        let baggage = Rc::new(heats.clone());
        let setup = Setup { driver, log, most_points: self.most_operations, baggage };
        match world::run(setup, move || program()) {
            Ok(ending) => {
                let hot = heats.left_hot().map(|name| {
                    let name = name.as_str().unwrap_or("?").to_owned();
                    Trouble::Broken(format!("no progress: '{name}' was owed to the end"))
                });
                Run {
                    trouble: ending.trouble.or(hot),
                    site: hook::take_site(),
                    log: ending.log,
                    operations: ending.points,
                }
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Runs the program once as far as these decisions fit. What was decided, and what came of it.
    pub(crate) fn retry(
        &self,
        decisions: Vec<Decision>,
        program: &Program,
        log: bool,
    ) -> (Vec<Decision>, Run) {
        let strategy = Box::new(Lenient::new(decisions));
        let recorder = Rc::new(RefCell::new(Recorder::new(strategy, self.patience)));
        recorder.borrow_mut().begin();
        let run = self.run_once(&recorder, program, if log { self.events } else { 0 });
        let decided = recorder.borrow().decided().to_vec();
        (decided, run)
    }

    fn explain(
        &self,
        recorder: &Rc<RefCell<Recorder>>,
        program: &Program,
        runs: u64,
        trouble: Trouble,
    ) -> Failure {
        let origin = recorder.borrow_mut().strategy().origin();
        let decided = recorder.borrow().decided().to_vec();
        let token = recorder.borrow().token();
        let (shortest, tries) = shrink(self, program, &decided, &trouble, self.shrinks);
        let (decided, run) = self.retry(shortest, program, true);
        Failure(Box::new(Found {
            trouble: run.trouble.unwrap_or(trouble),
            site: run.site,
            origin,
            runs,
            token,
            shortest: decided.into_iter().collect(),
            shrinks: tries,
            log: run.log,
        }))
    }
}

impl Default for Explorer {
    fn default() -> Self {
        Explorer::new()
    }
}

impl Summary {
    /// How many runs there were.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// How many were cut short, because what came next had been seen already.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// How many operations there were in all runs.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Whether there is no other schedule.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} runs, {} operations", self.runs, self.operations)?;
        if self.is_complete { f.write_str(", all there are") } else { Ok(()) }
    }
}
