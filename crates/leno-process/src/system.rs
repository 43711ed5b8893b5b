//! A system of processes: cores with a scheduler on each, and one queue of processes to be started.
//!
//! A scheduler takes processes from the queue and starts them. One that has started stays on its core,
//! because its stack does. How they take turns depends on the quantum:
//!
//! - Without a limit a process runs until it waits. Then nobody has to attach it: it is a coroutine of the core
//!   itself, which hands turns on without going through a scheduler. The scheduler has one turn in each
//!   round, and starts one process in it. If there is but one core, what a process starts does not even go
//!   through the queue: no other core could take it.
//! - With a limit the scheduler attaches each of its processes in turn for its quantum, and takes another one
//!   from the queue when none of its own is ready, or now and then when some always are.
//!
//! A scheduler with nothing to do sleeps until something is in the queue, or one of its processes is ready.
//! Whoever adds a process wakes all that sleep: a core may be busy although its scheduler sleeps, so it may
//! be any of the others that has time.

use core::fmt;
use core::future::poll_fn;
use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use leno_kernel::layer::{current_system, user};
use leno_kernel::{BuildError, Co, Exiting, JoinHandle, Object, block_on, current, yield_now};

use crate::process::{Ended, Group, Origin, Plan, Prepared, Process, once};
use crate::{Budget, Core, Locked, Sink};

/// How many slices there are between two looks into the queue, if there is always something to do.
const SLICES: u32 = 8;

/// Processes on one core or several.
///
/// # Examples
/// ```
/// use leno_process::{Budget, System, SystemBuilder, process};
///
/// struct Display(Vec<i32>);
///
/// #[process]
/// impl Display {
///     #[entry]
///     fn show(&mut self, degrees: i32) {
///         self.0.push(degrees);
///     }
///
///     #[entry]
///     fn shown(&mut self) -> usize {
///         self.0.len()
///     }
/// }
///
/// struct Sensor(DisplayRef);
///
/// #[process]
/// impl Sensor {
///     #[body]
///     fn measure(&mut self) {
///         (20..25).for_each(|degrees| self.0.show(degrees).expect("the display is there"));
///     }
/// }
///
/// let system = System::builder().cores(2).quantum(Budget::units(100)).build()?;
/// let display = system.start(Display(Vec::new()));
/// for _ in 0..3 {
///     system.start(Sensor(display.clone()));
/// }
/// // The whole ends when nobody has anything to do.
/// let idle = system.wait_idle();
/// assert!(idle.is_ok());
/// assert_eq!(display.shown()?.wait()?, 15);
/// let ended = system.run()?;
/// assert_eq!((ended.started, ended.failures.len()), (4, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct System {
    schedule: Arc<Schedule>,
    schedulers: Vec<JoinHandle<()>>,
    /// After the schedulers: they end first.
    cores: Vec<Core>,
}

/// A [`System`] to be made.
#[derive(Clone, Debug)]
pub struct SystemBuilder {
    cores: usize,
    name: String,
    quantum: Budget,
}

/// What the schedulers of a system share.
pub(crate) struct Schedule {
    group: Arc<Group>,
    quantum: Budget,
    cores: usize,
    queue: Locked<Queue>,
    /// The system that the only core is, if processes that it starts need no queue.
    only: OnceLock<Object>,
}

#[derive(Default)]
struct Queue {
    /// For whichever core comes first.
    common: VecDeque<Prepared>,
    /// For one core each.
    placed: Vec<VecDeque<Prepared>>,
    /// Schedulers that wait for something in the queue.
    idle: Vec<Option<Waker>>,
    is_closed: bool,
}

/// What a scheduler does next.
enum Next {
    Slice(Co),
    Look,
    End,
}

impl SystemBuilder {
    /// How many cores; 1 by default.
    pub fn cores(mut self, cores: usize) -> SystemBuilder {
        self.cores = cores;
        self
    }

    /// What its threads are called.
    pub fn name(mut self, name: impl Into<String>) -> SystemBuilder {
        self.name = name.into();
        self
    }

    /// How far a process runs before the next one does; without a limit by default: until it waits.
    pub fn quantum(mut self, quantum: Budget) -> SystemBuilder {
        self.quantum = quantum;
        self
    }

    /// Makes the system and starts its schedulers.
    ///
    /// # Errors
    /// Without cores, or when the machine gives no threads.
    pub fn build(self) -> Result<System, BuildError> {
        if self.cores == 0 {
            return Err(BuildError::NoCores);
        }
        let name = |place| format!("{}-{place}", self.name);
        let cores: Result<Vec<_>, _> =
            (0..self.cores).map(|place| Core::fork(name(place))).collect();
        // The machine has given so many threads, so there is memory for a queue each.
        let cores = cores?;
        let queue = Queue {
            placed: (0..self.cores).map(|_| VecDeque::new()).collect(),
            idle: vec![None; self.cores],
            ..Queue::default()
        };
        let schedule = Arc::new(Schedule {
            group: Arc::default(),
            quantum: self.quantum,
            cores: self.cores,
            queue: Locked::new(queue),
            only: OnceLock::new(),
        });
        let begin = |(place, core): (usize, &Core)| {
            let schedule = schedule.clone();
            core.attach(move || schedule.run(place))
        };
        let schedulers = cores.iter().enumerate().map(begin).collect();
        Ok(System { schedule, schedulers, cores })
    }
}

