//! A socket of the operating system: a descriptor of the kernel, and two rules on top.
//!
//! - An interrupted system call is repeated.
//! - Whoever finds a socket ready again and again lets others run now and then. Without that, a
//!   coroutine that reads what a fast peer sends would keep its core for itself, since nothing makes it
//!   wait. Operations in a row that neither waited nor used up what there was are counted per socket;
//!   after [`STREAK`] of them, the next one gives way first. Before it, not after: giving way may end
//!   the coroutine, and then nothing has been read that nobody gets.
//!
//! The count is relaxed and may be off when several threads use one socket, which does no harm.

use core::future::poll_fn;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use core::task::{Context, Poll};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};

use leno_kernel::Time;
use leno_kernel::io::{Descriptor, Interest, WaitFuture};

use super::inner::Tried;

/// How many operations in a row need not wait before others get their turn.
const STREAK: u32 = 32;

/// See the module.
pub(crate) struct Os<S: AsFd> {
    descriptor: Descriptor<S>,
    streak: AtomicU32,
}

impl<S: AsFd> Os<S> {
    pub(crate) fn new(socket: S) -> io::Result<Os<S>> {
        Ok(Os { descriptor: Descriptor::new(socket)?, streak: AtomicU32::new(0) })
    }

    /// The socket itself.
    #[inline]
    pub(crate) fn get(&self) -> &S {
        self.descriptor.get_ref()
    }

    /// The socket, which nobody watches any more.
    pub(crate) fn into_inner(self) -> S {
        self.descriptor.into_inner()
    }

    #[track_caller]
    pub(crate) fn io<R>(
        &self,
        interest: Interest,
        deadline: Option<Time>,
        mut operation: impl FnMut() -> Tried<R>,
    ) -> io::Result<R> {
        if self.is_long() {
            give_way();
        }
        self.descriptor.io_with(interest, deadline, |_| self.counted(&mut operation))
    }

    pub(crate) async fn io_async<R>(
        &self,
        interest: Interest,
        mut operation: impl FnMut() -> Tried<R>,
    ) -> io::Result<R> {
        if self.is_long() {
            give_way_async().await;
        }
        self.descriptor.io_async_with(interest, |_| self.counted(&mut operation)).await
    }

    pub(crate) fn poll_io<R>(
        &self,
        context: &mut Context<'_>,
        interest: Interest,
        mut operation: impl FnMut() -> Tried<R>,
    ) -> Poll<io::Result<R>> {
        if self.is_long() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.descriptor.poll_io_with(context, interest, |_| self.counted(&mut operation))
    }

    pub(crate) fn try_io<R>(
        &self,
        interest: Interest,
        mut operation: impl FnMut() -> Tried<R>,
    ) -> io::Result<R> {
        match self.descriptor.try_io_with(interest, |_| retried(&mut operation)) {
            // The reactor may not have told yet. What it will tell is still to come, so nothing need
            // be noted.
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(retried(&mut operation)?.0),
            result => result,
        }
    }

    pub(crate) fn wait_async(&self, interest: Interest) -> WaitFuture<'_, S> {
        self.descriptor.wait_async(interest)
    }

    /// Whether it is time to give way; then the count begins anew.
    #[inline]
    fn is_long(&self) -> bool {
        let is_long = self.streak.load(Relaxed) >= STREAK;
        if is_long {
            self.streak.store(0, Relaxed);
        }
        is_long
    }

    #[inline]
    fn counted<R>(&self, operation: &mut impl FnMut() -> Tried<R>) -> Tried<R> {
        let result = retried(operation);
        let streak = match &result {
            Ok((_, false)) => self.streak.load(Relaxed) + 1,
            _ => 0,
        };
        self.streak.store(streak, Relaxed);
        result
    }
}

impl<S: AsFd> AsFd for Os<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Repeats what a signal has interrupted.
#[inline]
fn retried<R>(operation: &mut impl FnMut() -> Tried<R>) -> Tried<R> {
    loop {
        match operation() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Lets others run first; a thread has none to consider.
#[track_caller]
pub(crate) fn give_way() {
    if leno_kernel::current_stack().is_some() {
        leno_kernel::yield_now();
    }
}

/// Lets others be polled first.
pub(crate) async fn give_way_async() {
    let mut has_given = false;
    poll_fn(|context| {
        if has_given {
            return Poll::Ready(());
        }
        has_given = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
