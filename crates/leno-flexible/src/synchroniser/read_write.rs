//! Readers and writers. (Dovland 2006, 6.1, A.2.)
//!
//! What users see; who may enter is decided in `desks.rs`. The value is in a lock of `std` that is never
//! waited for: whoever is inside may have it.
//!
//! Whoever need not wait calls nobody: it looks first, as [`ReadWrite::try_read`] does, and passes no one who
//! waits. The coroutines are there for those who have to.

mod desks;
mod guard;

use core::fmt;
use core::time::Duration;
use std::sync::{Arc, PoisonError, RwLock, TryLockError};

use self::desks::{Client, Desks, Kind, Token};
pub use self::guard::{ReadGuard, WriteGuard};
use super::desk::{Unserved, ask, ask_async};
use super::ground::Ground;
use crate::CallError;

/// Who enters first when readers and writers wait for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Preference {
    /// Whoever has come first. Nobody starves.
    #[default]
    Arrival,
    /// Writers: readers wait while a writer does. A stream of writers starves readers.
    Writers,
    /// Readers: writers wait while a reader does. A stream of readers starves writers.
    Readers,
}

/// A value that many may read at once, or one may write, and that decides who goes first.
///
/// Cloning is by [`Arc`], as for other locks. A guard may be dropped anywhere, and wakes whoever can go on.
///
/// # Examples
/// ```
/// use leno_flexible::System;
/// use leno_flexible::synchroniser::{Preference, ReadWrite};
///
/// let system = System::new();
/// let stock = ReadWrite::new(&system, "stock", vec!["tea"]);
/// std::thread::scope(|s| {
///     s.spawn(|| stock.write().unwrap().push("milk"));
///     s.spawn(|| assert_eq!(stock.read().unwrap()[0], "tea"));
/// });
/// stock.set_preference(Preference::Writers); // at any time
/// assert_eq!(*stock.read()?, ["tea", "milk"]);
/// # Ok::<(), leno_flexible::CallError>(())
/// ```
pub struct ReadWrite<T> {
    desks: Arc<Desks>,
    /// Never waited for: whoever is inside may have it.
    value: RwLock<T>,
}

impl<T> ReadWrite<T> {
    /// Two coroutines, `NAME.read` and `NAME.write`, and a value. Whoever comes first goes first.
    pub fn new(system: &impl Ground, name: &str, value: T) -> ReadWrite<T> {
        ReadWrite::with_preference(system, name, Preference::Arrival, value)
    }

    /// The same with another preference.
    pub fn with_preference(
        system: &impl Ground,
        name: &str,
        preference: Preference,
        value: T,
    ) -> ReadWrite<T> {
        let desks = Desks::new(system, name, preference);
        ReadWrite { desks: Arc::new(desks), value: RwLock::new(value) }
    }

