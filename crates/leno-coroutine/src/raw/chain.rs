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
//! the chain is walked: for coroutines further in, on shared stacks, on the thread backend, and for a
//! coroutine that is held.
//!
//! A coroutine is held ([`hold`]) while its code runs others for a system of the kernel: these come back
//! before it goes on, or else the system would take it for one of them. Code that would leave a coroutine on
//! which the calling code stands so is refused.

use core::ptr::NonNull;

use leno_context::control::{self, Control, Hidden};

use super::{floor, ring};

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

/// As [`assert_inside`], for code that leaves the coroutine: also refuses to go on if it, or one further
/// in, is held.
///
/// # Panics
/// As [`assert_inside`], and if it is held.
///
/// # Safety
/// `control` is a live coroutine of this thread.
#[inline(always)]
#[track_caller]
pub(in crate::raw) unsafe fn assert_may_leave(control: NonNull<Control>, what: &str) {
    // SAFETY: live by the contract.
    if !unsafe { control.as_ref() }.is_on_own_stack() {
        // SAFETY: forwarded.
        unsafe { assert_not_held(control, what) };
    }
}

#[cold]
#[inline(never)]
#[track_caller]
unsafe fn assert_around(control: NonNull<Control>, what: &str) {
    if find(control.as_ptr()).is_none() && !leno_context::is_planted("suspend-off-chain") {
        // SAFETY: live by the contract.
        refuse(unsafe { control.as_ref() }, what);
    }
}

#[cold]
#[inline(never)]
#[track_caller]
unsafe fn assert_not_held(control: NonNull<Control>, what: &str) {
    // SAFETY: live by the contract.
    let block = unsafe { control.as_ref() };
    match find(control.as_ptr()) {
        None if leno_context::is_planted("suspend-off-chain") => {}
        None => refuse(block, what),
        Some(is_held) if is_held => panic!(
            "{what} of {} {} (created at {}) was used by a coroutine of a system that runs on top of it, by \
             `attach` or eagerly: that one parks or ends before another one is left",
            block.noun(),
            block.shown(),
            block.site(),
        ),
        Some(_) => {}
    }
}

/// Looks for the coroutine of `control` on the chain of the calling code: whether it, or one further in, is
/// held.
fn find(control: *const Control) -> Option<bool> {
    let mut around = control::current();
    let mut is_held = false;
    loop {
        // SAFETY: on the chain of the running code, so it is live.
        let block = unsafe { around.as_ref() }?;
        is_held |= block.is_hidden();
        if core::ptr::eq(around, control) {
            return Some(is_held);
        }
        // SAFETY: it runs, or waits for one that it has resumed.
        around = unsafe { floor::around(block) };
    }
}

/// Runs `f`; meanwhile the coroutine that runs the calling code is held, and so is the ring that this code
/// is in: neither suspending it nor hopping leaves it. `f` may enter rings and resume coroutines of its own.
pub(in crate::raw) fn hold<R>(f: impl FnOnce() -> R) -> R {
    struct Held(NonNull<Control>, Option<Hidden>);
    impl Drop for Held {
        fn drop(&mut self) {
            if let Some(hidden) = self.1.take() {
                // SAFETY: it has not been left, so it has not ended.
                unsafe { self.0.as_ref() }.show(hidden);
            }
        }
    }
    let control = control::current();
    let _ring = ring::hold(control);
    let _held = NonNull::new(control).map(|control| {
        // SAFETY: the running coroutine's block is live.
        Held(control, Some(unsafe { control.as_ref() }.hide()))
    });
    f()
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
