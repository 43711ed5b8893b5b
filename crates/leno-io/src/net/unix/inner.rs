//! Operations of Unix sockets that do not wait.

use core::convert::Infallible;
use std::ffi::OsStr;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};

use rustix::net::SocketAddrUnix;

use crate::net::accept::accept;
use crate::net::inner::{Inner, Tried};
use crate::net::memory::Twin;
use crate::net::methods::{more, spent, spent_parts};

impl<S: Twin<Memory = Infallible>> Inner<S> {
    /// The socket itself, of one that is always the operating system's.
    pub(super) fn socket(&self) -> &S {
        match self {
            Inner::Os(os) => os.get(),
            Inner::Memory(memory) => match memory.socket {},
        }
    }
}

/// A stream.
impl Inner<UnixStream> {
    pub(crate) fn read(&self, buffer: &mut [u8]) -> Tried<usize> {
        spent(buffer.len(), self.socket().read(buffer))
    }

    pub(crate) fn read_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> Tried<usize> {
        let read = self.socket().read_vectored(buffers);
        spent_parts(buffers, read)
    }

    pub(crate) fn write(&self, bytes: &[u8]) -> Tried<usize> {
        spent(bytes.len(), self.socket().write(bytes))
    }

    pub(crate) fn write_vectored(&self, parts: &[IoSlice<'_>]) -> Tried<usize> {
        spent_parts(parts, self.socket().write_vectored(parts))
    }

    pub(crate) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.socket().shutdown(how)
    }
}

/// A listener.
impl Inner<UnixListener> {
    pub(super) fn accept(&self) -> Tried<(Inner<UnixStream>, SocketAddr)> {
        let (stream, from) = accept(self.as_fd())?;
        let from = match from.map(SocketAddrUnix::try_from) {
            Some(Ok(from)) => translated(&from)?,
            _ => nameless()?,
        };
        Ok(((Inner::os_nonblocking(stream.into())?, from), false))
    }
}

/// Datagrams: one that is shorter than the buffer says nothing about the next.
impl Inner<UnixDatagram> {
    pub(super) fn recv_from(&self, buffer: &mut [u8]) -> Tried<(usize, SocketAddr)> {
        more(self.socket().recv_from(buffer))
    }

    pub(super) fn recv(&self, buffer: &mut [u8]) -> Tried<usize> {
        more(self.socket().recv(buffer))
    }

    pub(super) fn send(&self, bytes: &[u8]) -> Tried<usize> {
        more(self.socket().send(bytes))
    }
}

/// An address of the crate that accepts as one of `std`'s.
fn translated(address: &SocketAddrUnix) -> io::Result<SocketAddr> {
    if let Some(path) = address.path_bytes() {
        return SocketAddr::from_pathname(OsStr::from_bytes(path));
    }
    match address.abstract_name() {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => nameless(),
    }
}

/// Of a socket that is not bound.
fn nameless() -> io::Result<SocketAddr> {
    SocketAddr::from_pathname("")
}