    /// Waits until there is no writer, and reads. The value of a writer that has panicked is read as it is.
    ///
    /// # Blocking
    /// Until no writer is inside and none goes first by the present [`Preference`]. Whoever holds a guard and
    /// asks for another one may wait for itself.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, it leaves the queue, and its stack unwinds.
    ///
    /// # Errors
    /// When the system has ended, or the caller's stack unwinds.
    ///
    /// # Panics
    /// Inside a future that a core polls; see [`Self::read_async`].
    #[track_caller]
    pub fn read(&self) -> Result<ReadGuard<'_, T>, CallError> {
        self.enter(Kind::Read, None).map(|token| self.to_read(token))
    }

    /// The same for at most `limit`.
    ///
    /// # Blocking
    /// As [`Self::read`]; a coroutine of the same system waits without a limit.
    ///
    /// # Cancellation
    /// As [`Self::read`].
    ///
    /// # Errors
    /// As [`Self::read`], and [`CallError::TimedOut`].
    ///
    /// # Panics
    /// As [`Self::read`].
    #[track_caller]
    pub fn read_timeout(&self, limit: Duration) -> Result<ReadGuard<'_, T>, CallError> {
        self.enter(Kind::Read, Some(limit)).map(|token| self.to_read(token))
    }

    /// The same for a future, which leaves the queue when it is dropped.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn read_async(&self) -> Result<ReadGuard<'_, T>, CallError> {
        self.enter_async(Kind::Read).await.map(|token| self.to_read(token))
    }

    /// Reads, if that can be had without waiting and without passing anyone who waits.
    pub fn try_read(&self) -> Option<ReadGuard<'_, T>> {
        self.desks.try_enter(Kind::Read).map(|token| self.to_read(token))
    }

    /// Waits until nobody is inside, and writes.
    ///
    /// # Blocking
    /// Until nobody is inside and no reader goes first by the present [`Preference`]. Whoever holds a guard
    /// and asks for this waits for itself.
    ///
    /// # Cancellation
    /// As [`Self::read`].
    ///
    /// # Errors
    /// As [`Self::read`].
    ///
    /// # Panics
    /// Inside a future that a core polls; see [`Self::write_async`].
    #[track_caller]
    pub fn write(&self) -> Result<WriteGuard<'_, T>, CallError> {
        self.enter(Kind::Write, None).map(|token| self.to_write(token))
    }

    /// The same for at most `limit`.
    ///
    /// # Blocking
    /// As [`Self::write`]; a coroutine of the same system waits without a limit.
    ///
    /// # Cancellation
    /// As [`Self::read`].
    ///
    /// # Errors
    /// As [`Self::read`], and [`CallError::TimedOut`].
    ///
    /// # Panics
    /// As [`Self::write`].
    ///
    /// # Examples
    /// ```
    /// use core::time::Duration;
    /// use leno_flexible::{CallError, System, synchroniser::ReadWrite};
    ///
    /// let system = System::new();
    /// let page = ReadWrite::new(&system, "page", 0);
    /// let reads = page.read()?;
    /// let late = page.write_timeout(Duration::from_millis(1)).map(|page| *page);
    /// assert!(matches!(late, Err(CallError::TimedOut { .. })));
    /// drop(reads);
    /// *page.write()? = 1; // it has left nothing behind
    /// # Ok::<(), CallError>(())
    /// ```
    #[track_caller]
    pub fn write_timeout(&self, limit: Duration) -> Result<WriteGuard<'_, T>, CallError> {
        self.enter(Kind::Write, Some(limit)).map(|token| self.to_write(token))
    }

    /// The same for a future, which leaves the queue when it is dropped.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn write_async(&self) -> Result<WriteGuard<'_, T>, CallError> {
        self.enter_async(Kind::Write).await.map(|token| self.to_write(token))
    }

    /// Writes, if that can be had without waiting and without passing anyone who waits.
    pub fn try_write(&self) -> Option<WriteGuard<'_, T>> {
        self.desks.try_enter(Kind::Write).map(|token| self.to_write(token))
    }

    /// Who goes first at present.
    pub fn preference(&self) -> Preference {
        self.desks.preference()
    }

    /// Changes who goes first, for those who wait already too.
    pub fn set_preference(&self, preference: Preference) {
        self.desks.set_preference(preference);
    }

    /// The value, which nobody else can have.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    #[track_caller]
    fn enter(&self, kind: Kind, limit: Option<Duration>) -> Result<Token, CallError> {
        if self.desks.of(kind).could_wait()
            && let Some(token) = self.desks.try_enter(kind)
        {
            return Ok(token);
        }
        let (_client, asking) = Client::new(&self.desks, kind);
        let asked = ask(self.desks.of(kind), asking, limit);
        asked.map_err(|Unserved { error, .. }| error)
    }

    async fn enter_async(&self, kind: Kind) -> Result<Token, CallError> {
        if !self.desks.of(kind).has_ended()
            && let Some(token) = self.desks.try_enter(kind)
        {
            return Ok(token);
        }
        let (_client, asking) = Client::new(&self.desks, kind);
        let asked = ask_async(self.desks.of(kind), asking).await;
        asked.map_err(|Unserved { error, .. }| error)
    }

    fn to_read(&self, token: Token) -> ReadGuard<'_, T> {
        let value = match self.value.try_read() {
            Ok(value) => value,
            Err(TryLockError::Poisoned(value)) => value.into_inner(),
            Err(_) => unreachable!("a writer is inside beside a reader"),
        };
        ReadGuard { value, _token: token }
    }

    fn to_write(&self, token: Token) -> WriteGuard<'_, T> {
        let value = match self.value.try_write() {
            Ok(value) => value,
            Err(TryLockError::Poisoned(value)) => value.into_inner(),
            Err(_) => unreachable!("somebody is inside beside a writer"),
        };
        WriteGuard { value, _token: token }
    }
}

impl<T> fmt::Debug for ReadWrite<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadWrite({:?}, {})", self.preference(), self.desks)
    }
}
