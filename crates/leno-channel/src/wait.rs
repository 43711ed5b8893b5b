//! Waiting at a channel: what all three kinds of caller share, and the loop of those that park.
//!
//! Whoever finds nothing stands in line, releases the lock, and parks. When it goes on it looks at
//! its slot: a partner has changed it, or the wake was for another reason. To give up (time, exit,
//! a dropped future) is to take the slot back under the lock; if a partner came first, a value that
//! was handed over is delivered, or on exit put back.

use leno_kernel::{Reason, Time, Waiter, Wake};

use crate::channel::Channel;
use crate::exchange::{Exchange, Key, Put, Side, Stage, Taken};
use crate::flavour::Flavour;
use crate::select::ticket::Caller;

/// Why nothing came of an operation that may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Closed,
    TimedOut,
    Exiting,
}

impl<T, F: Flavour> Channel<T, F> {
    /// Takes a value, and waits for it; `reason` is for whoever asks what the coroutine does.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn receive(&self, reason: Reason, deadline: Option<Time>) -> Result<T, Failure> {
        let mut exchange = self.lock();
        match exchange.take(&Caller) {
            Taken::Value(value, wakes) => {
                drop(exchange);
                wakes.wake();
                return Ok(value);
            }
            Taken::Closed => return Err(Failure::Closed),
            Taken::Empty | Taken::Busy => {}
        }
        let waiter = self.waiter(reason, deadline);
        let (key, _nobody) = exchange.wait(Side::Hungry, waiter, None, None);
        drop(exchange);
        self.await_value(key, reason, deadline)
    }

    /// Waits for the value of a party that stands in line.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn await_value(
        &self,
        key: Key,
        reason: Reason,
        deadline: Option<Time>,
    ) -> Result<T, Failure> {
        loop {
            let wake = park(reason, deadline);
            let mut exchange = self.lock();
            match (exchange.stage(key), wake) {
                (_, Wake::Exit) => {
                    let (left, wakes) = exchange.give_up(key);
                    drop(exchange);
                    wakes.wake();
                    drop(left);
                    leno_kernel::exit();
                    return Err(Failure::Exiting);
                }
                (Stage::Met, _) => {
                    return Ok(exchange.finish(key).value.expect("it was handed over"));
                }
                (Stage::Refused, _) => {
                    exchange.finish(key);
                    return Err(Failure::Closed);
                }
                (Stage::Waiting, Wake::Unparked) => {}
                (Stage::Waiting, Wake::TimedOut) => {
                    let left = exchange.withdraw(Side::Hungry, key);
                    drop(exchange);
                    drop(left);
                    return Err(Failure::TimedOut);
                }
            }
        }
    }

    /// Sends a value, and waits until there is room or someone who takes it.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn send(&self, value: T, deadline: Option<Time>) -> Result<(), (Failure, T)> {
        let mut exchange = self.lock();
        let value = match exchange.put(value, &Caller) {
            Put::Done(wakes) => {
                drop(exchange);
                wakes.wake();
                return Ok(());
            }
            Put::Closed(value) => return Err((Failure::Closed, value)),
            Put::Full(value) | Put::Busy(value) => value,
        };
        let waiter = self.waiter(Reason::Blocked(self.object), deadline);
        let (key, wakes) = exchange.wait(Side::Blocked, waiter, Some(value), None);
        drop(exchange);
        wakes.wake();
        self.await_room(key, deadline)
    }

    #[inline(always)]
    #[track_caller]
    fn await_room(&self, key: Key, deadline: Option<Time>) -> Result<(), (Failure, T)> {
        loop {
            let wake = park(Reason::Blocked(self.object), deadline);
            let mut exchange = self.lock();
            let failure = match (exchange.stage(key), wake) {
                (Stage::Met, Wake::Exit) => {
                    exchange.finish(key);
                    drop(exchange);
                    // It was sent. The exit is met at the next wait, unless it can be now.
                    leno_kernel::exit();
                    return Ok(());
                }
                (Stage::Met, _) => {
                    exchange.finish(key);
                    return Ok(());
                }
                (Stage::Waiting, Wake::Unparked) => continue,
                (_, Wake::Exit) => Failure::Exiting,
                (Stage::Refused, _) => Failure::Closed,
                (Stage::Waiting, Wake::TimedOut) => Failure::TimedOut,
            };
            let (_, mut left) = exchange.withdraw(Side::Blocked, key);
            drop(exchange);
            let value = left.value.take().expect("it was not sent");
            drop(left);
            if failure == Failure::Exiting {
                leno_kernel::exit();
            }
            return Err((failure, value));
        }
    }

    /// Whoever calls, to stand in line.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn waiter(&self, reason: Reason, deadline: Option<Time>) -> Waiter {
        let waiter = Waiter::current();
        if !F::SHARED && deadline.is_none() && matches!(waiter, Waiter::Thread(_)) {
            refuse_thread(reason);
        }
        waiter
    }
}

#[cold]
#[track_caller]
fn refuse_thread(reason: Reason) -> ! {
    panic!(
        "a thread is {reason}, which is local: only the thread's own coroutines could end the wait, \
         and they cannot run meanwhile; use a shared one, or the `try_` form"
    )
}

#[inline(always)]
#[track_caller]
pub(crate) fn park(reason: Reason, deadline: Option<Time>) -> Wake {
    match deadline {
        None => leno_kernel::park(reason),
        Some(deadline) => leno_kernel::park_until(reason, deadline),
    }
}

impl<T> Exchange<T> {
    /// For a future that is polled again: whom to wake now.
    pub(crate) fn renew(&mut self, key: Key, waiter: Waiter) -> Option<Waiter> {
        let is_same = self.waiter(key).is_some_and(|old| old.is_same(&waiter));
        if is_same { Some(waiter) } else { self.set_waiter(key, waiter) }
    }
}
