//! Making a coroutine end.
//!
//! Claim: after [`end`] returns [`Ended::Gone`], no frame of the coroutine is left and its stack
//! may be given back; after [`Ended::Refused`] its stack is never touched again.

use core::fmt::Display;
use core::ptr::NonNull;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use leno_context::control::{self, Control, bits};
use leno_context::unwind::{self, EXIT_TRIES, code};
use leno_context::word::{self, EMPTY, Word};
use leno_context::{State, thread, word::unpack};

use crate::trace;

/// What became of a coroutine that was made to end.
pub(crate) enum Ended {
    /// It is gone; the panic it raised instead of exiting, or that dropping a value of its raised.
    Gone(Option<Box<dyn Any + Send>>),
    /// It caught exit [`EXIT_TRIES`] times and went on: it stays as it is, for ever.
    Refused,
    /// It cannot be unwound, because panics abort in this build, or because its thread is at its
    /// end: it stays as it is, for ever.
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
        trace::event("drop", block);
        // SAFETY: new, so its body is in place; not used afterwards.
        return unsafe { drop_unstarted(control, control::release) };
    }
    let mut failed = None;
    if cfg!(panic = "abort") || thread::is_ending() {
        return Ended::CannotUnwind;
    }
    for _ in 0..EXIT_TRIES {
        trace::event("exit", block);
        block.mark(bits::RUNNING);
        // SAFETY: suspended, so it understands EXIT.
        let (word, code) = unsafe { unwind::resume(block, EMPTY, code::EXIT) };
        block.mark(bits::SUSPENDED);
        let drop_value = || {
            // SAFETY: the code says what the word is.
            unsafe { drop_word::<Out, Ret>(word, code) };
        };
        failed = failed.or(catch_unwind(AssertUnwindSafe(drop_value)).err());
        if code != code::SUSPENDED {
            let payload = block.take_payload().or(failed);
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
/// `control` is live and new, and not used afterwards; `release` releases it.
pub(crate) unsafe fn drop_unstarted(
    control: NonNull<Control>,
    release: unsafe fn(NonNull<Control>),
) -> Ended {
    // SAFETY: live by the contract.
    let block = unsafe { control.as_ref() };
    let drop_body = || {
        // SAFETY: new, so the body is in place.
        unsafe { block.drop_body() };
    };
    let failed = catch_unwind(AssertUnwindSafe(drop_body)).err();
    // SAFETY: never started, the body is dropped (as far as it went).
    unsafe { release(control) };
    Ended::Gone(failed)
}

/// Says that a coroutine's stack is given up.
#[cold]
pub(crate) fn report_refused(block: &Control) {
    eprintln!("leno: {}; its stack is leaked", refused(block));
}

#[cold]
pub(crate) fn refused(block: &Control) -> String {
    format!(
        "{} {} (created at {}) caught its exit {EXIT_TRIES} times and went on",
        block.noun(),
        block.shown(),
        block.site(),
    )
}

/// Ends the process because a child cannot be ended, for the reason given.
#[cold]
pub(crate) fn abort_scope(why: &str) -> ! {
    unwind::give_up(format_args!("{why}: aborting, because it may borrow from the scope"))
}

/// Raises what a coroutine has raised while its handle was dropped, unless nothing can be raised
/// here: then it is only said.
#[cold]
pub(crate) fn raise(coroutine: impl Display, payload: Box<dyn Any + Send>) {
    if !std::thread::panicking() && !thread::is_ending() {
        resume_unwind(payload);
    }
    if !unwind::is_exit(&*payload) {
        eprintln!(
            "leno: coroutine {coroutine} panicked while it was dropped by code that was itself \
             unwinding: the panic goes no further"
        );
    }
}
