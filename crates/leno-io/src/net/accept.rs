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
