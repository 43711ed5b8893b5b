//! The machine has run out of something.

use core::fmt;
use std::io;

/// The machine has run out of something that a socket needs. It is inside the [`io::Error`] that
/// `accept`, `connect` and `bind` fail with; see [`Exhausted::of`].
///
/// It passes when others give something back, so whoever serves waits a little and tries again, as
/// [`Incoming`](super::Incoming) does.
pub struct Exhausted {
    what: Resource,
    error: io::Error,
}

/// What a machine can run out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Resource {
    /// The process has as many file descriptors as it may.
    Descriptors,
    /// The whole system has as many open files as it may.
    SystemFiles,
    /// Memory for sockets and their buffers.
    Memory,
}

impl Exhausted {
    /// What an error says has run out, if that is what it says.
    ///
    /// # Examples
    /// ```
    /// use leno_io::net::Exhausted;
    ///
    /// let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
    /// assert!(Exhausted::of(&refused).is_none());
    /// ```
    pub fn of(error: &io::Error) -> Option<&Exhausted> {
        error.get_ref()?.downcast_ref()
    }

    /// What there is no more of.
    pub fn what(&self) -> Resource {
        self.what
    }

    /// The system's number for it.
    pub fn raw_os_error(&self) -> Option<i32> {
        self.error.raw_os_error()
    }
}

/// Names what has run out, if it is that.
pub(super) fn explained(error: io::Error) -> io::Error {
    let what = match error.raw_os_error() {
        Some(libc::EMFILE) => Resource::Descriptors,
        Some(libc::ENFILE) => Resource::SystemFiles,
        Some(libc::ENOMEM | libc::ENOBUFS) => Resource::Memory,
        _ => return error,
    };
    io::Error::new(error.kind(), Exhausted { what, error })
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            Resource::Descriptors => "file descriptors of the process (RLIMIT_NOFILE)",
            Resource::SystemFiles => "open files of the system (fs.file-max)",
            Resource::Memory => "memory for sockets",
        };
        write!(f, "there are no more {what}: {}", self.error)
    }
}

/// As it is told: this is what a `main` that returns it prints.
impl fmt::Debug for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Exhausted {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