impl System {
    /// So many cores.
    ///
    /// # Errors
    /// As [`SystemBuilder::build`].
    pub fn new(cores: usize) -> Result<System, BuildError> {
        System::builder().cores(cores).build()
    }

    /// Another quantum, another name.
    pub fn builder() -> SystemBuilder {
        SystemBuilder { cores: 1, name: "processes".to_owned(), quantum: Budget::Unlimited }
    }

    /// Starts a process, on whichever core has time for it.
    pub fn start<P: Process>(&self, process: P) -> P::Ref {
        self.start_with(Plan::new(), process)
    }

    /// The same, as planned.
    ///
    /// Its state is here once, so it cannot begin again: [`Supervision::Restart`](crate::Supervision) is as
    /// good as `Escalate` for it. Use [`Self::start_again`] for one that is to be restarted.
    pub fn start_with<P: Process>(&self, plan: Plan, process: P) -> P::Ref {
        self.origin().start(plan, process)
    }

    /// The same for one that can begin again: `make` makes its state each time.
    pub fn start_again<P: Process>(
        &self,
        plan: Plan,
        make: impl FnMut() -> P + Send + 'static,
    ) -> P::Ref {
        let mut make = make;
        let (address, body) = plan.prepare_in(self.origin(), move || Some(make()));
        self.schedule.add(None, body);
        address
    }

    /// Starts a process on this core, from 0.
    ///
    /// # Panics
    /// When there is no such core.
    pub fn start_on<P: Process>(&self, core: usize, plan: Plan, process: P) -> P::Ref {
        assert!(core < self.cores.len(), "there is no core {core} of {}", self.cores.len());
        let (address, body) = plan.for_one_life().prepare_in(self.origin(), once(process));
        self.schedule.add(Some(core), body);
        address
    }

    fn origin(&self) -> Origin {
        Origin {
            group: Some(self.schedule.group.clone()),
            schedule: Arc::downgrade(&self.schedule),
        }
    }

    /// Its cores.
    pub fn cores(&self) -> &[Core] {
        &self.cores
    }

    /// Waits until no process has anything to do: all wait for calls, and nobody who waits for anything
    /// else is left.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds.
    ///
    /// # Errors
    /// While the coroutine's own stack unwinds.
    ///
    /// # Panics
    /// In a process of this system: it would wait for itself.
    #[track_caller]
    pub fn wait_idle(&self) -> Result<(), Exiting> {
        self.schedule.group.wait(false)
    }

    /// Waits until no process has anything to do, stops all, and says what became of them.
    ///
    /// # Blocking
    /// As [`Self::wait_idle`].
    ///
    /// # Cancellation
    /// As [`Self::wait_idle`]; its processes exit.
    ///
    /// # Errors
    /// As [`Self::wait_idle`].
    ///
    /// # Panics
    /// As [`Self::wait_idle`]; its processes exit.
    #[track_caller]
    pub fn run(self) -> Result<Ended, Exiting> {
        self.wait_idle()?;
        self.stop()
    }

    /// Stops all processes: each serves what is queued, and ends.
    ///
    /// # Blocking
    /// Until all have ended.
    ///
    /// # Cancellation
    /// As [`Self::run`].
    ///
    /// # Errors
    /// As [`Self::run`].
    ///
    /// # Panics
    /// As [`Self::run`].
    #[track_caller]
    pub fn stop(self) -> Result<Ended, Exiting> {
        let System { schedule, schedulers, cores } = self;
        schedule.group.stop();
        schedule.group.wait(true)?;
        schedule.close();
        for scheduler in schedulers {
            // One that was ended with its core has nothing to say; nor does one that runs this, in a destructor.
            if scheduler.co() != current() || current().is_none() {
                let _ended = scheduler.join();
            }
        }
        drop(cores);
        Ok(schedule.group.ended())
    }
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("System").field("cores", &self.cores).finish_non_exhaustive()
    }
}

impl Schedule {
    /// Adds a process to be started.
    pub(crate) fn add(&self, place: Option<usize>, body: Prepared) {
        if self.only.get().is_some_and(|only| current_system().as_ref() == Some(only)) {
            // If the core is full, the body is dropped, by which the process ends.
            body.spawn_quietly();
            return;
        }
        self.queue.section(|queue| match place {
            Some(place) => queue.placed[place].push_back(body),
            None => queue.common.push_back(body),
        });
        let places = place.map_or(0..self.cores, |place| place..place + 1);
        for place in places {
            let idle = self.queue.section(|queue| queue.idle.get_mut(place).and_then(Option::take));
            if let Some(idle) = idle {
                user::wake_waker(idle);
            }
        }
    }

