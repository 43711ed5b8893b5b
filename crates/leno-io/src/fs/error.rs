//! Errors that say what was done to which file.

use core::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// An error with the name of what it is about. Its source is what the system said.
#[derive(Debug)]
struct Named {
    what: &'static str,
    path: PathBuf,
    error: io::Error,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}: {}", self.what, self.path, self.error)
    }
}

impl std::error::Error for Named {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// What was to be done to which file, and why it was not; of the same kind.
#[cold]
pub(crate) fn named(what: &'static str, path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), Named { what, path: path.to_owned(), error })
}

/// For `map_err`.
pub(crate) fn naming<'a>(
    what: &'static str,
    path: &'a Path,
) -> impl Fn(io::Error) -> io::Error + 'a {
    move |error| named(what, path, error)
}
