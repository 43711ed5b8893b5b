//! Schedulers as user code: a sink collects coroutines that become ready, and attaching runs one.
//!
//! Whoever schedules is an ordinary coroutine. Its coroutines do not go to the core's queue when
//! they become ready, but to its [`Sink`], and it decides which of them runs, when, by [`attach`].
//! Everything else about them is as usual: they park, wake, join and exit like others. A coroutine
//! that is to exit, and every coroutine whose sink has gone, is the core's again, so none is lost
//! with its scheduler.

use core::cell::{Cell, RefCell};
use core::fmt;
use core::panic::Location;
use core::task::{Context, Poll};
use std::collections::VecDeque;
use std::rc::Rc;

use crate::core::Core;
use crate::raw::entered::{self, Here};
use crate::wait::{self, Waiter};
use crate::{Co, JoinHandle, Options, Outcome, Reason, SpawnError, State, Wake};

/// Where coroutines go that become ready, for whoever schedules them.
///
/// # Examples
/// ```
/// use leno_kernel::{LocalSystem, Options, Sink, attach, yield_now};
///
/// let system = LocalSystem::new();
/// let turns = system.spawn(|| {
///     let sink = Sink::new();
///     for _ in 0..3 {
///         drop(sink.spawn(&Options::new(), || yield_now()));
///     }
///     let mut turns = 0;
///     while let Some(co) = sink.next() {
///         attach(co).expect("it is ready");
///         turns += 1;
///     }
///     turns
/// });
/// system.run()?;
/// assert_eq!(turns.join()?, 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Sink {
    inbox: Rc<Inbox>,
    /// Set when the sink goes, for the core to see.
    orphans: Rc<Cell<bool>>,
    core: u32,
}

/// What a sink and its coroutines share.
pub(crate) struct Inbox {
    ready: RefCell<VecDeque<Co>>,
    members: Cell<usize>,
    is_open: Cell<bool>,
    /// Whoever waits for the next one.
    scheduler: RefCell<Option<Waiter>>,
}

impl Inbox {
    pub(crate) fn is_open(&self) -> bool {
        self.is_open.get()
    }

    /// Returns who is to be woken.
    #[must_use = "nobody else wakes the scheduler"]
    pub(crate) fn add(&self, co: Co) -> Option<Waiter> {
        self.ready.borrow_mut().push_back(co);
        self.scheduler.take()
    }

    pub(crate) fn forget(&self, co: Co) {
        self.ready.borrow_mut().retain(|other| *other != co);
    }

    pub(crate) fn join(&self) {
        self.members.set(self.members.get() + 1);
    }

    /// Returns who is to be woken.
    #[must_use = "nobody else wakes the scheduler"]
    pub(crate) fn leave(&self) -> Option<Waiter> {
        self.members.set(self.members.get() - 1);
        if self.members.get() == 0 { self.scheduler.take() } else { None }
    }
}

impl Sink {
    /// A sink on the core of the calling coroutine.
    ///
    /// # Panics
    /// When no system runs the calling code: make it inside a coroutine of the system.
    #[track_caller]
    pub fn new() -> Sink {
        let inbox = Inbox {
            ready: RefCell::default(),
            members: Cell::new(0),
            is_open: Cell::new(true),
            scheduler: RefCell::new(None),
        };
        let found = entered::here(|here| match here {
            Here::Stack(inside) => Some((inside.core.number(), inside.core.chores.flag().clone())),
            Here::Future(core, _) => Some((core.number(), core.chores.flag().clone())),
            Here::Thread | Here::Virtual(_) => None,
        });
        let Some((core, orphans)) = found else {
            panic!(
                "a sink is one of a system's core, and no system runs the calling code: make it \
                 inside a coroutine of the system"
            );
        };
        Sink { inbox: Rc::new(inbox), orphans, core }
    }

