//! Errors that say what was to be done to what: to which file, at which address.

use core::fmt::{self, Debug};
use std::io;

/// An error with the name of what it is about. Its source is what the system said.
struct Named {
    what: &'static str,
    name: String,
    error: io::Error,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.what, self.name, self.error)
    }
}

/// As it is told: this is what a `main` that returns it prints.
impl Debug for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Named {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// What was to be done to what, and why it was not; of the same kind.
#[cold]
pub(crate) fn named(what: &'static str, name: impl Debug, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), Named { what, name: format!("{name:?}"), error })
}

/// For `map_err`.
pub(crate) fn naming(what: &'static str, name: impl Debug) -> impl Fn(io::Error) -> io::Error {
    move |error| named(what, &name, error)
}

/// The same where some errors say enough already, such as that descriptors have run out, or the time.
pub(crate) fn addressing(what: &'static str, name: impl Debug) -> impl Fn(io::Error) -> io::Error {
    move |error| match error.get_ref() {
        Some(_) => error,
        None => named(what, &name, error),
    }
}
