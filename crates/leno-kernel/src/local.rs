//! A system of one core, run by whoever calls it.

use core::any::Any;
use core::cell::RefCell;
use core::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use leno_context::user;

use crate::core::{Core, Parts, Stop};
use crate::dump::{Depth, Dump};
use crate::log::{Log, Ring};
use crate::mailbox;
use crate::options::Options;
use crate::policy::Policy;
use crate::raw::entered;
use crate::report::{Deadlock, Report};
use crate::user::{Caught, Hook, SystemHook};
use crate::window::Title;
use crate::{JoinHandle, Object, Platform, RealTime, SpawnError, Time, VirtualTime};

/// A system of one core: its coroutines run one at a time, on the thread that calls
/// [`run`](LocalSystem::run). Bodies need not be `Send`.
///
/// # Examples
/// ```
/// use leno_kernel::{LocalSystem, yield_now};
///
/// let system = LocalSystem::new();
/// let sum = system.spawn(|| (1..=10).inspect(|_| yield_now()).sum::<u32>());
/// system.run()?;
/// assert_eq!(sum.join()?, 55);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LocalSystem {
    /// There until the end.
    core: Option<Box<Core>>,
    quiescence: Quiescence,
}

/// What [`LocalSystem::run`] does when nobody can ever run again, but some have not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Quiescence {
    /// It returns an error that names them. They stay.
    #[default]
    Error,
    /// It returns a report that names them. They stay.
    Report,
    /// It removes them: those who wait to receive have starved, those who wait to send are
    /// blockaged. Their destructors run. It is the proper end of programs that say so.
    Reap,
}

/// A [`LocalSystem`] to be made.
#[derive(Default)]
pub struct LocalBuilder {
    platform: Option<Box<dyn Platform>>,
    /// The platform is code of a user.
    is_foreign: bool,
    policy: Option<Box<dyn Policy>>,
    quiescence: Quiescence,
    name: Option<String>,
    log: Option<usize>,
    is_preemptive: bool,
    on_failure: SystemHook,
}

impl LocalBuilder {
    /// What it is called in dumps; by default "local".
    pub fn name(mut self, name: impl Into<String>) -> LocalBuilder {
        self.name = Some(name.into());
        self
    }

    /// Decides who runs next, and every other choice; by default first come, first served.
    pub fn policy(mut self, policy: impl Policy + 'static) -> LocalBuilder {
        self.policy = Some(Box::new(policy));
        self
    }

    /// Time that stands still while anyone can run, and then jumps.
    pub fn virtual_time(mut self) -> LocalBuilder {
        self.platform = Some(Box::new(VirtualTime::new()));
        self.is_foreign = false;
        self
    }

    /// The machine below: a clock and a way to do nothing. By default the real one.
    pub fn platform(mut self, platform: impl Platform + 'static) -> LocalBuilder {
        self.platform = Some(Box::new(platform));
        self.is_foreign = true;
        self
    }

    /// What happens when nobody can ever run again; by default an error.
    pub fn at_quiescence(mut self, quiescence: Quiescence) -> LocalBuilder {
        self.quiescence = quiescence;
        self
    }

    /// Writes down what happens, the last `events` of it; see [`Log`].
    pub fn log(mut self, events: usize) -> LocalBuilder {
        self.log = Some(events);
        self
    }

    /// Lets its coroutines be attached with a [`Budget`](crate::Budget), so that they are preempted.
    /// By default they are not: between two operations nobody else of the system runs.
    pub fn preemptive(mut self) -> LocalBuilder {
        self.is_preemptive = true;
        self
    }

