//! UDP.

mod inner;
mod transfer;

use core::fmt;
use core::time::Duration;
use std::io;
use std::net::{self, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use leno_kernel::io::Interest;

use super::address::ToSocketAddrs;
use super::inner::{Inner, Shared};
use super::ready::Ready;
use super::resolve::{first, resolve, resolve_async};

/// A UDP socket, as [`std::net::UdpSocket`]. See [`net`](crate::net) for who may use it, and how.
///
/// # Examples
/// ```
/// use leno_io::net::UdpSocket;
/// use leno_kernel::LocalSystem;
///
/// let system = LocalSystem::new();
/// let (near, far) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
/// let to = near.local_addr()?;
/// let heard = system.spawn(move || {
///     let mut buffer = [0; 16];
///     let (count, _from) = near.recv_from(&mut buffer)?;
///     Ok::<_, std::io::Error>(buffer[..count].to_vec())
/// });
/// drop(system.spawn(move || far.send_to(b"hello", to)));
/// system.run()?;
/// assert_eq!(heard.join()??, b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct UdpSocket {
    shared: Arc<Shared<net::UdpSocket>>,
}

impl UdpSocket {
    fn new(inner: Inner<net::UdpSocket>) -> UdpSocket {
        UdpSocket { shared: Shared::new(inner) }
    }

    /// A socket at an address; of several, at the first that is free. Port 0 is any that is free.
    ///
    /// # Blocking
    /// Only while the addresses of a host are looked up, as [`resolve`].
    ///
    /// # Errors
    /// Of the last address that was tried; of what was meant, if it is no address; or
    /// [`Exhausted`](crate::net::Exhausted).
    ///
    /// # Panics
    /// As [`resolve`].
    #[track_caller]
    pub fn bind<A: ToSocketAddrs>(address: A) -> io::Result<UdpSocket> {
        first(resolve(address)?, Inner::<net::UdpSocket>::bind).map(UdpSocket::new)
    }

    /// As [`Self::bind`], for a future on any executor.
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub async fn bind_async<A: ToSocketAddrs>(address: A) -> io::Result<UdpSocket> {
        first(resolve_async(address).await?, Inner::<net::UdpSocket>::bind).map(UdpSocket::new)
    }

    /// From now on, sends to this address and receives from it alone; see [`Self::send`] and
    /// [`Self::recv`]. Nobody is asked.
    ///
    /// # Blocking
    /// Only while the addresses of a host are looked up, as [`resolve`].
    ///
    /// # Errors
    /// Of the last address that was tried; of what was meant, if it is no address.
    ///
    /// # Panics
    /// As [`resolve`].
    #[track_caller]
    pub fn connect<A: ToSocketAddrs>(&self, address: A) -> io::Result<()> {
        first(resolve(address)?, |address| self.shared.inner.connect(address))
    }

    /// As [`Self::connect`], for a future on any executor.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub async fn connect_async<A: ToSocketAddrs>(&self, address: A) -> io::Result<()> {
        first(resolve_async(address).await?, |address| self.shared.inner.connect(address))
    }

    /// Takes over a socket of `std`'s.
    ///
    /// # Errors
    /// When the system or the platform of the calling coroutine refuses: virtual time does.
    pub fn from_std(socket: net::UdpSocket) -> io::Result<UdpSocket> {
        Ok(UdpSocket::new(Inner::os(socket)?))
    }

    /// The socket as one of `std`'s, which does not block. If there are other handles of it, this
    /// one has a descriptor of its own.
    ///
    /// # Errors
    /// When there is no descriptor left for that.
    pub fn into_std(self) -> io::Result<net::UdpSocket> {
        match Arc::try_unwrap(self.shared) {
            Ok(shared) => shared.inner.into_std(),
            Err(shared) => shared.inner.clone_std(),
        }
    }

    /// Another handle of the same socket. It costs no descriptor.
    ///
    /// # Errors
    /// Never; it is as in `std`.
    pub fn try_clone(&self) -> io::Result<UdpSocket> {
        Ok(UdpSocket { shared: self.shared.clone() })
    }

    /// Waits until there is a datagram: a future, and an alternative of a select. See [`Ready`].
    pub fn readable(&self) -> Ready<'_, net::UdpSocket> {
        self.shared.inner.ready(Interest::READ)
    }

    /// Waits until there is room to send: a future, and an alternative of a select. See [`Ready`].
    pub fn writable(&self) -> Ready<'_, net::UdpSocket> {
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
    /// [`TimedOut`](io::ErrorKind::TimedOut). All clones of the socket share it.
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
    /// [`TimedOut`](io::ErrorKind::TimedOut). All clones of the socket share it.
    ///
    /// # Errors
    /// If it is nothing.
    pub fn set_write_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        self.shared.limits.write.set(limit)
    }

    /// Where it is.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.shared.inner.local_addr()
    }

    /// To whom it is connected.
    ///
    /// # Errors
    /// When it is not.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.shared.inner.peer_addr()
    }

    /// Whether it may send to all at once.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn set_broadcast(&self, broadcast: bool) -> io::Result<()> {
        self.shared.inner.set_broadcast(broadcast)
    }

    /// Whether it may send to all at once.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn broadcast(&self) -> io::Result<bool> {
        self.shared.inner.broadcast()
    }

    /// How many hops packets may take.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.shared.inner.set_ttl(ttl)
    }

    /// How many hops packets may take.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn ttl(&self) -> io::Result<u32> {
        self.shared.inner.ttl()
    }

    /// Receives what is sent to this group, at this interface.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn join_multicast_v4(&self, group: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        self.shared.inner.membership_v4(group, interface, true)
    }

    /// Receives it no more.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn leave_multicast_v4(&self, group: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        self.shared.inner.membership_v4(group, interface, false)
    }

    /// Receives what is sent to this group, at this interface.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn join_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.shared.inner.membership_v6(group, interface, true)
    }

    /// Receives it no more.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn leave_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.shared.inner.membership_v6(group, interface, false)
    }

    /// Takes the error that waits on the socket, if there is one.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.shared.inner.take_error()
    }
}

/// # Panics
/// If the socket is not the operating system's.
impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.inner.as_fd()
    }
}

impl fmt::Debug for UdpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("UdpSocket");
        if let Ok(address) = self.local_addr() {
            debug.field("local", &address);
        }
        debug.finish()
    }
}
