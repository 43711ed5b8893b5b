//! A file descriptor that can be waited for.

use core::fmt;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;

use super::beacon::Watcher;
use super::caller::{self, Caller};
use super::future::WaitFuture;
use super::interest::{Flags, Interest, Readiness};
use super::registered::Registered;
use crate::queue::{First, Next};
use crate::raw::epoll;
use crate::wait::{self, Wake};
use crate::{Reason, Time, Waiter, user};

/// A file descriptor that can be waited for; `T` owns it.
///
/// Any number of coroutines, threads and futures may wait at once, also on several cores. Dropping it
/// ends the watch, and wakes those who were left waiting through [`Self::poll_ready`].
///
/// # Examples
/// ```
/// use leno_kernel::io::{Descriptor, Interest};
/// use std::io::Write;
/// use std::os::unix::net::UnixStream;
///
/// let (near, mut far) = UnixStream::pair()?;
/// let near = Descriptor::new(near)?;
/// far.write_all(b"!")?;
/// assert!(near.wait(Interest::READ)?.is_readable());
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Descriptor<T: AsFd> {
    pub(super) registered: Arc<Registered>,
    /// There until the end.
    inner: Option<T>,
}

impl<T: AsFd> Descriptor<T> {
    /// Makes the descriptor non-blocking, and able to be waited for. It is watched from the first
    /// wait on.
    ///
    /// # Errors
    /// When the system or the platform of the calling coroutine refuses: virtual time does.
    pub fn new(inner: T) -> io::Result<Descriptor<T>> {
        caller::permit()?;
        epoll::set_nonblocking(inner.as_fd())?;
        Ok(Descriptor { registered: Registered::new(), inner: Some(inner) })
    }

