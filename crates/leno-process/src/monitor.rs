//! Monitors: a value whose entries run one at a time, and conditions to wait for inside.
//!
//! The entrance is a semaphore with one permit; each condition is a semaphore that keeps nothing. Who
//! waits for a condition stands in its line before it leaves the monitor, so a signal that comes
//! between finds it. Signalled is not let in at once: it comes in again behind those at the entrance,
//! and looks again ([`Inside::wait_while`]).

use core::fmt;
use core::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use leno_kernel::{Exiting, Name};

use crate::Semaphore;
use crate::section::lock;

/// A value that is entered by one at a time.
///
/// A panic inside lets the next in; what it left behind is for that one to judge.
///
/// # Examples
/// ```
/// use leno_process::{Condition, Monitor};
///
/// let (buffer, not_empty) = (Monitor::new(Vec::new()), Condition::new());
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         buffer.enter(|inside| {
///             inside.push(5);
///             not_empty.signal();
///         })
///     });
///     let got = buffer.enter(|inside| {
///         inside.wait_while(&not_empty, |list| list.is_empty()).unwrap();
///         inside.pop()
///     });
///     assert_eq!(got, Ok(Some(5)));
/// });
/// ```
pub struct Monitor<T> {
    entrance: Semaphore,
    /// Away while someone is inside.
    value: Mutex<Option<Box<T>>>,
}

/// What someone inside a [`Monitor`] has: the value, and waiting.
#[derive(Debug)]
pub struct Inside<'a, T> {
    monitor: &'a Monitor<T>,
    /// Away while it waits.
    value: Option<Box<T>>,
}

/// Something about a monitor's value that can be waited for.
#[derive(Debug)]
pub struct Condition {
    line: Semaphore,
}

impl<T> Monitor<T> {
    /// Nobody is inside.
    pub fn new(value: T) -> Monitor<T> {
        Monitor { entrance: Semaphore::new(1), value: Mutex::new(Some(Box::new(value))) }
    }

    /// Named, in dumps.
    pub fn named(mut self, name: impl Into<Name>) -> Monitor<T> {
        self.entrance = self.entrance.named(name);
        self
    }

    /// Runs an entry: alone, from its beginning to its end, but for the conditions it waits for.
    ///
    /// # Blocking
    /// While another one is inside: parks the calling coroutine, or blocks the calling thread.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds, and the next is let in.
    ///
    /// # Errors
    /// While the coroutine's own stack unwinds, if it would have to wait; the entry does not run then.
    ///
    /// # Panics
    /// Inside a future that a core polls, if it would have to wait.
    #[track_caller]
    pub fn enter<R>(&self, entry: impl FnOnce(&mut Inside<'_, T>) -> R) -> Result<R, Exiting> {
        let mut inside = Inside { monitor: self, value: None };
        inside.come_in()?;
        Ok(entry(&mut inside))
    }

    /// The value.
    pub fn into_inner(self) -> T {
        let value = self.value.into_inner().unwrap_or_else(PoisonError::into_inner);
        *value.expect("nobody is inside a monitor that nobody else has")
    }
}

/// Shows its name and whether someone is inside, but not the value: only who enters may look at that, and it may be
/// shown by code that would wait.
impl<T> fmt::Debug for Monitor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, is_entered) = (self.entrance.name(), !self.entrance.has_permit());
        f.debug_struct("Monitor")
            .field("name", &name.as_ref().and_then(|name| name.as_str()))
            .field("is_entered", &is_entered)
            .finish_non_exhaustive()
    }
}

impl<T> Inside<'_, T> {
    #[track_caller]
    fn come_in(&mut self) -> Result<(), Exiting> {
        self.monitor.entrance.wait()?;
        self.value = lock(&self.monitor.value).take();
        Ok(())
    }

    /// Leaves the monitor, if it is inside.
    fn go_out(&mut self) {
        if let Some(value) = self.value.take() {
            *lock(&self.monitor.value) = Some(value);
            self.monitor.entrance.signal();
        }
    }

    /// Leaves the monitor until the condition is signalled, and comes in again. By then it may be as it
    /// was: look again, or use [`Self::wait_while`].
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds; a signal goes to the next.
    ///
    /// # Errors
    /// While the coroutine's own stack unwinds. It is outside the monitor then, and the value cannot be
    /// used any more.
    #[track_caller]
    pub fn wait(&mut self, condition: &Condition) -> Result<(), Exiting> {
        condition.line.stand(|| self.go_out())?;
        // Signalled, and perhaps never inside again: then the signal is for another.
        struct Passes<'a>(Option<&'a Condition>);
        impl Drop for Passes<'_> {
            fn drop(&mut self) {
                if let Some(condition) = self.0 {
                    condition.signal();
                }
            }
        }
        let mut passes = Passes(Some(condition));
        self.come_in()?;
        passes.0 = None;
        Ok(())
    }

    /// Waits as long as the value is not as it should be.
    ///
    /// # Errors
    /// As [`Self::wait`].
    #[track_caller]
    pub fn wait_while(
        &mut self,
        condition: &Condition,
        mut is_early: impl FnMut(&mut T) -> bool,
    ) -> Result<(), Exiting> {
        while is_early(self) {
            self.wait(condition)?;
        }
        Ok(())
    }
}

impl<T> Drop for Inside<'_, T> {
    fn drop(&mut self) {
        self.go_out();
    }
}

impl<T> Deref for Inside<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("outside a monitor its value cannot be used")
    }
}

impl<T> DerefMut for Inside<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("outside a monitor its value cannot be used")
    }
}

impl Condition {
    /// Nobody waits.
    pub fn new() -> Condition {
        Condition { line: Semaphore::forgetful() }
    }

    /// Named, in dumps.
    pub fn named(mut self, name: impl Into<Name>) -> Condition {
        self.line = self.line.named(name);
        self
    }

    /// Lets whoever waits longest look again, if anyone waits.
    pub fn signal(&self) {
        self.line.signal();
    }

    /// Lets all who wait look again.
    pub fn signal_all(&self) {
        self.line.signal_all();
    }
}

impl Default for Condition {
    fn default() -> Self {
        Condition::new()
    }
}
