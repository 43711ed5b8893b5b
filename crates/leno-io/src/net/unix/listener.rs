//! A Unix listener, and its connections, one after the other.

use core::fmt;
use core::time::Duration;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use leno_kernel::io::Interest;
use leno_kernel::{Time, deadline_in};

use super::stream::UnixStream;
use crate::net::exhausted::explained;
use crate::net::inner::{Inner, Shared};
use crate::net::patience::{Patience, is_exiting};
use crate::net::ready::Ready;

/// A Unix listener, as [`std::os::unix::net::UnixListener`]. See [`net`](crate::net) for who may use it,
/// and how.
pub struct UnixListener {
    shared: Arc<Shared<net::UnixListener>>,
}

impl UnixListener {
    /// Listens at a path, which must not exist yet; it stays when the listener is dropped.
    ///
    /// # Errors
    /// When the path is taken, or cannot be made; [`Exhausted`](crate::net::Exhausted).
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<UnixListener> {
        leno_kernel::io::permit()?;
        UnixListener::from_std(net::UnixListener::bind(path).map_err(explained)?)
    }

    /// The same, with an address.
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub fn bind_addr(address: &SocketAddr) -> io::Result<UnixListener> {
        leno_kernel::io::permit()?;
        UnixListener::from_std(net::UnixListener::bind_addr(address).map_err(explained)?)
    }

    /// Takes over a listener of `std`'s.
    ///
    /// # Errors
    /// When the system or the platform of the calling coroutine refuses: virtual time does.
    pub fn from_std(listener: net::UnixListener) -> io::Result<UnixListener> {
        Ok(UnixListener { shared: Shared::new(Inner::os(listener)?) })
    }

    /// The listener as one of `std`'s, which does not block. If there are other handles of it, this
    /// one has a descriptor of its own.
    ///
    /// # Errors
    /// When there is no descriptor left for that.
    pub fn into_std(self) -> io::Result<net::UnixListener> {
        match Arc::try_unwrap(self.shared) {
            Ok(shared) => Ok(shared.inner.into_socket()),
            Err(shared) => shared.inner.socket().try_clone().map_err(explained),
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
    /// stays in line.
    ///
    /// # Panics
    /// Inside a future that a core polls, if it has to wait.
    #[track_caller]
    pub fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
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
    pub fn accept_timeout(&self, limit: Duration) -> io::Result<(UnixStream, SocketAddr)> {
        self.accept_until(Some(deadline_in(limit)))
    }

    #[track_caller]
    fn accept_until(&self, deadline: Option<Time>) -> io::Result<(UnixStream, SocketAddr)> {
        let inner = &self.shared.inner;
        inner.io(Interest::READ, deadline, || inner.accept()).map(accepted)
    }

    /// Takes a connection that waits, if there is one.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is none; else as [`Self::accept`].
    pub fn try_accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
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
    pub async fn accept_async(&self) -> io::Result<(UnixStream, SocketAddr)> {
        let inner = &self.shared.inner;
        inner.io_async(Interest::READ, || inner.accept()).await.map(accepted)
    }

    /// The connections, one after the other, as [`TcpListener::incoming`](crate::net::TcpListener).
    pub fn incoming(&self) -> UnixIncoming<'_> {
        UnixIncoming { listener: self, patience: Patience::default() }
    }

    /// Waits until there is a connection: a future, and an alternative of a select. See [`Ready`].
    pub fn acceptable(&self) -> Ready<'_, net::UnixListener> {
        self.shared.inner.ready(Interest::READ)
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.shared.inner.socket().local_addr()
    }

    /// Another handle of the same listener. It costs no descriptor.
    ///
    /// # Errors
    /// Never; it is as in `std`.
    pub fn try_clone(&self) -> io::Result<UnixListener> {
        Ok(UnixListener { shared: self.shared.clone() })
    }

    /// Takes the error that waits on the socket, if there is one.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.shared.inner.socket().take_error()
    }
}

fn accepted((inner, from): (Inner<net::UnixStream>, SocketAddr)) -> (UnixStream, SocketAddr) {
    (UnixStream::new(inner), from)
}

/// The connections that come to a [`UnixListener`], one after the other. When descriptors run out, it
/// does as [`Incoming`](crate::net::Incoming).
#[derive(Debug)]
pub struct UnixIncoming<'a> {
    listener: &'a UnixListener,
    patience: Patience,
}

impl UnixIncoming<'_> {
    /// The next one, for a future on any executor.
    ///
    /// # Errors
    /// As [`UnixListener::accept`].
    pub async fn next_async(&mut self) -> io::Result<UnixStream> {
        loop {
            self.patience.wait_async().await;
            let accepted = self.listener.accept_async().await.map(|(stream, _)| stream);
            if self.patience.is_news(&accepted) {
                return accepted;
            }
        }
    }
}

/// Waits as [`UnixListener::accept`] does.
impl Iterator for UnixIncoming<'_> {
    type Item = io::Result<UnixStream>;

    #[track_caller]
    fn next(&mut self) -> Option<io::Result<UnixStream>> {
        loop {
            self.patience.wait();
            let accepted = self.listener.accept().map(|(stream, _)| stream);
            if is_exiting(&accepted) {
                return None;
            }
            if self.patience.is_news(&accepted) {
                return Some(accepted);
            }
        }
    }
}

impl AsFd for UnixListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.inner.as_fd()
    }
}

impl fmt::Debug for UnixListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.shared.inner.socket(), f)
    }
}