    /// Is told of panics of user code that nobody waits for, such as a waker's; see [`user`](crate::user).
    /// By default [`user::on_failure`](crate::user::on_failure) is.
    pub fn on_failure(
        mut self,
        hook: impl Fn(&Caught<'_>) + Send + Sync + 'static,
    ) -> LocalBuilder {
        self.on_failure = SystemHook(Some(Hook::new(hook)));
        self
    }

    /// Makes the system.
    ///
    /// # Panics
    /// When the process has 65,536 cores already.
    pub fn build(self) -> LocalSystem {
        let platform = self.platform.unwrap_or_else(|| Box::new(RealTime::new()));
        let name = self.name.unwrap_or_else(|| "local".to_owned());
        let title = Title { name, cores: 1, object: Object::shared(), on_failure: self.on_failure };
        let title = Arc::new(title);
        match mailbox::open() {
            Ok(address) => {
                let parts = Parts {
                    platform,
                    policy: self.policy,
                    steps: None,
                    log: self.log.map(Ring::new).map(Rc::new),
                    team: None,
                    title,
                    is_preemptive: self.is_preemptive,
                };
                let core = Core::new(address, parts).clocked_by(self.is_foreign);
                // While a thread ends there is no such list, and nobody who would look.
                let _ = OWN.try_with(|own| own.borrow_mut().push(core.system()));
                LocalSystem { core: Some(Box::new(core)), quiescence: self.quiescence }
            }
            Err(error) => panic!("{error}"),
        }
    }
}

thread_local! {
    /// The local systems of this thread.
    static OWN: RefCell<Vec<Object>> = const { RefCell::new(Vec::new()) };
}

/// Whether this is a local system of the calling thread: nobody else can run it.
pub(crate) fn is_own(system: Object) -> bool {
    OWN.try_with(|own| own.borrow().contains(&system)).unwrap_or(false)
}

impl LocalSystem {
    /// First come, first served, in real time.
    pub fn new() -> LocalSystem {
        LocalSystem::builder().build()
    }

    /// Another policy, another clock.
    pub fn builder() -> LocalBuilder {
        LocalBuilder::default()
    }

    /// Adds a coroutine with a stack, which it takes when it first runs.
    ///
    /// # Panics
    /// When the system holds 4 million coroutines already; see [`Self::spawn_with`].
    #[track_caller]
    pub fn spawn<T: 'static>(&self, f: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
        match self.spawn_with(&Options::new(), f) {
            Ok(handle) => handle,
            Err(error) => panic!("{error}"),
        }
    }

