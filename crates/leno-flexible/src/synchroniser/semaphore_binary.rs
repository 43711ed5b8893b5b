//! A binary semaphore. (Dovland 2006, 6.3.1.)
//!
//! `down: await (v == true) then v = false` and `up: await (v == false) then v = true`, each at a desk of its
//! own, which prods the other; both detach when they are done.

use core::fmt;
use core::time::Duration;
use std::sync::{Arc, Mutex};

use super::claim::{Claim, Outcome};
use super::desk::{self, Desk, Unserved, ask, ask_async};
use super::ground::Ground;
use crate::CallError;
use leno_kernel::layer::user::lock;

/// A flag that one side waits for to be true and makes false, and the other waits for to be false and makes
/// true: a buffer for one signal. Those who wait go in order of arrival.
///
/// It is a handle: cloning it gives another one for the same flag.
///
/// # Examples
/// ```
/// use leno_flexible::{System, synchroniser::BinarySemaphore};
///
/// let system = System::new();
/// let tray = BinarySemaphore::with_value(&system, "tray", false);
/// let other = tray.clone();
/// let cook = std::thread::spawn(move || (0..3).try_for_each(|_| other.up())); // waits for an empty tray
/// for _ in 0..3 {
///     tray.down()?; // waits for a full one
/// }
/// cook.join().unwrap()?;
/// # Ok::<(), leno_flexible::CallError>(())
/// ```
pub struct BinarySemaphore {
    inner: Arc<Inner>,
}

/// What a desk waits for the flag to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Down,
    Up,
}

struct Inner {
    state: Arc<Mutex<State>>,
    desks: [Desk<Asking, Change>; 2],
}

struct Asking(Arc<Inner>);

struct State {
    value: bool,
    /// Whether the desks keep someone waiting.
    waits: [bool; 2],
    is_over: bool,
}

/// The flag was changed for somebody; a down of which nobody hears is undone.
struct Change {
    inner: Option<Arc<Inner>>,
    side: Side,
}

impl BinarySemaphore {
    /// Two coroutines, `NAME.down` and `NAME.up`, and a flag that is true.
    pub fn new(system: &impl Ground, name: &str) -> BinarySemaphore {
        BinarySemaphore::with_value(system, name, true)
    }

    /// The same, and the flag is `value`.
    pub fn with_value(system: &impl Ground, name: &str, value: bool) -> BinarySemaphore {
        let state = State { value, waits: [false; 2], is_over: false };
        let state = Arc::new(Mutex::new(state));
        let desks = [(Side::Down, "down"), (Side::Up, "up")].map(|(side, part)| {
            let (own, over) = (state.clone(), state.clone());
            let serve = move |claim: &Arc<Claim<Asking, Change>>| look(claim, side, &own);
            let name = format!("{name}.{part}").into();
            desk::open(&system.site(), name, serve, move || lock(&over).is_over)
        });
        BinarySemaphore { inner: Arc::new(Inner { state, desks }) }
    }

    /// Waits until the flag is true, and makes it false.
    ///
    /// # Blocking
    /// While the flag is false, and while others who came earlier wait.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, it leaves the queue, and its stack unwinds.
    ///
    /// # Errors
    /// When the system has ended, or the caller's stack unwinds.
    ///
    /// # Panics
    /// Inside a future that a core polls; see [`Self::down_async`].
    #[track_caller]
    pub fn down(&self) -> Result<(), CallError> {
        self.change(Side::Down, None)
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
        self.change(Side::Down, Some(limit))
    }

    /// The same for a future, which leaves the queue when it is dropped.
    ///
    /// # Errors
    /// As [`Self::down`].
    pub async fn down_async(&self) -> Result<(), CallError> {
        self.change_async(Side::Down).await
    }

    /// Waits until the flag is false, and makes it true.
    ///
    /// # Blocking
    /// While the flag is true, and while others who came earlier wait.
    ///
    /// # Cancellation
    /// As [`Self::down`].
    ///
    /// # Errors
    /// As [`Self::down`].
    ///
    /// # Panics
    /// Inside a future that a core polls; see [`Self::up_async`].
    #[track_caller]
    pub fn up(&self) -> Result<(), CallError> {
        self.change(Side::Up, None)
    }

    /// The same for at most `limit`.
    ///
    /// # Blocking
    /// As [`Self::up`]; a coroutine of the same system waits without a limit.
    ///
    /// # Cancellation
    /// As [`Self::down`].
    ///
    /// # Errors
    /// As [`Self::down`], and [`CallError::TimedOut`].
    ///
    /// # Panics
    /// As [`Self::up`].
    #[track_caller]
    pub fn up_timeout(&self, limit: Duration) -> Result<(), CallError> {
        self.change(Side::Up, Some(limit))
    }

    /// The same for a future, which leaves the queue when it is dropped.
    ///
    /// # Errors
    /// As [`Self::down`].
    pub async fn up_async(&self) -> Result<(), CallError> {
        self.change_async(Side::Up).await
    }

    /// What the flag is, by now perhaps no longer.
    pub fn value(&self) -> bool {
        lock(&self.inner.state).value
    }

    #[track_caller]
    fn change(&self, side: Side, limit: Option<Duration>) -> Result<(), CallError> {
        changed(ask(&self.inner.desks[side as usize], Asking(self.inner.clone()), limit))
    }

    async fn change_async(&self, side: Side) -> Result<(), CallError> {
        changed(ask_async(&self.inner.desks[side as usize], Asking(self.inner.clone())).await)
    }
}

/// A desk looks at its client.
fn look(claim: &Claim<Asking, Change>, side: Side, state: &Mutex<State>) -> Outcome {
    let mut done = None;
    let outcome = claim.decide(|Asking(inner)| {
        let mut state = lock(state);
        let may = state.value == (side == Side::Down);
        state.waits[side as usize] = !may;
        state.value ^= may;
        done = may.then(|| inner.clone());
        may.then(|| Change { inner: Some(inner.clone()), side })
    });
    if let Some(inner) = done {
        inner.prod();
    } else if outcome == Outcome::Over {
        lock(state).waits[side as usize] = false;
    }
    outcome
}

fn changed(result: Result<Change, Unserved<Asking>>) -> Result<(), CallError> {
    match result {
        Ok(mut change) => {
            change.inner = None;
            Ok(())
        }
        Err(Unserved { error, .. }) => Err(error),
    }
}

impl Inner {
    /// Has those desks look again at which someone waits.
    fn prod(&self) {
        let waits = lock(&self.state).waits;
        for (desk, _) in self.desks.iter().zip(waits).filter(|(_, waits)| *waits) {
            let _ = desk.prod();
        }
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take().filter(|_| self.side == Side::Down) {
            lock(&inner.state).value = true;
            inner.prod();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        lock(&self.state).is_over = true;
        for desk in &self.desks {
            let _ = desk.kick();
        }
    }
}

impl Clone for BinarySemaphore {
    fn clone(&self) -> Self {
        BinarySemaphore { inner: self.inner.clone() }
    }
}

impl fmt::Debug for BinarySemaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [down, up] = &self.inner.desks;
        write!(f, "BinarySemaphore({}, {down}, {up})", self.value())
    }
}
