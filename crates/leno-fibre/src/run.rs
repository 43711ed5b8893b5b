//! A run: a scheduler as a subroutine. It returns when nothing can run.
//!
//! At quiescence the fibres that nobody can ever wake are removed, as far as the ledger knows; that may
//! let others run, so it goes on. Whoever is left then waits for something that is known outside of any
//! fibre that could act: a zombie. Zombies are written down, and drained: what they held is released.

use core::cell::Cell;
use std::panic::resume_unwind;
use std::rc::Rc;

use leno_kernel::log::Log;
use leno_kernel::policy::Policy;
use leno_kernel::report::{Failure, Report};
use leno_kernel::{LocalBuilder, LocalSystem, Options, Platform, Quiescence};

use crate::event::{self, Happened};
use crate::reader_first::ReaderFirst;
use crate::scheduler::{Doing, Scheduler};
use crate::zombie::Zombie;
use crate::{Cx, Fibre};

/// Runs a fibre, and all that it spawns, until nothing can run: it is a subroutine, and may be called
/// anywhere, also inside a fibre, whose run is suspended meanwhile.
///
/// # Blocking
/// The calling thread; inside a fibre, all fibres of its run.
///
/// # Panics
/// With what the first fibre panics with. What others panic with is in the report.
///
/// # Examples
/// ```
/// use leno_fibre::{channel, run};
///
/// run(|cx| {
///     let (out, inp) = channel();
///     cx.spawn(move |cx| (1..=10).for_each(|i| out.write(cx, i)));
///     cx.spawn(move |cx| loop { println!("{}", inp.read(cx)) }); // ends by starvation
/// });
/// ```
#[track_caller]
pub fn run<R: 'static>(main: impl FnOnce(&Cx<'_>) -> R + 'static) -> Ran<R> {
    Runner::new().run(main)
}

/// As [`run`], for functions: no end of a channel gets in or out, so that what is made inside can
/// meet nothing outside, and the result depends on the arguments alone.
///
/// Ends of a fibre's channel are not `Send`; so neither the body nor its result can have any.
///
/// # Blocking
/// As [`run`].
///
/// # Panics
/// As [`run`].
///
/// # Examples
/// ```
/// use leno_fibre::{channel, isolated};
///
/// fn squares(of: Vec<u64>) -> Vec<u64> {
///     let ran = isolated(move |cx| {
///         let (out, inp) = channel();
///         let count = of.len();
///         cx.spawn(move |cx| of.into_iter().for_each(|n| out.write(cx, n * n)));
///         inp.iter(cx).take(count).collect()
///     });
///     ran.result().unwrap()
/// }
/// assert_eq!(squares(vec![1, 2, 3]), [1, 4, 9]);
/// ```
#[track_caller]
pub fn isolated<R: Send + 'static>(main: impl FnOnce(&Cx<'_>) -> R + Send + 'static) -> Ran<R> {
    run(main)
}

/// A run to be started, with a policy, a clock or a log of its own.
///
/// # Examples
/// ```
/// use leno_fibre::Runner;
/// use leno_kernel::policy::SeededRandom;
///
/// let ran = Runner::new().policy(SeededRandom::new(7)).log(1_000).run(|cx| {
///     cx.spawn(|_| 1);
/// });
/// assert_eq!(ran.report().returned, 2);
/// ```
#[derive(Default)]
#[must_use = "it runs nothing by itself"]
pub struct Runner {
    builder: LocalBuilder,
    doing: Rc<Cell<Doing>>,
}

impl Runner {
    /// First come, first served, in real time.
    pub fn new() -> Runner {
        Runner::default()
    }

    /// Decides everything that is left open: who runs on after a spawn or a rendezvous, who of the
    /// active is next, who of several that wait is matched.
    pub fn policy(mut self, policy: impl Policy + 'static) -> Runner {
        self.builder = self.builder.policy(policy);
        self
    }

    /// Whoever is spawned runs before its spawner, whoever reads before who writes; the other of the
    /// two is next.
    pub fn reader_first(self) -> Runner {
        let doing = self.doing.clone();
        self.policy(ReaderFirst::new(doing))
    }

    /// Time that stands still while anyone can run, and then jumps.
    pub fn virtual_time(mut self) -> Runner {
        self.builder = self.builder.virtual_time();
        self
    }

    /// The machine below; by default the real one.
    pub fn platform(mut self, platform: impl Platform + 'static) -> Runner {
        self.builder = self.builder.platform(platform);
        self
    }

    /// Writes down what happens, the last `events` of it.
    pub fn log(mut self, events: usize) -> Runner {
        self.builder = self.builder.log(events);
        self
    }

    /// As [`run`](run()).
    ///
    /// # Blocking
    /// As there.
    ///
    /// # Panics
    /// As there.
    #[track_caller]
    pub fn run<R: 'static>(self, main: impl FnOnce(&Cx<'_>) -> R + 'static) -> Ran<R> {
        let Runner { builder, doing } = self;
        let system = Rc::new(builder.name("fibres").at_quiescence(Quiescence::Report).build());
        let (main, zombies, failures) = Scheduler::enter(&system, doing, |scheduler| {
            let scheduler = scheduler.clone();
            let whole = move || main(&Cx::enter(scheduler, None));
            let main = match system.spawn_with(&Options::new().name("main"), whole) {
                Ok(handle) => Fibre::new(handle),
                Err(error) => panic!("the first fibre was not spawned: {error}"),
            };
            let (zombies, failures) = until_nothing_can_run(&system);
            (main, zombies, failures)
        });
        let mut report = system.report();
        report.zombies = zombies.len() as u64;
        report.failures = failures;
        let result = match main.try_join() {
            Some(Ok(result)) => Some(result),
            Some(Err(error)) => match error.into_panic() {
                Ok(payload) => resume_unwind(payload),
                Err(_ended) => None,
            },
            None => None,
        };
        Ran { result, report, zombies, log: system.log() }
    }
}

fn until_nothing_can_run(system: &LocalSystem) -> (Vec<Zombie>, Vec<Failure>) {
    let mut failures = Vec::new();
    loop {
        let mut report = match system.run() {
            Ok(report) => report,
            Err(deadlock) => *deadlock.report,
        };
        failures.append(&mut report.failures);
        if report.alive.is_empty() {
            return (Vec::new(), failures);
        }
        if system.sweep() == 0 {
            let zombies = Zombie::all(&report.alive);
            failures.append(&mut system.drain().failures);
            return (zombies, failures);
        }
    }
}

impl core::fmt::Debug for Runner {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Runner")
    }
}

/// What has become of a run.
#[derive(Debug)]
pub struct Ran<R> {
    result: Option<R>,
    report: Report,
    zombies: Vec<Zombie>,
    log: Log,
}

impl<R> Ran<R> {
    /// What the first fibre returned; `None` if it did not, because it starved, or was blockaged or
    /// killed.
    pub fn result(self) -> Option<R> {
        self.result
    }

    /// How many fibres there were, and how they ended: those that *returned*, were *removed* because
    /// nobody could ever have woken them, *panicked*, or were made to *exit*, zombies among them.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Those that were left when nothing could run, though what they waited for was known to someone:
    /// each with who could have woken it. They were ended with the run. It is a mistake to have any.
    pub fn zombies(&self) -> &[Zombie] {
        &self.zombies
    }

    /// Everything that happened, if the run had a log.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The events of fibres in their total order, if the run had a log.
    pub fn events(&self) -> Vec<Happened> {
        event::events(&self.log)
    }
}