    fn close(&self) {
        let idle = self.queue.section(|queue| {
            queue.is_closed = true;
            core::mem::take(&mut queue.idle)
        });
        idle.into_iter().flatten().for_each(user::wake_waker);
    }

    fn take(&self, place: usize) -> Option<Prepared> {
        self.queue
            .section(|queue| queue.placed[place].pop_front().or_else(|| queue.common.pop_front()))
    }

    /// The scheduler of one core.
    fn run(&self, place: usize) {
        if self.quantum == Budget::Unlimited {
            self.run_until_they_wait(place);
        } else {
            self.run_in_slices(place);
        }
    }

    /// Processes are the core's own coroutines.
    fn run_until_they_wait(&self, place: usize) {
        if self.cores == 1
            && let Some(own) = current_system()
        {
            let _ = self.only.set(own);
        }
        loop {
            while let Some(body) = self.take(place) {
                // If the core is full, the body is dropped, by which the process ends.
                body.spawn_quietly();
                // Those that run have a turn before the next one starts, and other cores time to take it.
                yield_now();
            }
            let has_ended = block_on(poll_fn(|context| match self.look(place, context) {
                (true, _) => Poll::Ready(false),
                (false, true) => Poll::Ready(true),
                (false, false) => Poll::Pending,
            }));
            if has_ended {
                return;
            }
        }
    }

    /// Processes are attached in turn.
    fn run_in_slices(&self, place: usize) {
        let sink = Sink::new();
        let mut slices = 0u32;
        loop {
            let ready = sink.try_next();
            if (ready.is_none() || slices.is_multiple_of(SLICES))
                && let Some(body) = self.take(place)
            {
                body.spawn_into(&sink);
            }
            slices = slices.wrapping_add(1);
            let next = match ready {
                Some(co) => Next::Slice(co),
                None => self.wait(place, &sink),
            };
            match next {
                // One that is to exit meanwhile is the core's.
                Next::Slice(co) => drop(co.attach(self.quantum)),
                Next::Look => {}
                Next::End => return,
            }
        }
    }

    /// Whether there is something in the queue for this core, and whether nothing will come any more. The
    /// scheduler is woken when that changes.
    fn look(&self, place: usize, context: &mut Context<'_>) -> (bool, bool) {
        let waker = context.waker().clone();
        let (has_work, is_closed, unused) = self.queue.section(|queue| {
            let has_work = !queue.placed[place].is_empty() || !queue.common.is_empty();
            if queue.is_closed {
                return (has_work, true, Some(waker));
            }
            let idle = (!has_work).then_some(waker);
            (has_work, false, core::mem::replace(&mut queue.idle[place], idle))
        });
        user::discard(unused);
        (has_work, is_closed)
    }

    /// Waits for one of its processes to be ready, or for something in the queue.
    fn wait(&self, place: usize, sink: &Sink) -> Next {
        block_on(poll_fn(|context| {
            let (has_work, is_closed) = self.look(place, context);
            if sink.members() > 0
                && let Poll::Ready(Some(co)) = sink.poll_next(context)
            {
                return Poll::Ready(Next::Slice(co));
            }
            if has_work {
                return Poll::Ready(Next::Look);
            }
            if is_closed { Poll::Ready(Next::End) } else { Poll::Pending }
        }))
    }
}

impl Drop for Schedule {
    /// Processes that were never started end here, whatever dropping their states raises.
    fn drop(&mut self) {
        let bodies = self.queue.section(|queue| {
            let placed = core::mem::take(&mut queue.placed);
            placed.into_iter().flatten().chain(core::mem::take(&mut queue.common))
        });
        user::discard_all(bodies);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;
    use crate::process::{Address, Me};

    /// A state that panics when it is dropped.
    struct Fragile(Arc<AtomicUsize>);

    impl Drop for Fragile {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
            assert!(std::thread::panicking(), "a state panics");
        }
    }

    impl Process for Fragile {
        type Message = ();
        type Ref = Address<Fragile>;

        fn serve(&mut self, (): (), _: &Me<Self>) {}
    }

    #[test]
    fn processes_that_no_scheduler_has_taken_end_with_the_schedule() {
        let queue = Queue { placed: vec![VecDeque::new()], idle: vec![None], ..Queue::default() };
        let schedule = Schedule {
            group: Arc::default(),
            quantum: Budget::Unlimited,
            cores: 1,
            queue: Locked::new(queue),
            only: OnceLock::new(),
        };
        let dropped: Arc<AtomicUsize> = Arc::default();
        for place in [None, Some(0), None] {
            let (address, body) = Plan::new().prepare(Fragile(dropped.clone()));
            schedule.add(place, body);
            assert!(address.post(()).is_ok());
        }
        drop(schedule);
        assert_eq!(dropped.load(SeqCst), 3);
    }
}
