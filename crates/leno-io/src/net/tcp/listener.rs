//! A TCP listener.

use core::fmt;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io;
use std::net::{self, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use leno_kernel::io::Interest;
use leno_kernel::{Time, deadline_in};

use super::incoming::Incoming;
use super::stream::TcpStream;
use crate::net::address::ToSocketAddrs;
use crate::net::inner::{Inner, Shared};
use crate::net::ready::Ready;
use crate::net::resolve::{first, resolve, resolve_async};

/// A TCP listener, as [`std::net::TcpListener`]. See [`net`](crate::net) for who may use it, and how.
///
/// Several coroutines, threads and futures may accept at once.
///
/// # Examples
/// A server, and how it is told to stop:
/// ```
/// use leno_io::net::{TcpListener, TcpStream};
/// use leno_kernel::{LocalSystem, spawn_local};
/// use std::io::{Read, Write};
///
/// let system = LocalSystem::new();
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let address = listener.local_addr()?;
/// let server = system.spawn(move || {
///     // What fails, such as when descriptors run out, is told, and does not end it.
///     for stream in listener.incoming() {
///         match stream {
///             Ok(mut stream) => drop(spawn_local(move || stream.write_all(b"hello"))),
///             Err(error) => eprintln!("{error}"),
///         }
///     }
/// });
/// let client = system.spawn(move || {
///     let mut greetings = String::new();
///     for _ in 0..3 {
///         TcpStream::connect(address)?.read_to_string(&mut greetings)?;
///     }
///     server.cancel();
///     Ok::<_, std::io::Error>(greetings)
/// });
/// system.run()?;
/// assert_eq!(client.join()??, "hellohellohello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TcpListener {
    shared: Arc<Shared<net::TcpListener>>,
}

impl TcpListener {
    fn new(inner: Inner<net::TcpListener>) -> TcpListener {
        TcpListener { shared: Shared::new(inner) }
    }

    /// Listens at an address; of several, at the first that is free. Port 0 is any that is free.
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
    pub fn bind<A: ToSocketAddrs>(address: A) -> io::Result<TcpListener> {
        first(resolve(address)?, Inner::<net::TcpListener>::bind).map(TcpListener::new)
    }

    /// As [`Self::bind`], for a future on any executor.
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub async fn bind_async<A: ToSocketAddrs>(address: A) -> io::Result<TcpListener> {
        first(resolve_async(address).await?, Inner::<net::TcpListener>::bind).map(TcpListener::new)
    }

    /// Takes over a listener of `std`'s.
    ///
    /// # Errors
    /// When the system or the platform of the calling coroutine refuses: virtual time does.
    pub fn from_std(listener: net::TcpListener) -> io::Result<TcpListener> {
        Ok(TcpListener::new(Inner::os(listener)?))
    }

    /// The listener as one of `std`'s, which does not block. If there are other handles of it, this
    /// one has a descriptor of its own.
    ///
    /// # Errors
    /// When there is no descriptor left for that.
    pub fn into_std(self) -> io::Result<net::TcpListener> {
        match Arc::try_unwrap(self.shared) {
            Ok(shared) => shared.inner.into_std(),
            Err(shared) => shared.inner.clone_std(),
        }
    }

    /// Waits for a connection.
    ///
    /// # Blocking
    /// Parks the calling coroutine, or blocks the calling thread; a future uses
    /// [`Self::accept_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds; the connection is left for others.
    ///
    /// # Errors
    /// [`Exhausted`](crate::net::Exhausted) when there is no descriptor left for the connection, which
    /// stays in line: so whoever tries again should wait a little, as [`Self::incoming`] does.
    ///
    /// # Panics
    /// Inside a future that a core polls, if it has to wait.
    #[track_caller]
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        self.accept_until(None)
    }

    /// The same, for at most `limit`.
    ///
    /// # Errors
    /// [`TimedOut`](io::ErrorKind::TimedOut) when the time is over; else as [`Self::accept`].
    ///
    /// # Panics
    /// As [`Self::accept`].
    #[track_caller]
    pub fn accept_timeout(&self, limit: Duration) -> io::Result<(TcpStream, SocketAddr)> {
        self.accept_until(Some(deadline_in(limit)))
    }

    #[track_caller]
    fn accept_until(&self, deadline: Option<Time>) -> io::Result<(TcpStream, SocketAddr)> {
        let inner = &self.shared.inner;
        inner.io(Interest::READ, deadline, || inner.accept()).map(accepted)
    }

    /// Takes a connection that waits, if there is one.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none; else as [`Self::accept`].
    pub fn try_accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let inner = &self.shared.inner;
        inner.try_io(Interest::READ, || inner.accept()).map(accepted)
    }

    /// As [`Self::accept`], for a future on any executor.
    ///
    /// # Cancellation
    /// A future that is dropped has accepted nothing.
    ///
    /// # Errors
    /// As [`Self::accept`].
    pub async fn accept_async(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let inner = &self.shared.inner;
        inner.io_async(Interest::READ, || inner.accept()).await.map(accepted)
    }

    /// As [`Self::accept`], for a hand-written future. The waker is kept until there is a
    /// connection, or the listener is dropped.
    ///
    /// # Errors
    /// As [`Self::accept`].
    pub fn poll_accept(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let inner = &self.shared.inner;
        inner.poll_io(context, Interest::READ, || inner.accept()).map_ok(accepted)
    }

    /// The connections, one after the other: for a server's loop. It outlives the exhaustion of
    /// descriptors; see [`Incoming`].
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming::new(self)
    }

    /// Waits until there is a connection: a future, and an alternative of a select. See [`Ready`].
    pub fn acceptable(&self) -> Ready<'_, net::TcpListener> {
        self.shared.inner.ready(Interest::READ)
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.shared.inner.local_addr()
    }

    /// Another handle of the same listener. It costs no descriptor.
    ///
    /// # Errors
    /// Never; it is as in `std`.
    pub fn try_clone(&self) -> io::Result<TcpListener> {
        Ok(TcpListener { shared: self.shared.clone() })
    }

    /// How many hops packets may take.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.shared.inner.set_ttl(ttl)
    }

    /// How many hops packets may take.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn ttl(&self) -> io::Result<u32> {
        self.shared.inner.ttl()
    }

    /// Takes the error that waits on the socket, if there is one.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.shared.inner.take_error()
    }
}

fn accepted((inner, from): (Inner<net::TcpStream>, SocketAddr)) -> (TcpStream, SocketAddr) {
    (TcpStream::new(inner), from)
}

/// # Panics
/// If the socket is not the operating system's.
impl AsFd for TcpListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.inner.as_fd()
    }
}

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("TcpListener");
        if let Ok(address) = self.local_addr() {
            debug.field("local", &address);
        }
        debug.finish()
    }
}
