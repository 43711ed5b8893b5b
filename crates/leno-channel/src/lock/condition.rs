//! A condition: a channel of wake-ups that nobody stores.
//!
//! Whoever waits stands in line before it unlocks the mutex, so a notification between unlocking and
//! parking finds it. Whoever was notified and then cannot have the mutex, because it is to exit or its
//! future is dropped, has looked at nothing yet: its notification goes to the next.

use core::future::poll_fn;
use core::task::Poll;
use core::time::Duration;

use leno_kernel::layer::deadline_in;
use leno_kernel::log::Operation;
use leno_kernel::{Reason, Time, Waiter};

use super::{Guard, LockError, about};
use crate::channel::Channel;
use crate::exchange::{Exchange, First, Put, Side, Taken};
use crate::flavour::{Flavour, Local, Shared};
use crate::recv_future::Waiting;
use crate::select::ticket::Caller;
use crate::wait::{Failure, Until};

/// Waiting until someone says that something about a [`Mutex`](crate::Mutex)'s value has changed.
/// Fair: whoever waits longest is woken first.
pub struct Condition<F: Flavour = Local> {
    channel: Channel<(), F>,
}

impl Condition {
    /// For the coroutines of one thread.
    ///
    /// # Examples
    /// ```
    /// use leno_channel::{Condition, Mutex};
    /// use leno_kernel::LocalSystem;
    /// use std::rc::Rc;
    ///
    /// let system = LocalSystem::new();
    /// let both = Rc::new((Mutex::local(0), Condition::local()));
    /// let waits = both.clone();
    /// let seen = system.spawn(move || {
    ///     let (mutex, changed) = &*waits;
    ///     let value = mutex.lock().unwrap();
    ///     *changed.wait_while(value, |value| *value < 3).unwrap()
    /// });
    /// drop(system.spawn(move || {
    ///     let (mutex, changed) = &*both;
    ///     *mutex.lock().unwrap() = 3;
    ///     changed.notify_one();
    /// }));
    /// system.run()?;
    /// assert_eq!(seen.join()?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn local() -> Condition {
        Condition { channel: Channel::new(0) }
    }
}

impl Condition<Shared> {
    /// For any thread.
    pub fn shared() -> Condition<Shared> {
        Condition { channel: Channel::new(0) }
    }
}

/// Drops notifications of those who gave up while nobody else waited.
fn forget_old<F: Flavour>(exchange: &mut Exchange<'_, (), F>) {
    while let Taken::Value((), _nobody) = exchange.take(&Caller) {}
}

impl<F: Flavour> Condition<F> {
    /// Unlocks the mutex, waits to be notified, and locks it again.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread; a future uses
    /// [`Self::wait_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds, and its notification, if it has not
    /// returned with it, goes to the next; the mutex is not locked then.
    ///
    /// # Errors
    /// While the coroutine's own stack unwinds. The mutex is unlocked then.
    ///
    /// # Panics
    /// As [`Mutex::lock`](crate::Mutex::lock).
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: Guard<'a, T, F>) -> Result<Guard<'a, T, F>, LockError> {
        self.wait_until(guard, None).map(|(guard, _)| guard)
    }

