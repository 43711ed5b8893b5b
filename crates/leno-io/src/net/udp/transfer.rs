//! What UDP adds to sending and receiving: to whom, and looking without taking.

use std::io;
use std::net::SocketAddr;

use leno_kernel::io::Interest;

use super::UdpSocket;
use crate::net::address::ToSocketAddrs;
use crate::net::inner::Shared;
use crate::net::resolve::{first, resolve, resolve_async};
use crate::time::within;

impl UdpSocket {
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

    /// As [`Self::peek_from`], for a future on any executor.
    ///
    /// # Errors
    /// As [`Self::recv_from`].
    pub async fn peek_from_async(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let Shared { inner, limits } = &*self.shared;
        let peek = inner.io_async(Interest::READ, || inner.peek_from(buffer));
        within(limits.read.deadline(), "read", peek).await
    }

    /// As [`Self::peek`], for a future on any executor.
    ///
    /// # Errors
    /// As [`Self::recv_from`].
    pub async fn peek_async(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let Shared { inner, limits } = &*self.shared;
        let peek = inner.io_async(Interest::READ, || inner.peek(buffer));
        within(limits.read.deadline(), "read", peek).await
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

    /// Sends a datagram, if there is room.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none.
    pub fn try_send_to(&self, bytes: &[u8], address: SocketAddr) -> io::Result<usize> {
        let inner = &self.shared.inner;
        inner.try_io(Interest::WRITE, || inner.send_to(bytes, address))
    }
}
