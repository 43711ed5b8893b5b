//! A system of several cores, each an OS thread.

mod movable;
mod movables;
mod pile;
mod team;

pub(crate) use movable::{Body as MovableBody, Movable, Turn};
pub(crate) use pile::{Unstarted, Work};
pub(crate) use team::{Left, Rest, Team};

use core::panic::Location;
use core::time::Duration;
use std::rc::Rc;
use std::sync::Arc;

use leno_context::{is_planted, unwind};

use crate::ask::{Deadline, PATIENCE, ask};
use crate::bell::Bell;
use crate::blocking;
use crate::co::CORES;
use crate::core::{Core, Parts, TeamPlace};
use crate::dump::{Depth, Dump};
use crate::log::{Log, Ring};
use crate::mailbox::{self, Address};
use crate::options::Options;
use crate::policy::Policy;
use crate::queue::Next;
use crate::raw::entered;
use crate::report::{Deadlock, Report, Stopped};
use crate::sync::{Mutex, lock};
use crate::user::{self, Caught, Hook, SystemHook, is_exit};
use crate::wait::{self, Waiter};
use crate::window::Title;
use crate::world;
use crate::{BuildError, CoresError, JoinHandle, Object, RealTime, Reason, Wake};

/// A system of several cores. Its coroutines run in parallel. One with a stack stays on the core that
/// started it; those that have not started are shared out, and futures, at each turn.
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
    place: usize,
    handle: Handle,
    /// Rung when the core has ended.
    ended: Arc<(Bell, Mutex<Kept>)>,
}

/// What a core has reported at its end, until someone takes it.
struct Kept(Option<Report>);

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(Report::dispose);
    }
}

/// A thread, or what stands for one in a world.
enum Handle {
    Real(std::thread::JoinHandle<()>),
    Virtual(JoinHandle<()>),
}

impl Handle {
    fn join(self) {
        match self {
            Handle::Real(handle) => drop(handle.join()),
            Handle::Virtual(handle) => drop(handle.join()),
        }
    }
}

type MakePolicy = dyn Fn(usize) -> Box<dyn Policy> + Send + Sync;

/// A [`System`] to be made.
pub struct SystemBuilder {
    cores: usize,
    name: String,
    policy: Option<Arc<MakePolicy>>,
    log: Option<usize>,
    is_preemptive: bool,
    on_failure: SystemHook,
    /// The same for all cores.
    clock: RealTime,
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

    /// Writes down what happens, the last `events` of it on each core; see [`Log`].
    pub fn log(mut self, events: usize) -> SystemBuilder {
        self.log = Some(events);
        self
    }

    /// Lets its coroutines be attached with a [`Budget`](crate::Budget); see
    /// [`LocalBuilder::preemptive`](crate::LocalBuilder::preemptive).
    pub fn preemptive(mut self) -> SystemBuilder {
        self.is_preemptive = true;
        self
    }

