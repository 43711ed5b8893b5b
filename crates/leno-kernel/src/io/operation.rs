//! Operations on a descriptor, tried until they would not block.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io::{self, ErrorKind::WouldBlock};
use std::os::fd::AsFd;

use super::caller::{self, Caller};
use super::descriptor::Descriptor;
use super::future::WaitFuture;
use super::interest::{Interest, Readiness};
use crate::Time;

impl<T: AsFd> Descriptor<T> {
    /// Does an operation: tries it, and waits whenever it would block.
    ///
    /// `operation` is a non-blocking system call, which fails with
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if it cannot be done yet. It is not tried while the
    /// descriptor is known not to be ready.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread; a future uses [`Self::io_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit while it waits, nothing has been done, and its stack
    /// unwinds.
    ///
    /// # Errors
    /// What the operation fails with; or, if it has to wait, as [`Self::wait`].
    ///
    /// # Panics
    /// Inside a future that a core polls, if it has to wait.
    ///
    /// # Examples
    /// ```
    /// use leno_kernel::io::{Descriptor, Interest};
    /// use std::net::{TcpListener, TcpStream};
    ///
    /// let listener = Descriptor::new(TcpListener::bind("127.0.0.1:0")?)?;
    /// let address = listener.get_ref().local_addr()?;
    /// let client = std::thread::spawn(move || TcpStream::connect(address));
    /// let (_stream, from) = listener.io(Interest::READ, |listener| listener.accept())?;
    /// assert_eq!(client.join().unwrap()?.local_addr()?, from);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn io<R>(
        &self,
        interest: Interest,
        mut operation: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.io_with(interest, None, |inner| Ok((operation(inner)?, false)))
    }

    /// The same, waiting until `deadline` at most.
    ///
    /// # Errors
    /// [`TimedOut`](io::ErrorKind::TimedOut) when the time is over; else as [`Self::io`].
    ///
    /// # Panics
    /// As [`Self::io`].
    #[track_caller]
    pub fn io_until<R>(
        &self,
        interest: Interest,
        deadline: Time,
        mut operation: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.io_with(interest, Some(deadline), |inner| Ok((operation(inner)?, false)))
    }

    /// The same, for operations that know whether they have used up what there was: a stream's read
    /// that got less than it asked for, or a write that wrote less. The next operation then waits
    /// first, instead of finding out with another system call.
    ///
    /// # Errors
    /// As [`Self::io_until`].
    ///
    /// # Panics
    /// As [`Self::io`].
    ///
    /// # Examples
    /// ```
    /// use leno_kernel::io::{Descriptor, Interest};
    /// use std::io::{Read, Write};
    /// use std::os::unix::net::UnixStream;
    ///
    /// let (near, mut far) = UnixStream::pair()?;
    /// let near = Descriptor::new(near)?;
    /// far.write_all(b"hello")?;
    /// let mut buffer = [0; 64];
    /// let count = near.io_with(Interest::READ, None, |mut stream| {
    ///     let count = stream.read(&mut buffer)?;
    ///     Ok((count, count < buffer.len()))
    /// })?;
    /// assert_eq!(&buffer[..count], b"hello");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn io_with<R>(
        &self,
        interest: Interest,
        deadline: Option<Time>,
        mut operation: impl FnMut(&T) -> io::Result<(R, bool)>,
    ) -> io::Result<R> {
        let mut seen = match caller::permit()? {
            // A thread asks the system, which may know more than the reactor has told.
            Caller::Thread => Some(self.registered.beacon.seen()),
            Caller::Co => self.registered.beacon.worth(interest),
        };
        loop {
            let seen = match seen.take() {
                Some(seen) => seen,
                None => self.wait_up_to(interest, deadline)?,
            };
            if let Some(result) = self.attempt(interest, seen, &mut operation) {
                return result;
            }
        }
    }

    /// Tries an operation once, unless the descriptor is known not to be ready.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if it cannot be done yet; else what the operation
    /// fails with, or the platform's refusal.
    ///
    /// # Examples
    /// ```
    /// use leno_kernel::io::{Descriptor, Interest};
    /// use std::io::Read;
    /// use std::os::unix::net::UnixStream;
    ///
    /// let (near, _far) = UnixStream::pair()?;
    /// let near = Descriptor::new(near)?;
    /// let error = near.try_io(Interest::READ, |mut stream| stream.read(&mut [0])).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn try_io<R>(
        &self,
        interest: Interest,
        operation: impl FnOnce(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.try_io_with(interest, |inner| Ok((operation(inner)?, false)))
    }

    /// The same, for operations that know whether they have used up what there was; see
    /// [`Self::io_with`].
    ///
    /// # Errors
    /// As [`Self::try_io`].
    pub fn try_io_with<R>(
        &self,
        interest: Interest,
        operation: impl FnOnce(&T) -> io::Result<(R, bool)>,
    ) -> io::Result<R> {
        caller::permit()?;
        let seen = self.registered.beacon.worth(interest);
        let result = seen.and_then(|seen| self.attempt(interest, seen, operation));
        result.unwrap_or_else(|| Err(WouldBlock.into()))
    }

    /// As [`Self::io`], for a future.
    ///
    /// # Errors
    /// As [`Self::io`].
    ///
    /// # Examples
    /// ```
    /// use leno_kernel::{block_on, io::{Descriptor, Interest}};
    /// use std::io::Write;
    /// use std::os::unix::net::UnixStream;
    ///
    /// let (near, _far) = UnixStream::pair()?;
    /// let near = Descriptor::new(near)?;
    /// let write = near.io_async(Interest::WRITE, |mut stream| stream.write(b"hello"));
    /// assert_eq!(block_on(write)?, 5);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub async fn io_async<R>(
        &self,
        interest: Interest,
        mut operation: impl FnMut(&T) -> io::Result<R>,
    ) -> io::Result<R> {
        self.io_async_with(interest, |inner| Ok((operation(inner)?, false))).await
    }

    /// The same, for operations that know whether they have used up what there was; see
    /// [`Self::io_with`].
    ///
    /// # Errors
    /// As [`Self::io`].
    pub fn io_async_with<R, O>(&self, interest: Interest, operation: O) -> IoFuture<'_, T, O>
    where
        O: FnMut(&T) -> io::Result<(R, bool)>,
    {
        IoFuture { wait: self.wait_async(interest), operation, waits: false }
    }

    /// The same, for hand-written futures; who is woken, and for how long it is remembered, is as of
    /// [`Self::poll_ready`].
    ///
    /// # Errors
    /// As [`Self::io`].
    ///
    /// # Examples
    /// ```
    /// use leno_kernel::io::{Descriptor, Interest};
    /// use std::io::{Read, Write};
    /// use std::os::unix::net::UnixStream;
    ///
    /// let (near, mut far) = UnixStream::pair()?;
    /// let near = Descriptor::new(near)?;
    /// let mut buffer = [0; 8];
    /// let read = std::future::poll_fn(|context| {
    ///     near.poll_io_with(context, Interest::READ, |mut stream| {
    ///         let count = stream.read(&mut buffer)?;
    ///         Ok((count, count < buffer.len()))
    ///     })
    /// });
    /// far.write_all(b"hello")?;
    /// assert_eq!(leno_kernel::block_on(read)?, 5);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn poll_io_with<R>(
        &self,
        context: &mut Context<'_>,
        interest: Interest,
        mut operation: impl FnMut(&T) -> io::Result<(R, bool)>,
    ) -> Poll<io::Result<R>> {
        caller::permit()?;
        let mut seen = self.registered.beacon.worth(interest);
        loop {
            let seen = match seen.take() {
                Some(seen) => seen,
                None => match self.poll_ready(context, interest)? {
                    Poll::Ready(seen) => seen,
                    Poll::Pending => return Poll::Pending,
                },
            };
            if let Some(result) = self.attempt(interest, seen, &mut operation) {
                return Poll::Ready(result);
            }
        }
    }

    /// One try; `None` if it would block.
    fn attempt<R>(
        &self,
        interest: Interest,
        seen: Readiness,
        operation: impl FnOnce(&T) -> io::Result<(R, bool)>,
    ) -> Option<io::Result<R>> {
        let beacon = &self.registered.beacon;
        match operation(self.get_ref()) {
            Ok((result, spent)) => {
                if spent {
                    beacon.clear(seen, interest, true);
                }
                Some(Ok(result))
            }
            Err(error) if error.kind() == WouldBlock => {
                beacon.clear(seen, interest, false);
                None
            }
            Err(error) => Some(Err(error)),
        }
    }
}

