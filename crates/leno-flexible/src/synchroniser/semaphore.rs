//! A general semaphore. (Dovland 2006, 6.3.2.)
//!
//! `down: await (s > 0) then s = s - 1`, at a desk; `up: s = s + 1`, which never waits, and prods it.
//! As whoever goes down may be gone before it knows that it has, what it gets goes up again when it is
//! dropped.

use core::fmt;
use core::time::Duration;
use std::sync::{Arc, Mutex};

use super::claim::{Claim, Outcome};
use super::desk::{self, Desk, Unserved, ask, ask_async};
use super::ground::Ground;
use crate::CallError;
use leno_kernel::layer::user::lock;

/// A count that goes down to zero and no further: whoever wants to go down then waits, and goes in order of
/// arrival.
///
/// It is a handle: cloning it gives another one for the same count.
///
/// # Examples
/// ```
/// use leno_flexible::{System, synchroniser::Semaphore};
///
/// let system = System::new();
/// let letters = Semaphore::new(&system, "letters", 0);
/// let other = letters.clone();
/// let reader = std::thread::spawn(move || other.down());
/// letters.up(); // never waits
/// reader.join().unwrap()?;
/// assert_eq!(letters.count(), 0);
///
/// let seats = Semaphore::new(&system, "seats", 1);
/// let seat = seats.hold()?; // goes up by itself
/// assert!(!seats.try_down());
/// drop(seat);
/// assert!(seats.try_down());
/// # Ok::<(), leno_flexible::CallError>(())
/// ```
pub struct Semaphore {
    inner: Arc<Inner>,
}

struct Inner {
    state: Arc<Mutex<State>>,
    down: Desk<Arc<Inner>, Hold>,
}

struct State {
    count: usize,
    /// Whether the desk keeps someone waiting.
    waits: bool,
    is_over: bool,
}

/// One that was taken from a [`Semaphore`], until it is dropped.
#[must_use = "it goes up again when it is dropped"]
pub struct Hold {
    inner: Option<Arc<Inner>>,
}

impl Semaphore {
    /// A coroutine, `NAME.down`, and a count to begin with.
    pub fn new(system: &impl Ground, name: &str, count: usize) -> Semaphore {
        let state = Arc::new(Mutex::new(State { count, waits: false, is_over: false }));
        let (own, over) = (state.clone(), state.clone());
        let serve = move |claim: &Arc<Claim<Arc<Inner>, Hold>>| {
            let outcome = claim.decide(|inner| {
                let mut state = lock(&own);
                state.waits = state.count == 0;
                state.count = state.count.checked_sub(1)?;
                Some(Hold { inner: Some(inner.clone()) })
            });
            if outcome == Outcome::Over {
                lock(&own).waits = false;
            }
            outcome
        };
        let name = format!("{name}.down").into();
        let down = desk::open(&system.site(), name, serve, move || lock(&over).is_over);
        Semaphore { inner: Arc::new(Inner { state, down }) }
    }

    /// Waits until the count is above zero, and takes one.
    ///
    /// # Blocking
    /// While the count is zero, and while others who came earlier wait.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, it leaves the queue, and its stack unwinds.
    ///
    /// # Errors
    /// When the system has ended, or the caller's stack unwinds.
    ///
    /// # Panics
    /// Inside a future that a core polls; see [`Self::hold_async`].
    #[track_caller]
    pub fn down(&self) -> Result<(), CallError> {
        self.hold().map(Hold::keep)
    }

    /// The same for at most `limit`.
    ///
    /// # Blocking
    /// As [`Self::down`]; a coroutine of the same system waits without a limit.
    ///
    /// # Cancellation
    /// As [`Self::down`].
    ///
    /// # Errors
    /// As [`Self::down`], and [`CallError::TimedOut`].
    ///
    /// # Panics
    /// As [`Self::down`].
    #[track_caller]
    pub fn down_timeout(&self, limit: Duration) -> Result<(), CallError> {
        self.held(ask(&self.inner.down, self.inner.clone(), Some(limit))).map(Hold::keep)
    }

    /// Takes one, which goes up again when what is returned is dropped.
    ///
    /// # Blocking
    /// As [`Self::down`].
    ///
    /// # Cancellation
    /// As [`Self::down`].
    ///
    /// # Errors
    /// As [`Self::down`].
    ///
    /// # Panics
    /// As [`Self::down`].
    #[track_caller]
    pub fn hold(&self) -> Result<Hold, CallError> {
        self.held(ask(&self.inner.down, self.inner.clone(), None))
    }

    /// The same for a future, which leaves the queue when it is dropped.
    ///
    /// # Errors
    /// As [`Self::down`].
    pub async fn hold_async(&self) -> Result<Hold, CallError> {
        self.held(ask_async(&self.inner.down, self.inner.clone()).await)
    }

    /// Takes one, if the count is above zero and nobody waits. Whether it did.
    pub fn try_down(&self) -> bool {
        let mut state = lock(&self.inner.state);
        let may = state.count > 0 && !state.waits;
        state.count -= usize::from(may);
        may
    }

    /// Adds one, and wakes whoever waits longest. Never waits, and may be called anywhere.
    ///
    /// # Panics
    /// When there are `usize::MAX` already.
    pub fn up(&self) {
        self.inner.up();
    }

    /// How many there are, by now perhaps no longer.
    pub fn count(&self) -> usize {
        lock(&self.inner.state).count
    }

    fn held(&self, result: Result<Hold, Unserved<Arc<Inner>>>) -> Result<Hold, CallError> {
        result.map_err(|Unserved { error, .. }| error)
    }
}

impl Hold {
    /// Keeps it for good: it does not go up again.
    pub fn keep(mut self) {
        self.inner = None;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            inner.up();
        }
    }
}

impl Inner {
    fn up(&self) {
        let mut state = lock(&self.state);
        let more = state.count.checked_add(1);
        let waits = state.waits;
        if let Some(more) = more {
            state.count = more;
        }
        drop(state);
        assert!(more.is_some(), "semaphore '{}' cannot go up any more", self.down.name());
        if waits {
            let _ = self.down.prod();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        lock(&self.state).is_over = true;
        let _ = self.down.kick();
    }
}

impl Clone for Semaphore {
    fn clone(&self) -> Self {
        Semaphore { inner: self.inner.clone() }
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Semaphore({}, {})", self.count(), self.inner.down)
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hold")
    }
}