    /// Spawns a closure into the sink's core; it is ready, here.
    ///
    /// # Errors
    /// When no system runs the calling code, or the core holds no more coroutines.
    #[track_caller]
    pub fn spawn<T: 'static>(
        &self,
        options: &Options,
        f: impl FnOnce() -> T + 'static,
    ) -> Result<JoinHandle<T>, SpawnError> {
        let site = Location::caller();
        let spawned = self.with_core(|core| {
            let handle = core.spawn_closure(options, site, f)?;
            let co = handle.co().expect("a core has whatever is spawned there");
            // It may have ended, if it was eager.
            let _ = core.move_to_sink(co, &self.inbox);
            Ok(handle)
        });
        spawned.unwrap_or(Err(SpawnError::NoSystem))
    }

    /// Takes a coroutine of the same core over, from its core or from another sink.
    ///
    /// # Errors
    /// When it has ended, or is of another core.
    pub fn take_over(&self, co: Co) -> Result<(), AttachError> {
        let taken = self.with_core(|core| core.move_to_sink(co, &self.inbox));
        taken.unwrap_or(Err(AttachError::Elsewhere(co)))
    }

    /// How many coroutines it has, ready or not.
    pub fn members(&self) -> usize {
        self.inbox.members.get()
    }

    /// Who became ready first, if anyone is. It is then up to the caller to [`attach`] it.
    pub fn try_next(&self) -> Option<Co> {
        self.inbox.ready.borrow_mut().pop_front()
    }

    /// The same, waiting for one; `None` when all have ended or left.
    ///
    /// # Blocking
    /// Parks the calling coroutine. While there is always one, it yields now and then, so that the core can
    /// look at its timers and at what other threads ask for; see [`Co::attach`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, this unwinds its stack.
    ///
    /// # Panics
    /// Inside a future that a core polls: use [`Self::poll_next`].
    #[track_caller]
    pub fn next(&self) -> Option<Co> {
        self.let_loop_look();
        loop {
            if let Some(co) = self.try_next() {
                return Some(co);
            }
            if self.members() == 0 {
                return None;
            }
            self.inbox.scheduler.replace(Some(Waiter::current()));
            if wait::park(Reason::Scheduling) == Wake::Exit {
                wait::exit();
                return None;
            }
        }
    }

    /// Calls `f` with its core, if this thread has entered it, and no other that has got its number since.
    fn with_core<R>(&self, f: impl FnOnce(&Core) -> R) -> Option<R> {
        let is_own = |core: &Core| Rc::ptr_eq(core.chores.flag(), &self.orphans);
        entered::with_core(self.core, |core| is_own(core).then(|| f(core))).flatten()
    }

    fn let_loop_look(&self) {
        entered::here(|here| match here {
            Here::Stack(inside) if inside.core.number() == self.core => {
                inside.core.let_loop_look(&inside);
            }
            _ => {}
        });
    }

    /// The same for a future.
    pub fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Co>> {
        let goes_first = entered::here(|here| match here {
            Here::Future(core, _) => core.number() == self.core && core.should_look(),
            _ => false,
        });
        if goes_first {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Some(co) = self.try_next() {
            return Poll::Ready(Some(co));
        }
        if self.members() == 0 {
            return Poll::Ready(None);
        }
        self.inbox.scheduler.replace(Some(Waiter::of(context)));
        Poll::Pending
    }
}

impl Default for Sink {
    #[track_caller]
    fn default() -> Self {
        Sink::new()
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.inbox.is_open.set(false);
        self.orphans.set(true);
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ready = self.inbox.ready.borrow().len();
        write!(f, "Sink({ready} ready of {})", self.members())
    }
}

/// Runs a coroutine of the calling one's core now, until it parks, yields or ends, and says which.
///
/// The calling coroutine shows as calling it meanwhile. The coroutine must be ready or not started:
/// taken from a [`Sink`], or in the core's queue, which then forgets it.
///
/// # Errors
/// When it is not ready, has ended, or is of another core.
pub fn attach(co: Co) -> Result<Back, AttachError> {
    entered::here(|here| match here {
        Here::Stack(inside) => inside.core.attach(co),
        Here::Future(core, _) => core.attach(co),
        Here::Thread | Here::Virtual(_) => Err(AttachError::Elsewhere(co)),
    })
}

/// Why an attached coroutine has come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Back {
    /// It waits for something.
    Parked(Reason),
    /// It waits for a coroutine that it has called.
    Called(Co),
    /// It has given its turn to others, and is ready.
    Yielded,
    /// Its budget is used up; it is ready.
    Preempted,
    /// It has ended.
    Ended(Outcome),
}

impl Back {
    /// Whether it has not ended.
    pub fn is_active(self) -> bool {
        !matches!(self, Back::Ended(_))
    }
}

/// A coroutine cannot be attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttachError {
    /// It has ended.
    Ended(Co),
    /// It is not ready.
    NotReady(Co, State),
    /// It is not a coroutine of the calling one's core.
    Elsewhere(Co),
    /// It may not have a budget: its system was not made [preemptive](crate::LocalBuilder::preemptive).
    NotPreemptive(Co),
    /// It may not have a budget in time: that of its system is virtual.
    VirtualTime(Co),
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttachError::Ended(co) => write!(f, "coroutine {co} cannot be attached: it has ended"),
            AttachError::NotReady(co, state) => {
                write!(f, "coroutine {co} cannot be attached: it is {state}, not ready")
            }
            AttachError::Elsewhere(co) => {
                write!(f, "coroutine {co} cannot be attached here: another core runs it")
            }
            AttachError::NotPreemptive(co) => write!(
                f,
                "coroutine {co} cannot be attached with a budget: its system is not preemptive, so \
                 its coroutines run from operation to operation; build it with `preemptive()`"
            ),
            AttachError::VirtualTime(co) => write!(
                f,
                "coroutine {co} cannot be attached for a time: its system's time is virtual, and \
                 stands still while anyone runs; use `Budget::units`"
            ),
        }
    }
}

impl std::error::Error for AttachError {}
