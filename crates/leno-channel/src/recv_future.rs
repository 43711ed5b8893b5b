//! Receiving, for futures.
//!
//! A party that stands in line is the future's until it is ready or dropped; a dropped one gives up as one that
//! exits does.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};

use leno_kernel::layer::user;
use leno_kernel::log::Operation;

use crate::channel::Channel;
use crate::error::RecvError;
use crate::exchange::{Exchange, Own, Side, Stage, Taken};
use crate::flavour::{Flavour, Local};
use crate::select::ticket::Caller;
use crate::{Label, Receiver};

/// Waits at a channel for its next value; `None` when nothing will ever come.
pub(crate) struct Waiting<'a, T, F: Flavour> {
    channel: &'a Channel<T, F>,
    own: Option<Own<'a, T, F>>,
}

impl<'a, T, F: Flavour> Waiting<'a, T, F> {
    pub(crate) fn new(channel: &'a Channel<T, F>) -> Self {
        Waiting { channel, own: None }
    }

    pub(crate) fn label(&self) -> Label {
        self.channel.label()
    }

    /// Stands in line, after something else under the same lock.
    pub(crate) fn stand(&mut self, context: &Context<'_>, first: fn(&mut Exchange<'_, T, F>)) {
        let waiter = F::waiter(context);
        let mut exchange = self.channel.lock();
        first(&mut exchange);
        self.own = Some(exchange.wait_hungry(waiter, None));
    }

    pub(crate) fn poll(&mut self, context: &Context<'_>) -> Poll<Option<T>> {
        if self.own.is_none() {
            return self.begin(context);
        }
        // A waker that panics when it is cloned leaves everything as it was.
        let waiter = F::waiter(context);
        let Some(own) = self.own.take() else { unreachable!("looked at above") };
        let mut exchange = self.channel.lock();
        if exchange.stage(&own) == Stage::Waiting {
            let old = exchange.renew(&own, waiter);
            drop(exchange);
            self.own = Some(own);
            drop(old);
            return Poll::Pending;
        }
        let left = exchange.withdraw(own);
        drop(exchange);
        // A waker may panic when it is dropped: not while there is a value to lose.
        user::discard(waiter);
        self.channel.ends(Operation::Receive, left.payload.value.is_some());
        Poll::Ready(left.payload.value)
    }

    fn begin(&mut self, context: &Context<'_>) -> Poll<Option<T>> {
        self.channel.begins(Operation::Receive);
        let waiter = F::waiter(context);
        let mut exchange = self.channel.asked(self.channel.lock(), Side::Blocked, None);
        let taken = exchange.take(&Caller);
        if let Taken::Empty | Taken::Busy = taken {
            self.own = Some(exchange.wait_hungry(waiter, None));
            return Poll::Pending;
        }
        drop(exchange);
        user::discard(waiter);
        self.channel.ends(Operation::Receive, matches!(taken, Taken::Value(..)));
        Poll::Ready(match taken {
            Taken::Value(value, wakes) => {
                wakes.wake();
                Some(value)
            }
            _ => None,
        })
    }
}

impl<T, F: Flavour> Drop for Waiting<'_, T, F> {
    fn drop(&mut self) {
        let Some(own) = self.own.take() else { return };
        let (left, wakes) = self.channel.lock().give_up(own);
        wakes.wake();
        drop(left);
    }
}

/// Receives the next value; of [`Receiver::recv_async`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct RecvFuture<'a, T, F: Flavour = Local> {
    waiting: Waiting<'a, T, F>,
}

impl<'a, T, F: Flavour> RecvFuture<'a, T, F> {
    pub(crate) fn new(receiver: &'a Receiver<T, F>) -> Self {
        RecvFuture { waiting: Waiting::new(&receiver.channel) }
    }
}

impl<T, F: Flavour> Future for RecvFuture<'_, T, F> {
    type Output = Result<T, RecvError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = self.waiting.poll(context);
        polled.map(|value| value.ok_or_else(|| RecvError::Closed(self.waiting.label())))
    }
}

impl<T, F: Flavour> fmt::Debug for RecvFuture<'_, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecvFuture({})", self.waiting.label())
    }
}
