//! A system of several cores, each an OS thread.

mod team;

pub(crate) use team::{Left, SendBody, Team, Work};

use core::panic::Location;
use core::time::Duration;
use std::sync::Arc;

use self::team::Rest;
use crate::bell::Bell;
use crate::core::{Core, Membership};
use crate::mailbox::{self, Address, Message};
use crate::policy::Policy;
use crate::raw::entered;
use crate::report::{Deadlock, Report, Stopped};
use crate::spawn::Options;
use crate::sync::{Mutex, lock};
use crate::wait::{self, Waiter};
use crate::{BuildError, JoinHandle, RealTime, Reason, Wake};

/// A system of several cores. Its coroutines run in parallel; each that has started stays on the
/// core that started it, those that have not are shared out.
///
/// # Examples
/// ```
/// use leno_kernel::{System, spawn};
///
/// let system = System::new(2)?;
/// let sum = system.spawn(|| {
///     let parts: Vec<_> = (0..10u64).map(|n| spawn(move || n * n)).collect();
///     parts.into_iter().map(|part| part.join().expect("no part panics")).sum::<u64>()
/// });
/// assert_eq!(sum.join()?, 285);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct System {
    team: Arc<Team>,
    threads: Mutex<Vec<Thread>>,
}

struct Thread {
    handle: std::thread::JoinHandle<()>,
    /// Rung when the core has ended.
    ended: Arc<(Bell, Mutex<Option<Report>>)>,
}

type MakePolicy = dyn Fn(usize) -> Box<dyn Policy> + Send + Sync;

/// A [`System`] to be made.
pub struct SystemBuilder {
    cores: usize,
    name: String,
    policy: Option<Arc<MakePolicy>>,
}

impl SystemBuilder {
    /// How many cores; by default as many as the machine has.
    pub fn cores(mut self, cores: usize) -> SystemBuilder {
        self.cores = cores;
        self
    }

    /// What its threads are called.
    pub fn name(mut self, name: impl Into<String>) -> SystemBuilder {
        self.name = name.into();
        self
    }

    /// Makes the policy of each core, given its index. By default first come, first served, and an
    /// idle core robs others; with a policy, each core keeps what it has taken.
    pub fn policy<P: Policy + 'static>(
        mut self,
        make: impl Fn(usize) -> P + Send + Sync + 'static,
    ) -> SystemBuilder {
        self.policy = Some(Arc::new(move |core| Box::new(make(core))));
        self
    }

    /// Makes the system and starts its threads.
    ///
    /// # Errors
    /// With no cores or too many, or when the machine gives no thread.
    pub fn build(self) -> Result<System, BuildError> {
        if self.cores == 0 {
            return Err(BuildError::NoCores);
        }
        let mut addresses: Vec<Address> = Vec::new();
        for _ in 0..self.cores {
            match mailbox::open() {
                Ok(address) => addresses.push(address),
                Err(error) => {
                    addresses.into_iter().for_each(Address::give_back);
                    return Err(BuildError::Cores(error));
                }
            }
        }
        let team = Arc::new(Team::new(addresses.iter().map(|address| address.mailbox)));
        let system = System { team: team.clone(), threads: Mutex::new(Vec::new()) };
        let mut addresses = addresses.into_iter().enumerate();
        while let Some((place, address)) = addresses.next() {
            match self.start(&team, place, address) {
                Ok(thread) => lock(&system.threads).push(thread),
                Err(error) => {
                    address.give_back();
                    addresses.for_each(|(_, address)| address.give_back());
                    return Err(BuildError::Thread(error.to_string()));
                }
            }
        }
        Ok(system)
    }

    fn start(&self, team: &Arc<Team>, place: usize, address: Address) -> std::io::Result<Thread> {
        let ended = Arc::new((Bell::new(), Mutex::new(None)));
        let (team, policy, own) = (team.clone(), self.policy.clone(), ended.clone());
        let main = move || {
            let policy = policy.map(|make| make(place));
            let membership = Membership { team: team.clone(), place };
            let core = Core::new(address, Box::new(RealTime::new()), policy, Some(membership));
            let done = |core: &Core| team.is_stopping() && core.tasks.live() == 0;
            entered::enter(&core, || core.run_until(done));
            *lock(&own.1) = Some(core.report());
            drop(core);
            own.0.ring();
        };
        let name = format!("{}-{place}", self.name);
        Ok(Thread { handle: std::thread::Builder::new().name(name).spawn(main)?, ended })
    }
}

