//! Waiting for a descriptor, for futures and for selects.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;
use std::os::fd::AsFd;

use super::beacon::Place;
use super::caller;
use super::descriptor::Descriptor;
use super::interest::{Interest, Readiness};
use crate::Waiter;

/// Waits until an operation is worth trying; of [`Descriptor::wait_async`]. When it is dropped, it
/// waits no more.
///
/// # Examples
/// ```
/// use leno_kernel::{block_on, io::{Descriptor, Interest}};
/// use std::os::unix::net::UnixStream;
///
/// let (near, _far) = UnixStream::pair()?;
/// let near = Descriptor::new(near)?;
/// assert!(near.wait_async(Interest::READ).try_wait().is_none());
/// let either = near.wait_async(Interest::READ | Interest::WRITE);
/// assert!(block_on(either)?.is_writable());
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "a future does nothing unless it is awaited"]
pub struct WaitFuture<'a, T: AsFd> {
    descriptor: &'a Descriptor<T>,
    interest: Interest,
    place: Option<Place<'a>>,
    /// Why it cannot wait.
    error: Option<io::Error>,
}

impl<'a, T: AsFd> WaitFuture<'a, T> {
    pub(super) fn new(descriptor: &'a Descriptor<T>, interest: Interest) -> Self {
        WaitFuture { descriptor, interest, place: None, error: None }
    }

    pub(super) fn descriptor(&self) -> &'a Descriptor<T> {
        self.descriptor
    }

    pub(super) fn interest(&self) -> Interest {
        self.interest
    }

    /// What it would give now, without waiting. If nobody watches the descriptor yet, the system is
    /// asked.
    pub fn try_wait(&mut self) -> Option<io::Result<Readiness>> {
        if let Some(error) = self.error.take() {
            return Some(Err(error));
        }
        if let Err(error) = caller::permit() {
            return Some(Err(error));
        }
        self.descriptor.look(self.interest).map(Ok)
    }

    /// Has `waiter` woken when it is worth looking again, in place of an earlier one. For those who
    /// build on the kernel.
    pub fn set_waiter(&mut self, waiter: &Waiter) {
        let beacon = &self.descriptor.registered.beacon;
        beacon.enlist(&mut self.place, self.interest, waiter.clone());
        self.error = caller::permit().and_then(|_| self.descriptor.register()).err();
    }

    /// Has nobody woken any more.
    pub fn remove_waiter(&mut self) {
        drop(self.place.take());
    }

    /// Whether it probably would not have to wait.
    pub fn is_ready(&self) -> bool {
        self.descriptor.look(self.interest).is_some()
    }
}

impl<T: AsFd> Future for WaitFuture<'_, T> {
    type Output = io::Result<Readiness>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let beacon = &this.descriptor.registered.beacon;
        let mut ready = beacon.ready(this.interest);
        if ready.is_none() {
            // The waker itself, even of our own coroutines: while someone holds it, their core knows
            // that they may be woken.
            this.set_waiter(&Waiter::Waker(context.waker().clone()));
            ready = beacon.ready(this.interest);
        }
        if let Some(error) = this.error.take().or_else(|| caller::permit().err()) {
            this.remove_waiter();
            return Poll::Ready(Err(error));
        }
        let Some(ready) = ready else { return Poll::Pending };
        this.remove_waiter();
        Poll::Ready(Ok(ready))
    }
}

impl<T: AsFd> fmt::Debug for WaitFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WaitFuture({})", self.interest)
    }
}
