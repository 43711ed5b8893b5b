//! Waiting at a channel: what all three kinds of caller share, and the loop of those that park.
//!
//! Whoever finds nothing stands in line, releases the lock, and parks. When it goes on it looks at
//! its slot: a partner has changed it, or the wake was for another reason. To give up (time, exit,
//! a dropped future) is to take the slot back under the lock; if a partner came first, a value that
//! was handed over is delivered, or on exit put back.
//!
//! A party that stands in line is held by a guard ([`Standing`]) until its owner looks at it: if the wait
//! unwinds instead, because a clock, a waker or a policy does, the guard gives up for it.
//!
//! At a shared channel with room for a batch, whoever finds nothing listens first: see
//! [`leno_kernel::listen`]. At others it listens once it stands in line (`listen.rs`).
//!
//! Whoever finds a partner and could have waited lets the policy say which of the two goes on. The
//! `try_` forms, futures and destructors never do: nobody expects that others run meanwhile.

use leno_kernel::log::Operation;
use leno_kernel::{Reason, Time, Waiter, Wake};

use crate::channel::Channel;
use crate::exchange::{Exchange, Key, Put, Side, Stage, Taken, Wakes};
use crate::flavour::Flavour;
use crate::patience::Patience;
use crate::select::ticket::Caller;
use crate::standing::Standing;

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
        let operation = match reason {
            Reason::Lock(_) => Operation::Lock,
            _ => Operation::Receive,
        };
        self.begins(operation);
        let received = self.receive_now(reason, deadline);
        self.ends(operation, received.is_ok());
        received
    }

    #[inline(always)]
    #[track_caller]
    fn receive_now(&self, reason: Reason, deadline: Option<Time>) -> Result<T, Failure> {
        let mut exchange = self.lock();
        if let Some((value, relieved)) = exchange.take_quick() {
            drop(exchange);
            if let Some(co) = relieved {
                leno_kernel::unpark_partner(co);
            }
            return Ok(value);
        }
        if F::SHARED && self.is_streamed && deadline.is_none() && exchange.has_nothing() {
            drop(exchange);
            return self.receive_streamed(reason);
        }
        if exchange.has_nothing()
            && let Some(co) = leno_kernel::current_stack()
        {
            if F::SHARED
                && deadline.is_none()
                && let Some(bell) = exchange.bell_to_listen_at()
            {
                return self.receive_listening(exchange, co, &bell, reason);
            }
            let key = exchange.wait_hungry(Waiter::Co(co), None);
            exchange.parks(key, co);
            drop(exchange);
            return self.await_value(Standing::hungry(self, key), reason, deadline);
        }
        self.receive_slowly(exchange, reason, deadline)
    }

    /// Listens before it stands in line.
    #[inline(never)]
    #[track_caller]
    fn receive_streamed(&self, reason: Reason) -> Result<T, Failure> {
        let mut taken = None;
        leno_kernel::listen(|| {
            let mut exchange = self.lock();
            taken = exchange.take_quick();
            taken.is_some() || !exchange.has_nothing()
        });
        if let Some((value, relieved)) = taken {
            if let Some(co) = relieved {
                leno_kernel::unpark_partner(co);
            }
            return Ok(value);
        }
        self.receive_slowly(self.lock(), reason, None)
    }

    /// The same in all cases.
    #[inline(never)]
    #[track_caller]
    fn receive_slowly<'a>(
        &'a self,
        exchange: F::Guard<'a, Exchange<T>>,
        reason: Reason,
        deadline: Option<Time>,
    ) -> Result<T, Failure> {
        let mut exchange = self.asked(exchange, Side::Blocked, None);
        match exchange.take(&Caller) {
            Taken::Value(value, wakes) => {
                drop(exchange);
                wakes.wake_partner();
                return Ok(value);
            }
            Taken::Closed => return Err(Failure::Closed),
            Taken::Empty | Taken::Busy => {}
        }
        if leno_kernel::is_planted("atomic") {
            drop(exchange);
            leno_kernel::world::point(Operation::Receive, Some(self.object));
            exchange = self.lock();
        }
        let Some(waiter) = self.try_waiter(deadline) else {
            drop(exchange);
            self.refuse(reason, deadline)
        };
        let patience = Patience::of::<F>(&waiter);
        let key = exchange.wait_hungry(waiter, None);
        drop(exchange);
        let standing = Standing::hungry(self, key);
        patience.spin();
        self.await_value(standing, reason, deadline)
    }

    /// Waits for the value of a party that stands in line.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn await_value(
        &self,
        standing: Standing<'_, T, F>,
        reason: Reason,
        deadline: Option<Time>,
    ) -> Result<T, Failure> {
        loop {
            let wake = self.park(reason, deadline);
            let mut exchange = self.lock();
            match (exchange.stage(standing.key), wake) {
                (Stage::Met, Wake::Unparked | Wake::TimedOut) => {
                    let key = standing.into_key();
                    return Ok(exchange.finish_met(key).expect("it was handed over"));
                }
                (Stage::Waiting, Wake::Unparked) => {}
                _ => return Err(Self::no_value(exchange, standing.into_key(), wake)),
            }
        }
    }

    /// The same after other user code: it may have waited itself, and taken a wake that is meant for this party.
    /// So this looks before it parks.
    #[track_caller]
    pub(crate) fn look_and_await_value(
        &self,
        standing: Standing<'_, T, F>,
        reason: Reason,
        deadline: Option<Time>,
    ) -> Result<T, Failure> {
        let mut exchange = self.lock();
        match exchange.stage(standing.key) {
            Stage::Waiting => {
                drop(exchange);
                self.await_value(standing, reason, deadline)
            }
            Stage::Met => {
                let key = standing.into_key();
                Ok(exchange.finish_met(key).expect("it was handed over"))
            }
            Stage::Refused => Err(Self::no_value(exchange, standing.into_key(), Wake::Unparked)),
        }
    }

    /// Gives up waiting for a value, or has to. Under the lock that its stage was looked at: a value
    /// handed over in between would have to be taken back, and others have overtaken it by then.
    #[cold]
    #[inline(never)]
    pub(crate) fn no_value(
        mut exchange: F::Guard<'_, Exchange<T>>,
        key: Key,
        wake: Wake,
    ) -> Failure {
        let was_refused = exchange.stage(key) == Stage::Refused;
        // Only on exit may something have been handed over; it goes to others.
        let (left, wakes) = exchange.give_up(key);
        drop(exchange);
        wakes.wake();
        drop(left);
        if wake == Wake::Exit {
            leno_kernel::exit();
            return Failure::Exiting;
        }
        if was_refused { Failure::Closed } else { Failure::TimedOut }
    }

    /// Sends a value, and waits until there is room or someone who takes it.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn send(&self, value: T, deadline: Option<Time>) -> Result<(), (Failure, T)> {
        self.begins(Operation::Send);
        let sent = self.send_now(value, deadline);
        self.ends(Operation::Send, sent.is_ok());
        sent
    }

    #[inline(always)]
    #[track_caller]
    fn send_now(&self, value: T, deadline: Option<Time>) -> Result<(), (Failure, T)> {
        let mut exchange = self.lock();
        let value = match exchange.put_quick(value) {
            Ok(fed) => {
                drop(exchange);
                if let Some(co) = fed {
                    leno_kernel::unpark_partner(co);
                }
                return Ok(());
            }
            Err(value) => value,
        };
        if F::SHARED && self.is_streamed && deadline.is_none() && exchange.has_no_way() {
            drop(exchange);
            return self.send_streamed(value);
        }
        if exchange.has_no_way()
            && let Some(co) = leno_kernel::current_stack()
        {
            if F::SHARED
                && deadline.is_none()
                && let Some(bell) = exchange.bell_to_listen_at()
            {
                return self.send_listening(exchange, co, &bell, value);
            }
            let (key, wakes) = exchange.wait_blocked(Waiter::Co(co), value, None);
            exchange.parks(key, co);
            drop(exchange);
            let standing = Standing::blocked(self, key);
            return match wakes {
                Wakes::Nobody => self.await_room(standing, deadline),
                wakes => self.wake_and_await_room(standing, wakes, deadline),
            };
        }
        self.send_slowly(exchange, value, deadline)
    }

    /// Listens before it stands in line.
    #[inline(never)]
    #[track_caller]
    fn send_streamed(&self, value: T) -> Result<(), (Failure, T)> {
        leno_kernel::listen(|| self.lock().has_much_room());
        self.send_slowly(self.lock(), value, None)
    }

    /// The same in all cases.
    #[inline(never)]
    #[track_caller]
    fn send_slowly<'a>(
        &'a self,
        exchange: F::Guard<'a, Exchange<T>>,
        value: T,
        deadline: Option<Time>,
    ) -> Result<(), (Failure, T)> {
        let mut exchange = self.asked(exchange, Side::Hungry, None);
        let left = match exchange.put(value, &Caller) {
            Put::Done(wakes) => {
                drop(exchange);
                wakes.wake_partner();
                return Ok(());
            }
            Put::Closed(value) => return Err((Failure::Closed, value)),
            Put::Full(value) | Put::Busy(value) => value,
        };
        let Some(waiter) = self.try_waiter(deadline) else {
            drop(exchange);
            self.refuse(Reason::Blocked(self.object), deadline)
        };
        let patience = Patience::of::<F>(&waiter);
        let (key, wakes) = exchange.wait_blocked(waiter, left, None);
        drop(exchange);
        let standing = Standing::blocked(self, key);
        if !matches!(wakes, Wakes::Nobody) {
            return self.wake_and_await_room(standing, wakes, deadline);
        }
        patience.spin();
        self.await_room(standing, deadline)
    }

    /// Wakes others first, once it stands in line. That may be user code, which may wait itself and take a wake
    /// that is meant for this party: so it looks before it parks.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn wake_and_await_room(
        &self,
        standing: Standing<'_, T, F>,
        wakes: Wakes,
        deadline: Option<Time>,
    ) -> Result<(), (Failure, T)> {
        wakes.wake();
        let exchange = self.lock();
        match exchange.stage(standing.key) {
            Stage::Waiting => {
                drop(exchange);
                self.await_room(standing, deadline)
            }
            Stage::Met | Stage::Refused => {
                Self::no_room(exchange, standing.into_key(), Wake::Unparked)
            }
        }
    }

    #[inline(always)]
    #[track_caller]
    pub(crate) fn await_room(
        &self,
        standing: Standing<'_, T, F>,
        deadline: Option<Time>,
    ) -> Result<(), (Failure, T)> {
        loop {
            let wake = self.park(Reason::Blocked(self.object), deadline);
            let mut exchange = self.lock();
            match (exchange.stage(standing.key), wake) {
                (Stage::Met, Wake::Unparked | Wake::TimedOut) => {
                    exchange.finish_met(standing.into_key());
                    return Ok(());
                }
                (Stage::Waiting, Wake::Unparked) => {}
                _ => return Self::no_room(exchange, standing.into_key(), wake),
            }
        }
    }

    /// Gives up waiting for room, or has to; unless it was sent by then.
    #[cold]
    #[inline(never)]
    pub(crate) fn no_room(
        mut exchange: F::Guard<'_, Exchange<T>>,
        key: Key,
        wake: Wake,
    ) -> Result<(), (Failure, T)> {
        let (stage, mut left) = exchange.withdraw(Side::Blocked, key);
        drop(exchange);
        let value = left.value.take();
        drop(left);
        if wake == Wake::Exit {
            leno_kernel::exit();
        }
        match value {
            None => Ok(()),
            Some(value) if wake == Wake::Exit => Err((Failure::Exiting, value)),
            Some(value) if stage == Stage::Refused => Err((Failure::Closed, value)),
            Some(value) => Err((Failure::TimedOut, value)),
        }
    }

    /// Parks, and lets dumps see for what.
    #[inline(always)]
    #[track_caller]
    fn park(&self, reason: Reason, deadline: Option<Time>) -> Wake {
        match deadline {
            None => leno_kernel::park_on(reason, &self.sign),
            Some(deadline) => leno_kernel::park_on_until(reason, &self.sign, deadline),
        }
    }

    /// Returns the calling code, to stand in line. Not under the lock: it may panic, which calls the user's panic hook.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn waiter(&self, reason: Reason, deadline: Option<Time>) -> Waiter {
        self.try_waiter(deadline).unwrap_or_else(|| self.refuse(reason, deadline))
    }

    /// As [`Self::waiter`], under the lock: `None` if the calling code must not wait.
    #[inline(always)]
    fn try_waiter(&self, deadline: Option<Time>) -> Option<Waiter> {
        let waiter = match Waiter::try_current() {
            Ok(waiter) => waiter,
            Err(_) if leno_kernel::is_planted("hook-locked") => Waiter::current(),
            Err(_) => return None,
        };
        let is_stuck = !F::SHARED && deadline.is_none() && matches!(waiter, Waiter::Thread(_));
        (!is_stuck).then_some(waiter)
    }

    /// Says why the calling code must not wait.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn refuse(&self, reason: Reason, deadline: Option<Time>) -> ! {
        match Waiter::current() {
            Waiter::Thread(_) => refuse_thread(reason),
            _ => unreachable!("{reason} until {deadline:?}: the calling code may wait"),
        }
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
