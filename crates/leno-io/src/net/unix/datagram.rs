//! Unix datagrams.

use core::fmt;
use core::time::Duration;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use leno_kernel::io::Interest;

use super::connect::{insist, insist_async};
use crate::named::addressing;
use crate::net::exhausted::explained;
use crate::net::inner::Shared;
use crate::net::methods::{datagrams, handle};
use crate::time::within;

/// A Unix socket of datagrams, as [`std::os::unix::net::UnixDatagram`]. See [`net`](crate::net) for who
/// may use it, and how.
///
/// # Examples
/// ```
/// use leno_io::net::UnixDatagram;
///
/// let (near, far) = UnixDatagram::pair()?;
/// near.send(b"one")?;
/// near.send(b"two")?;
/// let mut buffer = [0; 8];
/// assert_eq!(far.recv(&mut buffer)?, 3);
/// assert_eq!(&buffer[..3], b"one");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct UnixDatagram {
    shared: Arc<Shared<net::UnixDatagram>>,
}

impl UnixDatagram {
    /// A socket at a path, which must not exist yet; it stays when the socket is dropped.
    ///
    /// # Errors
    /// When the path is taken, or cannot be made; [`Exhausted`](crate::net::Exhausted).
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<UnixDatagram> {
        leno_kernel::io::permit()?;
        let bound = net::UnixDatagram::bind(&path).map_err(explained);
        UnixDatagram::from_std(bound.map_err(addressing("bind to", path.as_ref()))?)
    }

    /// The same, with an address.
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub fn bind_addr(address: &SocketAddr) -> io::Result<UnixDatagram> {
        leno_kernel::io::permit()?;
        let bound = net::UnixDatagram::bind_addr(address).map_err(explained);
        UnixDatagram::from_std(bound.map_err(addressing("bind to", address))?)
    }

    /// A socket without a name: it can send, and receive once it is connected.
    ///
    /// # Errors
    /// [`Exhausted`](crate::net::Exhausted).
    pub fn unbound() -> io::Result<UnixDatagram> {
        UnixDatagram::from_std(net::UnixDatagram::unbound().map_err(explained)?)
    }

    /// Two sockets that are connected to one another.
    ///
    /// # Errors
    /// [`Exhausted`](crate::net::Exhausted).
    pub fn pair() -> io::Result<(UnixDatagram, UnixDatagram)> {
        let (near, far) = net::UnixDatagram::pair().map_err(explained)?;
        Ok((UnixDatagram::from_std(near)?, UnixDatagram::from_std(far)?))
    }

    /// From now on, sends to this path and receives from there alone. It does not wait.
    ///
    /// # Errors
    /// When there is no such socket.
    pub fn connect<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        let connected = self.shared.inner.socket().connect(&path);
        connected.map_err(addressing("connect to", path.as_ref()))
    }

    /// The same, with an address.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub fn connect_addr(&self, address: &SocketAddr) -> io::Result<()> {
        let connected = self.shared.inner.socket().connect_addr(address);
        connected.map_err(addressing("connect to", address))
    }

    /// Sends a datagram to the socket at this path.
    ///
    /// # Blocking
    /// While the receiver's queue is full: it is tried again after pauses, up to 50 ms, since the
    /// system tells nobody when there is room. [`Self::send`] has no such pauses.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds; nothing was sent.
    ///
    /// # Errors
    /// [`TimedOut`](io::ErrorKind::TimedOut) when the limit is over; else what the system says.
    ///
    /// # Panics
    /// Inside a future that a core polls, if it has to wait.
    #[track_caller]
    pub fn send_to<P: AsRef<Path>>(&self, bytes: &[u8], path: P) -> io::Result<usize> {
        let Shared { inner, limits } = &*self.shared;
        let path = path.as_ref();
        insist(limits.write.deadline(), "write", || inner.socket().send_to(bytes, path))
    }

    /// As [`Self::send_to`], for a future on any executor.
    ///
    /// # Errors
    /// As [`Self::send_to`].
    pub async fn send_to_async<P: AsRef<Path>>(&self, bytes: &[u8], path: P) -> io::Result<usize> {
        let Shared { inner, limits } = &*self.shared;
        let path = path.as_ref();
        let deadline = limits.write.deadline();
        insist_async(deadline, "write", || inner.socket().send_to(bytes, path)).await
    }

    /// Closes one direction, or both.
    ///
    /// # Errors
    /// When the system refuses: the socket is not connected.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.shared.inner.socket().shutdown(how)
    }

    /// Where it is.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.shared.inner.socket().local_addr()
    }

    /// To whom it is connected.
    ///
    /// # Errors
    /// When it is not.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.shared.inner.socket().peer_addr()
    }
}

handle!(UnixDatagram of net::UnixDatagram);
datagrams!(UnixDatagram of net::UnixDatagram, from SocketAddr);

impl fmt::Debug for UnixDatagram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.shared.inner.socket(), f)
    }
}
