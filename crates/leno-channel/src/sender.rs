//! The sending end.

use core::fmt;
use core::time::Duration;

use leno_kernel::layer::deadline_in;
use leno_kernel::log::Operation;
use leno_kernel::{Name, Object};

use crate::channel::{Channel, State};
use crate::error::{SendError, SendTimeoutError, TrySendError};
use crate::exchange::{Put, Side, Who};
use crate::flavour::{Flavour, Local};
use crate::label::{Label, Named};
use crate::select::ticket::Caller;
use crate::send_future::SendFuture;
use crate::wait::Failure;

/// The sending end of a channel. Clones send to the same channel; when the last one is dropped,
/// receivers get what is left, and then "closed".
pub struct Sender<T, F: Flavour = Local> {
    pub(crate) channel: F::Ref<Channel<T, F>>,
}

impl<T, F: Flavour> Sender<T, F> {
    /// The one that a new channel counts.
    pub(crate) fn first(channel: F::Ref<Channel<T, F>>) -> Sender<T, F> {
        Sender { channel }
    }

    /// Sends a value.
    ///
    /// # Blocking
    /// Until there is room, or without a buffer until someone takes it: parks the calling coroutine,
    /// or blocks the calling thread; a future uses [`Self::send_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, the value is withdrawn and dropped, and the stack
    /// unwinds.
    ///
    /// # Errors
    /// The value, when the channel is closed or all receivers are gone; or while the coroutine's own
    /// stack unwinds, if it would have to wait.
    ///
    /// # Panics
    /// If it would have to wait: inside a future that a core polls, and at a local channel outside
    /// of any coroutine, where nobody could ever end the wait.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = leno_channel::bounded(1);
    /// tx.send(1)?;
    /// drop(rx);
    /// assert_eq!(tx.send(2).unwrap_err().into_inner(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        match self.channel.send(value, None) {
            Ok(()) => Ok(()),
            Err((failure, value)) => Err(self.not_sent(failure, value)),
        }
    }

    #[cold]
    fn not_sent(&self, failure: Failure, value: T) -> SendError<T> {
        match failure {
            Failure::Exiting => SendError::Exiting(value, self.label()),
            Failure::Closed | Failure::TimedOut => SendError::Closed(value, self.label()),
        }
    }

    /// Sends a value, if that needs no waiting.
    ///
    /// # Errors
    /// The value, when there is no room and nobody waits for it, or the channel is closed.
    ///
    /// # Examples
    /// ```
    /// let (tx, _rx) = leno_channel::channel();
    /// assert_eq!(tx.try_send('x').unwrap_err().into_inner(), 'x', "nobody waits for it");
    /// ```
    #[inline]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        self.channel.begins(Operation::Send);
        let mut exchange = self.channel.asked(self.channel.lock(), Side::Hungry, None);
        let put = exchange.put(value, &Caller);
        drop(exchange);
        self.channel.ends(Operation::Send, matches!(put, Put::Done(_)));
        match put {
            Put::Done(wakes) => {
                wakes.wake();
                Ok(())
            }
            Put::Full(value) | Put::Busy(value) => Err(TrySendError::Full(value, self.label())),
            Put::Closed(value) => Err(TrySendError::Closed(value, self.label())),
        }
    }

    /// As [`Self::send`], for at most `limit`.
    ///
    /// # Errors
    /// The value, when the time is over; else as [`Self::send`].
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// let (tx, _rx) = leno_channel::channel();
    /// let error = tx.send_timeout(1, Duration::from_millis(1)).unwrap_err();
    /// assert_eq!(error.into_inner(), 1);
    /// ```
    #[track_caller]
    pub fn send_timeout(&self, value: T, limit: Duration) -> Result<(), SendTimeoutError<T>> {
        let sent = self.channel.send(value, Some(deadline_in(limit)));
        sent.map_err(|(failure, value)| match failure {
            Failure::Closed => SendTimeoutError::Closed(value, self.label()),
            Failure::TimedOut => SendTimeoutError::TimedOut(value, self.label()),
            Failure::Exiting => SendTimeoutError::Exiting(value, self.label()),
        })
    }

    /// As [`Self::send`], for a future. The value is sent when the future is awaited; if it is
    /// dropped before it was sent, so is the value.
    ///
    /// # Errors
    /// The value, when the channel is closed or all receivers are gone.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = leno_channel::bounded(1);
    /// leno_kernel::block_on(tx.send_async(7)).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(7));
    /// ```
    pub fn send_async(&self, value: T) -> SendFuture<'_, T, F> {
        SendFuture::new(&self.channel, value)
    }

    /// Closes the channel: nothing more can be sent, what is stored can still be received. Whoever
    /// waits is told.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = leno_channel::bounded(2);
    /// tx.send(1)?;
    /// tx.close();
    /// assert!(tx.send(2).is_err());
    /// assert_eq!(rx.iter().collect::<Vec<_>>(), [1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(&self) {
        self.channel.close();
    }

    /// Whether nobody will ever take a value.
    pub fn is_closed(&self) -> bool {
        !self.channel.lock().will_go()
    }
}

