//! Connecting and sending where the peer's queue may be full, which the system does not let anyone wait
//! for without blocking: it says `WouldBlock`, and tells nobody when there is room. So it is tried again,
//! after pauses that grow.

use core::time::Duration;
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

use leno_kernel::{Time, now};
use socket2::{Domain, SockAddr, Socket, Type};

use crate::net::exhausted::explained;
use crate::net::inner::Inner;
use crate::time::{sleep, sleep_async};

const SHORTEST: Duration = Duration::from_micros(100);
const LONGEST: Duration = Duration::from_millis(50);

/// The pauses between tries.
pub(super) struct Pauses {
    deadline: Option<Time>,
    pause: Duration,
}

impl Pauses {
    pub(super) fn until(deadline: Option<Time>) -> Pauses {
        Pauses { deadline, pause: SHORTEST }
    }

    /// How long to wait before the next try.
    fn next(&mut self, what: &str) -> io::Result<Duration> {
        let left = self.deadline.map_or(Duration::MAX, |deadline| deadline.since(now()));
        if left.is_zero() {
            let message = format!("the time is over in which to {what}");
            return Err(io::Error::new(ErrorKind::TimedOut, message));
        }
        let pause = self.pause.min(left);
        self.pause = (self.pause * 2).min(LONGEST);
        Ok(pause)
    }
}

/// Tries until it would not block, or the deadline has come.
#[track_caller]
pub(super) fn insist<R>(
    deadline: Option<Time>,
    what: &str,
    mut attempt: impl FnMut() -> io::Result<R>,
) -> io::Result<R> {
    let mut pauses = Pauses::until(deadline);
    loop {
        match attempt() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => sleep(pauses.next(what)?),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// The same, for a future.
pub(super) async fn insist_async<R>(
    deadline: Option<Time>,
    what: &str,
    mut attempt: impl FnMut() -> io::Result<R>,
) -> io::Result<R> {
    let mut pauses = Pauses::until(deadline);
    loop {
        match attempt() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                sleep_async(pauses.next(what)?).await;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// A stream that is not connected yet, and where it goes. Connecting it takes no time, or it would
/// block.
pub(super) struct Connecting {
    socket: Socket,
    address: SockAddr,
}

impl Connecting {
    pub(super) fn new(address: &SocketAddr) -> io::Result<Connecting> {
        leno_kernel::io::permit()?;
        let address = translated(address)?;
        let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None);
        Ok(Connecting { socket: socket.map_err(explained)?, address })
    }

    pub(super) fn attempt(&self) -> io::Result<()> {
        match self.socket.connect(&self.address) {
            // Interrupted before, and gone on.
            Err(error) if error.raw_os_error() == Some(libc::EISCONN) => Ok(()),
            result => result,
        }
    }

    pub(super) fn finish(self) -> io::Result<Inner<UnixStream>> {
        Inner::os_nonblocking(self.socket.into())
    }
}

/// An address of `std`'s as one of the crate that connects.
fn translated(address: &SocketAddr) -> io::Result<SockAddr> {
    if let Some(path) = address.as_pathname() {
        return SockAddr::unix(path);
    }
    if let Some(name) = address.as_abstract_name() {
        let name = [b"\0", name].concat();
        return SockAddr::unix(OsStr::from_bytes(&name));
    }
    let rule = "a socket without a name cannot be connected to";
    Err(io::Error::new(ErrorKind::InvalidInput, rule))
}