    /// Is told of panics of user code that nobody waits for, such as a waker's; see [`user`](crate::user).
    /// By default [`user::on_failure`](crate::user::on_failure) is.
    pub fn on_failure(
        mut self,
        hook: impl Fn(&Caught<'_>) + Send + Sync + 'static,
    ) -> SystemBuilder {
        self.on_failure = SystemHook(Some(Hook::new(hook)));
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
        // Before it takes the numbers of all others.
        if self.cores >= CORES as usize {
            return Err(BuildError::Cores(CoresError { limit: CORES }));
        }
        let mut addresses: Vec<Address> = Vec::new();
        // One more for the futures that have no core of their own.
        for _ in 0..=self.cores {
            match mailbox::open() {
                Ok(address) => addresses.push(address),
                Err(error) => {
                    addresses.into_iter().for_each(Address::give_back);
                    return Err(BuildError::Cores(error));
                }
            }
        }
        let own = addresses.pop().expect("at least two");
        let (name, on_failure) = (self.name.clone(), self.on_failure.clone());
        let title = Title { name, cores: self.cores, object: Object::shared(), on_failure };
        let title = Arc::new(title);
        let mailboxes = addresses.iter().map(|address| address.mailbox);
        let team = Arc::new(Team::new(mailboxes, own, self.clock, title.clone()));
        own.mailbox.give_to(&team);
        let system = System { team: team.clone(), threads: Mutex::new(Vec::new()) };
        let mut addresses = addresses.into_iter().enumerate();
        while let Some((place, address)) = addresses.next() {
            team.count_core(1);
            match self.start(&team, place, address, &title) {
                Ok(thread) => lock(&system.threads).push(thread),
                Err(error) => {
                    team.count_core(-1);
                    address.give_back();
                    addresses.for_each(|(_, address)| address.give_back());
                    return Err(BuildError::Thread(error.to_string()));
                }
            }
        }
        Ok(system)
    }

    fn start(
        &self,
        team: &Arc<Team>,
        place: usize,
        address: Address,
        title: &Arc<Title>,
    ) -> std::io::Result<Thread> {
        let ended = Arc::new((Bell::new(), Mutex::new(Kept(None))));
        let (team, policy, own) = (team.clone(), self.policy.clone(), ended.clone());
        let title = title.clone();
        let (clock, log, is_preemptive) = (self.clock, self.log, self.is_preemptive);
        let main = move || {
            // Whatever happens to the core: someone may wait for its end.
            let own = Ends(own);
            let made = policy.map(|make| user::call(|| make(place))).transpose();
            let (policy, broken) = match made {
                Ok(policy) => (policy, None),
                Err(panic) => (None, Some(panic)),
            };
            let platform = Box::new(clock);
            let log = log.map(Ring::new).map(Rc::new);
            let team_part = Some(TeamPlace { team: team.clone(), place });
            let parts =
                Parts { platform, policy, steps: None, log, team: team_part, title, is_preemptive };
            // In a place of its own: one that is leaked stays there.
            let core = Box::new(Core::new(address, parts));
            world::hold();
            if let Some(panic) = broken {
                core.failed_itself("the policy", panic);
            }
            let done = |core: &Core| team.is_stopping() && core.is_empty() && team.leave();
            run_until_done(&core, done);
            let report = core.report();
            lock(&own.0.1).0 = Some(report);
            if core.is_in_policy() {
                // A suspended frame refers to it.
                return core::mem::forget(core);
            }
            core.dispose();
            user::dispose(core);
        };
        let name = format!("{}-{place}", self.name);
        let handle = match world::spawn_thread(&name, main) {
            Ok(handle) => Handle::Virtual(handle),
            Err(main) => Handle::Real(std::thread::Builder::new().name(name).spawn(main)?),
        };
        Ok(Thread { place, handle, ended })
    }
}

/// A core of a system has ended when this is dropped.
struct Ends(Arc<(Bell, Mutex<Kept>)>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.0.ring();
    }
}

/// How often the end of a core is looked for by one whose own system may be told to end.
const LOOK: Duration = Duration::from_millis(5);

/// How often the loop of a core may be left by a panic; it is a mistake of leno's if it ever is.
const TRIES: usize = 1_000;

