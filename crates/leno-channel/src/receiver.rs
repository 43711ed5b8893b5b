//! The receiving end.

use core::fmt;
use core::time::Duration;

use leno_kernel::layer::deadline_in;
use leno_kernel::log::Operation;
use leno_kernel::{Name, Object, Reason};

use crate::channel::{Channel, State};
use crate::error::{RecvError, RecvTimeoutError, TryRecvError};
use crate::exchange::{Side, Taken, Who};
use crate::flavour::{Flavour, Local};
use crate::iter::{IntoIter, Iter, TryIter};
use crate::label::{Label, Named};
use crate::recv_future::RecvFuture;
use crate::select::ticket::Caller;
use crate::sender::about;
use crate::wait::Failure;

/// The receiving end of a channel. Clones receive from the same channel, each value at one of them.
/// When the last one is dropped, senders get "closed", and what is stored is dropped.
pub struct Receiver<T, F: Flavour = Local> {
    pub(crate) channel: F::Ref<Channel<T, F>>,
}

impl<T, F: Flavour> Receiver<T, F> {
    /// The one that a new channel counts.
    pub(crate) fn first(channel: F::Ref<Channel<T, F>>) -> Receiver<T, F> {
        Receiver { channel }
    }

    /// Receives the next value.
    ///
    /// # Blocking
    /// Until there is one: parks the calling coroutine, or blocks the calling thread; a future uses
    /// [`Self::recv_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds. A value that was handed to it by
    /// then goes to the next receiver, or to the front of the channel.
    ///
    /// # Errors
    /// When nothing will ever come; or while the coroutine's own stack unwinds, if it would have to
    /// wait.
    ///
    /// # Panics
    /// If it would have to wait: inside a future that a core polls, and at a local channel outside
    /// of any coroutine, where nobody could ever end the wait.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = leno_channel::unbounded();
    /// tx.send(1)?;
    /// drop(tx);
    /// assert_eq!(rx.recv(), Ok(1));
    /// assert!(rx.recv().is_err(), "closed");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        match self.channel.receive(Reason::Hungry, None) {
            Ok(value) => Ok(value),
            Err(failure) => Err(self.not_received(failure)),
        }
    }

    /// As [`Self::recv`], for layers that remove whoever waits in vain: this one waits for the close
    /// as well, and is told of it instead.
    ///
    /// # Blocking
    /// As [`Self::recv`].
    ///
    /// # Cancellation
    /// As there.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = leno_channel::unbounded();
    /// tx.send(1)?;
    /// drop(tx);
    /// assert_eq!(rx.recv_or_close(), Ok(1));
    /// assert!(rx.recv_or_close().is_err(), "closed");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn recv_or_close(&self) -> Result<T, RecvError> {
        let received = self.channel.receive(Reason::Expecting, None);
        received.map_err(|failure| self.not_received(failure))
    }

    #[cold]
    pub(crate) fn not_received(&self, failure: Failure) -> RecvError {
        match failure {
            Failure::Exiting => RecvError::Exiting(self.label()),
            Failure::Closed | Failure::TimedOut => RecvError::Closed(self.label()),
        }
    }

    /// Receives the next value, if there is one.
    ///
    /// # Errors
    /// When there is nothing now, or will never be.
    ///
    /// # Examples
    /// ```
    /// use leno_channel::{TryRecvError, channel};
    ///
    /// let (tx, rx) = channel::<()>();
    /// assert!(matches!(rx.try_recv(), Err(TryRecvError::Empty(_))));
    /// drop(tx);
    /// assert!(matches!(rx.try_recv(), Err(TryRecvError::Closed(_))));
    /// ```
    #[inline]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.channel.begins(Operation::Receive);
        let mut exchange = self.channel.asked(self.channel.lock(), Side::Blocked, None);
        let taken = exchange.take(&Caller);
        drop(exchange);
        self.channel.ends(Operation::Receive, matches!(taken, Taken::Value(..)));
        match taken {
            Taken::Value(value, wakes) => {
                wakes.wake();
                Ok(value)
            }
            Taken::Empty | Taken::Busy => Err(TryRecvError::Empty(self.label())),
            Taken::Closed => Err(TryRecvError::Closed(self.label())),
        }
    }

    /// As [`Self::recv`], for at most `limit`.
    ///
    /// # Errors
    /// When the time is over; else as [`Self::recv`].
    ///
    /// # Examples
    /// ```
    /// use leno_channel::{RecvTimeoutError, channel};
    /// use std::time::Duration;
    ///
    /// let (_tx, rx) = channel::<()>();
    /// let nothing = rx.recv_timeout(Duration::from_millis(1));
    /// assert!(matches!(nothing, Err(RecvTimeoutError::TimedOut(_))));
    /// ```
    #[track_caller]
    pub fn recv_timeout(&self, limit: Duration) -> Result<T, RecvTimeoutError> {
        let received = self.channel.receive(Reason::Hungry, Some(deadline_in(limit)));
        received.map_err(|failure| match failure {
            Failure::Closed => RecvTimeoutError::Closed(self.label()),
            Failure::TimedOut => RecvTimeoutError::TimedOut(self.label()),
            Failure::Exiting => RecvTimeoutError::Exiting(self.label()),
        })
    }

    /// As [`Self::recv`], for a future. If it is dropped, nothing is lost: a value that was handed
    /// to it goes to the next receiver, or to the front of the channel.
    ///
    /// # Errors
    /// When nothing will ever come.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = leno_channel::bounded(1);
    /// tx.send(5)?;
    /// assert_eq!(leno_kernel::block_on(rx.recv_async()), Ok(5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recv_async(&self) -> RecvFuture<'_, T, F> {
        RecvFuture::new(self)
    }

    /// Receives until the channel is closed; each step as [`Self::recv`].
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = leno_channel::unbounded();
    /// (1..4).for_each(|i| tx.send(i).unwrap());
    /// drop(tx);
    /// assert_eq!(rx.iter().collect::<Vec<_>>(), [1, 2, 3]);
    /// ```
    pub fn iter(&self) -> Iter<'_, T, F> {
        Iter::new(self)
    }

    /// Receives as long as there is something; each step as [`Self::try_recv`].
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = leno_channel::unbounded();
    /// tx.send('a')?;
    /// assert_eq!(rx.try_iter().collect::<String>(), "a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_iter(&self) -> TryIter<'_, T, F> {
        TryIter::new(self)
    }

    /// Closes the channel; see [`Sender::close`](crate::Sender::close).
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = leno_channel::bounded(1);
    /// rx.close();
    /// assert!(tx.send(1).is_err());
    /// ```
    pub fn close(&self) {
        self.channel.close();
    }

    /// Whether nothing will ever come, apart from what is stored.
    pub fn is_closed(&self) -> bool {
        !self.channel.lock().will_come()
    }
}

about!(Receiver);

impl<'a, T, F: Flavour> IntoIterator for &'a Receiver<T, F> {
    type Item = T;
    type IntoIter = Iter<'a, T, F>;

    fn into_iter(self) -> Iter<'a, T, F> {
        self.iter()
    }
}

impl<T, F: Flavour> IntoIterator for Receiver<T, F> {
    type Item = T;
    type IntoIter = IntoIter<T, F>;

    fn into_iter(self) -> IntoIter<T, F> {
        IntoIter::new(self)
    }
}

impl<T, F: Flavour> Clone for Receiver<T, F> {
    fn clone(&self) -> Self {
        let mut exchange = self.channel.lock();
        exchange.receivers += 1;
        self.channel.show_ends(&exchange);
        drop(exchange);
        Receiver { channel: self.channel.clone() }
    }
}

impl<T, F: Flavour> Drop for Receiver<T, F> {
    fn drop(&mut self) {
        self.channel.begins(Operation::Close);
        let mut exchange = self.channel.lock();
        exchange.receivers -= 1;
        self.channel.show_ends(&exchange);
        if exchange.receivers == 0 {
            let rest = exchange.no_receivers();
            drop(exchange);
            rest.see_to();
        }
    }
}