impl System {
    /// So many cores, first come, first served.
    ///
    /// # Errors
    /// As [`SystemBuilder::build`].
    pub fn new(cores: usize) -> Result<System, BuildError> {
        System::builder().cores(cores).build()
    }

    /// Another number of cores, another policy.
    pub fn builder() -> SystemBuilder {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        SystemBuilder { cores, name: "leno".to_owned(), policy: None }
    }

    /// Adds a coroutine with a stack, which it takes when it first runs, on any core.
    #[track_caller]
    pub fn spawn<T: Send + 'static>(
        &self,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.spawn_with(&Options::new(), f)
    }

    /// The same, with options.
    #[track_caller]
    pub fn spawn_with<T: Send + 'static>(
        &self,
        options: &Options,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.team.spawn_closure(None, options, Location::caller(), f)
    }

    /// Adds a coroutine without a stack: a future.
    #[track_caller]
    pub fn spawn_future<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.team.spawn_future(None, &Options::new(), Location::caller(), future)
    }

    /// How many cores it has.
    pub fn cores(&self) -> usize {
        self.team.places().len()
    }

    /// Waits until all coroutines have ended.
    ///
    /// # Blocking
    /// Parks the calling coroutine (of another system), or blocks the calling thread.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, this unwinds its stack.
    ///
    /// # Errors
    /// When some have not ended, but nobody can ever run again; the report names them.
    #[track_caller]
    pub fn wait(&self) -> Result<Report, Deadlock> {
        let waiter = Waiter::current();
        let _watch = self.team.watch();
        loop {
            // In this order: a rest that begins after the look wakes us.
            self.team.wait_for_rest(waiter.clone());
            if let Rest::Quiescent { live } = self.team.look() {
                let report = self.report();
                return if live == 0 { Ok(report) } else { Err(Deadlock { report }) };
            }
            if wait::park(Reason::Choosing(self.team.name)) == Wake::Exit {
                wait::exit();
                return Ok(self.report());
            }
        }
    }

    /// What has become of its coroutines so far, as the cores find time to say. Takes the failures.
    ///
    /// # Blocking
    /// Until each core has answered, or a second has passed; one that is busy longer is left out.
    pub fn report(&self) -> Report {
        let ask = |place: &team::Place| {
            let answer = Arc::new((Bell::new(), Mutex::new(None)));
            let own = answer.clone();
            place.mailbox.send(Message::Run(Box::new(move |core| {
                *lock(&own.1) = Some(core.report());
                own.0.ring();
            })));
            answer
        };
        let answers: Vec<_> = self.team.places().iter().map(ask).collect();
        let mut report = Report::default();
        for answer in answers {
            answer.0.wait_for(Duration::from_secs(1));
            if let Some(more) = lock(&answer.1).take() {
                report = report.and(more);
            }
        }
        report
    }

    /// Makes all coroutines exit, and ends the cores.
    ///
    /// # Errors
    /// When some have not stopped within `limit`: who they are. Their threads go on by themselves.
    pub fn shutdown(self, limit: Duration) -> Result<Report, Stopped> {
        self.stop(Some(limit))
    }

    fn stop(&self, limit: Option<Duration>) -> Result<Report, Stopped> {
        let start = std::time::Instant::now();
        self.team.stop();
        let (mut report, mut busy) = (Report::default(), 0);
        for thread in lock(&self.threads).drain(..) {
            let ended = match limit {
                None => {
                    thread.ended.0.wait();
                    true
                }
                Some(limit) => thread.ended.0.wait_for(limit.saturating_sub(start.elapsed())),
            };
            if !ended {
                busy += 1;
                continue;
            }
            let _ = thread.handle.join();
            if let Some(more) = lock(&thread.ended.1).take() {
                report = report.and(more);
            }
        }
        if busy == 0 { Ok(report) } else { Err(Stopped { report, busy }) }
    }
}

impl Drop for System {
    /// Makes all coroutines exit, and waits until they have.
    fn drop(&mut self) {
        let _ = self.stop(None);
    }
}

impl core::fmt::Debug for System {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "System({} cores)", self.cores())
    }
}
