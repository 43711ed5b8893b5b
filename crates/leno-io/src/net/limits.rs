//! How long the reads and the writes of a socket may wait.
//!
//! Kept here and not with the system's socket, whose own limits are for calls that block. Clones of a
//! socket share them, as in `std`.

use core::time::Duration;
use std::io;

use crate::limit::Limit;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    pub(crate) read: Limit,
    pub(crate) write: Limit,
}

/// Sets one of them, by the rule of `std`.
pub(crate) fn set(which: &Limit, limit: Option<Duration>) -> io::Result<()> {
    if limit.is_some_and(|limit| limit.is_zero()) {
        let rule = "a limit of nothing would let nothing wait; use the `try_` forms, or `None`";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, rule));
    }
    which.set(limit);
    Ok(())
}
