//! Sending and receiving in nodes that are futures: state in fields, entered again, tried again.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::cx::FutureCx;
use crate::mode::Schedule;
use crate::receiver::Receiver;
use crate::sender::{Sender, Tip};
use crate::source::Source;

/// How far a send without a stack has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SendStatus {
    /// Not tried yet.
    #[default]
    Idle,
    /// Tried, and to be tried again; the message has this number.
    Pending(u64),
    /// The message is in the channel.
    Sent,
    /// It never will be: the channel is closed or cancelled.
    Closed,
}

impl SendStatus {
    /// Whether the message is in the channel.
    pub fn is_successful(self) -> bool {
        self == SendStatus::Sent
    }

    /// Whether there is nothing more to try.
    pub fn is_over(self) -> bool {
        matches!(self, SendStatus::Sent | SendStatus::Closed)
    }
}

/// A send of a node that is a future; of [`Sender::send_async`]. It gives whether the message is in the
/// channel.
#[must_use = "a future does nothing unless it is awaited"]
pub struct SendFuture<'a, T, S: Schedule> {
    cx: &'a FutureCx<S>,
    tip: &'a Tip<T, S>,
    value: Option<T>,
    own: Option<Own<'a, S>>,
    status: SendStatus,
}

/// A receive of a node that is a future; of [`Receiver::receive_async`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct ReceiveFuture<'a, X: Source> {
    cx: &'a FutureCx<X::S>,
    receiver: &'a Receiver<X>,
    own: Option<Own<'a, X::S>>,
}

type Own<'a, S> = <S as crate::mode::Sealed>::Own<'a>;

impl<T, S: Schedule> Sender<T, S> {
    /// As [`send`](Sender::send), for nodes that are futures.
    pub fn send_async<'a>(&'a self, cx: &'a FutureCx<S>, value: T) -> SendFuture<'a, T, S> {
        let status = SendStatus::Idle;
        SendFuture { cx, tip: &self.tip, value: Some(value), own: None, status }
    }
}

impl<X: Source> Receiver<X> {
    /// As [`receive`](Receiver::receive), for nodes that are futures.
    pub fn receive_async<'a>(&'a self, cx: &'a FutureCx<X::S>) -> ReceiveFuture<'a, X> {
        ReceiveFuture { cx, receiver: self, own: None }
    }
}

// What they hold is never pinned.
impl<T, S: Schedule> Unpin for SendFuture<'_, T, S> {}
impl<X: Source> Unpin for ReceiveFuture<'_, X> {}

impl<T, S: Schedule> SendFuture<'_, T, S> {
    /// How far it has come.
    pub fn status(&self) -> SendStatus {
        self.status
    }
}

impl<T, S: Schedule> Future for SendFuture<'_, T, S> {
    type Output = bool;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<bool> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let this = self.get_mut();
        if this.status.is_over() {
            return Poll::Ready(this.status.is_successful());
        }
        let polled = if this.tip.is_open() {
            let channel = &this.tip.channel;
            S::poll_offer(this.cx, context, channel, &mut this.value, &mut this.own)
        } else {
            Poll::Ready(this.value.take().map_or(Ok(()), Err))
        };
        this.status = match polled {
            Poll::Ready(Ok(())) => SendStatus::Sent,
            Poll::Ready(Err(value)) => {
                this.status = SendStatus::Closed;
                drop(this.tip.refuse(value));
                SendStatus::Closed
            }
            // It is in the channel, and control is handed over first.
            Poll::Pending if this.value.is_none() => {
                this.status = SendStatus::Sent;
                return Poll::Pending;
            }
            Poll::Pending if this.status == SendStatus::Idle => {
                SendStatus::Pending(NEXT.fetch_add(1, Ordering::Relaxed))
            }
            Poll::Pending => this.status,
        };
        match this.status.is_over() {
            true => Poll::Ready(this.status.is_successful()),
            false => Poll::Pending,
        }
    }
}

impl<X: Source> Future for ReceiveFuture<'_, X> {
    type Output = Option<X::Item>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<X::Item>> {
        let this = self.get_mut();
        let Receiver { source } = this.receiver;
        match <X::S as crate::mode::Sealed>::poll_receive(this.cx, context, source, &mut this.own) {
            Poll::Ready(None) => Poll::Ready(this.receiver.ended()),
            polled => polled,
        }
    }
}

impl<T, S: Schedule> Drop for SendFuture<'_, T, S> {
    fn drop(&mut self) {
        if let Some(own) = self.own.take() {
            self.tip.channel.sends_no_more(S::ticket(&own));
            S::forget(self.cx, own);
        }
    }
}

impl<X: Source> Drop for ReceiveFuture<'_, X> {
    fn drop(&mut self) {
        if let Some(own) = self.own.take() {
            let ticket = <X::S as crate::mode::Sealed>::ticket(&own);
            self.receiver.source.each(&mut |wire| wire.unwatch(ticket));
            <X::S as crate::mode::Sealed>::forget(self.cx, own);
        }
    }
}

impl<T, S: Schedule> fmt::Debug for SendFuture<'_, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SendFuture({:?})", self.status)
    }
}
