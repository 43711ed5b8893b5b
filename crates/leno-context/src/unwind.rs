//! How a coroutine suspends, ends and is made to end.
//!
//! Every switch carries a code beside its word ([`code`]). Into a coroutine: go on, exit, or show
//! a backtrace. Out of it: suspended, or how it ended.
//!
//! A panic never crosses a switch as an unwind: the base frame catches it, the payload goes into
//! the control block, and whoever resumed the coroutine raises it again.
//!
//! *Exit* makes a suspended coroutine end: it is raised inside it as a panic with a private
//! payload (no message, no hook), so destructors run. A body may catch it, and even suspend
//! again; [`EXIT_TRIES`] times exit is raised anew, then the stack is given up. The payload
//! carries the id of its target: when the target was suspended by a coroutine further in, exit
//! is raised there and passes through every base up to the target's.

use core::fmt;
use std::any::Any;
use std::backtrace::Backtrace;
use std::panic::resume_unwind;

use crate::control::Control;
use crate::last_words;
use crate::sanitizer;
use crate::switch;
use crate::word::{EMPTY, Word};

/// Why a switch happened.
pub mod code {
    /// In: go on; the word is the input.
    pub const GO: usize = 0;
    /// In: exit.
    pub const EXIT: usize = 1;
    /// In: capture a backtrace into the `Option<Backtrace>` the word points to, come back.
    pub const SHOW: usize = 2;

    /// Out: suspended; the word is the output.
    pub const SUSPENDED: usize = 0;
    /// Out: the body returned; the word is its result.
    pub const RETURNED: usize = 1;
    /// Out: the body panicked; the payload is in the control block.
    pub const PANICKED: usize = 2;
    /// Out: the body was unwound by exit.
    pub const EXITED: usize = 3;
}

/// How often exit is raised in a body that catches it and goes on.
pub const EXIT_TRIES: usize = 8;

/// The payload of an exit.
struct Exit {
    target: u64,
}

/// Runs a coroutine until it suspends or ends: it comes back to the caller.
///
/// # Safety
/// `control` is live, on this thread, New or Suspended (already marked Running), and the word and
/// code are what it expects. A New one takes [`code::GO`] only.
#[inline(always)]
pub unsafe fn resume(control: &Control, word: Word, code: usize) -> (Word, usize) {
    if std::thread::panicking() {
        // SAFETY: forwarded.
        return unsafe { resume_unwinding(control, word, code) };
    }
    // SAFETY: the coroutine's context was left, or is fresh, and is continued once; it comes back
    // to this one, which only it can do.
    unsafe { switch::enter(control, word, code) }
}

/// The same, by code that is itself unwinding (a destructor): the coroutine may suspend although
/// `panicking()` holds, because it is not its own stack that unwinds.
#[cold]
#[inline(never)]
unsafe fn resume_unwinding(control: &Control, word: Word, code: usize) -> (Word, usize) {
    control.unwinding.set(control.unwinding.get().with_resumer(true));
    // SAFETY: forwarded.
    let arrived = unsafe { switch::enter(control, word, code) };
    control.unwinding.set(control.unwinding.get().with_resumer(false));
    arrived
}

/// Suspends: goes back to the resumer with `word`, returns the next input's word.
///
/// The running code may be on another stack than `control`'s, further in: then everything between
/// the two is suspended with it.
///
/// # Safety
/// `control` is Running on this thread, at or below the running code in the chain of resumers.
#[inline(always)]
pub unsafe fn suspend(control: &Control, word: Word) -> Word {
    if std::thread::panicking() {
        may_suspend(control);
    }
    // SAFETY: the resumer left its context there.
    let (word, code) = unsafe { switch::leave(control, word, code::SUSPENDED) };
    if code != code::GO {
        // SAFETY: forwarded.
        return unsafe { summoned(control, word, code) };
    }
    word
}

/// Suspends `control` and continues `next` in its place: whoever resumed `control` now waits for
/// `next`, and learns of that from someone else. Returns as [`suspend`] does.
///
/// # Safety
/// For `control` as for [`suspend`]; it is marked Suspended, and nothing unwinds on this thread.
/// `next` was suspended on this thread by [`suspend`] or this, is marked Running, and takes no word.
#[inline(always)]
pub unsafe fn hand_on(control: &Control, next: &Control) {
    // SAFETY: the resumer left its context there, and nobody else continues it.
    let back = unsafe { (*control.back()).duplicate() };
    // SAFETY: nobody waits for a coroutine that is suspended, so nothing is there.
    unsafe { *next.back() = back };
    // SAFETY: by the contract.
    let (word, code) =
        unsafe { switch::transfer(control.context(), next.context(), EMPTY, code::GO) };
    if code != code::GO {
        // SAFETY: forwarded.
        unsafe { summoned(control, word, code) };
    }
}