    /// The same for a descriptor that is non-blocking already, such as one that was accepted so: it
    /// costs no system call. One that blocks would block its core; debug builds look.
    ///
    /// # Errors
    /// When the platform of the calling coroutine refuses: virtual time does.
    ///
    /// # Panics
    /// In debug builds, if the descriptor blocks.
    ///
    /// # Examples
    /// ```
    /// use leno_kernel::io::{Descriptor, Interest};
    /// use std::os::unix::net::UnixStream;
    ///
    /// let (near, _far) = UnixStream::pair()?;
    /// near.set_nonblocking(true)?;
    /// let near = Descriptor::new_nonblocking(near)?;
    /// assert!(near.wait(Interest::WRITE)?.is_writable());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn new_nonblocking(inner: T) -> io::Result<Descriptor<T>> {
        caller::permit()?;
        debug_assert!(
            epoll::is_nonblocking(inner.as_fd()),
            "this descriptor blocks, and would block its core: use `Descriptor::new`"
        );
        Ok(Descriptor { registered: Registered::new(), inner: Some(inner) })
    }

    /// What owns the descriptor.
    #[inline]
    pub fn get_ref(&self) -> &T {
        self.inner.as_ref().expect("there until the end")
    }

    /// Gives back what owns the descriptor, which stays non-blocking.
    ///
    /// # Examples
    /// ```
    /// use leno_kernel::io::Descriptor;
    /// use std::net::TcpListener;
    ///
    /// let listener = Descriptor::new(TcpListener::bind("127.0.0.1:0")?)?;
    /// let listener: TcpListener = listener.into_inner();
    /// assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn into_inner(mut self) -> T {
        self.registered.deregister(Some(self.as_fd()));
        self.inner.take().expect("there until the end")
    }

    /// Waits until an operation is worth trying.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread; a future uses [`Self::wait_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, it waits no more, and its stack unwinds.
    ///
    /// # Errors
    /// When the descriptor cannot be waited for, by the system's rules or the platform's; or while the
    /// coroutine's own stack unwinds, if it would have to wait.
    ///
    /// # Panics
    /// Inside a future that a core polls.
    #[track_caller]
    pub fn wait(&self, interest: Interest) -> io::Result<Readiness> {
        self.wait_up_to(interest, None)
    }

    /// Waits as [`Self::wait`], until `deadline` at most; see [`deadline_in`](crate::layer::deadline_in).
    ///
    /// # Errors
    /// [`TimedOut`](io::ErrorKind::TimedOut) when the time is over; else as [`Self::wait`].
    ///
    /// # Panics
    /// As [`Self::wait`].
    ///
    /// # Examples
    /// ```
    /// use leno_kernel::io::{Descriptor, Interest};
    /// use leno_kernel::layer::deadline_in;
    /// use std::{os::unix::net::UnixStream, time::Duration};
    ///
    /// let (near, _far) = UnixStream::pair()?;
    /// let near = Descriptor::new(near)?;
    /// let deadline = deadline_in(Duration::from_millis(1));
    /// let error = near.wait_until(Interest::READ, deadline).unwrap_err();
    /// assert_eq!(error.to_string(), "the time is over in which to read");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn wait_until(&self, interest: Interest, deadline: Time) -> io::Result<Readiness> {
        self.wait_up_to(interest, Some(deadline))
    }

    #[track_caller]
    pub(super) fn wait_up_to(
        &self,
        interest: Interest,
        deadline: Option<Time>,
    ) -> io::Result<Readiness> {
        match caller::permit()? {
            Caller::Thread => self.block(interest, deadline),
            Caller::Co => self.park(interest, deadline),
        }
    }

    #[track_caller]
    fn park(&self, interest: Interest, deadline: Option<Time>) -> io::Result<Readiness> {
        let beacon = &self.registered.beacon;
        loop {
            let reason = Reason::Descriptor(self.as_fd().as_raw_fd(), interest);
            let mut ended = None;
            let (mut is_late, mut is_exiting) = (false, false);
            // Registering calls code of a user, which may park and take a wake that is meant for this, or bring a member of
            // a ring to another thread.
            let first = || {
                let ready = self.register().map(|()| beacon.ready(interest)).transpose();
                let is_ready = ready.is_some();
                ended = ready;
                if is_ready { First::Leave } else { First::LookAs(Waiter::current()) }
            };
            let next = || {
                let wake = match deadline {
                    None => wait::park(reason),
                    Some(deadline) => wait::park_until(reason, deadline),
                };
                match wake {
                    Wake::Unparked => return Next::Look,
                    Wake::TimedOut => is_late = true,
                    Wake::Exit => is_exiting = true,
                }
                Next::Leave
            };
            beacon.wait(interest, Waiter::current(), first, next);
            if is_exiting {
                return Err(io::Error::other(wait::exit()));
            }
            if is_late {
                return self.ask(interest).ok_or_else(|| too_late(interest));
            }
            if let Some(ended) = ended {
                return ended;
            }
        }
    }

    fn block(&self, interest: Interest, deadline: Option<Time>) -> io::Result<Readiness> {
        let tick = self.registered.beacon.seen().tick;
        let limit = deadline.map(|deadline| deadline.since(wait::now()));
        let flags = epoll::poll(self.as_fd(), interest.flags(), limit);
        if flags == Flags::NONE { Err(too_late(interest)) } else { Ok(Readiness { flags, tick }) }
    }

    /// What is known without waiting; if nobody watches, the system is asked.
    pub(super) fn look(&self, interest: Interest) -> Option<Readiness> {
        match self.registered.beacon.watcher() {
            Watcher::Nobody => self.ask(interest),
            Watcher::Core | Watcher::Helper => self.registered.beacon.ready(interest),
        }
    }

    /// What the system knows now.
    fn ask(&self, interest: Interest) -> Option<Readiness> {
        let tick = self.registered.beacon.seen().tick;
        let flags = epoll::poll(self.as_fd(), interest.flags(), Some(Duration::ZERO));
        flags.has(interest.flags()).then_some(Readiness { flags, tick })
    }

    /// As [`Self::wait`], for a future; also something a select can wait for.
    ///
    /// # Examples
    /// ```
    /// use leno_kernel::{LocalSystem, io::{Descriptor, Interest}};
    /// use std::os::unix::net::UnixStream;
    ///
    /// let system = LocalSystem::new();
    /// let waits = system.spawn_future(async {
    ///     let (near, _far) = UnixStream::pair()?;
    ///     let near = Descriptor::new(near)?;
    ///     near.wait_async(Interest::WRITE).await
    /// });
    /// system.run()?;
    /// assert!(waits.join()??.is_writable());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_async(&self, interest: Interest) -> WaitFuture<'_, T> {
        WaitFuture::new(self, interest)
    }

    /// As [`Self::wait_async`], for hand-written futures: has the context's waker woken when an
    /// operation is worth trying. Each waker is woken once, and again only if this is called again.
    /// It is kept until then, or until the descriptor is dropped.
    ///
    /// # Errors
    /// When the descriptor cannot be waited for.
    pub fn poll_ready(
        &self,
        context: &mut Context<'_>,
        interest: Interest,
    ) -> Poll<io::Result<Readiness>> {
        let beacon = &self.registered.beacon;
        if let Err(error) = caller::permit() {
            return Poll::Ready(Err(error));
        }
        if let Some(ready) = beacon.ready(interest) {
            return Poll::Ready(Ok(ready));
        }
        beacon.enlist_once(interest, context.waker().clone());
        if let Err(error) = self.register() {
            return Poll::Ready(Err(error));
        }
        beacon.ready(interest).map_or(Poll::Pending, |ready| Poll::Ready(Ok(ready)))
    }

    /// Whether a reactor watches it: not before the first wait, nor after the one that did has ended.
    ///
    /// # Examples
    /// ```
    /// use leno_kernel::{LocalSystem, io::{Descriptor, Interest}};
    /// use std::{os::unix::net::UnixStream, rc::Rc};
    ///
    /// let (near, _far) = UnixStream::pair()?;
    /// let near = Rc::new(Descriptor::new(near)?);
    /// assert!(!near.is_watched());
    /// let (system, inside) = (LocalSystem::new(), near.clone());
    /// let waits = system.spawn(move || inside.wait(Interest::WRITE).map(|_| inside.is_watched()));
    /// system.run()?;
    /// assert!(waits.join()?? && !near.is_watched());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_watched(&self) -> bool {
        self.registered.beacon.watcher() != Watcher::Nobody
    }

    /// An operation has found that what was [`seen`](Readiness) is not so: it failed with
    /// [`WouldBlock`](io::ErrorKind::WouldBlock). Forgets it, unless the system has told anything
    /// since. Without this the next wait ends at once. [`Self::io`] and its kin do it by themselves.
    ///
    /// # Examples
    /// ```
    /// use leno_kernel::{LocalSystem, io::{Descriptor, Interest}};
    /// use std::io::{ErrorKind, Read};
    /// use std::os::unix::net::UnixStream;
    ///
    /// fn read(near: &Descriptor<UnixStream>, into: &mut [u8]) -> std::io::Result<usize> {
    ///     loop {
    ///         let seen = near.wait(Interest::READ)?;
    ///         match near.get_ref().read(into) {
    ///             Err(error) if error.kind() == ErrorKind::WouldBlock => {
    ///                 near.clear(seen, Interest::READ);
    ///             }
    ///             result => return result,
    ///         }
    ///     }
    /// }
    ///
    /// let system = LocalSystem::new();
    /// let (near, far) = UnixStream::pair()?;
    /// let near = Descriptor::new(near)?;
    /// let end = system.spawn(move || read(&near, &mut [0]));
    /// drop(far);
    /// system.run()?;
    /// assert_eq!(end.join()??, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clear(&self, seen: Readiness, interest: Interest) {
        self.registered.beacon.clear(seen, interest, false);
    }

    /// Has the descriptor watched, if it is not yet.
    pub(super) fn register(&self) -> io::Result<()> {
        if self.registered.beacon.watcher() == Watcher::Core {
            return Ok(());
        }
        let (watcher, reactor) = caller::reactor()?;
        self.registered.register(self.as_fd(), watcher, &reactor)
    }
}

fn too_late(interest: Interest) -> io::Error {
    let message = format!("the time is over in which to {interest}");
    io::Error::new(io::ErrorKind::TimedOut, message)
}

impl<T: AsFd> AsFd for Descriptor<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.get_ref().as_fd()
    }
}

impl<T: AsFd> Drop for Descriptor<T> {
    fn drop(&mut self) {
        if let Some(inner) = &self.inner {
            // Code of a user: whatever it raises, nobody is left waiting.
            let fd = user::call(|| inner.as_fd());
            self.registered.deregister(fd.as_ref().ok().copied());
            if let Err(panic) = fd
                && !std::thread::panicking()
            {
                panic.resume();
            }
        }
    }
}

impl<T: AsFd + fmt::Debug> fmt::Debug for Descriptor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Descriptor").field(self.get_ref()).finish()
    }
}