macro_rules! about {
    ($end:ident) => {
        impl<T, F: Flavour> $end<T, F> {
            /// How many values are stored.
            pub fn len(&self) -> usize {
                self.channel.lock().len()
            }

            /// Whether no value is stored.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// How many values can be stored; `None` if any number can.
            pub fn capacity(&self) -> Option<usize> {
                let capacity = self.channel.lock().capacity();
                (capacity != crate::exchange::UNBOUNDED).then_some(capacity)
            }

            /// What reasons and reports call the channel.
            pub fn object(&self) -> Object {
                self.channel.object
            }

            /// What messages call the channel.
            pub fn label(&self) -> Label {
                self.channel.label()
            }

            /// Whether someone waits, and on which side (K4).
            pub fn state(&self) -> State {
                let exchange = self.channel.lock();
                if exchange.is_awaited(Side::Hungry, None) {
                    State::Hungry
                } else if exchange.is_awaited(Side::Blocked, None) {
                    State::Blocked
                } else {
                    State::Empty
                }
            }

            /// Who waits to receive, the first come first (K6); then who waits in a join.
            pub fn waiting_receivers(&self) -> Vec<Who> {
                let exchange = self.channel.lock();
                let mut waiting = exchange.waiting(Side::Hungry);
                waiting.extend(exchange.waiting(Side::Joiners));
                waiting
            }

            /// Who waits to send, the first come first (K6).
            pub fn waiting_senders(&self) -> Vec<Who> {
                self.channel.lock().waiting(Side::Blocked)
            }

            /// Whether both are ends of one channel.
            pub fn same_channel<O>(&self, other: &O) -> bool
            where
                O: crate::End,
            {
                self.channel.object == other.object()
            }
        }

        impl<T, F: Flavour> crate::End for $end<T, F> {
            fn object(&self) -> Object {
                self.channel.object
            }
        }

        impl<T, F: Flavour> Named for $end<T, F> {
            fn named(self, name: impl Into<Name>) -> Self {
                self.channel.set_name(name);
                self
            }
        }

        impl<T, F: Flavour> fmt::Debug for $end<T, F> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let _held =
                    leno_kernel::layer::is_planted("show-locked").then(|| self.channel.lock());
                write!(f, concat!(stringify!($end), "({})"), self.label())
            }
        }
    };
}
pub(crate) use about;

about!(Sender);

impl<T, F: Flavour> Clone for Sender<T, F> {
    fn clone(&self) -> Self {
        let mut exchange = self.channel.lock();
        exchange.senders += 1;
        self.channel.show_ends(&exchange);
        drop(exchange);
        Sender { channel: self.channel.clone() }
    }
}

impl<T, F: Flavour> Drop for Sender<T, F> {
    fn drop(&mut self) {
        self.channel.begins(Operation::Close);
        let mut exchange = self.channel.lock();
        exchange.senders -= 1;
        self.channel.show_ends(&exchange);
        if exchange.senders == 0 {
            let rest = exchange.no_senders();
            drop(exchange);
            rest.see_to();
        }
    }
}
