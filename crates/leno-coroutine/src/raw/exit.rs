//! Making a coroutine end.
//!
//! Claim: after [`end`] returns [`Ended::Gone`], no frame of the coroutine is left and its stack
//! may be given back; after [`Ended::Refused`] its stack is never touched again.

use core::ptr::NonNull;
use std::any::Any;

use leno_context::control::{self, Control, bits};
use leno_context::unwind::{self, EXIT_TRIES, code};
use leno_context::word::{self, EMPTY, Word};
use leno_context::{State, word::unpack};

use crate::trace;

/// What became of a coroutine that was made to end.
pub(crate) enum Ended {
    /// It is gone; the panic it raised instead of exiting, if any.
    Gone(Option<Box<dyn Any + Send>>),
    /// It caught exit [`EXIT_TRIES`] times and went on: it stays as it is, for ever.
    Refused,
    /// It cannot be unwound, because panics abort in this build.
    CannotUnwind,
}

/// Makes an asymmetric coroutine end, whatever its state, and releases it.
///
/// # Safety
/// `control` is a live coroutine of this thread that gives `Out` and returns `Ret`, not running,
/// and not used afterwards.
pub(crate) unsafe fn end<Out, Ret>(control: NonNull<Control>) -> Ended {
    // SAFETY: live by the contract.
    let block = unsafe { control.as_ref() };
    if block.state() == State::New {
        // SAFETY: new, so its body is in place; not used afterwards.
        return unsafe { drop_unstarted(control) };
    }
    if cfg!(panic = "abort") {
        return Ended::CannotUnwind;
    }
    for _ in 0..EXIT_TRIES {
        trace::event("exit", block);
        block.mark(bits::RUNNING);
        // SAFETY: suspended, so it understands EXIT.
        let (word, code) = unsafe { unwind::resume(block, EMPTY, code::EXIT) };
        block.mark(bits::SUSPENDED);
        // SAFETY: the code says what the word is.
        unsafe { drop_word::<Out, Ret>(word, code) };
        if code != code::SUSPENDED {
            let payload = block.take_payload();
            // SAFETY: it has ended; its frames are gone.
            unsafe { control::release(control) };
            return Ended::Gone(payload);
        }
    }
    Ended::Refused
}

/// # Safety
/// `word` came with `code` from a coroutine that gives `Out` and returns `Ret`.
unsafe fn drop_word<Out, Ret>(word: Word, code: usize) {
    match code {
        // SAFETY: by the contract.
        code::SUSPENDED => drop(unsafe { unpack::<Out>(word) }),
        // SAFETY: by the contract.
        code::RETURNED => drop(unsafe { word::unpack::<Ret>(word) }),
        _ => {}
    }
}

/// Drops the body of a coroutine that never ran, and releases it even if that panics.
///
/// # Safety
/// `control` is live and new, and not used afterwards.
pub(crate) unsafe fn drop_unstarted(control: NonNull<Control>) -> Ended {
    struct Release(NonNull<Control>);
    impl Drop for Release {
        fn drop(&mut self) {
            // SAFETY: never started, the body is dropped (as far as it went).
            unsafe { control::release(self.0) };
        }
    }
    let release = Release(control);
    // SAFETY: live by the contract.
    let block = unsafe { release.0.as_ref() };
    // SAFETY: new, so the body is in place.
    unsafe { block.drop_body() };
    Ended::Gone(None)
}

/// Says that a coroutine's stack is given up.
#[cold]
pub(crate) fn report_refused(block: &Control) {
    eprintln!("leno: {}; its stack is leaked", refused(block));
}

#[cold]
pub(crate) fn refused(block: &Control) -> String {
    format!(
        "coroutine {} (created at {}) caught its exit {EXIT_TRIES} times and went on",
        block.shown(),
        block.site(),
    )
}
