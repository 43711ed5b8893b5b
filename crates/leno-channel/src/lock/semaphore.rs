//! A semaphore: a channel of permits.

use core::fmt;
use core::future::poll_fn;
use core::time::Duration;

use leno_kernel::layer::deadline_in;
use leno_kernel::log::Operation;

use super::{LockError, about};
use crate::channel::Channel;
use crate::error::RecvError;
use crate::exchange::{Put, Side, Taken, UNBOUNDED};
use crate::flavour::{Flavour, Local, Shared};
use crate::recv_future::Waiting;
use crate::select::ticket::Caller;
use crate::select::{Receive, Take, Wrap, sealed};

/// A number of permits, each had by one at a time. Fair: one that comes free goes to whoever waits
/// longest.
pub struct Semaphore<F: Flavour = Local> {
    channel: Channel<(), F>,
}

/// A permit of a [`Semaphore`]; dropping it gives it back.
#[must_use = "the permit is given back when it is dropped"]
pub struct Permit<'a, F: Flavour = Local> {
    semaphore: &'a Semaphore<F>,
}

impl Semaphore {
    /// For the coroutines of one thread.
    ///
    /// # Examples
    /// ```
    /// let doors = leno_channel::Semaphore::local(2);
    /// let first = doors.acquire()?;
    /// let _second = doors.acquire()?;
    /// assert!(doors.try_acquire().is_err());
    /// drop(first);
    /// assert!(doors.try_acquire().is_ok());
    /// # Ok::<(), leno_channel::LockError>(())
    /// ```
    pub fn local(permits: usize) -> Semaphore {
        Semaphore::with(permits)
    }
}

impl Semaphore<Shared> {
    /// For any thread.
    ///
    /// # Examples
    /// ```
    /// let done = leno_channel::Semaphore::shared(0);
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| done.release(1));
    ///     done.acquire().unwrap().forget();
    /// });
    /// ```
    pub fn shared(permits: usize) -> Semaphore<Shared> {
        Semaphore::with(permits)
    }
}

impl<F: Flavour> Semaphore<F> {
    fn with(permits: usize) -> Self {
        let semaphore = Semaphore { channel: Channel::new(UNBOUNDED) };
        semaphore.release(permits);
        semaphore
    }

    /// Adds permits; there are `usize::MAX` at most. It takes as long as those who get one take to wake, and
    /// no longer however many permits are left over.
    pub fn release(&self, permits: usize) {
        Release { semaphore: self, left: permits }.run();
    }

    /// How many permits nobody has.
    pub fn available(&self) -> usize {
        self.channel.lock().len()
    }

    /// Takes a permit.
    ///
    /// # Blocking
    /// Until there is one: parks the calling coroutine, or blocks the calling thread; a future uses
    /// [`Self::acquire_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds, and the permit goes to the next.
    ///
    /// # Errors
    /// While the coroutine's own stack unwinds, if it would have to wait.
    ///
    /// # Panics
    /// As [`Mutex::lock`](crate::Mutex::lock).
    #[inline]
    #[track_caller]
    pub fn acquire(&self) -> Result<Permit<'_, F>, LockError> {
        self.channel.await_lock(None)?;
        Ok(Permit { semaphore: self })
    }

    /// Takes a permit, if there is one.
    ///
    /// # Errors
    /// When there is none.
    pub fn try_acquire(&self) -> Result<Permit<'_, F>, LockError> {
        let taken = self.channel.asked(self.channel.lock(), Side::Blocked, None).take(&Caller);
        match taken {
            Taken::Value((), wakes) => {
                wakes.wake();
                Ok(Permit { semaphore: self })
            }
            _ => Err(LockError::Taken(self.channel.label())),
        }
    }

    /// As [`Self::acquire`], for at most `limit`.
    ///
    /// # Errors
    /// When the time is over; else as [`Self::acquire`].
    #[track_caller]
    pub fn acquire_timeout(&self, limit: Duration) -> Result<Permit<'_, F>, LockError> {
        self.channel.await_lock(Some(deadline_in(limit)))?;
        Ok(Permit { semaphore: self })
    }

    /// As [`Self::acquire`], for a future.
    ///
    /// # Examples
    /// ```
    /// let semaphore = leno_channel::Semaphore::local(1);
    /// leno_kernel::block_on(semaphore.acquire_async()).forget();
    /// assert_eq!(semaphore.available(), 0);
    /// ```
    pub async fn acquire_async(&self) -> Permit<'_, F> {
        let mut waiting = Waiting::new(&self.channel);
        poll_fn(|context| waiting.poll(context)).await;
        Permit { semaphore: self }
    }
}

about!(Semaphore);

/// Permits that are added, all of them, also when a waker raises an exit.
struct Release<'a, F: Flavour> {
    semaphore: &'a Semaphore<F>,
    left: usize,
}

impl<F: Flavour> Release<'_, F> {
    #[inline(always)]
    fn run(&mut self) {
        let channel = &self.semaphore.channel;
        while self.left > 0 {
            channel.begins(Operation::Unlock);
            let mut exchange = channel.asked(channel.lock(), Side::Hungry, None);
            if !leno_kernel::layer::is_planted("semaphore-counts")
                && let Some(wakes) = exchange.add_stock(self.left, || ())
            {
                self.left = 0;
                drop(exchange);
                return wakes.wake();
            }
            let put = exchange.put((), &Caller);
            drop(exchange);
            self.left -= 1;
            if let Put::Done(wakes) = put {
                wakes.wake();
            }
        }
    }
}

impl<F: Flavour> Drop for Release<'_, F> {
    fn drop(&mut self) {
        if self.left > 0 {
            self.run();
        }
    }
}

impl<F: Flavour> Permit<'_, F> {
    /// Keeps it for ever: it is not given back.
    pub fn forget(self) {
        core::mem::forget(self);
    }
}

impl<F: Flavour> Drop for Permit<'_, F> {
    fn drop(&mut self) {
        self.semaphore.release(1);
    }
}

impl<F: Flavour> fmt::Debug for Permit<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Permit of {:?}", self.semaphore)
    }
}

impl<F: Flavour> sealed::Sealed for Semaphore<F> {}

/// Receiving from a semaphore is taking a permit.
impl<F: Flavour> Receive for Semaphore<F> {
    type Item<'a> = Permit<'a, F>;

    type Arm<'a, R, H>
        = Take<'a, (), F, &'a Semaphore<F>, H>
    where
        H: FnOnce(Result<Permit<'a, F>, RecvError>) -> R;

    fn arm<'a, R, H>(&'a self, handler: H) -> Self::Arm<'a, R, H>
    where
        H: FnOnce(Result<Self::Item<'a>, RecvError>) -> R,
    {
        Take::new(&self.channel, self, handler)
    }
}

impl<'a, F: Flavour> Wrap<()> for &'a Semaphore<F> {
    type Item = Permit<'a, F>;

    fn wrap(self, _: Option<()>) -> Result<Permit<'a, F>, RecvError> {
        Ok(Permit { semaphore: self })
    }
}