/// Does an operation; of [`Descriptor::io_async_with`]. When it is dropped, it waits no more, and nothing
/// has been done.
///
/// Written by hand, so that it is small: an `async fn` would keep the operation twice.
#[must_use = "a future does nothing unless it is awaited"]
pub struct IoFuture<'a, T: AsFd, O> {
    wait: WaitFuture<'a, T>,
    operation: O,
    /// The last try would have blocked.
    waits: bool,
}

/// Nothing in it is pinned.
impl<T: AsFd, O> Unpin for IoFuture<'_, T, O> {}

impl<T: AsFd, R, O: FnMut(&T) -> io::Result<(R, bool)>> Future for IoFuture<'_, T, O> {
    type Output = io::Result<R>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<R>> {
        let this = &mut *self;
        let (descriptor, interest) = (this.wait.descriptor(), this.wait.interest());
        caller::permit()?;
        let mut seen = None;
        if !this.waits {
            seen = descriptor.registered.beacon.worth(interest);
            this.waits = true;
        }
        loop {
            let seen = match seen.take() {
                Some(seen) => seen,
                None => ready!(Pin::new(&mut this.wait).poll(context))?,
            };
            if let Some(result) = descriptor.attempt(interest, seen, &mut this.operation) {
                return Poll::Ready(result);
            }
        }
    }
}

impl<T: AsFd, O> fmt::Debug for IoFuture<'_, T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IoFuture({})", self.wait.interest())
    }
}
