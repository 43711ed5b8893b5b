//! What the kernel needs of this crate beside its public part.
//!
//! Claim: as for `raw/ring` and `raw/local`; nothing here is for applications.

use core::any::Any;
use core::ptr::NonNull;
use std::backtrace::Backtrace;

use leno_context::control::{self, Control, Kind, bits};
use leno_context::unwind::{self, code};
use leno_context::user::Panic;
use leno_context::word::Word;

use super::{chain, local, ring};

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

/// Whether a payload is the exit of a coroutine around the calling code, which is to go on to the base of that one. An
/// exit that was caught elsewhere and raised again is not.
pub fn is_exit_here(payload: &(dyn Any + Send)) -> bool {
    if !unwind::is_exit(payload) {
        return false;
    }
    if leno_context::is_planted("exit-of-anyone") {
        return true;
    }
    let mut next = control::current();
    // SAFETY: on the chain of the running code, so it is live.
    while let Some(block) = unsafe { next.as_ref() } {
        if unwind::is_exit_of(payload, block.id()) {
            return true;
        }
        // SAFETY: as above.
        next = unsafe { around(block) };
    }
    false
}

/// Keeps the panic that goes on of two that were caught: the exit of a coroutine around the calling code before any
/// other, else the first. The other one is dropped.
#[inline(always)]
pub fn first(one: Option<Panic>, other: Option<Panic>) -> Option<Panic> {
    match (one, other) {
        (one, None) => one,
        (None, other) => other,
        (Some(one), Some(other)) => Some(first_of(one, other)),
    }
}

#[cold]
fn first_of(one: Panic, other: Panic) -> Panic {
    if !is_exit_here(one.payload()) && is_exit_here(other.payload()) { other } else { one }
}

/// The ring in which the calling code is, to be compared with others; null if it is in none.
pub fn ring_here() -> *const () {
    ring::ring_here()
}

/// Whether a coroutine waits for another because that has resumed it, or has entered its ring by a scope after
/// it was in `ring`. Members of other rings of its wait for nobody but each other.
///
/// # Safety
/// `block` is that of a live coroutine of this thread. `ring` is null, or one in which the coroutine
/// [around](around) it has been, and has not left.
pub unsafe fn is_entered_within(block: &Control, ring: *const ()) -> bool {
    match block.kind() {
        Kind::Member | Kind::Shared | Kind::Migrant => {
            // SAFETY: by the contract.
            unsafe { ring::is_entered_within(block, ring) }
        }
        Kind::Asymmetric | Kind::Home => true,
    }
}

/// Runs `f`, which runs coroutines of a system on top of the calling code: meanwhile the coroutine and the
/// ring in which that code is cannot be left. Code that tries to is refused.
pub fn hold<R>(f: impl FnOnce() -> R) -> R {
    chain::hold(f)
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
