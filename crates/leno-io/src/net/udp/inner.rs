//! UDP operations that do not wait, for each kind of socket.
//!
//! A datagram that is shorter than the buffer says nothing about the next one, so nothing here is ever
//! used up.

use core::sync::atomic::Ordering::Relaxed;
use std::io;
use std::net::{SocketAddr, UdpSocket};

use crate::memory::ambient;
use crate::named::addressing;
use crate::net::exhausted::explained;
use crate::net::inner::{Inner, Tried};
use crate::net::memory::not_here;
use crate::net::methods::more;

impl Inner<UdpSocket> {
    /// A socket at this address.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Inner<UdpSocket>> {
        if let Some(host) = ambient::here()? {
            return Ok(Inner::memory(host.socket_at(address)?));
        }
        leno_kernel::io::permit()?;
        let bound = UdpSocket::bind(address).map_err(explained);
        Inner::os(bound.map_err(addressing("bind to", address))?)
    }

    /// Does not wait for anyone: it only notes the address.
    pub(crate) fn connect(&self, address: SocketAddr) -> io::Result<()> {
        match self {
            Inner::Os(os) => os.get().connect(address).map_err(addressing("connect to", address)),
            Inner::Memory(memory) => memory.socket.connect(address),
        }
    }

    pub(crate) fn send(&self, bytes: &[u8]) -> Tried<usize> {
        match self {
            Inner::Os(os) => more(os.get().send(bytes)),
            Inner::Memory(memory) => more(memory.socket.send(bytes)),
        }
    }

    pub(crate) fn send_to(&self, bytes: &[u8], address: SocketAddr) -> Tried<usize> {
        match self {
            Inner::Os(os) => more(os.get().send_to(bytes, address)),
            Inner::Memory(memory) => more(memory.socket.send_to(bytes, address)),
        }
    }

    pub(crate) fn recv(&self, buffer: &mut [u8]) -> Tried<usize> {
        match self {
            Inner::Os(os) => more(os.get().recv(buffer)),
            Inner::Memory(memory) => more(memory.socket.try_recv(buffer)),
        }
    }

    pub(crate) fn recv_from(&self, buffer: &mut [u8]) -> Tried<(usize, SocketAddr)> {
        match self {
            Inner::Os(os) => more(os.get().recv_from(buffer)),
            Inner::Memory(memory) => more(memory.socket.try_recv_from(buffer)),
        }
    }

    pub(crate) fn peek(&self, buffer: &mut [u8]) -> Tried<usize> {
        match self {
            Inner::Os(os) => more(os.get().peek(buffer)),
            Inner::Memory(memory) => more(memory.socket.try_peek(buffer)),
        }
    }

    pub(crate) fn peek_from(&self, buffer: &mut [u8]) -> Tried<(usize, SocketAddr)> {
        match self {
            Inner::Os(os) => more(os.get().peek_from(buffer)),
            Inner::Memory(memory) => more(memory.socket.try_peek_from(buffer)),
        }
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Inner::Os(os) => os.get().local_addr(),
            Inner::Memory(memory) => Ok(memory.socket.local_addr()),
        }
    }

    pub(crate) fn peer_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Inner::Os(os) => os.get().peer_addr(),
            Inner::Memory(memory) => memory.socket.need_peer(),
        }
    }

    pub(crate) fn set_broadcast(&self, broadcast: bool) -> io::Result<()> {
        match self {
            Inner::Os(os) => os.get().set_broadcast(broadcast),
            Inner::Memory(memory) => {
                memory.broadcast.store(broadcast, Relaxed);
                Ok(())
            }
        }
    }

    pub(crate) fn broadcast(&self) -> io::Result<bool> {
        match self {
            Inner::Os(os) => os.get().broadcast(),
            Inner::Memory(memory) => Ok(memory.broadcast.load(Relaxed)),
        }
    }

    /// What is done about groups.
    pub(crate) fn for_groups<T>(
        &self,
        f: impl FnOnce(&UdpSocket) -> io::Result<T>,
    ) -> io::Result<T> {
        match self {
            Inner::Os(os) => f(os.get()),
            Inner::Memory(_) => not_here("groups"),
        }
    }
}
