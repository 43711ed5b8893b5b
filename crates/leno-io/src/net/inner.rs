//! What a socket is made of, and how it is waited for.
//!
//! Every public socket holds an [`Inner`], and reaches its socket through it alone: to wait, by the
//! methods here; for operations that need not wait, by those that `tcp/inner.rs`, `udp/inner.rs` and
//! `unix/inner.rs` add for each kind. So another kind of socket is another variant, and its arms in these
//! files.
//!
//! An operation is tried without waiting, and says with [`Tried`] what came of it.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use leno_kernel::Time;
use leno_kernel::io::Interest;
use socket2::SockRef;

use super::exhausted::explained;
use super::limits::Limits;
use super::memory::{Memory, Twin, not_here};
use super::ready::Ready;
use crate::os::Os;
pub(crate) use crate::os::Tried;

/// See the module. `S` is `std`'s socket.
pub(crate) enum Inner<S: Twin> {
    /// One of the operating system's.
    Os(Os<S>),
    /// One of a network in memory.
    Memory(Memory<S::Memory>),
}

/// What the handles of one socket share. Listeners have patience in place of limits.
pub(crate) struct Shared<S: Twin, L = Limits> {
    pub(crate) inner: Inner<S>,
    pub(crate) limits: L,
}

impl<S: Twin, L: Default> Shared<S, L> {
    pub(crate) fn new(inner: Inner<S>) -> Arc<Shared<S, L>> {
        Arc::new(Shared { inner, limits: L::default() })
    }
}

impl<S: Twin> Inner<S> {
    /// One of the operating system's.
    pub(crate) fn os(socket: S) -> io::Result<Inner<S>> {
        Ok(Inner::Os(Os::new(socket)?))
    }

    /// The same, of one that does not block already.
    pub(crate) fn os_nonblocking(socket: S) -> io::Result<Inner<S>> {
        Ok(Inner::Os(Os::new_nonblocking(socket)?))
    }

    /// Does an operation: tries it, and waits whenever it would block, until the deadline at most.
    #[track_caller]
    pub(crate) fn io<R>(
        &self,
        interest: Interest,
        deadline: Option<Time>,
        operation: impl FnMut() -> Tried<R>,
    ) -> io::Result<R> {
        match self {
            Inner::Os(os) => os.io(interest, deadline, operation),
            Inner::Memory(memory) => memory.io(interest, deadline, operation),
        }
    }

    /// The same, for a future.
    pub(crate) fn io_async<'a, R, O>(
        &'a self,
        interest: Interest,
        operation: O,
    ) -> impl Future<Output = io::Result<R>> + Unpin + use<'a, R, O, S>
    where
        O: FnMut() -> Tried<R> + Unpin,
    {
        match self {
            Inner::Os(os) => Either::Os(os.io_async(interest, operation)),
            Inner::Memory(memory) => Either::Memory(memory.io_async(interest, operation)),
        }
    }

    /// The same, for hand-written futures. The waker is kept until it is woken, or the socket is
    /// dropped.
    pub(crate) fn poll_io<R>(
        &self,
        context: &mut Context<'_>,
        interest: Interest,
        operation: impl FnMut() -> Tried<R>,
    ) -> Poll<io::Result<R>> {
        match self {
            Inner::Os(os) => os.poll_io(context, interest, operation),
            Inner::Memory(memory) => memory.poll_io(context, interest, operation),
        }
    }

    /// Tries an operation once.
    pub(crate) fn try_io<R>(
        &self,
        interest: Interest,
        operation: impl FnMut() -> Tried<R>,
    ) -> io::Result<R> {
        match self {
            Inner::Os(os) => os.try_io(interest, operation),
            Inner::Memory(memory) => memory.try_io(operation),
        }
    }

    /// Waits until an operation is worth trying, for futures and selects.
    pub(crate) fn ready(&self, interest: Interest) -> Ready<'_, S> {
        match self {
            Inner::Os(os) => Ready::os(os.wait_async(interest)),
            Inner::Memory(memory) => Ready::memory(memory.ready(interest)),
        }
    }

    /// One of a network in memory.
    pub(crate) fn memory(socket: S::Memory) -> Inner<S> {
        Inner::Memory(Memory::new(socket))
    }

    /// The descriptor.
    ///
    /// # Panics
    /// If it has none.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Inner::Os(os) => os.as_fd(),
            Inner::Memory(_) => panic!("a socket of a network in memory has no descriptor"),
        }
    }

    /// The error that waits on the socket.
    pub(crate) fn take_error(&self) -> io::Result<Option<io::Error>> {
        match self {
            Inner::Os(os) => SockRef::from(os.get()).take_error(),
            Inner::Memory(_) => Ok(None),
        }
    }

    pub(crate) fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        match self {
            Inner::Os(os) => SockRef::from(os.get()).set_ttl_v4(ttl),
            Inner::Memory(memory) => {
                memory.set_ttl(ttl);
                Ok(())
            }
        }
    }

    pub(crate) fn ttl(&self) -> io::Result<u32> {
        match self {
            Inner::Os(os) => SockRef::from(os.get()).ttl_v4(),
            Inner::Memory(memory) => Ok(memory.ttl()),
        }
    }

    /// `std`'s, if it has it.
    pub(crate) fn into_std(self) -> io::Result<S> {
        match self {
            Inner::Os(os) => Ok(os.into_inner()),
            Inner::Memory(_) => not_here("descriptor"),
        }
    }

    /// Another descriptor of `std`'s, if it has it.
    pub(crate) fn clone_std(&self) -> io::Result<S> {
        match self {
            Inner::Os(os) => Ok(os.as_fd().try_clone_to_owned().map_err(explained)?.into()),
            Inner::Memory(_) => not_here("descriptor"),
        }
    }
}

/// A future of either kind of socket.
enum Either<O, M> {
    Os(O),
    Memory(M),
}

impl<R, O, M> Future for Either<O, M>
where
    O: Future<Output = R> + Unpin,
    M: Future<Output = R> + Unpin,
{
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        match &mut *self {
            Either::Os(os) => Pin::new(os).poll(context),
            Either::Memory(memory) => Pin::new(memory).poll(context),
        }
    }
}
