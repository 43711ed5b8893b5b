//! Where code runs: on which stack, and in which ring.
//!
//! A thread, or a coroutine of the kernel, may run several stacks by turns: members of a ring, generators that are
//! suspended. Code on one of them is no part of what another one does.
//!
//! Claims:
//! - A place refers to nothing: blocks are known by their ids and rings by their addresses, both to be compared only. So a
//!   place may outlive the stack that it names.
//! - Every block that is looked at is on the chain of the calling code, so it is live.

use leno_context::control::{self, Control, Kind};
use leno_coroutine::floor;

/// A stack, and the ring in which the code on it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The id of the coroutine whose stack it is; `None` for a plain thread's.
    block: Option<u64>,
    /// The address of the ring; 0 for none.
    ring: usize,
}

impl Place {
    /// Returns the place of the calling code.
    #[inline(never)]
    pub(crate) fn here() -> Place {
        // SAFETY: the running coroutine's block is live.
        let block = unsafe { control::current().as_ref() }.map(Control::id);
        Place { block, ring: floor::ring_here().addr() }
    }

    /// Whether the calling code runs at this place, or on top of it: in coroutines that code there has resumed, and rings that
    /// it has entered by a scope.
    #[inline(never)]
    pub(crate) fn is_around(self) -> bool {
        let mut around = control::current();
        let mut inner: Option<&Control> = None;
        loop {
            // SAFETY: on the chain of the running code, so it is live.
            let block = unsafe { around.as_ref() };
            if block.map(Control::id) == self.block {
                return inner.is_none_or(|inner| self.is_below(inner));
            }
            let Some(block) = block else { return false };
            inner = Some(block);
            // SAFETY: it runs, or waits for one that it has resumed.
            around = unsafe { floor::around(block) };
        }
    }

    /// Whether a coroutine that is on top of this stack waits for code at this place: not a member of the ring in which
    /// that code was already, to which it has hopped.
    fn is_below(self, inner: &Control) -> bool {
        match inner.kind() {
            Kind::Member | Kind::Shared | Kind::Migrant if inner.ring.get().addr() == self.ring => {
                false
            }
            // SAFETY: on the chain of the running code, so it is live; no ring is named.
            _ => unsafe { floor::is_entered_within(inner, core::ptr::null()) },
        }
    }
}
