//! Running a program again and again.

use core::cell::RefCell;
use core::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use leno_context::last_words;
use leno_context::user::Panic;
use leno_kernel::layer::world::{self, Setup, Trouble};
use leno_kernel::log::Log;
use leno_kernel::policy::{ChoiceLog, Decision};

use crate::environment;
use crate::explain::{Seen, explain};
use crate::failure::Failure;
use crate::hook::{self, Baggage};
use crate::recorder::Recorder;
use crate::strategy::{Exhaustive, Lenient, Pct, Random, Replay, Strategy};

/// The program that is explored.
pub(crate) type Program = Arc<dyn Fn() + Send + Sync>;

/// How long a run that is stuck waits for a thread that is not explored, once in an exploration.
const GRACE: Duration = Duration::from_millis(250);

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
    /// The schedule that the environment asks for, in place of every strategy that was not given one.
    asked: Option<ChoiceLog>,
    runs: u64,
    must_complete: bool,
    most_operations: u64,
    patience: u64,
    pub(crate) shrinks: u32,
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
#[derive(Clone, Debug, Default)]
pub struct Summary {
    runs: u64,
    cut: u64,
    operations: u64,
    is_complete: bool,
    /// The runs were used up before the schedules.
    is_cut_off: bool,
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
    /// `LENO_SEED` in the environment begins with another seed. `LENO_REPLAY` runs one schedule in place of
    /// this and every other strategy, except [`Self::replay`].
    ///
    /// # Panics
    /// When one of the two is set and cannot be read.
    pub fn new() -> Explorer {
        Explorer {
            how: How::Both(environment::seed().unwrap_or(0)),
            asked: environment::token(),
            runs: 1_000,
            must_complete: false,
            most_operations: 100_000,
            patience: 10_000,
            shrinks: 2_000,
            events: 10_000,
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

    /// With [`Self::exhaustive`]: it is a failure if [`Self::runs`] are used up before every schedule was tried,
    /// or every one that [`Self::most_interruptions`] leaves.
    ///
    /// # Panics
    /// With another strategy.
    ///
    /// # Examples
    /// ```
    /// use leno_explore::{Explorer, thread};
    ///
    /// let one_run = Explorer::new().exhaustive().must_complete().runs(1);
    /// let result = one_run.run(|| {
    ///     let other = thread::spawn("other", || {});
    ///     thread::yield_now();
    ///     other.join().unwrap();
    /// });
    /// assert!(result.unwrap_err().to_string().starts_with("not complete: "));
    /// ```
    pub fn must_complete(mut self) -> Explorer {
        assert!(matches!(self.how, How::Exhaustive { .. }), "must_complete is for exhaustive()");
        self.must_complete = true;
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
        let is_exhaustive = matches!(self.how, How::Exhaustive { .. });
        match self.run(program) {
            Ok(summary) if is_exhaustive && summary.is_cut_off => {
                last_words::write(format_args!("leno-explore: {}\n", cut_off(&summary)));
            }
            Ok(_) => {}
            Err(failure) => panic!("{failure}"),
        }
    }

    /// Explores the program.
    ///
    /// # Errors
    /// When a run fails: how, and by which schedule.
    pub fn run(self, program: impl Fn() + Send + Sync + 'static) -> Result<Summary, Failure> {
        if std::thread::panicking() {
            // No run can be unwound on a thread that unwinds, so none would end by that.
            let failed = |what: &str, why: &str| Err(Failure::of_all(format!("{what}: {why}"), 0));
            let other = std::thread::Builder::new().name("leno-explore".to_owned());
            return match other.spawn(move || self.run(program)).map(JoinHandle::join) {
                Ok(Ok(explored)) => explored,
                // A payload that panics when it is dropped would end the process.
                Ok(Err(payload)) => {
                    let panic = Panic::new(payload);
                    failed("the exploration panicked", panic.message().unwrap_or("(not a text)"))
                }
                Err(error) => failed("there is no thread to explore on", &error.to_string()),
            };
        }
        hook::install();
        let is_exhaustive = matches!(self.how, How::Exhaustive { .. });
        let program: Program = Arc::new(program);
        let mut summary = Summary::default();
        let asked = match self.how {
            How::Replay(_) => None,
            _ => self.asked.clone(),
        };
        let halves: Vec<(Box<dyn Strategy>, u64)> = match (&self.how, &asked) {
            (_, Some(token)) | (How::Replay(token), None) => {
                vec![(Box::new(Replay::new(token.clone())), 1)]
            }
            (How::Both(seed), _) => vec![
                (Box::new(Random::new(*seed)), self.runs.div_ceil(2)),
                (Box::new(Pct::new(*seed, 3)), self.runs / 2),
            ],
            (How::Random(seed), _) => vec![(Box::new(Random::new(*seed)), self.runs)],
            (How::Pct(seed, depth), _) => vec![(Box::new(Pct::new(*seed, *depth)), self.runs)],
            (How::Exhaustive { most_interruptions, reduces }, _) => {
                vec![(Box::new(Exhaustive::new(*most_interruptions, *reduces)), self.runs)]
            }
        };
        for (strategy, runs) in halves {
            self.run_with(strategy, runs, &program, &mut summary)?;
        }
        if asked.is_some() {
            let said = "LENO_REPLAY: this schedule ran, and nothing failed";
            last_words::write(format_args!("{said}\n"));
        } else if self.must_complete && is_exhaustive && summary.is_cut_off {
            return Err(Failure::of_all(cut_off(&summary), summary.runs));
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
            let mut run = self.run_once(&recorder, program, 0, GRACE);
            summary.operations += run.operations;
            match run.trouble.take() {
                None => summary.runs += 1,
                Some(Trouble::Cut) => summary.cut += 1,
                Some(trouble) => {
                    summary.runs += 1;
                    let seen = Seen::of(&mut recorder.borrow_mut(), trouble, run.site);
                    return Err(explain(self, seen, program, summary.runs));
                }
            }
        }
        // There may be none after the last one.
        summary.is_cut_off = recorder.borrow_mut().begin();
        summary.is_complete = recorder.borrow_mut().strategy().is_complete();
        Ok(())
    }

    /// Runs the program once, as the recorder's strategy decides.
    fn run_once(
        &self,
        recorder: &Rc<RefCell<Recorder>>,
        program: &Program,
        log: usize,
        grace: Duration,
    ) -> Run {
        let (driver, program) = (recorder.clone(), program.clone());
        let heats = recorder.borrow().heats.clone();
        let baggage = Rc::new(Baggage::new(heats.clone()));
        let most_points = self.most_operations;
        let setup = Setup { driver, log, most_points, baggage: baggage.clone(), grace };
        match world::run(setup, move || program()) {
            Ok(ending) => {
                let hot = heats.left_hot().map(|name| {
                    let name = name.as_str().unwrap_or("?").to_owned();
                    Trouble::Broken(format!("no progress: '{name}' was owed to the end"))
                });
                Run {
                    trouble: ending.trouble.or(hot).or_else(|| recorder.borrow_mut().left_over()),
                    site: baggage.take_site(),
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
        let run =
            self.run_once(&recorder, program, if log { self.events } else { 0 }, Duration::ZERO);
        let decided = recorder.borrow().decided().to_vec();
        (decided, run)
    }
}

/// What is said if the runs were used up before the schedules.
fn cut_off(summary: &Summary) -> String {
    format!(
        "not complete: there are other schedules than those of the {} runs that were allowed",
        summary.runs + summary.cut
    )
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
