//! TCP operations that do not wait, for each kind of socket.

use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;

use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::memory::{BACKLOG, ambient};
use crate::named::addressing;
use crate::net::accept::accept;
use crate::net::exhausted::explained;
use crate::net::inner::{Inner, Tried};
use crate::net::methods::{more, spent, spent_parts};

/// A stream.
impl Inner<TcpStream> {
    pub(crate) fn read(&self, buffer: &mut [u8]) -> Tried<usize> {
        match self {
            Inner::Os(os) => spent(buffer.len(), os.get().read(buffer)),
            Inner::Memory(memory) => more(memory.socket.try_read(buffer)),
        }
    }

    pub(crate) fn read_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> Tried<usize> {
        match self {
            Inner::Os(os) => {
                let read = os.get().read_vectored(buffers);
                spent_parts(buffers, read)
            }
            Inner::Memory(memory) => more(memory.socket.try_read_vectored(buffers)),
        }
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> Tried<usize> {
        match self {
            Inner::Os(os) => spent(bytes.len(), os.get().write(bytes)),
            Inner::Memory(memory) => more(memory.socket.try_write(bytes)),
        }
    }

    pub(crate) fn write_vectored(&self, parts: &[IoSlice<'_>]) -> Tried<usize> {
        match self {
            Inner::Os(os) => spent_parts(parts, os.get().write_vectored(parts)),
            Inner::Memory(memory) => more(memory.socket.try_write_vectored(parts)),
        }
    }

    /// Uses nothing up.
    pub(crate) fn peek(&self, buffer: &mut [u8]) -> Tried<usize> {
        match self {
            Inner::Os(os) => more(os.get().peek(buffer)),
            Inner::Memory(memory) => more(memory.socket.try_peek(buffer)),
        }
    }

    pub(crate) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        match self {
            Inner::Os(os) => os.get().shutdown(how),
            Inner::Memory(memory) => {
                memory.socket.shutdown(how);
                Ok(())
            }
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
            Inner::Memory(memory) => Ok(memory.socket.peer_addr()),
        }
    }

    pub(crate) fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        match self {
            Inner::Os(os) => os.get().set_nodelay(nodelay),
            Inner::Memory(memory) => {
                memory.nodelay.store(nodelay, Relaxed);
                Ok(())
            }
        }
    }

    pub(crate) fn nodelay(&self) -> io::Result<bool> {
        match self {
            Inner::Os(os) => os.get().nodelay(),
            Inner::Memory(memory) => Ok(memory.nodelay.load(Relaxed)),
        }
    }

    pub(crate) fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        match self {
            Inner::Os(os) => SockRef::from(os.get()).set_linger(linger),
            Inner::Memory(memory) => {
                memory.socket.set_abrupt(linger.is_some());
                Ok(())
            }
        }
    }

    pub(crate) fn linger(&self) -> io::Result<Option<Duration>> {
        match self {
            Inner::Os(os) => SockRef::from(os.get()).linger(),
            Inner::Memory(memory) => Ok(memory.socket.is_abrupt().then_some(Duration::ZERO)),
        }
    }
}

/// A listener.
impl Inner<TcpListener> {
    /// Listens at this address.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Inner<TcpListener>> {
        if let Some(host) = ambient::here()? {
            return Ok(Inner::memory(host.listen_at(address, BACKLOG)?));
        }
        leno_kernel::io::permit()?;
        let bound = TcpListener::bind(address).map_err(explained);
        Inner::os(bound.map_err(addressing("bind to", address))?)
    }

    /// Listens at this address beside others of the same user who do so, too.
    pub(crate) fn bind_beside(address: SocketAddr) -> io::Result<Inner<TcpListener>> {
        leno_kernel::io::permit()?;
        let bind = || {
            let kind = Type::STREAM.nonblocking();
            let socket = Socket::new(Domain::for_address(address), kind, Some(Protocol::TCP))?;
            socket.set_reuse_address(true)?;
            socket.set_reuse_port(true)?;
            socket.bind(&address.into())?;
            // The system allows fewer, if that is too many.
            socket.listen(4096)?;
            Ok(socket)
        };
        let bound = bind().map_err(|error| addressing("bind to", address)(explained(error)))?;
        Inner::os_nonblocking(bound.into())
    }

    pub(crate) fn accept(&self) -> Tried<(Inner<TcpStream>, SocketAddr)> {
        match self {
            Inner::Os(os) => {
                let (stream, from) = accept(os.as_fd())?;
                let from = from.and_then(|from| from.try_into().ok()).ok_or_else(nameless)?;
                Ok(((Inner::os_nonblocking(stream.into())?, from), false))
            }
            Inner::Memory(memory) => {
                let (stream, from) = memory.socket.try_accept()?;
                Ok(((Inner::memory(stream), from), false))
            }
        }
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Inner::Os(os) => os.get().local_addr(),
            Inner::Memory(memory) => Ok(memory.socket.local_addr()),
        }
    }
}

fn nameless() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a TCP connection came from no address")
}
