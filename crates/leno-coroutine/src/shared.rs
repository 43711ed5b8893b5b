//! Very many tiny, idle coroutines on a few stacks.
//!
//! A parked coroutine with a stack of its own costs a page, 4 KiB. Here a bounded number of stacks
//! is shared: the frames of a coroutine whose stack another one uses are copied to the heap and
//! back, some hundred bytes each. That is a niche: a switch may cost two copies, and the
//! constructor is `unsafe`, because safe code can lend a local to another thread and then suspend
//! (the other thread would write into whatever is at that address by then).
//!
//! Members of a ring can be on shared stacks too: [`Stacks::spawn`].
//!
//! Coroutines with stacks of their own are the default; take these when millions are idle.
//!
//! # Examples
//! ```
//! # use leno_coroutine as leno;
//! use leno::{Step, Suspender, shared};
//!
//! # if cfg!(leno_baton) { return Ok(()) }
//! let stacks = shared::Stacks::new(1);
//! let counter = |step: u32| {
//!     move |co: &Suspender<(), u32>, ()| (1..9).for_each(|n| co.suspend(n * step))
//! };
//! // SAFETY: nothing refers to the counters' locals from outside.
//! let (ones, tens) = unsafe { (stacks.coroutine(counter(1))?, stacks.coroutine(counter(10))?) };
//! assert_eq!(ones.resume(()), Step::Suspended(1));
//! assert_eq!(tens.resume(()), Step::Suspended(10));
//! assert_eq!(ones.residence(), shared::Residence::Stored);
//! assert_eq!(ones.resume(()), Step::Suspended(2));
//! assert_eq!(stacks.counters().rescues, 2);
//! # Ok::<(), leno::CreateError>(())
//! ```

use core::fmt;
use core::iter::Sum;

pub use crate::raw::shared::{Coroutine, Stacks};

/// Where a shared coroutine's frames are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Residence {
    /// In a buffer on the heap. A new coroutine is stored, with no frames yet.
    Stored,
    /// On its stack.
    OnStack,
}

/// What copying has been done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Times a coroutine's frames were copied out of the way of another's.
    pub rescues: u64,
    /// Times a coroutine's frames were copied back.
    pub restores: u64,
    /// Times a coroutine was resumed whose frames were on its stack: nothing to copy.
    pub direct: u64,
    /// Bytes copied, both ways.
    pub bytes: u64,
}

impl Sum for Counters {
    fn sum<I: Iterator<Item = Counters>>(all: I) -> Counters {
        all.fold(Counters::default(), |a, b| Counters {
            rescues: a.rescues.saturating_add(b.rescues),
            restores: a.restores.saturating_add(b.restores),
            direct: a.direct.saturating_add(b.direct),
            bytes: a.bytes.saturating_add(b.bytes),
        })
    }
}

/// A shared coroutine could not be resumed. Nothing has changed; the input is given back.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SharedError<In> {
    /// It has returned, panicked or exited.
    Finished {
        /// Its name, quoted, or its id.
        name: String,
        /// What it was to be given.
        input: In,
    },
    /// It is running: it was resumed, directly or through others, by itself.
    InUse {
        /// Its name, quoted, or its id.
        name: String,
        /// What it was to be given.
        input: In,
    },
    /// There is no memory to store the frames of the coroutine that is on its stack.
    NoMemory {
        /// Its name, quoted, or its id.
        name: String,
        /// What it was to be given.
        input: In,
    },
    /// The coroutine that is on its stack has resumed one with a stack of its own and waits for
    /// it, or waits at a channel or the like; until then its frames cannot be moved.
    Occupied {
        /// Its name, quoted, or its id.
        name: String,
        /// Who is on its stack.
        by: String,
        /// What it was to be given.
        input: In,
    },
}

impl<In> SharedError<In> {
    /// What the coroutine was to be given.
    pub fn into_input(self) -> In {
        match self {
            SharedError::Finished { input, .. }
            | SharedError::InUse { input, .. }
            | SharedError::NoMemory { input, .. }
            | SharedError::Occupied { input, .. } => input,
        }
    }
}

impl<In> fmt::Display for SharedError<In> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SharedError::Finished { name, .. } => {
                write!(f, "coroutine {name} is finished and cannot be resumed")
            }
            SharedError::InUse { name, .. } => {
                write!(f, "coroutine {name} is in use and cannot be resumed")
            }
            SharedError::NoMemory { name, .. } => {
                write!(f, "no memory to make room for coroutine {name} on its shared stack")
            }
            SharedError::Occupied { name, by, .. } => write!(
                f,
                "coroutine {name} cannot be resumed: {by} is on its shared stack, waiting for a \
                 coroutine that has a stack of its own, or in the middle of a wait"
            ),
        }
    }
}

leno_context::debug_as_told!(SharedError<In>);

impl<In> std::error::Error for SharedError<In> {}
