//! A descriptor of the operating system's, a socket or a pipe: one of the kernel's, and two rules on top.
//!
//! - An interrupted system call is repeated.
//! - Whoever finds it ready again and again lets others run now and then. Operations in a row that
//!   neither waited nor used up what there was are counted ([`Streak`]).

use core::fmt;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};

use leno_kernel::Time;
use leno_kernel::io::{Descriptor, Interest, WaitFuture};

use crate::streak;

/// What came of an operation that does not wait: its result, and whether it has used up what there
/// was, so that the next one will have to wait; or [`WouldBlock`](io::ErrorKind::WouldBlock).
pub(crate) type Tried<R> = io::Result<(R, bool)>;

/// See the module.
pub(crate) struct Os<S: AsFd> {
    descriptor: Descriptor<S>,
}

impl<S: AsFd> Os<S> {
    pub(crate) fn new(socket: S) -> io::Result<Os<S>> {
        Ok(Os { descriptor: Descriptor::new(socket)? })
    }

    /// The same, of one that does not block already.
    pub(crate) fn new_nonblocking(socket: S) -> io::Result<Os<S>> {
        Ok(Os { descriptor: Descriptor::new_nonblocking(socket)? })
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
        streak::give_way_if_long();
        self.descriptor.io_with(interest, deadline, |_| self.counted(&mut operation))
    }

    pub(crate) fn io_async<'a, R, O>(
        &'a self,
        interest: Interest,
        mut operation: O,
    ) -> impl Future<Output = io::Result<R>> + Unpin + use<'a, R, O, S>
    where
        O: FnMut() -> Tried<R>,
    {
        let counted = move |_: &S| self.counted(&mut operation);
        let mut io = self.descriptor.io_async_with(interest, counted);
        let mut has_begun = false;
        poll_fn(move |context| {
            if !core::mem::replace(&mut has_begun, true) && streak::is_long() {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Pin::new(&mut io).poll(context)
        })
    }

    pub(crate) fn poll_io<R>(
        &self,
        context: &mut Context<'_>,
        interest: Interest,
        mut operation: impl FnMut() -> Tried<R>,
    ) -> Poll<io::Result<R>> {
        if streak::is_long() {
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

    #[inline]
    fn counted<R>(&self, operation: &mut impl FnMut() -> Tried<R>) -> Tried<R> {
        let result = retried(operation);
        match &result {
            Ok((_, false)) => streak::count(0),
            _ => streak::end(),
        }
        result
    }
}

impl<S: AsFd> AsFd for Os<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl<S: AsFd + fmt::Debug> fmt::Debug for Os<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.descriptor.fmt(f)
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
