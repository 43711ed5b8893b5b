//! UDP operations that do not wait, for each kind of socket.
//!
//! A datagram that is shorter than the buffer says nothing about the next one, so nothing here is ever
//! used up.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use crate::net::exhausted::explained;
use crate::net::inner::{Inner, Tried};

fn more<R>(result: io::Result<R>) -> Tried<R> {
    Ok((result?, false))
}

impl Inner<UdpSocket> {
    /// A socket at this address.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Inner<UdpSocket>> {
        leno_kernel::io::permit()?;
        Inner::os(UdpSocket::bind(address).map_err(explained)?)
    }

    /// Does not wait for anyone: it only notes the address.
    pub(crate) fn connect(&self, address: SocketAddr) -> io::Result<()> {
        match self {
            Inner::Os(os) => os.get().connect(address),
        }
    }

    pub(crate) fn send(&self, bytes: &[u8]) -> Tried<usize> {
        match self {
            Inner::Os(os) => more(os.get().send(bytes)),
        }
    }

    pub(crate) fn send_to(&self, bytes: &[u8], address: SocketAddr) -> Tried<usize> {
        match self {
            Inner::Os(os) => more(os.get().send_to(bytes, address)),
        }
    }

    pub(crate) fn recv(&self, buffer: &mut [u8]) -> Tried<usize> {
        match self {
            Inner::Os(os) => more(os.get().recv(buffer)),
        }
    }

    pub(crate) fn recv_from(&self, buffer: &mut [u8]) -> Tried<(usize, SocketAddr)> {
        match self {
            Inner::Os(os) => more(os.get().recv_from(buffer)),
        }
    }

    pub(crate) fn peek(&self, buffer: &mut [u8]) -> Tried<usize> {
        match self {
            Inner::Os(os) => more(os.get().peek(buffer)),
        }
    }

    pub(crate) fn peek_from(&self, buffer: &mut [u8]) -> Tried<(usize, SocketAddr)> {
        match self {
            Inner::Os(os) => more(os.get().peek_from(buffer)),
        }
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Inner::Os(os) => os.get().local_addr(),
        }
    }

    pub(crate) fn peer_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Inner::Os(os) => os.get().peer_addr(),
        }
    }

    pub(crate) fn set_broadcast(&self, broadcast: bool) -> io::Result<()> {
        match self {
            Inner::Os(os) => os.get().set_broadcast(broadcast),
        }
    }

    pub(crate) fn broadcast(&self) -> io::Result<bool> {
        match self {
            Inner::Os(os) => os.get().broadcast(),
        }
    }

    pub(crate) fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        match self {
            Inner::Os(os) => os.get().set_ttl(ttl),
        }
    }

    pub(crate) fn ttl(&self) -> io::Result<u32> {
        match self {
            Inner::Os(os) => os.get().ttl(),
        }
    }

    pub(crate) fn membership_v4(
        &self,
        group: &Ipv4Addr,
        interface: &Ipv4Addr,
        joins: bool,
    ) -> io::Result<()> {
        match (self, joins) {
            (Inner::Os(os), true) => os.get().join_multicast_v4(group, interface),
            (Inner::Os(os), false) => os.get().leave_multicast_v4(group, interface),
        }
    }

    pub(crate) fn membership_v6(
        &self,
        group: &Ipv6Addr,
        interface: u32,
        joins: bool,
    ) -> io::Result<()> {
        match (self, joins) {
            (Inner::Os(os), true) => os.get().join_multicast_v6(group, interface),
            (Inner::Os(os), false) => os.get().leave_multicast_v6(group, interface),
        }
    }

    pub(crate) fn take_error(&self) -> io::Result<Option<io::Error>> {
        match self {
            Inner::Os(os) => os.get().take_error(),
        }
    }

    /// `std`'s, if it has it.
    pub(crate) fn into_std(self) -> io::Result<UdpSocket> {
        match self {
            Inner::Os(os) => Ok(os.into_inner()),
        }
    }

    /// Another descriptor of `std`'s, if it has it.
    pub(crate) fn clone_std(&self) -> io::Result<UdpSocket> {
        match self {
            Inner::Os(os) => os.get().try_clone().map_err(explained),
        }
    }
}
