//! Where stacks come from.
//!
//! [`take`] gives a [`Stack`], [`give_back`] returns it. Stacks come in size classes (16 KiB
//! times a power of two); each class is cut from *slabs*, large mappings of equally sized slots:
//!
//! ```text
//!   slot:  | guard | usable ................................ | control block | colour |
//!          low addresses           stack grows down  <--     ^ top             high
//! ```
//!
//! - The *stride* between slots is an odd number of pages, so that the tops of many stacks spread
//!   over the sets of the TLB; the *colour* (0 to 1856 bytes, by slot number) spreads them over
//!   the sets of the caches. A ring of 1,500 coroutines hops five times faster for it.
//! - The *guard* makes an overflow fault ([`guard`]); it is 4 KiB, or 64 KiB for stacks of
//!   256 KiB and more, where foreign code that does not probe its frames may run.
//! - Slabs are never unmapped: a [`crate::Status`] may read a control block long after its
//!   coroutine is gone. Memory is given back to the system by page ([`pool`]), not by mapping.

pub mod guard;
pub mod pool;
pub(crate) mod slab;

use core::fmt;

pub use pool::{Figures, figures, give_back, set_warm_limit, take};

/// Bytes in a page.
pub const PAGE: usize = 4096;
/// The smallest stack: smaller requests get this much.
pub const MIN_SIZE: usize = 16 * 1024;
/// The largest stack that can be asked for.
pub const MAX_SIZE: usize = 1024 * 1024 * 1024;
/// The stack of a coroutine that does not say.
pub const DEFAULT_SIZE: usize = 64 * 1024;
pub(crate) const CLASSES: usize = 17;

/// A stack size class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackSize(u8);

impl StackSize {
    /// The default size.
    pub const DEFAULT: StackSize = StackSize(2);

    /// The smallest class with at least `bytes`, which is a hint: a tiny request gets the
    /// smallest stack.
    ///
    /// # Errors
    /// [`StackError::TooLarge`] beyond [`MAX_SIZE`].
    pub fn holding(bytes: usize) -> Result<StackSize, StackError> {
        if bytes > MAX_SIZE {
            return Err(StackError::TooLarge { asked: bytes });
        }
        let class = bytes.max(MIN_SIZE).next_power_of_two().ilog2() - MIN_SIZE.ilog2();
        Ok(StackSize(class as u8))
    }

    /// Bytes of a stack of this class, control block included.
    pub const fn bytes(self) -> usize {
        MIN_SIZE << self.0
    }

    pub(crate) const fn class(self) -> usize {
        self.0 as usize
    }

    pub(crate) const fn guard(self) -> usize {
        if self.bytes() >= 256 * 1024 { 16 * PAGE } else { PAGE }
    }

    pub(crate) const fn stride(self) -> usize {
        let pages = (self.bytes() + self.guard()) / PAGE;
        (pages | 1) * PAGE
    }
}

/// One stack, taken from the pool. Whoever has it gives it back.
#[derive(Debug)]
pub struct Stack {
    top: *mut u8,
    limit: *mut u8,
    pub(crate) slab: &'static slab::Slab,
    pub(crate) slot: u32,
}

// SAFETY: a stack nobody runs on is plain memory.
unsafe impl Send for Stack {}

impl Stack {
    /// The stack in a slot.
    pub(crate) fn of(slab: &'static slab::Slab, slot: u32) -> Stack {
        Stack { top: slab.top(slot), limit: slab.limit(slot), slab, slot }
    }

    /// The highest address of the stack; the control block ends here. 64-aligned.
    #[inline(always)]
    pub fn top(&self) -> *mut u8 {
        self.top
    }

    /// The lowest usable address; the guard ends here.
    #[inline(always)]
    pub fn limit(&self) -> *mut u8 {
        self.limit
    }

    /// The size class.
    pub fn size(&self) -> StackSize {
        self.slab.size
    }
}

/// Why there is no stack.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StackError {
    /// More than [`MAX_SIZE`] was asked for.
    TooLarge {
        /// The bytes asked for.
        asked: usize,
    },
    /// The system gave no more address space or memory.
    OutOfMemory {
        /// The size of the stack that could not be had.
        size: usize,
        /// What the system said.
        why: String,
    },
    /// Guard pages by `mprotect` have used up the mappings a process may have.
    OutOfMaps {
        /// The system's limit, `vm.max_map_count`.
        limit: usize,
    },
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StackError::TooLarge { asked } => {
                write!(f, "a stack of {asked} bytes was asked for; the largest has {MAX_SIZE}")
            }
            StackError::OutOfMemory { size, why } => {
                write!(f, "no memory for a stack of {size} bytes: {why}")
            }
            StackError::OutOfMaps { limit } => write!(
                f,
                "no more guard pages: made with mprotect (before Linux 6.13, or because \
                 LENO_GUARDS says so) each takes two mappings, and vm.max_map_count is {limit}; \
                 raise the limit or use fewer stacks"
            ),
        }
    }
}

crate::debug_as_told!(StackError);

impl std::error::Error for StackError {}

/// The slot that `address` lies in: its slab, its number, and whether it is in the guard.
pub(crate) fn locate(address: usize) -> Option<(&'static slab::Slab, u32, bool)> {
    slab::all().find_map(|slab| slab.locate(address).map(|(slot, guard)| (slab, slot, guard)))
}

#[cfg(test)]
mod tests;
