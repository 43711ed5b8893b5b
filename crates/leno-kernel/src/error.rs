//! What can go wrong, by name.

use core::fmt;

/// The calling coroutine's stack unwinds: it can no longer wait for anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Exiting;

impl fmt::Display for Exiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the coroutine's own stack unwinds, so it cannot wait any more")
    }
}

impl std::error::Error for Exiting {}

/// A coroutine could not be spawned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpawnError {
    /// A core holds no more.
    Full {
        /// As many as it holds.
        limit: u32,
    },
    /// The calling code is run by no system.
    NoSystem,
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpawnError::Full { limit } => write!(f, "a core holds at most {limit} coroutines"),
            SpawnError::NoSystem => {
                f.write_str("no system runs the calling code, so there is none to spawn into")
            }
        }
    }
}

impl std::error::Error for SpawnError {}

/// A system could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// It was to have no cores.
    NoCores,
    /// The process has too many cores already.
    Cores(CoresError),
    /// The machine gives no thread, for this reason.
    Thread(String),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::NoCores => f.write_str("a system needs at least one core"),
            BuildError::Cores(error) => error.fmt(f),
            BuildError::Thread(why) => write!(f, "no thread for a core: {why}"),
        }
    }
}

impl std::error::Error for BuildError {}

/// There are too many cores in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoresError {
    pub(crate) limit: u32,
}

impl fmt::Display for CoresError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a process has at most {} cores in all its systems together", self.limit)
    }
}

impl std::error::Error for CoresError {}