    /// The same for at most `limit`; says whether the time was over.
    ///
    /// # Errors
    /// As [`Self::wait`].
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: Guard<'a, T, F>,
        limit: Duration,
    ) -> Result<(Guard<'a, T, F>, bool), LockError> {
        self.wait_until(guard, Some(deadline_in(limit)))
    }

    /// Waits as long as the value is not as it should be.
    ///
    /// # Errors
    /// As [`Self::wait`].
    #[track_caller]
    pub fn wait_while<'a, T>(
        &self,
        mut guard: Guard<'a, T, F>,
        mut is_early: impl FnMut(&mut T) -> bool,
    ) -> Result<Guard<'a, T, F>, LockError> {
        while is_early(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    #[track_caller]
    fn wait_until<'a, T>(
        &self,
        guard: Guard<'a, T, F>,
        deadline: Option<Time>,
    ) -> Result<(Guard<'a, T, F>, bool), LockError> {
        let waiter = self.channel.waiter(Reason::Lock(self.channel.object), deadline);
        let mut exchange = self.channel.lock();
        forget_old(&mut exchange);
        let mutex = guard.mutex;
        // Unlocking wakes others, which may be user code, wait itself, and take a wake that is meant for this party: so
        // it looks before it parks. A member of a ring may be on another thread by then, which has another bell.
        let unlock = || {
            drop(guard);
            First::LookAs(Waiter::current())
        };
        let is_late = match self.channel.await_value(
            exchange,
            waiter,
            unlock,
            Until::of(Reason::Lock, deadline),
        ) {
            Ok(()) => false,
            Err(Failure::Exiting) => return Err(LockError::Exiting(self.channel.label())),
            Err(Failure::TimedOut | Failure::Closed) => true,
        };
        let notified = Notified { condition: self, counts: !is_late };
        let guard = mutex.lock()?;
        notified.use_up();
        Ok((guard, is_late))
    }

    /// As [`Self::wait`], for a future.
    ///
    /// # Examples
    /// ```
    /// use leno_channel::{Condition, Mutex};
    ///
    /// let (mutex, changed) = (Mutex::shared(false), Condition::shared());
    /// std::thread::scope(|scope| {
    ///     let mut guard = mutex.lock().unwrap();
    ///     scope.spawn(|| {
    ///         *mutex.lock().unwrap() = true;
    ///         changed.notify_all();
    ///     });
    ///     leno_kernel::block_on(async {
    ///         while !*guard {
    ///             guard = changed.wait_async(guard).await;
    ///         }
    ///     });
    /// });
    /// ```
    pub async fn wait_async<'a, T>(&self, guard: Guard<'a, T, F>) -> Guard<'a, T, F> {
        let mutex = guard.mutex;
        let mut guard = Some(guard);
        let mut waiting = Waiting::new(&self.channel);
        poll_fn(|context| {
            let Some(held) = guard.take() else { return waiting.poll(context) };
            waiting.stand(context, forget_old);
            drop(held);
            Poll::Pending
        })
        .await;
        let notified = Notified { condition: self, counts: true };
        let guard = mutex.lock_async().await;
        notified.use_up();
        guard
    }

    /// Wakes whoever waits longest, if anyone does.
    pub fn notify_one(&self) {
        self.notify();
    }

    /// Wakes all who wait; not those who begin to while it does.
    pub fn notify_all(&self) {
        let count = self.channel.lock().count(Side::Hungry);
        NotifyAll { condition: self, left: count }.run();
    }

    fn notify(&self) -> bool {
        self.channel.begins(Operation::Unlock);
        let put = self.channel.asked(self.channel.lock(), Side::Hungry, None).put((), &Caller);
        match put {
            Put::Done(wakes) => {
                wakes.wake();
                true
            }
            Put::Full(()) | Put::Closed(()) | Put::Busy(()) => false,
        }
    }
}

about!(Condition);

/// Some who are notified, all of them, also when a waker raises an exit.
struct NotifyAll<'a, F: Flavour> {
    condition: &'a Condition<F>,
    left: usize,
}

impl<F: Flavour> NotifyAll<'_, F> {
    fn run(&mut self) {
        while self.left > 0 {
            self.left -= 1;
            if !self.condition.notify() {
                self.left = 0;
            }
        }
    }
}

impl<F: Flavour> Drop for NotifyAll<'_, F> {
    fn drop(&mut self) {
        self.run();
    }
}

/// A notification that goes to the next unless it is used.
struct Notified<'a, F: Flavour> {
    condition: &'a Condition<F>,
    counts: bool,
}

impl<F: Flavour> Notified<'_, F> {
    fn use_up(mut self) {
        self.counts = false;
    }
}

impl<F: Flavour> Drop for Notified<'_, F> {
    fn drop(&mut self) {
        if self.counts {
            self.condition.notify_one();
        }
    }
}
