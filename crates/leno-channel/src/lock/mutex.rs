//! A mutex: a channel that holds its value.

use core::fmt;
use core::future::poll_fn;
use core::ops::{Deref, DerefMut};
use core::time::Duration;

use leno_kernel::layer::{current_stack, deadline_in};
use leno_kernel::log::Operation;
use leno_kernel::{Co, current};

use super::{LockError, about};
use crate::channel::Channel;
use crate::error::RecvError;
use crate::exchange::{Put, Side, Taken};
use crate::flavour::{Flavour, Local, Shared};
use crate::recv_future::Waiting;
use crate::select::ticket::Caller;
use crate::select::{Receive, Take, Wrap, sealed};

/// A value that is used by one at a time, also across waits. Fair: it goes to whoever waits longest.
///
/// A panic of whoever has locked it unlocks it; what that left behind is for the next to judge.
pub struct Mutex<T, F: Flavour = Local> {
    pub(super) channel: Channel<Box<T>, F>,
}

/// The right to use the value of a [`Mutex`]; dropping it unlocks. It may be held across waits, and
/// by a future that changes threads.
#[must_use = "the mutex is unlocked when its guard is dropped"]
pub struct Guard<'a, T, F: Flavour = Local> {
    pub(super) mutex: &'a Mutex<T, F>,
    value: Option<Box<T>>,
}

impl<T> Mutex<T> {
    /// For the coroutines of one thread.
    ///
    /// # Examples
    /// ```
    /// use leno_channel::Mutex;
    /// use leno_kernel::{LocalSystem, yield_now};
    /// use std::rc::Rc;
    ///
    /// let (system, total) = (LocalSystem::new(), Rc::new(Mutex::local(0)));
    /// for _ in 0..3 {
    ///     let total = total.clone();
    ///     drop(system.spawn(move || {
    ///         let mut total = total.lock().unwrap();
    ///         let seen = *total;
    ///         yield_now();
    ///         *total = seen + 1;
    ///     }));
    /// }
    /// system.run()?;
    /// assert_eq!(*total.lock()?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn local(value: T) -> Mutex<T> {
        Mutex::with(value)
    }
}

impl<T> Mutex<T, Shared> {
    /// For any thread.
    ///
    /// # Examples
    /// ```
    /// let total = leno_channel::Mutex::shared(0);
    /// std::thread::scope(|scope| {
    ///     for _ in 0..4 {
    ///         scope.spawn(|| *total.lock().unwrap() += 1);
    ///     }
    /// });
    /// assert_eq!(total.into_inner(), 4);
    /// ```
    pub fn shared(value: T) -> Mutex<T, Shared> {
        Mutex::with(value)
    }
}

impl<T, F: Flavour> Mutex<T, F> {
    fn with(value: T) -> Self {
        let mutex = Mutex { channel: Channel::new(1) };
        mutex.put(Box::new(value));
        mutex
    }

    #[inline(always)]
    fn put(&self, value: Box<T>) {
        self.channel.begins(Operation::Unlock);
        self.channel.sign.set_holder(None);
        let put = self.channel.asked(self.channel.lock(), Side::Hungry, None).put(value, &Caller);
        match put {
            Put::Done(_) if leno_kernel::layer::is_planted("unlock") => {}
            Put::Done(wakes) => wakes.wake(),
            Put::Full(_) | Put::Closed(_) | Put::Busy(_) => unreachable!("there is one value"),
        }
    }

