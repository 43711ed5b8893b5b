//! By which way files are read and written.

use core::fmt;
use std::sync::OnceLock;

use crate::raw::ring;

/// By which way coroutines and futures read and write files.
///
/// # Examples
/// ```
/// use leno_io::fs::{self, Backend};
///
/// match fs::backend() {
///     Backend::Ring => println!("the system does it"),
///     Backend::Helpers => println!("helper threads do it"),
///     other => println!("{other}"),
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// io_uring: a ring for each core, which the system empties.
    Ring,
    /// The kernel's helper threads, where system calls block.
    Helpers,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Ring => "ring",
            Backend::Helpers => "helpers",
        })
    }
}

/// By which way files are read and written, unless [`OpenOptions::backend`] says otherwise: by
/// [`Backend::Ring`], if the system gives a ring that can do it, and the environment does not have
/// `LENO_FS=helpers`. Both are looked at once, at the first use.
///
/// [`OpenOptions::backend`]: super::OpenOptions::backend
///
/// # Examples
/// ```
/// println!("files go through: {}", leno_io::fs::backend());
/// ```
pub fn backend() -> Backend {
    static BACKEND: OnceLock<Backend> = OnceLock::new();
    *BACKEND.get_or_init(|| {
        let forced = std::env::var_os("LENO_FS").is_some_and(|value| value == "helpers");
        if forced { Backend::Helpers } else { possible(Backend::Ring) }
    })
}

/// The one that was asked for, if there is such a one.
pub(crate) fn possible(wanted: Backend) -> Backend {
    if wanted == Backend::Ring && !ring::is_available() { Backend::Helpers } else { wanted }
}