/// Whether a running coroutine may suspend now: not while its own stack unwinds.
///
/// When it was resumed by code that is itself unwinding, `panicking()` holds either way, and an
/// exit that was raised in it is taken for not over yet.
#[inline]
pub fn can_suspend(control: &Control) -> bool {
    let unwinding = control.unwinding.get();
    !std::thread::panicking() || unwinding.of_resumer() && !unwinding.exiting()
}

/// Whether exit has been raised in it.
pub fn is_exiting(control: &Control) -> bool {
    control.unwinding.get().exiting()
}

/// Ends the process if a coroutine that may not suspend tries to.
#[cold]
#[inline(never)]
pub fn may_suspend(control: &Control) {
    if can_suspend(control) {
        return;
    }
    if control.unwinding.get().of_resumer() {
        // Either its stack unwinds (then this aborts) or it has caught its exit (then it exits).
        exit(control);
    }
    give_up(format_args!(
        "coroutine {} (created at {}) tried to suspend while its own stack unwinds: nobody could \
         finish the unwinding; use `try_suspend` in destructors",
        control.shown(),
        control.site(),
    ));
}

/// Continued with another code than GO.
#[cold]
#[inline(never)]
unsafe fn summoned(control: &Control, mut word: Word, mut code: usize) -> Word {
    loop {
        match code {
            code::GO => return word,
            // SAFETY: SHOW comes with the address of the asker's slot, which waits for it.
            code::SHOW => unsafe { show(word) },
            _ => exit(control),
        }
        // SAFETY: as in `suspend`.
        (word, code) = unsafe { switch::leave(control, EMPTY, code::SUSPENDED) };
    }
}

/// Captures a backtrace into the `Option<Backtrace>` that the word of a [`code::SHOW`] points to.
///
/// # Safety
/// The word is that of a SHOW whose sender waits.
#[inline(never)]
pub unsafe fn show(word: Word) {
    // SAFETY: by the contract it is an address.
    let slot = unsafe { word.assume_init() }.cast::<Option<Backtrace>>();
    // SAFETY: by the contract the slot is valid and nobody else uses it meanwhile.
    unsafe { *slot = Some(Backtrace::force_capture()) };
}

/// Raises exit in the running code, aimed at `control`, whose base will catch it.
pub fn exit(control: &Control) -> ! {
    control.unwinding.set(control.unwinding.get().with_exit());
    resume_unwind(Box::new(Exit { target: control.id() }))
}

/// How an unwinding that reached `control`'s base ends it: its code, with the payload stored.
pub fn unwound(control: &Control, payload: Box<dyn Any + Send>) -> usize {
    if is_exit_of(&*payload, control.id()) {
        return code::EXITED;
    }
    control.payload.set(Some(payload));
    code::PANICKED
}

/// Whether a payload is the exit of the coroutine with this id.
pub fn is_exit_of(payload: &(dyn Any + Send), id: u64) -> bool {
    payload.downcast_ref::<Exit>().is_some_and(|exit| exit.target == id)
}

/// Whether a payload is an exit of any coroutine.
pub fn is_exit(payload: &(dyn Any + Send)) -> bool {
    payload.is::<Exit>()
}

/// Tells the tools that a coroutine's main has begun. The first thing any [`crate::control::Main`]
/// does.
///
/// # Safety
/// It is that, and done once.
#[inline(always)]
pub unsafe fn begun() {
    sanitizer::arrive_first();
}

/// Leaves a coroutine for good, to its resumer.
///
/// # Safety
/// `control` is running. Nothing on this stack is needed any more, except what `word` points to
/// until the resumer has read it.
#[inline(always)]
pub unsafe fn finish(control: *mut Control, word: Word, code: usize) -> ! {
    // SAFETY: live by the contract.
    let back = unsafe { (*control).back.get() };
    // SAFETY: forwarded.
    unsafe { switch::jump(back, word, code) }
}

/// Whether a suspended coroutine has stack left to capture a backtrace on. It may be suspended on
/// another stack than its own, by a coroutine further in.
pub fn can_show(control: &Control) -> bool {
    const ROOM: usize = 8 * 1024;
    if control.state() != crate::State::Suspended {
        return false;
    }
    // SAFETY: a suspended coroutine's context does not change.
    let sp = unsafe { (*control.context()).stack_pointer() };
    match crate::stack::locate(sp) {
        Some((slab, slot, _)) => sp - slab.limit(slot).addr() >= ROOM,
        None => true,
    }
}

/// Ends the process because going on would be unsound, saying why: give it `format_args!`. It never
/// unwinds, whatever becomes of the message; see [`crate::last_words`].
#[cold]
#[inline(never)]
pub fn give_up(why: impl fmt::Display) -> ! {
    last_words::say(format_args!("{why}"));
    std::process::abort()
}