    #[inline(always)]
    fn guard(&self, value: Option<Box<T>>, holder: Option<Co>) -> Guard<'_, T, F> {
        debug_assert!(value.is_some(), "a mutex is never closed");
        self.channel.sign.set_holder(holder);
        Guard { mutex: self, value }
    }

    /// Locks it.
    ///
    /// # Blocking
    /// While another has it: parks the calling coroutine, or blocks the calling thread; a future
    /// uses [`Self::lock_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds, and the lock goes to the next.
    ///
    /// # Errors
    /// While the coroutine's own stack unwinds, if it would have to wait.
    ///
    /// # Panics
    /// If it would have to wait: inside a future that a core polls, and if it is local and this is
    /// outside of any coroutine.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> Result<Guard<'_, T, F>, LockError> {
        Ok(self.guard(self.channel.await_lock(None)?, current_stack()))
    }

    /// Locks it, if nobody has it.
    ///
    /// # Errors
    /// When someone has it.
    ///
    /// # Examples
    /// ```
    /// let mutex = leno_channel::Mutex::local(());
    /// let _guard = mutex.lock()?;
    /// assert!(mutex.try_lock().is_err());
    /// # Ok::<(), leno_channel::LockError>(())
    /// ```
    pub fn try_lock(&self) -> Result<Guard<'_, T, F>, LockError> {
        let taken = self.channel.lock().take(&Caller);
        match taken {
            Taken::Value(value, wakes) => {
                wakes.wake();
                Ok(self.guard(Some(value), current()))
            }
            _ => Err(LockError::Taken(self.channel.label())),
        }
    }

    /// As [`Self::lock`], for at most `limit`.
    ///
    /// # Errors
    /// When the time is over; else as [`Self::lock`].
    #[track_caller]
    pub fn lock_timeout(&self, limit: Duration) -> Result<Guard<'_, T, F>, LockError> {
        Ok(self.guard(self.channel.await_lock(Some(deadline_in(limit)))?, current_stack()))
    }

    /// As [`Self::lock`], for a future.
    ///
    /// # Examples
    /// ```
    /// let mutex = leno_channel::Mutex::local(5);
    /// assert_eq!(leno_kernel::block_on(async { *mutex.lock_async().await }), 5);
    /// ```
    pub async fn lock_async(&self) -> Guard<'_, T, F> {
        let mut waiting = Waiting::new(&self.channel);
        let value = poll_fn(|context| waiting.poll(context)).await;
        self.guard(value, current())
    }

    /// The value; nobody else can have it.
    pub fn into_inner(self) -> T {
        let taken = self.channel.lock().take(&Caller);
        match taken {
            Taken::Value(value, _nobody) => *value,
            // A guard was forgotten.
            _ => panic!("a mutex whose guard was forgotten has no value any more"),
        }
    }
}

about!(Mutex, T);

impl<T, F: Flavour> Deref for Guard<'_, T, F> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        self.value.as_ref().expect("it is there until the guard is dropped")
    }
}

impl<T, F: Flavour> DerefMut for Guard<'_, T, F> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("it is there until the guard is dropped")
    }
}

impl<T, F: Flavour> Drop for Guard<'_, T, F> {
    #[inline]
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            self.mutex.put(value);
        }
    }
}

impl<T: fmt::Debug, F: Flavour> fmt::Debug for Guard<'_, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guard").field(&**self).finish()
    }
}

impl<T, F: Flavour> sealed::Sealed for Mutex<T, F> {}

/// Receiving from a mutex is locking it.
impl<T, F: Flavour> Receive for Mutex<T, F> {
    type Item<'a>
        = Guard<'a, T, F>
    where
        Self: 'a;

    type Arm<'a, R, H>
        = Take<'a, Box<T>, F, &'a Mutex<T, F>, H>
    where
        Self: 'a,
        H: FnOnce(Result<Guard<'a, T, F>, RecvError>) -> R;

    fn arm<'a, R, H>(&'a self, handler: H) -> Self::Arm<'a, R, H>
    where
        H: FnOnce(Result<Self::Item<'a>, RecvError>) -> R,
    {
        Take::new(&self.channel, self, handler)
    }
}

impl<'a, T, F: Flavour> Wrap<Box<T>> for &'a Mutex<T, F> {
    type Item = Guard<'a, T, F>;

    fn wrap(self, value: Option<Box<T>>) -> Result<Guard<'a, T, F>, RecvError> {
        Ok(self.guard(value, current()))
    }
}
