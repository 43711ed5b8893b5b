//! What goes wrong on a network says between which addresses.

use core::fmt::Display;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;

pub(super) fn error(kind: ErrorKind, text: impl Into<String>) -> io::Error {
    io::Error::new(kind, text.into())
}

/// Between `local` and `peer`.
pub(super) fn about(kind: ErrorKind, what: &str, way: (SocketAddr, SocketAddr)) -> io::Error {
    error(kind, format!("{what}: from {} to {}", way.0, way.1))
}

/// The time for something is over.
pub(super) fn late(what: &str, way: (impl Display, impl Display)) -> io::Error {
    let text = format!("the time is over in which to {what}: from {} to {}", way.0, way.1);
    error(ErrorKind::TimedOut, text)
}
