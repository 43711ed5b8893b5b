//! Whether the calling code runs inside a certain coroutine.
//!
//! Claim: when [`assert_inside`] returns, the coroutine is on the *chain of resumers* of the calling code:
//! it runs that code itself, or waits, directly or through others, for a coroutine that does. So it is
//! running, and whoever resumed it waits for it: it may be suspended from here.
//!
//! Borrowing does not prove that. A reference to a [`crate::Suspender`] or to a scope can be borrowed by
//! whatever lives in the coroutine's frames, and some of that is run by somebody else: children of the
//! kernel's scopes by their core.
//!
//! Where the calling code is on the coroutine's own stack, a comparison of the stack pointer tells. Else
//! the chain is walked: for coroutines further in, on shared stacks, and on the thread backend.

use core::ptr::NonNull;

use leno_context::control::{self, Control};

use super::floor;

/// Refuses to go on unless the calling code runs inside the coroutine of `control`. `what` of that
/// coroutine is being used.
///
/// # Panics
/// If it does not, with the names of both.
///
/// # Safety
/// `control` is a live coroutine of this thread.
#[inline(always)]
#[track_caller]
pub(in crate::raw) unsafe fn assert_inside(control: NonNull<Control>, what: &str) {
    // SAFETY: live by the contract.
    if !unsafe { control.as_ref() }.is_on_own_stack() {
        // SAFETY: forwarded.
        unsafe { assert_around(control, what) };
    }
}

#[cold]
#[inline(never)]
#[track_caller]
unsafe fn assert_around(control: NonNull<Control>, what: &str) {
    if !is_around(control.as_ptr()) {
        // SAFETY: live by the contract.
        refuse(unsafe { control.as_ref() }, what);
    }
}

/// Whether the coroutine of `control` is on the chain of the calling code.
fn is_around(control: *const Control) -> bool {
    let mut around = control::current();
    loop {
        if core::ptr::eq(around, control) {
            return true;
        }
        // SAFETY: on the chain of the running code, so it is live.
        let Some(block) = (unsafe { around.as_ref() }) else { return false };
        // SAFETY: it runs, or waits for one that it has resumed.
        around = unsafe { floor::around(block) };
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn refuse(of: &Control, what: &str) -> ! {
    let (noun, name, site) = (of.noun(), of.shown(), of.site());
    // SAFETY: the running coroutine's block is live.
    match unsafe { control::current().as_ref() } {
        Some(by) => panic!(
            "{what} of {noun} {name} (created at {site}) was used by {} {} (created at {}), which does not run \
             inside it",
            by.noun(),
            by.shown(),
            by.site(),
        ),
        None => panic!(
            "{what} of {noun} {name} (created at {site}) was used by code that does not run inside it, but on \
             the stack of thread '{}'",
            std::thread::current().name().unwrap_or("unnamed"),
        ),
    }
}

/// The coroutine that a scope belongs to; none for a plain thread's, on the chain of all its code.
#[derive(Clone, Copy)]
pub(in crate::raw) struct Owner(Option<NonNull<Control>>);

impl Owner {
    /// The coroutine that runs the calling code.
    pub(in crate::raw) fn here() -> Owner {
        Owner(NonNull::new(control::current()))
    }

    /// The coroutine of this block; null for a plain thread.
    pub(in crate::raw) fn of(host: *mut Control) -> Owner {
        Owner(NonNull::new(host))
    }

    /// Refuses to go on unless the calling code runs inside the owner.
    ///
    /// # Panics
    /// If it does not, with the names of both.
    ///
    /// # Safety
    /// The owner has not ended, and the calling code is on its thread.
    #[inline(always)]
    #[track_caller]
    pub(in crate::raw) unsafe fn assert_inside(self, what: &str) {
        if let Some(control) = self.0 {
            // SAFETY: forwarded.
            unsafe { assert_inside(control, what) };
        }
    }
}
