//! Operations of Unix sockets that do not wait.

use core::convert::Infallible;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use crate::net::exhausted::explained;
use crate::net::inner::{Inner, Tried};
use crate::net::memory::Twin;
use crate::net::methods::{spent, spent_parts};

impl<S: Twin<Memory = Infallible>> Inner<S> {
    /// The socket itself, of one that is always the operating system's.
    pub(super) fn socket(&self) -> &S {
        match self {
            Inner::Os(os) => os.get(),
            Inner::Memory(memory) => match memory.socket {},
        }
    }

    /// The same.
    pub(super) fn into_socket(self) -> S {
        match self {
            Inner::Os(os) => os.into_inner(),
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
        let (stream, from) = self.socket().accept().map_err(explained)?;
        Ok(((Inner::os(stream)?, from), false))
    }
}
