//! Waiting at a channel: what all three kinds of caller share, and the loop of those that park.
//!
//! A caller that finds nothing waits in its own frame ([`Exchange::wait`]): it stands in line, releases the lock, and
//! parks. When it goes on it looks at its party: a partner has changed it, or the wake was for another reason. To
//! give up (time, exit, a dropped future) is to take the party back under the lock; if a partner came first, a
//! value that was handed over is delivered, or on exit put back. A wait that unwinds, because a clock, a waker or a
//! policy does, gives up.
//!
//! At a shared channel with room for a batch, a caller that finds nothing listens first: see
//! [`leno_kernel::layer::listen`]. At others it listens once it stands in line (`listen.rs`).
//!
//! A caller that finds a partner and could have waited lets the policy say which of the two goes on. The
//! `try_` forms, futures and destructors never do: nobody expects that others run meanwhile.

use core::cell::Cell;

use leno_kernel::log::Operation;
use leno_kernel::{Object, Reason, Time, Waiter, Wake};

use crate::channel::Channel;
use crate::exchange::{Exchange, First, Next, Party, Put, Side, Sleep, Stage, Taken, Wakes};
use crate::flavour::Flavour;
use crate::patience::Patience;
use crate::select::ticket::Caller;

/// What a coroutine waits for at a channel; for dumps.
pub(crate) type Why = fn(Object) -> Reason;

/// What a caller waits for, and how long.
pub(crate) struct Until {
    reason: Why,
    deadline: Option<Time>,
    /// It listens first.
    listens: bool,
}

impl Until {
    #[inline(always)]
    pub(crate) fn of(reason: Why, deadline: Option<Time>) -> Until {
        Until { reason, deadline, listens: false }
    }

    /// For a caller that has a value to get rid of.
    #[inline(always)]
    pub(crate) fn room(deadline: Option<Time>) -> Until {
        Until::of(Reason::Blocked, deadline)
    }

    /// For one that listens first.
    #[inline(always)]
    pub(crate) fn heard(reason: Why) -> Until {
        Until { listens: true, ..Until::of(reason, None) }
    }
}

/// Why nothing came of an operation that may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Closed,
    TimedOut,
    Exiting,
}

