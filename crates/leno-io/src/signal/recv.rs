//! Waiting for a signal, for futures and for selects.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;
use std::os::fd::BorrowedFd;

use leno_channel::Source;
use leno_kernel::Waiter;
use leno_kernel::io::{Interest, WaitFuture};

use super::{Signal, Signals};

/// Waits for a signal; of [`Signals::recv_async`]. When it is dropped, it waits no more, and nothing is
/// lost.
#[must_use = "a future does nothing unless it is awaited"]
pub struct RecvFuture<'a> {
    signals: &'a Signals,
    wait: WaitFuture<'a, BorrowedFd<'static>>,
}

impl<'a> RecvFuture<'a> {
    pub(super) fn new(signals: &'a Signals) -> RecvFuture<'a> {
        RecvFuture { signals, wait: signals.descriptor.wait_async(Interest::READ) }
    }
}

impl Future for RecvFuture<'_> {
    type Output = io::Result<Signal>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            if let Some(signal) = self.signals.look() {
                self.wait.remove_waiter();
                return Poll::Ready(signal);
            }
            match Pin::new(&mut self.wait).poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(_)) => {}
            }
        }
    }
}

impl Source for RecvFuture<'_> {
    type Item = io::Result<Signal>;

    fn take(&mut self) -> Option<Self::Item> {
        // Or why it cannot be waited for.
        self.signals.look().or_else(|| self.wait.try_wait()?.err().map(Err))
    }

    fn wait(&mut self, waiter: &Waiter) {
        self.wait.set_waiter(waiter);
    }

    fn leave(&mut self, _: &Waiter) {
        self.wait.remove_waiter();
    }

    fn is_ready(&self) -> bool {
        self.signals.ear.has_heard() || self.wait.is_ready()
    }

    fn is_shared(&self) -> bool {
        true
    }
}

impl fmt::Debug for RecvFuture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RecvFuture").field(&self.signals.wanted).finish()
    }
}
