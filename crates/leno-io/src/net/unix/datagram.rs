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
use crate::net::exhausted::explained;
use crate::net::inner::{Inner, Shared};
use crate::net::ready::Ready;
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
        UnixDatagram::from_std(net::UnixDatagram::bind(path).map_err(explained)?)
    }

    /// The same, with an address.
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub fn bind_addr(address: &SocketAddr) -> io::Result<UnixDatagram> {
        leno_kernel::io::permit()?;
        UnixDatagram::from_std(net::UnixDatagram::bind_addr(address).map_err(explained)?)
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
        self.shared.inner.socket().connect(path)
    }

    /// The same, with an address.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub fn connect_addr(&self, address: &SocketAddr) -> io::Result<()> {
        self.shared.inner.socket().connect_addr(address)
    }

    /// Takes over a socket of `std`'s.
    ///
    /// # Errors
    /// When the system or the platform of the calling coroutine refuses: virtual time does.
    pub fn from_std(socket: net::UnixDatagram) -> io::Result<UnixDatagram> {
        Ok(UnixDatagram { shared: Shared::new(Inner::os(socket)?) })
    }

    /// The socket as one of `std`'s, which does not block. If there are other handles of it, this
    /// one has a descriptor of its own.
    ///
    /// # Errors
    /// When there is no descriptor left for that.
    pub fn into_std(self) -> io::Result<net::UnixDatagram> {
        match Arc::try_unwrap(self.shared) {
            Ok(shared) => Ok(shared.inner.into_socket()),
            Err(shared) => shared.inner.socket().try_clone().map_err(explained),
        }
    }

    /// Another handle of the same socket. It costs no descriptor.
    ///
    /// # Errors
    /// Never; it is as in `std`.
    pub fn try_clone(&self) -> io::Result<UnixDatagram> {
        Ok(UnixDatagram { shared: self.shared.clone() })
    }

    /// Receives a datagram, of at most the buffer's size; the rest of a longer one is lost.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread; a future uses
    /// [`Self::recv_from_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds; nothing was received.
    ///
    /// # Errors
    /// [`TimedOut`](io::ErrorKind::TimedOut) when the limit is over; else what the system says.
    ///
    /// # Panics
    /// Inside a future that a core polls, if it has to wait.
    #[track_caller]
    pub fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let Shared { inner, limits } = &*self.shared;
        inner.io(Interest::READ, limits.read.deadline(), || {
            Ok((inner.socket().recv_from(buffer)?, false))
        })
    }

    /// The same; from whom it came is not told.
    ///
    /// # Errors
    /// As [`Self::recv_from`].
    ///
    /// # Panics
    /// As [`Self::recv_from`].
    #[track_caller]
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let Shared { inner, limits } = &*self.shared;
        inner.io(Interest::READ, limits.read.deadline(), || {
            Ok((inner.socket().recv(buffer)?, false))
        })
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

    /// Sends a datagram to the socket to which it is connected.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread, while the receiver's queue is full;
    /// a future uses [`Self::send_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds; nothing was sent.
    ///
    /// # Errors
    /// As [`Self::send_to`].
    ///
    /// # Panics
    /// Inside a future that a core polls, if it has to wait.
    #[track_caller]
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let Shared { inner, limits } = &*self.shared;
        inner.io(Interest::WRITE, limits.write.deadline(), || {
            Ok((inner.socket().send(bytes)?, false))
        })
    }

    /// As [`Self::recv_from`], for a future on any executor.
    ///
    /// # Errors
    /// As [`Self::recv_from`].
    pub async fn recv_from_async(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let Shared { inner, limits } = &*self.shared;
        let receive =
            inner.io_async(Interest::READ, || Ok((inner.socket().recv_from(buffer)?, false)));
        within(limits.read.deadline(), "read", receive).await
    }

    /// As [`Self::recv`], for a future on any executor.
    ///
    /// # Errors
    /// As [`Self::recv_from`].
    pub async fn recv_async(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let Shared { inner, limits } = &*self.shared;
        let receive = inner.io_async(Interest::READ, || Ok((inner.socket().recv(buffer)?, false)));
        within(limits.read.deadline(), "read", receive).await
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

    /// As [`Self::send`], for a future on any executor.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub async fn send_async(&self, bytes: &[u8]) -> io::Result<usize> {
        let Shared { inner, limits } = &*self.shared;
        let send = inner.io_async(Interest::WRITE, || Ok((inner.socket().send(bytes)?, false)));
        within(limits.write.deadline(), "write", send).await
    }

    /// Receives a datagram that is there.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if none is.
    pub fn try_recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let inner = &self.shared.inner;
        inner.try_io(Interest::READ, || Ok((inner.socket().recv(buffer)?, false)))
    }

    /// Sends a datagram to the socket to which it is connected, if there is room.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none.
    pub fn try_send(&self, bytes: &[u8]) -> io::Result<usize> {
        let inner = &self.shared.inner;
        inner.try_io(Interest::WRITE, || Ok((inner.socket().send(bytes)?, false)))
    }

    /// Waits until there is a datagram: a future, and an alternative of a select. See [`Ready`].
    pub fn readable(&self) -> Ready<'_, net::UnixDatagram> {
        self.shared.inner.ready(Interest::READ)
    }

    /// Waits until there is room to send: a future, and an alternative of a select. See [`Ready`].
    pub fn writable(&self) -> Ready<'_, net::UnixDatagram> {
        self.shared.inner.ready(Interest::WRITE)
    }

    /// For how long receiving may wait.
    ///
    /// # Errors
    /// Never; it is as in `std`.
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.shared.limits.read.get())
    }

    /// Lets receiving wait for at most so long; then it fails with
    /// [`TimedOut`](io::ErrorKind::TimedOut).
    ///
    /// # Errors
    /// If it is nothing.
    pub fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        self.shared.limits.read.set(limit)
    }

    /// For how long sending may wait.
    ///
    /// # Errors
    /// Never; it is as in `std`.
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.shared.limits.write.get())
    }

    /// Lets sending wait for at most so long; then it fails with
    /// [`TimedOut`](io::ErrorKind::TimedOut).
    ///
    /// # Errors
    /// If it is nothing.
    pub fn set_write_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        self.shared.limits.write.set(limit)
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

    /// Takes the error that waits on the socket, if there is one.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.shared.inner.socket().take_error()
    }
}

impl AsFd for UnixDatagram {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.inner.as_fd()
    }
}

impl fmt::Debug for UnixDatagram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.shared.inner.socket(), f)
    }
}