impl<T, F: Flavour> Channel<T, F> {
    /// Takes a value, and waits for it; `reason` is for whoever asks what the coroutine does.
    ///
    /// Compiled into its caller if it is optimised (`exchange/quick.rs` says why). Otherwise every call would have
    /// some KiB of the caller's frame for itself.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[cfg_attr(debug_assertions, inline(never))]
    #[track_caller]
    pub(crate) fn receive(&self, reason: Why, deadline: Option<Time>) -> Result<T, Failure> {
        let operation = match reason(self.object) {
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
    fn receive_now(&self, reason: Why, deadline: Option<Time>) -> Result<T, Failure> {
        let mut exchange = self.lock();
        if let Some((value, relieved)) = exchange.take_quick() {
            drop(exchange);
            if let Some(co) = relieved {
                leno_kernel::layer::unpark_partner(co);
            }
            return Ok(value);
        }
        if F::SHARED && self.is_streamed && deadline.is_none() && exchange.has_nothing() {
            drop(exchange);
            return self.receive_streamed(reason);
        }
        if exchange.has_nothing()
            && let Some(co) = leno_kernel::layer::current_stack()
        {
            if F::SHARED
                && deadline.is_none()
                && let Some(bell) = exchange.bell_to_listen_at()
            {
                return self.receive_listening(exchange, co, &bell, reason);
            }
            return self.await_value(
                exchange,
                Waiter::Co(co),
                || First::Wait,
                Until::of(reason, deadline),
            );
        }
        self.receive_slowly(exchange, reason, deadline)
    }

    /// Listens before it stands in line.
    #[inline(never)]
    #[track_caller]
    fn receive_streamed(&self, reason: Why) -> Result<T, Failure> {
        let mut taken = None;
        leno_kernel::layer::listen(|| {
            let mut exchange = self.lock();
            taken = exchange.take_quick();
            taken.is_some() || !exchange.has_nothing()
        });
        if let Some((value, relieved)) = taken {
            if let Some(co) = relieved {
                leno_kernel::layer::unpark_partner(co);
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
        exchange: Exchange<'a, T, F>,
        reason: Why,
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
        if leno_kernel::layer::is_planted("atomic") {
            drop(exchange);
            leno_kernel::layer::world::point(Operation::Receive, Some(self.object));
            exchange = self.lock();
        }
        let Some(waiter) = self.try_waiter(deadline) else {
            drop(exchange);
            self.refuse(reason(self.object), deadline)
        };
        let patience = Patience::of::<F>(&waiter);
        self.await_value(exchange, waiter, || patience.spin(), Until::of(reason, deadline))
    }

    /// Stands in line, with a value or for one, and parks until it is met, the channel is closed or its time is
    /// over. `first` is what it does before it parks; it says whether to look before that. `end` makes of it what is
    /// returned, and gets how the caller was woken last.
    #[inline(always)]
    #[track_caller]
    fn wait_in_line<'a, R>(
        &self,
        exchange: Exchange<'a, T, F>,
        waiter: Waiter,
        value: Option<T>,
        first: impl FnOnce() -> First,
        Until { reason, deadline, listens }: Until,
        end: impl FnOnce(Exchange<'a, T, F>, Stage, &mut Party<T>, Wake) -> R,
    ) -> R {
        let wake = Cell::new(None);
        let parking = Parking { channel: self, reason, deadline, wake: &wake };
        exchange.wait(waiter, value, first, parking, |mut exchange, stage, party| {
            if listens {
                let is_heard = wake.get().is_none() && stage == Stage::Met;
                exchange.luck.learn(is_heard);
            }
            end(exchange, stage, party, wake.get().unwrap_or(Wake::Unparked))
        })
    }

    /// Stands in line for a value, and waits for it; `first` is what it does before it parks.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn await_value(
        &self,
        exchange: Exchange<'_, T, F>,
        waiter: Waiter,
        first: impl FnOnce() -> First,
        until: Until,
    ) -> Result<T, Failure> {
        self.wait_in_line(exchange, waiter, None, first, until, |exchange, stage, party, wake| {
            if stage != Stage::Met || wake == Wake::Exit {
                return Err(Self::no_value(exchange, stage, party, wake));
            }
            drop(exchange);
            Ok(party.value.take().expect("it was handed over"))
        })
    }

    /// Gives up waiting for a value, or has to. Under the lock that its stage was looked at: a value
    /// handed over in between would have to be taken back, and others have overtaken it by then.
    #[cold]
    #[inline(never)]
    fn no_value(
        mut exchange: Exchange<'_, T, F>,
        stage: Stage,
        party: &mut Party<T>,
        wake: Wake,
    ) -> Failure {
        // Only on exit may something have been handed over; it goes to others.
        let wakes = exchange.give_back(stage, party);
        drop(exchange);
        wakes.wake();
        if wake == Wake::Exit {
            leno_kernel::exit();
            return Failure::Exiting;
        }
        if stage == Stage::Refused { Failure::Closed } else { Failure::TimedOut }
    }

    /// Sends a value, and waits until there is room or someone who takes it. Compiled into its caller as
    /// [`Self::receive`] is.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[cfg_attr(debug_assertions, inline(never))]
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
                    leno_kernel::layer::unpark_partner(co);
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
            && exchange.has_nobody(Side::Joiners)
            && let Some(co) = leno_kernel::layer::current_stack()
        {
            if F::SHARED
                && deadline.is_none()
                && let Some(bell) = exchange.bell_to_listen_at()
            {
                return self.send_listening(exchange, co, &bell, value);
            }
            return self.await_room(
                exchange,
                Waiter::Co(co),
                value,
                || First::Wait,
                Until::room(deadline),
            );
        }
        self.send_slowly(exchange, value, deadline)
    }

    /// Listens before it stands in line.
    #[inline(never)]
    #[track_caller]
    fn send_streamed(&self, value: T) -> Result<(), (Failure, T)> {
        leno_kernel::layer::listen(|| self.lock().has_much_room());
        self.send_slowly(self.lock(), value, None)
    }

    /// The same in all cases.
    #[inline(never)]
    #[track_caller]
    fn send_slowly<'a>(
        &'a self,
        exchange: Exchange<'a, T, F>,
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
        let wakes = exchange.call_joiners();
        if let Wakes::Nobody = wakes {
            return self.await_room(
                exchange,
                waiter,
                left,
                || patience.spin(),
                Until::room(deadline),
            );
        }
        // Wakes others first, once it stands in line. That may be user code, which may wait itself and take a wake
        // that is meant for this party: so it looks before it parks. A member of a ring may be on another thread by then,
        // which has another bell.
        let first = || {
            wakes.wake_in_line();
            First::LookAs(Waiter::current())
        };
        self.await_room(exchange, waiter, left, first, Until::room(deadline))
    }

    /// Stands in line with a value, and waits until it is taken; `first` is what it does before it parks.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn await_room(
        &self,
        exchange: Exchange<'_, T, F>,
        waiter: Waiter,
        value: T,
        first: impl FnOnce() -> First,
        until: Until,
    ) -> Result<(), (Failure, T)> {
        let value = Some(value);
        self.wait_in_line(exchange, waiter, value, first, until, |exchange, stage, party, wake| {
            drop(exchange);
            if stage == Stage::Met && wake != Wake::Exit {
                return Ok(());
            }
            Self::no_room(stage, party.value.take(), wake)
        })
    }

    /// Gives up waiting for room, or has to; unless it was sent by then.
    #[cold]
    #[inline(never)]
    fn no_room(stage: Stage, value: Option<T>, wake: Wake) -> Result<(), (Failure, T)> {
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
    fn park(&self, reason: Why, deadline: Option<Time>) -> Wake {
        match deadline {
            None => leno_kernel::layer::park_on(reason(self.object), &self.sign),
            Some(deadline) => {
                leno_kernel::layer::park_on_until(reason(self.object), &self.sign, deadline)
            }
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
            Err(_) if leno_kernel::layer::is_planted("hook-locked") => Waiter::current(),
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

/// How a caller in line waits for a wake: it parks. Compiled into that caller, as a closure need not be.
struct Parking<'a, T, F: Flavour> {
    channel: &'a Channel<T, F>,
    reason: Why,
    deadline: Option<Time>,
    /// The last one.
    wake: &'a Cell<Option<Wake>>,
}

impl<T, F: Flavour> Sleep for Parking<'_, T, F> {
    #[inline(always)]
    fn sleep(&mut self) -> Next {
        let wake = self.channel.park(self.reason, self.deadline);
        self.wake.set(Some(wake));
        if wake == Wake::Unparked { Next::Look } else { Next::Leave }
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
