//! UDP.

mod groups;
mod inner;
mod transfer;

use core::fmt;
use core::time::Duration;
use std::io;
use std::net::{self, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use leno_kernel::io::Interest;

use super::address::ToSocketAddrs;
use super::inner::{Inner, Shared};
use super::methods::{datagrams, handle, hops};
use super::resolve::{first, resolve, resolve_async};
use crate::time::within;

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
}

handle!(UdpSocket of net::UdpSocket);
hops!(UdpSocket);
datagrams!(UdpSocket of net::UdpSocket, from SocketAddr);

impl fmt::Debug for UdpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("UdpSocket");
        if let Ok(address) = self.local_addr() {
            debug.field("local", &address);
        }
        debug.finish()
    }
}
