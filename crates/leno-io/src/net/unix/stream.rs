//! A Unix stream.

use core::fmt;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use leno_kernel::Time;
use leno_kernel::io::Interest;
use leno_kernel::layer::deadline_in;

use super::connect::{Connecting, insist, insist_async};
use crate::named::addressing;
use crate::net::exhausted::explained;
use crate::net::inner::Shared;
use crate::net::methods::{byte_stream, handle};
use crate::time::within;

/// A Unix stream, as [`std::os::unix::net::UnixStream`]. See [`net`](crate::net) for who may use it, and
/// how.
///
/// # Examples
/// ```
/// use leno_io::net::UnixStream;
/// use leno_kernel::LocalSystem;
/// use std::io::{Read, Write};
///
/// let system = LocalSystem::new();
/// let (mut near, mut far) = UnixStream::pair()?;
/// let heard = system.spawn(move || {
///     let mut buffer = [0; 5];
///     near.read_exact(&mut buffer).map(|()| buffer)
/// });
/// drop(system.spawn(move || far.write_all(b"hello")));
/// system.run()?;
/// assert_eq!(&heard.join()??, b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct UnixStream {
    shared: Arc<Shared<net::UnixStream>>,
}

impl UnixStream {
    /// Two streams that are connected to one another.
    ///
    /// # Errors
    /// [`Exhausted`](crate::net::Exhausted); or when the platform of the calling coroutine refuses.
    pub fn pair() -> io::Result<(UnixStream, UnixStream)> {
        let (near, far) = net::UnixStream::pair().map_err(explained)?;
        Ok((UnixStream::from_std(near)?, UnixStream::from_std(far)?))
    }

    /// Connects to the listener at this path.
    ///
    /// # Blocking
    /// Only while too many wait to be accepted there: then it is tried again after pauses, up to
    /// 50 ms, since the system tells nobody when there is room. Parks the calling coroutine, or blocks
    /// the calling thread; a future uses [`Self::connect_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds, and the socket is closed.
    ///
    /// # Errors
    /// When nobody listens there; [`Exhausted`](crate::net::Exhausted).
    ///
    /// # Panics
    /// Inside a future that a core polls, if it has to wait.
    #[track_caller]
    pub fn connect<P: AsRef<Path>>(path: P) -> io::Result<UnixStream> {
        UnixStream::connect_addr(&SocketAddr::from_pathname(path)?)
    }

    /// The same, with an address.
    ///
    /// # Errors
    /// As [`Self::connect`].
    ///
    /// # Panics
    /// As [`Self::connect`].
    #[track_caller]
    pub fn connect_addr(address: &SocketAddr) -> io::Result<UnixStream> {
        UnixStream::connect_until(address, None)
    }

    /// The same, for at most `limit`.
    ///
    /// # Errors
    /// [`TimedOut`](io::ErrorKind::TimedOut) when the time is over; else as [`Self::connect`].
    ///
    /// # Panics
    /// As [`Self::connect`].
    #[track_caller]
    pub fn connect_timeout(address: &SocketAddr, limit: Duration) -> io::Result<UnixStream> {
        UnixStream::connect_until(address, Some(deadline_in(limit)))
    }

    #[track_caller]
    fn connect_until(address: &SocketAddr, deadline: Option<Time>) -> io::Result<UnixStream> {
        let connecting = Connecting::new(address)?;
        let connected = insist(deadline, "connect", || connecting.attempt());
        connected.map_err(addressing("connect to", address))?;
        connecting.finish().map(UnixStream::new)
    }

    /// As [`Self::connect`], for a future on any executor.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub async fn connect_async<P: AsRef<Path>>(path: P) -> io::Result<UnixStream> {
        let address = SocketAddr::from_pathname(path);
        UnixStream::connect_addr_async(&address?).await
    }

    /// As [`Self::connect_addr`], for a future on any executor.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub async fn connect_addr_async(address: &SocketAddr) -> io::Result<UnixStream> {
        let connecting = Connecting::new(address)?;
        let connected = insist_async(None, "connect", || connecting.attempt()).await;
        connected.map_err(addressing("connect to", address))?;
        connecting.finish().map(UnixStream::new)
    }

    /// Where this end is.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.shared.inner.socket().local_addr()
    }

    /// Where the other end is.
    ///
    /// # Errors
    /// When the peer has gone.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.shared.inner.socket().peer_addr()
    }
}

handle!(UnixStream of net::UnixStream);
byte_stream!(UnixStream of net::UnixStream);

impl fmt::Debug for UnixStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.shared.inner.socket(), f)
    }
}