/// Runs a core's loop to its end: its thread outlives user code.
fn run_until_done(core: &Core, done: impl Fn(&Core) -> bool) {
    if ["result-unwinds", "body-unwinds", "reactor-dies"].into_iter().any(is_planted) {
        entered::enter(core, || core.run_until(&done));
        return;
    }
    for _ in 0..TRIES {
        match user::call(|| entered::enter(core, || core.run_until(&done))) {
            Ok(_) => return,
            // The world ends its threads like this.
            Err(panic) if is_exit(&panic) => panic.resume(),
            Err(panic) => core.failed_itself("the loop", panic),
        }
    }
    unwind::give_up("the loop of a core panics again and again");
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
        let cores = match world::is_here() {
            true => 2,
            false => std::thread::available_parallelism().map_or(1, usize::from),
        };
        SystemBuilder {
            cores,
            name: "leno".to_owned(),
            policy: None,
            log: None,
            is_preemptive: false,
            on_failure: SystemHook::default(),
            clock: RealTime::new(),
        }
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
        world::plain_point();
        self.team.spawn_closure(None, options, Location::caller(), f)
    }

    /// Adds a coroutine without a stack: a future. Any core may poll it at any time.
    #[track_caller]
    pub fn spawn_future<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.spawn_future_with(&Options::new(), future)
    }

    /// The same, with options.
    #[track_caller]
    pub fn spawn_future_with<T: Send + 'static>(
        &self,
        options: &Options,
        future: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        world::plain_point();
        self.team.spawn_future(None, options, Location::caller(), future)
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
    /// When some have not ended, but nobody can ever run again; the report names them. That is certain only of
    /// those who wait for something local, or for each other's end. At a shared channel or lock any thread might
    /// help, also one that leno knows nothing of, so this goes on waiting; [`Self::dump`] and
    /// [`dump_on_signal`](crate::dump_on_signal) show who waits for what.
    #[track_caller]
    pub fn wait(&self) -> Result<Report, Deadlock> {
        let waiter = Waiter::current();
        let _watch = self.team.watch();
        let mut report = None;
        let mut is_to_exit = false;
        while report.is_none() && !is_to_exit {
            self.team.wait_for_rest(waiter.clone(), || {
                // A rest that begins after this look wakes the calling code.
                if let Rest::Quiescent { live } = self.team.look() {
                    report = Some((self.report(), live));
                    return Next::Leave;
                }
                is_to_exit = wait::park(Reason::Choosing(self.team.name)) == Wake::Exit;
                if is_to_exit { Next::Leave } else { Next::Look }
            });
        }
        match report {
            Some((report, 0)) => Ok(report),
            Some((report, _)) => Err(Deadlock { report: Box::new(report) }),
            None => {
                wait::exit();
                Ok(self.report())
            }
        }
    }

    /// What has become of its coroutines so far, as the cores find time to say. Takes the failures.
    ///
    /// # Blocking
    /// Until each core has answered, or a second has passed; one that is busy longer is shown as it
    /// is seen from outside ([`Report::busy`]).
    pub fn report(&self) -> Report {
        self.team.movables.report().and(self.report_of(self.team.places().iter()))
    }

    fn report_of<'a>(&self, places: impl Iterator<Item = &'a team::Place>) -> Report {
        let mut report = Report::default();
        for (place, answer) in ask_all(places, Core::report, Core::take_back) {
            match answer {
                Some(more) => report = report.and(more),
                None => report.busy.extend(place.mailbox.window().map(|own| own.look(PATIENCE))),
            }
        }
        report
    }

    /// Every coroutine as it is now: its state, what it waits for, who could wake it. Those that no
    /// core has taken yet are not in it.
    ///
    /// # Blocking
    /// Until each core has answered, or a second has passed; one that is busy longer is shown as it
    /// is seen from outside ([`Dump::busy`]).
    pub fn dump(&self, depth: Depth) -> Dump {
        let mailboxes = self.team.places().iter().map(|place| place.mailbox);
        let cores = mailboxes.filter_map(|own| Some((own, own.window()?))).collect();
        Dump::of(cores, depth).and_futures(&self.team)
    }

    /// What has happened, if it was built with a log, as the cores find time to say.
    ///
    /// # Blocking
    /// As [`Self::report`]; a core that is busy longer is left out.
    pub fn log(&self) -> Log {
        let names = Log::of_names(self.team.movables.names());
        let answers = ask_all(self.team.places().iter(), Core::take_log, |_, _| ());
        answers.filter_map(|(_, answer)| answer).fold(names, Log::and)
    }

    /// Makes all coroutines exit, and ends the cores.
    ///
    /// # Blocking
    /// Until all have stopped, or `limit` has passed, and then a second at most to find out who has
    /// not.
    ///
    /// # Errors
    /// When some have not stopped within `limit`: who they are, where they were spawned, and what
    /// they wait for or how long their turn has lasted. Their threads go on by themselves. A coroutine that
    /// shuts its own system down is one of them.
    pub fn shutdown(self, limit: Duration) -> Result<Report, Stopped> {
        self.stop(limit)
    }

    fn stop(&self, limit: Duration) -> Result<Report, Stopped> {
        let (report, late) = self.end(Some(limit));
        if late.is_empty() {
            return Ok(report);
        }
        let report = report.and(self.report_of(late.into_iter()));
        Err(Stopped { report: Box::new(report) })
    }

    /// Stops all cores and waits for their ends; who has not ended in time.
    fn end(&self, limit: Option<Duration>) -> (Report, Vec<&team::Place>) {
        let deadline = limit.map(Deadline::after);
        self.team.stop();
        let (mut report, mut late) = (Report::default(), Vec::new());
        // Whoever waits for them holds no lock.
        let threads = core::mem::take(&mut *lock(&self.threads));
        let waiting = blocking::teams();
        for thread in threads {
            let ended = match deadline {
                None => wait_unless_stopped(&thread.ended.0, &waiting),
                Some(deadline) => thread.ended.0.wait_for(deadline.left()),
            };
            if !ended {
                late.push(&self.team.places()[thread.place]);
                continue;
            }
            thread.handle.join();
            let more = lock(&thread.ended.1).0.take();
            if let Some(more) = more {
                report = report.and(more);
            }
        }
        (self.team.movables.report().and(report), late)
    }
}

