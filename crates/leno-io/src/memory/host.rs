//! A host of a network: where code listens, and from where it connects.

use core::fmt;
use core::time::Duration;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use leno_kernel::Time;
use leno_kernel::layer::common_now;

use super::Address;
use super::connect::Connect;
use super::datagram::Socket;
use super::listener::{BACKLOG, Listener};
use super::network::Network;
use super::stream::Stream;
use super::wait::{Waiting, common_time};

/// A host of a network; of [`Network::host`]. Clones are the same host.
#[derive(Clone)]
pub struct Host {
    network: Network,
    number: usize,
    address: IpAddr,
}

impl Host {
    pub(super) fn new(network: &Network, name: &str) -> Host {
        let (number, address) = network.inner.with(|state| {
            let number = state.host(name);
            (number, state.hosts[number].address)
        });
        Host { network: network.clone(), number, address }
    }

    pub(super) fn numbered(network: &Network, number: usize) -> Host {
        let address = network.inner.with(|state| state.hosts[number].address);
        Host { network: network.clone(), number, address }
    }

    /// The network it belongs to.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// What it is called.
    pub fn name(&self) -> String {
        self.network.inner.with(|state| state.hosts[self.number].name.clone())
    }

    /// Its address: the first host has 10.0.0.1, the next 10.0.0.2, and so on.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// Listens at a port, 0 for any that is free. As many as 128 connections wait to be accepted.
    ///
    /// # Errors
    /// [`AddrInUse`](io::ErrorKind::AddrInUse) if someone listens there already.
    pub fn listen(&self, port: u16) -> io::Result<Listener> {
        self.listen_at(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port), BACKLOG)
    }

    /// Listens at one of the host's addresses; so many connections wait to be accepted, at least one.
    ///
    /// # Errors
    /// [`AddrNotAvailable`](io::ErrorKind::AddrNotAvailable) if it is none; else as [`Self::listen`].
    pub fn listen_at(&self, address: SocketAddr, backlog: usize) -> io::Result<Listener> {
        self.network.inner.check_caller()?;
        Listener::new(&self.network, self.number, address, backlog)
    }

    /// Connects.
    ///
    /// # Blocking
    /// Until there is an answer: parks the calling coroutine, or blocks the calling thread; a future
    /// uses [`Self::connect_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds; a connection that was made by then is
    /// reset.
    ///
    /// # Errors
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) if nobody listens,
    /// [`TimedOut`](io::ErrorKind::TimedOut) if nobody answers within the link's time,
    /// [`HostUnreachable`](io::ErrorKind::HostUnreachable) if there is no such host; else as all
    /// operations on a network.
    ///
    /// # Panics
    /// Inside a future that a core polls, if it has to wait.
    ///
    /// # Examples
    /// ```
    /// use leno_io::memory::Network;
    ///
    /// let network = Network::new();
    /// network.host("server");
    /// let error = network.host("client").connect("server:80").unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
    /// assert_eq!(
    ///     error.to_string(),
    ///     "nobody listens: from host 'client' 10.0.0.2 to 10.0.0.1:80"
    /// );
    /// ```
    #[track_caller]
    pub fn connect(&self, to: impl Address) -> io::Result<Stream> {
        let connect = Connect::new(&self.network, self.number, to.resolve(&self.network)?);
        let deadline = connect.deadline();
        self.network.inner.wait(connect, Some(deadline))
    }

    /// As [`Self::connect`], for at most `limit`.
    ///
    /// # Errors
    /// [`TimedOut`](io::ErrorKind::TimedOut) when the time is over; else as [`Self::connect`].
    #[track_caller]
    pub fn connect_timeout(&self, to: impl Address, limit: Duration) -> io::Result<Stream> {
        let connect = Connect::new(&self.network, self.number, to.resolve(&self.network)?);
        self.network.inner.wait(connect, Some(common_now() + limit))
    }

    /// As [`Self::connect`], until a time of the calling code's own clock, if one is given.
    #[track_caller]
    pub(crate) fn connect_until(
        &self,
        to: SocketAddr,
        deadline: Option<Time>,
    ) -> io::Result<Stream> {
        let connect = Connect::new(&self.network, self.number, to);
        let deadline = deadline.map_or_else(|| connect.deadline(), common_time);
        self.network.inner.wait(connect, Some(deadline))
    }

    /// As [`Self::connect`], for a future.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub async fn connect_async(&self, to: impl Address) -> io::Result<Stream> {
        let connect = Connect::new(&self.network, self.number, to.resolve(&self.network)?);
        let deadline = connect.deadline();
        Waiting::new(&self.network.inner, connect, Some(deadline)).await
    }

    /// A socket for datagrams at a port, 0 for any that is free.
    ///
    /// # Errors
    /// [`AddrInUse`](io::ErrorKind::AddrInUse) if there is one already.
    pub fn socket(&self, port: u16) -> io::Result<Socket> {
        self.socket_at(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port))
    }

    /// The same at one of the host's addresses.
    ///
    /// # Errors
    /// [`AddrNotAvailable`](io::ErrorKind::AddrNotAvailable) if it is none; else as [`Self::socket`].
    pub fn socket_at(&self, address: SocketAddr) -> io::Result<Socket> {
        self.network.inner.check_caller()?;
        Socket::new(&self.network, self.number, address)
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Host('{}' {})", self.name(), self.address)
    }
}
