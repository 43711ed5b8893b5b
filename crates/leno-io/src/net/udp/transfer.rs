//! Sending and receiving datagrams, for each kind of caller.

use std::io;
use std::net::SocketAddr;

use leno_kernel::io::Interest;

use super::UdpSocket;
use crate::net::address::ToSocketAddrs;
use crate::net::inner::Shared;
use crate::net::resolve::{first, resolve, resolve_async};
use crate::time::within;

impl UdpSocket {
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
        inner.io(Interest::READ, limits.read.deadline(), || inner.recv_from(buffer))
    }

    /// The same, from the address to which it is connected.
    ///
    /// # Errors
    /// As [`Self::recv_from`].
    ///
    /// # Panics
    /// As [`Self::recv_from`].
    #[track_caller]
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let Shared { inner, limits } = &*self.shared;
        inner.io(Interest::READ, limits.read.deadline(), || inner.recv(buffer))
    }

    /// As [`Self::recv_from`], without taking it.
    ///
    /// # Errors
    /// As [`Self::recv_from`].
    ///
    /// # Panics
    /// As [`Self::recv_from`].
    #[track_caller]
    pub fn peek_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let Shared { inner, limits } = &*self.shared;
        inner.io(Interest::READ, limits.read.deadline(), || inner.peek_from(buffer))
    }

    /// As [`Self::recv`], without taking it.
    ///
    /// # Errors
    /// As [`Self::recv_from`].
    ///
    /// # Panics
    /// As [`Self::recv_from`].
    #[track_caller]
    pub fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let Shared { inner, limits } = &*self.shared;
        inner.io(Interest::READ, limits.read.deadline(), || inner.peek(buffer))
    }

    /// Sends a datagram.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread, until there is room; a future uses
    /// [`Self::send_to_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds; nothing was sent.
    ///
    /// # Errors
    /// [`TimedOut`](io::ErrorKind::TimedOut) when the limit is over; of what was meant, if it is no
    /// address; else what the system says.
    ///
    /// # Panics
    /// Inside a future that a core polls, if it has to wait.
    #[track_caller]
    pub fn send_to<A: ToSocketAddrs>(&self, bytes: &[u8], address: A) -> io::Result<usize> {
        let Shared { inner, limits } = &*self.shared;
        let address = first(resolve(address)?, Ok)?;
        inner.io(Interest::WRITE, limits.write.deadline(), || inner.send_to(bytes, address))
    }

    /// The same, to the address to which it is connected.
    ///
    /// # Errors
    /// As [`Self::send_to`].
    ///
    /// # Panics
    /// As [`Self::send_to`].
    #[track_caller]
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let Shared { inner, limits } = &*self.shared;
        inner.io(Interest::WRITE, limits.write.deadline(), || inner.send(bytes))
    }

    /// As [`Self::recv_from`], for a future on any executor.
    ///
    /// # Cancellation
    /// A future that is dropped has received nothing.
    ///
    /// # Errors
    /// As [`Self::recv_from`].
    pub async fn recv_from_async(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let Shared { inner, limits } = &*self.shared;
        let receive = inner.io_async(Interest::READ, || inner.recv_from(buffer));
        within(limits.read.deadline(), "read", receive).await
    }

    /// As [`Self::recv`], for a future on any executor.
    ///
    /// # Errors
    /// As [`Self::recv_from`].
    pub async fn recv_async(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let Shared { inner, limits } = &*self.shared;
        let receive = inner.io_async(Interest::READ, || inner.recv(buffer));
        within(limits.read.deadline(), "read", receive).await
    }

    /// As [`Self::send_to`], for a future on any executor.
    ///
    /// # Cancellation
    /// A future that is dropped has sent nothing.
    ///
    /// # Errors
    /// As [`Self::send_to`].
    pub async fn send_to_async<A: ToSocketAddrs>(
        &self,
        bytes: &[u8],
        address: A,
    ) -> io::Result<usize> {
        let Shared { inner, limits } = &*self.shared;
        let address = first(resolve_async(address).await?, Ok)?;
        let send = inner.io_async(Interest::WRITE, || inner.send_to(bytes, address));
        within(limits.write.deadline(), "write", send).await
    }

    /// As [`Self::send`], for a future on any executor.
    ///
    /// # Errors
    /// As [`Self::send_to`].
    pub async fn send_async(&self, bytes: &[u8]) -> io::Result<usize> {
        let Shared { inner, limits } = &*self.shared;
        let send = inner.io_async(Interest::WRITE, || inner.send(bytes));
        within(limits.write.deadline(), "write", send).await
    }

    /// Receives a datagram that is there.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if none is.
    pub fn try_recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let inner = &self.shared.inner;
        inner.try_io(Interest::READ, || inner.recv_from(buffer))
    }

    /// The same, from the address to which it is connected.
    ///
    /// # Errors
    /// As [`Self::try_recv_from`].
    pub fn try_recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let inner = &self.shared.inner;
        inner.try_io(Interest::READ, || inner.recv(buffer))
    }

    /// Sends a datagram, if there is room.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none.
    pub fn try_send_to(&self, bytes: &[u8], address: SocketAddr) -> io::Result<usize> {
        let inner = &self.shared.inner;
        inner.try_io(Interest::WRITE, || inner.send_to(bytes, address))
    }

    /// The same, to the address to which it is connected.
    ///
    /// # Errors
    /// As [`Self::try_send_to`].
    pub fn try_send(&self, bytes: &[u8]) -> io::Result<usize> {
        let inner = &self.shared.inner;
        inner.try_io(Interest::WRITE, || inner.send(bytes))
    }
}
