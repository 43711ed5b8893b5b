//! What the kernel needs of this crate beside its public part.
//!
//! Claim: as for `raw/ring` and `raw/local`; nothing here is for applications.

use core::ptr::NonNull;
use std::backtrace::Backtrace;

use leno_context::control::{self, Control, Kind, bits};
use leno_context::unwind::{self, code};
use leno_context::word::Word;

use super::{local, ring};

/// The coroutine around a running one: whoever has resumed it, or has entered its ring. Null for a
/// plain thread.
///
/// # Safety
/// `block` is that of a running coroutine, or of one that waits for one that it has resumed.
pub unsafe fn around(block: &Control) -> *mut Control {
    match block.kind() {
        Kind::Member | Kind::Shared | Kind::Migrant => {
            // SAFETY: by the contract it is a member that runs.
            unsafe { ring::host_of(block) }
        }
        // SAFETY: by the contract.
        Kind::Asymmetric | Kind::Home => unsafe { control::resumer_of(block) },
    }
}

/// Where a coroutine is suspended, captured by itself on its own stack. `None` unless it is suspended,
/// with some stack left.
///
/// # Safety
/// `block` is that of a live coroutine of this thread.
pub unsafe fn backtrace(block: &Control) -> Option<Backtrace> {
    if !unwind::can_show(block) {
        return None;
    }
    let (tag, parent) = (block.load_tag(), block.parent());
    block.set_parent(block.back());
    block.mark(bits::RUNNING);
    let mut slot: Option<Backtrace> = None;
    // SAFETY: suspended, so it understands SHOW; the slot outlives the visit.
    unsafe { unwind::resume(block, Word::new((&raw mut slot).cast()), code::SHOW) };
    block.set_parent(parent);
    block.store_tag(tag);
    slot
}

/// Ends a coroutine's locals. The last thing its body does.
///
/// # Safety
/// `control` is the running coroutine.
pub unsafe fn clear_locals(control: NonNull<Control>) {
    drop(local::Clear(control));
}
