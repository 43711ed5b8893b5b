//! Sending, for futures.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};

use leno_kernel::Waiter;
use leno_kernel::log::Operation;

use crate::channel::Channel;
use crate::error::SendError;
use crate::exchange::{Own, Put, Side, Stage};
use crate::flavour::{Flavour, Local};
use crate::select::ticket::Caller;

/// Sends a value; of [`Sender::send_async`](crate::Sender::send_async).
#[must_use = "a future does nothing unless it is awaited"]
pub struct SendFuture<'a, T, F: Flavour = Local> {
    channel: &'a Channel<T, F>,
    step: Step<'a, T, F>,
}

enum Step<'a, T, F: Flavour> {
    /// Not polled yet.
    Holds(T),
    /// The value is with its party.
    Stands(Own<'a, T, F>),
    Sent,
    Refused,
}

/// How far a send has come that is polled; of [`SendFuture::status`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SendStatus {
    /// It was not tried yet.
    Idle,
    /// It waits, under a number that no other wait has at the moment.
    Pending(usize),
    /// The value is with the channel or with whoever took it.
    Sent,
    /// The channel was closed; the value came back.
    Closed,
}

impl SendStatus {
    /// Whether it has succeeded.
    pub fn is_sent(self) -> bool {
        self == SendStatus::Sent
    }
}

// The value is moved, never pinned.
impl<T, F: Flavour> Unpin for SendFuture<'_, T, F> {}

impl<'a, T, F: Flavour> SendFuture<'a, T, F> {
    pub(crate) fn new(channel: &'a Channel<T, F>, value: T) -> Self {
        SendFuture { channel, step: Step::Holds(value) }
    }

    /// How far it has come. Each poll tries again, and leads to the next status.
    ///
    /// # Examples
    /// ```
    /// use leno_channel::{SendStatus, bounded};
    ///
    /// let (tx, rx) = bounded(1);
    /// let send = tx.send_async(1);
    /// assert_eq!(send.status(), SendStatus::Idle);
    /// # drop((send, rx));
    /// ```
    pub fn status(&self) -> SendStatus {
        match &self.step {
            Step::Holds(_) => SendStatus::Idle,
            Step::Stands(own) => SendStatus::Pending(own.handle().key().number()),
            Step::Sent => SendStatus::Sent,
            Step::Refused => SendStatus::Closed,
        }
    }

    fn begin(&mut self, value: T, waiter: Waiter) -> Poll<Result<(), SendError<T>>> {
        self.channel.begins(Operation::Send);
        let mut exchange = self.channel.asked(self.channel.lock(), Side::Hungry, None);
        match exchange.put(value, &Caller) {
            Put::Done(wakes) => {
                self.step = Step::Sent;
                drop(exchange);
                self.channel.ends(Operation::Send, true);
                wakes.wake();
                Poll::Ready(Ok(()))
            }
            Put::Closed(value) => {
                drop(exchange);
                Poll::Ready(Err(SendError::Closed(value, self.channel.label())))
            }
            Put::Full(value) | Put::Busy(value) => {
                let (own, wakes) = exchange.wait_blocked(waiter, value, None);
                self.step = Step::Stands(own);
                drop(exchange);
                wakes.wake();
                Poll::Pending
            }
        }
    }
}

impl<T, F: Flavour> Future for SendFuture<'_, T, F> {
    type Output = Result<(), SendError<T>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if matches!(this.step, Step::Sent | Step::Refused) {
            panic!("a future that was ready is polled again");
        }
        // A waker that panics when it is cloned leaves everything as it was.
        let waiter = F::waiter(context);
        let own = match core::mem::replace(&mut this.step, Step::Refused) {
            Step::Holds(value) => return this.begin(value, waiter),
            Step::Stands(own) => own,
            Step::Sent | Step::Refused => unreachable!("looked at above"),
        };
        let mut exchange = this.channel.lock();
        if exchange.stage(&own) == Stage::Waiting {
            let old = exchange.renew(&own, waiter);
            drop(exchange);
            this.step = Step::Stands(own);
            drop(old);
            return Poll::Pending;
        }
        let left = exchange.withdraw(own);
        drop(exchange);
        this.channel.ends(Operation::Send, left.payload.value.is_none());
        Poll::Ready(match left.payload.value {
            None => {
                this.step = Step::Sent;
                Ok(())
            }
            Some(value) => Err(SendError::Closed(value, this.channel.label())),
        })
    }
}

impl<T, F: Flavour> Drop for SendFuture<'_, T, F> {
    fn drop(&mut self) {
        if let Step::Stands(own) = core::mem::replace(&mut self.step, Step::Refused) {
            let left = self.channel.lock().withdraw(own);
            drop(left);
        }
    }
}

impl<T, F: Flavour> fmt::Debug for SendFuture<'_, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SendFuture({})", self.channel.label())
    }
}
