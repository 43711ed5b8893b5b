//! A Unix listener, and its connections, one after the other.

use core::fmt;
use core::time::Duration;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use leno_kernel::io::Interest;

use super::stream::UnixStream;
use crate::named::addressing;
use crate::net::exhausted::explained;
use crate::net::inner::Shared;
use crate::net::methods::{handle, listener};
use crate::net::patience::Patience;

/// A Unix listener, as [`std::os::unix::net::UnixListener`]. See [`net`](crate::net) for who may use it,
/// and how.
pub struct UnixListener {
    shared: Arc<Shared<net::UnixListener, Patience>>,
}

impl UnixListener {
    /// Listens at a path, which must not exist yet; it stays when the listener is dropped.
    ///
    /// # Errors
    /// When the path is taken, or cannot be made; [`Exhausted`](crate::net::Exhausted).
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<UnixListener> {
        leno_kernel::io::permit()?;
        let bound = net::UnixListener::bind(&path).map_err(explained);
        UnixListener::from_std(bound.map_err(addressing("bind to", path.as_ref()))?)
    }

    /// The same, with an address.
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub fn bind_addr(address: &SocketAddr) -> io::Result<UnixListener> {
        leno_kernel::io::permit()?;
        let bound = net::UnixListener::bind_addr(address).map_err(explained);
        UnixListener::from_std(bound.map_err(addressing("bind to", address))?)
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.shared.inner.socket().local_addr()
    }
}

handle!(UnixListener of net::UnixListener);
listener!(UnixListener of net::UnixListener, accepts UnixStream of net::UnixStream, from SocketAddr,
    /// The connections that come to a [`UnixListener`], one after the other. When descriptors run out, it
    /// does as [`Incoming`](crate::net::Incoming).
    incoming UnixIncoming
);

impl fmt::Debug for UnixListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.shared.inner.socket(), f)
    }
}
