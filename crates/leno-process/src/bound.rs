//! Coroutines on a thread of their own, for code that may do anything.

use core::fmt;
use std::any::Any;
use std::sync::{Arc, Mutex};

use leno_context::interrupt::{self, Unsupported, bound};
use leno_kernel::layer::user::{self, Panic};
use leno_kernel::layer::world;

use crate::Budget;
use crate::section::lock;

/// A coroutine that is bound to a thread of its own.
///
/// It runs only while it is attached, and is parked wherever it is when its time is over: between any
/// two instructions, in a loop without safepoints, in foreign code, in a thread-local's borrow. Nobody
/// else ever runs on its thread, so nothing of that does harm. Attaching blocks the calling *thread*
/// meanwhile: the two share a core, as a coroutine and its scheduler do. It takes some microseconds.
///
/// Whoever attaches it must share no lock with it, standard output's included: a bound coroutine may be
/// parked while it has that. It is not parked in the system's allocator, or in one that is
/// [guarded](crate::GuardedAllocator), unless it has been there for milliseconds.
///
/// Dropping it lets it run on to its end, attached by nobody, as dropping a
/// [`JoinHandle`](std::thread::JoinHandle) does.
///
/// # Examples
/// ```
/// use leno_process::{Bound, BoundBack, Budget};
/// use std::time::Duration;
///
/// let spin = || {
///     let begun = std::time::Instant::now();
///     while begun.elapsed() < Duration::from_millis(20) {}
///     "done"
/// };
/// let Ok(mut bound) = Bound::spawn("spinner", spin) else { return };
/// let mut slices = 1;
/// while bound.attach(Budget::time(Duration::from_millis(2))).unwrap() != BoundBack::Ended {
///     slices += 1;
/// }
/// assert!(slices > 1);
/// assert_eq!(bound.join().unwrap(), "done");
/// ```
pub struct Bound<T> {
    name: String,
    baton: &'static bound::Baton,
    result: Arc<Mutex<Option<Result<T, Panic>>>>,
}

/// Why a bound coroutine has come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BoundBack {
    /// It has suspended by itself: see [`Bound::suspend`].
    Suspended,
    /// Its time is over.
    Preempted,
    /// It has ended.
    Ended,
}

/// A bound coroutine cannot be had, or not be attached so.
#[derive(Debug)]
#[non_exhaustive]
pub enum BoundError {
    /// Code cannot be interrupted here.
    Unsupported(Unsupported),
    /// An explored program has no threads but those of leno.
    Explored(String),
    /// The machine gives no thread.
    NoThread(String, std::io::Error),
    /// Its budget is one of units, which nobody counts in code that may be anything.
    Units(String),
}

impl fmt::Display for BoundError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BoundError::Unsupported(why) => why.fmt(f),
            BoundError::Explored(name) => write!(
                f,
                "'{name}' cannot be bound to a thread: an explored program has none but leno's own"
            ),
            BoundError::NoThread(name, why) => write!(f, "no thread for '{name}': {why}"),
            BoundError::Units(name) => write!(
                f,
                "'{name}' cannot be attached for units: it is bound to a thread, where nobody counts \
                 them; use `Budget::time`"
            ),
        }
    }
}

impl std::error::Error for BoundError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BoundError::Unsupported(why) => Some(why),
            BoundError::NoThread(_, why) => Some(why),
            _ => None,
        }
    }
}

impl<T: Send + 'static> Bound<T> {
    /// Makes one. It begins when it is first attached.
    ///
    /// # Errors
    /// Elsewhere than on x86_64 Linux with glibc, under checking tools, where SIGURG is taken, in an
    /// explored program, and when the machine gives no thread.
    pub fn spawn(
        name: impl Into<String>,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Bound<T>, BoundError> {
        let name = name.into();
        if world::is_here() {
            return Err(BoundError::Explored(name));
        }
        interrupt::prepare().map_err(BoundError::Unsupported)?;
        // A handler may look at it as long as the thread lives: it is small, and stays.
        let baton: &'static bound::Baton = Box::leak(Box::default());
        let result = Arc::new(Mutex::new(None));
        let own = result.clone();
        let body = move || {
            baton.run(|| {
                let result = user::call(f);
                *lock(&own) = Some(result);
            });
            // If nobody else has it any more, the result is dropped here, whatever its `Drop` raises.
            user::discard(own);
        };
        let spawned = std::thread::Builder::new().name(name.clone()).spawn(body);
        match spawned {
            Ok(_runs_until_it_ends) => Ok(Bound { name, baton, result }),
            Err(why) => Err(BoundError::NoThread(name, why)),
        }
    }
}

impl<T> Bound<T> {
    /// Runs it until it suspends or ends, or its time is over, and says which.
    ///
    /// # Blocking
    /// Blocks the calling thread.
    ///
    /// # Errors
    /// For a budget of units.
    pub fn attach(&mut self, budget: Budget) -> Result<BoundBack, BoundError> {
        let time = match budget {
            Budget::Unlimited => None,
            Budget::Time(time) => Some(time),
            _ => return Err(BoundError::Units(self.name.clone())),
        };
        Ok(match self.baton.attach(time) {
            bound::Turned::Suspended => BoundBack::Suspended,
            bound::Turned::Preempted => BoundBack::Preempted,
            bound::Turned::Ended => BoundBack::Ended,
        })
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has not ended.
    pub fn is_active(&self) -> bool {
        !self.baton.has_ended()
    }

    /// Runs it to its end, and gives its result.
    ///
    /// # Blocking
    /// Blocks the calling thread.
    ///
    /// # Errors
    /// The payload of its panic.
    pub fn join(self) -> Result<T, Box<dyn Any + Send>> {
        while self.baton.attach(None) != bound::Turned::Ended {}
        let result = lock(&self.result).take();
        result.expect("it has ended").map_err(Panic::into_payload)
    }
}

impl Bound<()> {
    /// In a bound coroutine: gives its turn back to whoever has attached it. `false` elsewhere, where it
    /// does nothing.
    pub fn suspend() -> bool {
        bound::suspend()
    }
}

impl<T> Drop for Bound<T> {
    fn drop(&mut self) {
        // First: else its thread may end meanwhile, and leave the result, which is code of a user, to this one.
        user::discard(core::mem::take(&mut self.result));
        self.baton.let_go();
    }
}

impl<T> fmt::Debug for Bound<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.is_active() { "active" } else { "ended" };
        write!(f, "Bound({}, {state})", self.name)
    }
}
