//! What the kernel needs of this crate beside its public part.
//!
//! Claim: as for `raw/ring` and `raw/local`; nothing here is for applications.

use core::ptr::NonNull;

use leno_context::control::{self, Control, Kind};

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
        Kind::Asymmetric | Kind::Home => control::resumer_of(block),
    }
}

/// Ends a coroutine's locals. The last thing its body does.
///
/// # Safety
/// `control` is the running coroutine.
pub unsafe fn clear_locals(control: NonNull<Control>) {
    drop(local::Clear(control));
}