    /// The same, with options.
    ///
    /// # Errors
    /// When the system holds no more coroutines.
    #[track_caller]
    pub fn spawn_with<T: 'static>(
        &self,
        options: &Options,
        f: impl FnOnce() -> T + 'static,
    ) -> Result<JoinHandle<T>, SpawnError> {
        self.core().spawn_closure(options, Location::caller(), f)
    }

    /// Adds a coroutine without a stack: a future.
    ///
    /// # Panics
    /// As [`Self::spawn`].
    #[track_caller]
    pub fn spawn_future<T: 'static>(
        &self,
        future: impl Future<Output = T> + 'static,
    ) -> JoinHandle<T> {
        match self.spawn_future_with(&Options::new(), future) {
            Ok(handle) => handle,
            Err(error) => panic!("{error}"),
        }
    }

    /// The same, with options.
    ///
    /// # Errors
    /// When the system holds no more coroutines.
    #[track_caller]
    pub fn spawn_future_with<T: 'static>(
        &self,
        options: &Options,
        future: impl Future<Output = T> + 'static,
    ) -> Result<JoinHandle<T>, SpawnError> {
        self.core().spawn_future(options, Location::caller(), future)
    }

    /// Runs until all coroutines have ended, or nobody can ever run again; see [`Quiescence`].
    ///
    /// # Blocking
    /// The calling thread; inside a coroutine of another system, that whole system.
    ///
    /// # Errors
    /// When some have not ended, but nobody can ever run again: the report names them and what they
    /// wait for. They stay; someone outside may still unpark them before the next run.
    ///
    /// # Panics
    /// When the system is running already: it was called by one of its own coroutines. When its policy panics
    /// or breaks its contract: the system can be run again, first come, first served.
    pub fn run(&self) -> Result<Report, Deadlock> {
        let is_done = |core: &Core| core.tasks.live() == 0;
        while self.run_core(is_done) == Stop::Quiescent && self.quiescence == Quiescence::Reap {
            self.core().reap();
        }
        let report = self.report();
        let stays = !report.alive.is_empty() && self.quiescence == Quiescence::Error;
        if stays { Err(Deadlock { report: Box::new(report) }) } else { Ok(report) }
    }

    fn core(&self) -> &Core {
        self.core.as_ref().expect("there until the end")
    }

    fn run_core(&self, done: impl Fn(&Core) -> bool) -> Stop {
        assert!(
            !self.core().entry.is_entered(),
            "a system cannot be run by one of its own coroutines: it is running already"
        );
        let stop = entered::enter(self.core(), || self.core().run_until(done));
        self.core().observation.window().leaves();
        stop
    }

    /// Makes all coroutines exit, and runs until they have. Coroutines that are spawned meanwhile, by
    /// destructors say, exit before they start.
    ///
    /// # Panics
    /// As [`Self::run`].
    pub fn drain(&self) -> Report {
        self.exit_all();
        self.report()
    }

    /// Whoever is spawned meanwhile ends before it starts, so that there is an end.
    fn exit_all(&self) {
        struct Stopping<'a>(&'a Core);
        impl Drop for Stopping<'_> {
            fn drop(&mut self) {
                self.0.membership.set_stopping(false);
            }
        }
        self.core().membership.set_stopping(true);
        let _stopping = Stopping(self.core());
        while self.core().tasks.live() > 0 {
            self.core().cancel_all();
            if self.run_core(|core| core.tasks.live() == 0) == Stop::Quiescent {
                self.core().refuse_circle();
            }
        }
    }

    /// Removes those whom nobody can ever wake, as far as its [ledger](crate::ledger) knows: they have
    /// their last turn, in which their destructors run, in the next run. How many they are.
    ///
    /// Between runs nobody can run. Then also those give way who wait in a circle for one that waits to be
    /// told of their end.
    pub fn sweep(&self) -> usize {
        let core = self.core();
        if core.entry.is_entered() {
            core.remove_unreachable()
        } else {
            core.remove_unreachable_at_rest()
        }
    }

    /// Names it, as [`current_system`](crate::layer::current_system) does inside.
    pub fn object(&self) -> Object {
        self.core().system()
    }

    /// Keeps something with the system, in place of what was kept before, where
    /// [`lodger`](crate::layer::lodger()) finds it inside. For layers above, which would otherwise keep it with
    /// the thread: code of a coroutine runs elsewhere under a tool that gives each a thread.
    pub fn lodge(&self, lodger: Option<Rc<dyn Any>>) {
        drop(self.core().membership.extend(lodger));
    }

    /// What has become of its coroutines so far. Takes the failures.
    pub fn report(&self) -> Report {
        self.core().report()
    }

    /// Every coroutine as it is now: its state, what it waits for, who could wake it.
    pub fn dump(&self, depth: Depth) -> Dump {
        Dump { cores: vec![self.core().dump(depth)], busy: Vec::new() }
    }

    /// What has happened, if it was built with a log.
    pub fn log(&self) -> Log {
        self.core().take_log()
    }

    /// What time it is in this system.
    pub fn now(&self) -> Time {
        self.core().clock.platform().now()
    }
}

impl Default for LocalSystem {
    fn default() -> Self {
        LocalSystem::new()
    }
}

/// How often a system that is dropped goes on after its clock, or another part of a user's, has panicked.
const TRIES: usize = 8;

impl Drop for LocalSystem {
    /// Makes all coroutines exit, as [`Self::drain`] does. What a policy or a clock raises meanwhile goes no
    /// further. If a clock raises again and again, the coroutines are leaked.
    fn drop(&mut self) {
        let core = self.core();
        let object = core.system();
        let _ = OWN.try_with(|own| own.borrow_mut().retain(|other| *other != object));
        let is_busy = core.is_in_policy() || core.entry.is_entered();
        let is_drained = !leno_context::thread::is_ending()
            && !is_busy
            && (0..TRIES).any(|_| user::call(|| self.exit_all()).is_ok());
        let core = self.core.take();
        if !is_drained {
            // Nothing may be unwound now; suspended frames refer to the core, so it stays.
            return core::mem::forget(core);
        }
        if let Some(core) = &core {
            core.dispose();
        }
        user::dispose(core);
    }
}

impl core::fmt::Debug for LocalSystem {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "LocalSystem({} alive)", self.core().tasks.live())
    }
}
