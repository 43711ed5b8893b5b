//! Making a coroutine end.
//!
//! Claims:
//! - After [`end`] returns [`Ended::Gone`], no frame of the coroutine is left and its stack has been
//!   given back; after [`Ended::Refused`] its stack is never touched again.
//! - State first, user code after. While values of the coroutine are dropped, its handle may be within
//!   reach (a scope ends children whose handles were forgotten, or are kept in a cycle), so its tag says
//!   what is true for others: Finished as soon as it will never run again, Running as long as it has
//!   frames that are about to be unwound. Nobody can resume, end or show it meanwhile.
//! - Nothing unwinds out of here: what user code raises is returned.

use core::fmt::{self, Display};
use core::ptr::NonNull;

use leno_context::control::{self, Control, bits};
use leno_context::unwind::{self, EXIT_TRIES, code};
use leno_context::user::{self, Panic, Section};
use leno_context::word::{EMPTY, unpack};
use leno_context::{State, thread};

use super::floor;
use crate::trace;
use leno_context::last_words::say;

/// What became of a coroutine that was made to end.
pub(crate) enum Ended {
    /// It is gone; the panic it raised instead of exiting, or that dropping a value of its raised.
    Gone(Option<Panic>),
    /// It caught exit [`EXIT_TRIES`] times and went on: it stays as it is, for ever.
    Refused,
    /// It cannot be unwound, because panics abort in this build, or because its thread is at its
    /// end: it stays as it is, for ever.
    CannotUnwind,
}

/// Makes an asymmetric coroutine end, whatever its state, and releases it. At the end of its thread it
/// is unwound only if it `began_there`: no thread-local that it may borrow has been destroyed since.
///
/// # Safety
/// `control` is a live coroutine of this thread that gives `Out` and returns `Ret`, not running,
/// and not used afterwards.
pub(crate) unsafe fn end<Out, Ret>(control: NonNull<Control>, began_there: bool) -> Ended {
    // SAFETY: live by the contract.
    let block = unsafe { control.as_ref() };
    if block.state() == State::New {
        trace::event("drop", block);
        // SAFETY: new, so its body is in place; not used afterwards.
        return unsafe { drop_unstarted(control, control::release) };
    }
    if cfg!(panic = "abort") || !began_there && thread::is_ending() {
        return Ended::CannotUnwind;
    }
    let mut failed = None;
    // Until it is gone or given up: what it suspends with is dropped while it counts as running.
    block.mark(bits::RUNNING);
    for _ in 0..EXIT_TRIES {
        trace::event("exit", block);
        // SAFETY: it was suspended, so it understands EXIT.
        let (word, code) = unsafe { unwind::resume(block, EMPTY, code::EXIT) };
        if code == code::SUSPENDED {
            // SAFETY: a suspending coroutine gives an `Out`.
            let out = unsafe { unpack::<Out>(word) };
            if leno_context::is_planted("exit-unmarked") {
                block.mark(bits::SUSPENDED);
            }
            failed = floor::first(failed, user::try_dispose(out).err());
            if leno_context::is_planted("exit-unmarked") {
                block.mark(bits::RUNNING);
            }
            continue;
        }
        let mut section = Section::open();
        let payload = block.take_payload().map(Panic::new);
        // SAFETY: a returning coroutine gives a `Ret`, still on its stack.
        let mut result = (code == code::RETURNED).then(|| unsafe { unpack::<Ret>(word) });
        if leno_context::is_planted("result-before-end") {
            drop(section);
            block.mark(bits::SUSPENDED);
            failed = floor::first(failed, user::try_dispose(result.take()).err());
            section = Section::open();
        }
        // SAFETY: it has ended, its frames are gone, and its result is read.
        unsafe { control::release(control) };
        drop(section);
        let failed = floor::first(failed, user::try_dispose(result).err());
        return Ended::Gone(floor::first(payload, failed));
    }
    block.mark(bits::SUSPENDED);
    drop(failed);
    Ended::Refused
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
    // It will never run: whoever looks at it while its body is dropped finds it finished.
    if !leno_context::is_planted("unstarted-unmarked") {
        block.mark(bits::FINISHED);
    }
    let drop_body = || {
        // SAFETY: it was new, so the body is in place.
        unsafe { block.drop_body() };
    };
    let failed = user::call(drop_body).err();
    // SAFETY: never started, the body is dropped (as far as it went).
    unsafe { release(control) };
    Ended::Gone(failed)
}

/// Says that a coroutine's stack is given up.
#[cold]
pub(crate) fn report_refused(block: &Control) {
    say(format_args!("{}; its stack is leaked", refused(block)));
}

/// Why a coroutine cannot be ended that catches its exit.
#[cold]
pub(crate) fn refused(block: &Control) -> impl Display {
    fmt::from_fn(move |f| {
        let (noun, name, site) = (block.noun(), block.shown(), block.site());
        write!(
            f,
            "{noun} {name} (created at {site}) caught its exit {EXIT_TRIES} times and went on"
        )
    })
}

/// Why a suspended child of a scope cannot be unwound in this build, or at this time.
#[cold]
pub(crate) fn cannot_unwind<'a>(scope: &'a str, block: &'a Control) -> impl Display + 'a {
    fmt::from_fn(move |f| {
        let (noun, name, site) = (block.noun(), block.shown(), block.site());
        if cfg!(panic = "abort") {
            return write!(
                f,
                "{scope} ended while its {noun} {name} (created at {site}) was suspended: with panic = \
                 \"abort\" it cannot be unwound; let it finish first"
            );
        }
        write!(
            f,
            "{scope} that began before its thread's end was left in the destructor of a thread-local, while \
             its {noun} {name} (created at {site}) was suspended: it cannot be unwound there, because it may \
             borrow a thread-local that is gone; let it finish first"
        )
    })
}

/// Ends the process because a child cannot be ended, for the reason given.
#[cold]
pub(crate) fn abort_scope(why: impl Display) -> ! {
    unwind::give_up(format_args!("{why}: aborting, because it may borrow from the scope"))
}

/// Raises what a coroutine has raised while its handle was dropped, unless nothing can be raised
/// here: then it is only said.
#[cold]
pub(crate) fn raise(coroutine: impl Display, panic: Panic) {
    if !std::thread::panicking() && !thread::is_ending() {
        panic.resume();
    }
    if !floor::is_exit_here(panic.payload()) {
        say(format_args!(
            "coroutine {coroutine} panicked while it was dropped by code that was itself \
             unwinding: the panic goes no further"
        ));
    }
}
