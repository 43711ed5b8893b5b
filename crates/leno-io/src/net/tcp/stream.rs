//! A TCP stream.

use core::fmt;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{self, Shutdown, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use leno_kernel::io::Interest;
use leno_kernel::layer::deadline_in;

use crate::net::address::ToSocketAddrs;
use crate::net::inner::{Inner, Shared};
use crate::net::methods::{byte_stream, handle, hops};
use crate::net::resolve::{first, no_address, resolve, resolve_async};
use crate::time::within;

/// A TCP stream, as [`std::net::TcpStream`]. See [`net`](crate::net) for who may use it, and how.
///
/// Dropping the last handle closes it.
///
/// # Examples
/// ```
/// use leno_io::net::{TcpListener, TcpStream};
/// use leno_kernel::LocalSystem;
/// use std::io::{BufRead, BufReader, Write};
///
/// let system = LocalSystem::new();
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let address = listener.local_addr()?;
/// drop(system.spawn(move || {
///     let (stream, _) = listener.accept()?;
///     let mut line = String::new();
///     BufReader::new(&stream).read_line(&mut line)?;
///     (&stream).write_all(line.to_uppercase().as_bytes())
/// }));
/// let answer = system.spawn(move || {
///     let mut stream = TcpStream::connect(address)?;
///     stream.write_all(b"hello\n")?;
///     std::io::read_to_string(stream)
/// });
/// system.run()?;
/// assert_eq!(answer.join()??, "HELLO\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TcpStream {
    shared: Arc<Shared<net::TcpStream>>,
}

impl TcpStream {
    /// Connects to an address; of several, to the first that accepts.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread; a future uses
    /// [`Self::connect_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds, and the socket is closed.
    ///
    /// # Errors
    /// Of the last address that was tried; of what was meant, if it is no address; or
    /// [`Exhausted`](crate::net::Exhausted).
    ///
    /// # Panics
    /// Inside a future that a core polls, if it has to wait.
    #[track_caller]
    pub fn connect<A: ToSocketAddrs>(address: A) -> io::Result<TcpStream> {
        let connect = |address| Inner::<net::TcpStream>::connect(address, None);
        first(resolve(address)?, connect).map(TcpStream::new)
    }

    /// Connects to an address, for at most `limit`.
    ///
    /// # Errors
    /// [`TimedOut`](io::ErrorKind::TimedOut) when the time is over; else as [`Self::connect`].
    ///
    /// # Panics
    /// As [`Self::connect`].
    #[track_caller]
    pub fn connect_timeout(address: &SocketAddr, limit: Duration) -> io::Result<TcpStream> {
        Ok(TcpStream::new(Inner::<net::TcpStream>::connect(*address, Some(deadline_in(limit)))?))
    }

    /// As [`Self::connect`], for a future on any executor.
    ///
    /// # Cancellation
    /// When the future is dropped, the socket is closed.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub async fn connect_async<A: ToSocketAddrs>(address: A) -> io::Result<TcpStream> {
        let mut last = no_address();
        for address in resolve_async(address).await? {
            match Inner::connect_async(address).await {
                Ok(inner) => return Ok(TcpStream::new(inner)),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Where this end is.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.shared.inner.local_addr()
    }

    /// Where the other end is.
    ///
    /// # Errors
    /// When the peer has gone.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.shared.inner.peer_addr()
    }

    /// Reads without taking: the next read gives the same.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread, until there is something.
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds.
    ///
    /// # Errors
    /// As of `read`.
    ///
    /// # Panics
    /// Inside a future that a core polls, if it has to wait.
    #[track_caller]
    pub fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let Shared { inner, limits } = &*self.shared;
        inner.io(Interest::READ, limits.read.deadline(), || inner.peek(buffer))
    }

    /// As [`Self::peek`], for a future.
    ///
    /// # Errors
    /// As of `read`.
    pub async fn peek_async(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let Shared { inner, limits } = &*self.shared;
        let peek = inner.io_async(Interest::READ, || inner.peek(buffer));
        within(limits.read.deadline(), "read", peek).await
    }

    /// Sends what is written at once, and does not wait for more (`TCP_NODELAY`).
    ///
    /// # Errors
    /// When the system refuses.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.shared.inner.set_nodelay(nodelay)
    }

    /// Whether what is written is sent at once.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.shared.inner.nodelay()
    }

    /// What becomes of unsent data when the stream is closed (`SO_LINGER`): the system sends it
    /// (`None`, as usual), or it is thrown away and the peer sees a reset (nothing). A longer time
    /// would block whoever closes the stream, and is refused.
    ///
    /// # Errors
    /// When the time is longer than nothing, or the system refuses.
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        if linger.is_some_and(|linger| !linger.is_zero()) {
            let rule = "closing a stream must not block a core: linger for nothing, or `None`";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, rule));
        }
        self.shared.inner.set_linger(linger)
    }

    /// What becomes of unsent data when the stream is closed.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        self.shared.inner.linger()
    }
}

handle!(TcpStream of net::TcpStream);
hops!(TcpStream);
byte_stream!(TcpStream of net::TcpStream);

impl fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("TcpStream");
        if let Ok(address) = self.local_addr() {
            debug.field("local", &address);
        }
        if let Ok(address) = self.peer_addr() {
            debug.field("peer", &address);
        }
        debug.finish()
    }
}