/// Waits for the end of a core, as long as no system that waits for the calling code is to end itself: its coroutines
/// may be what the core waits for, directly or not. Whether the core has ended.
fn wait_unless_stopped(ended: &Bell, waiting: &[Arc<Team>]) -> bool {
    if waiting.is_empty() || is_planted("stop-inside") {
        ended.wait();
        return true;
    }
    loop {
        if ended.wait_for(LOOK) {
            return true;
        }
        if waiting.iter().any(|team| team.is_stopping()) {
            return false;
        }
    }
}

/// What each core answers within a second, if anything.
fn ask_all<'a, R: Send + 'static>(
    places: impl Iterator<Item = &'a team::Place>,
    question: fn(&Core) -> R,
    take_back: fn(&Core, R),
) -> impl Iterator<Item = (&'a team::Place, Option<R>)> {
    let deadline = Deadline::after(PATIENCE);
    let asked: Vec<_> =
        places.map(|place| (place, ask(place.mailbox, question, take_back))).collect();
    asked.into_iter().map(move |(place, answer)| (place, answer.wait_until(deadline)))
}

/// Puts a movable future that was woken on a pile of its team.
fn put_on_pile(movable: Arc<Movable>) {
    let number = movable.co.core();
    if let Some(movable) = put_on_own_pile(movable)
        && let Some(team) = mailbox::of(number).team_to_wake(movable.co)
    {
        team.add_woken(None, movable, false);
    }
}

/// Puts it on the pile of the core that runs the calling code; else gives it back.
fn put_on_own_pile(movable: Arc<Movable>) -> Option<Arc<Movable>> {
    let number = movable.co.core();
    let mut given = Some(movable);
    entered::with_team(number, |core| {
        given.take().into_iter().for_each(|movable| core.put_on_pile(movable));
    });
    given
}

impl Drop for System {
    /// Makes all coroutines exit, and waits until they have. Coroutines that are spawned meanwhile exit before
    /// they start.
    ///
    /// Called by one of its own cores, that is inside a coroutine, a future or a waker of the system, or by a closure
    /// that one of its coroutines has given to [`blocking`](crate::blocking), it does not wait, for it would wait for
    /// itself: the coroutines exit, the calling one where it next waits, and then the threads end by themselves. Called
    /// by a coroutine of another system it stops waiting when that system is to end: so two systems whose coroutines
    /// drop each other both end.
    fn drop(&mut self) {
        let is_own = blocking::teams().iter().any(|team| Arc::ptr_eq(team, &self.team));
        if is_own && !is_planted("stop-inside") {
            self.team.stop();
            // A core that has ended already has left a report, whose payloads are dropped outside of the lock.
            let threads = core::mem::take(&mut *lock(&self.threads));
            return drop(threads);
        }
        let (report, _late) = self.end(None);
        report.dispose();
    }
}

impl core::fmt::Debug for System {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "System({} cores)", self.cores())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A core that ends while its system is dropped by a coroutine of another core leaves a report.
    #[test]
    fn reports_of_ended_cores_are_dropped_outside_of_their_systems_lock() {
        let system = Arc::new(System::new(1).expect("there are threads"));
        let failing = crate::LocalSystem::new();
        drop(failing.spawn(|| panic!("it fails")));
        let report = failing.run().expect("nobody waits");
        assert_eq!(report.failures.len(), 1);
        let ended = Arc::new((Bell::new(), Mutex::new(Kept(Some(report)))));
        let handle = Handle::Real(std::thread::spawn(|| ()));
        lock(&system.threads).push(Thread { place: 0, handle, ended });
        let (own, (go, wait)) = (system.clone(), std::sync::mpsc::channel::<()>());
        let last = system.spawn(move || {
            wait.recv().expect("it is told to go on");
            drop(own);
        });
        drop(system);
        go.send(()).expect("it waits");
        last.join().expect("it does not panic");
    }
}
