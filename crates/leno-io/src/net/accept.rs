//! Accepting a connection without waiting, and with one system call: `std` would make three of it, because
//! what it accepts blocks.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{SocketAddrAny, SocketFlags, acceptfrom_with};

use super::exhausted::explained;

/// A connection, which does not block, and where it comes from.
pub(super) fn accept(listener: BorrowedFd<'_>) -> io::Result<(OwnedFd, Option<SocketAddrAny>)> {
    loop {
        match acceptfrom_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            // The peer has gone before it was its turn.
            Err(Errno::CONNABORTED) => {}
            result => return result.map_err(|error| explained(error.into())),
        }
    }
}

/// That the time is over is told of a listener as of what it is there for, not as of reading.
pub(super) fn late(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::TimedOut && error.raw_os_error().is_none() {
        return io::Error::new(error.kind(), "the time is over in which to accept a connection");
    }
    error
}
