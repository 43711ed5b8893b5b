//! Leaving one context and continuing another.
//!
//! There is one primitive, [`transfer`]: it saves the running context in `from`, continues `to`,
//! and carries two registers along: a [`Word`] (a value or its address) and a code that says why
//! (see [`crate::unwind::code`]). Asymmetric and symmetric coroutines, exits and backtraces are
//! all made of it. [`jump`] is its one-way form.
//!
//! Backends: `x86_64.rs`, `aarch64.rs`, and `baton.rs`, which is chosen by `--cfg leno_baton` and
//! runs each coroutine on an OS thread of its own, exactly one of them awake. The baton cannot:
//! overflow a coroutine's stack in a controlled way, walk a backtrace into the resumer, share
//! stacks, migrate, or keep a coroutine on the OS thread that created it, so thread-bound captures
//! (a borrow of a thread-local, a `std` mutex guard) are unsound under it. It is for checking
//! tools only. Tests that need the real switch are marked `native`.

#[cfg_attr(leno_baton, path = "baton.rs")]
#[cfg_attr(all(not(leno_baton), target_arch = "x86_64"), path = "x86_64.rs")]
#[cfg_attr(all(not(leno_baton), target_arch = "aarch64"), path = "aarch64.rs")]
mod backend;
#[cfg(not(leno_baton))]
mod four_words;

#[cfg(not(leno_baton))]
pub(crate) use backend::depth_below;
pub use backend::{Context, prefetch, stack_pointer};
pub(crate) use backend::{base_return_address, set_thread_slot, thread_slot};

#[cfg(leno_baton)]
pub(crate) use backend::{Carrier, own_control, retire};

use core::mem::offset_of;

use crate::control::Control;
use crate::sanitizer;
use crate::user;
use crate::word::Word;

/// Leaves the running context in `from`, continues `to`, and returns what whoever comes back
/// brings along. No [`crate::user::Section`] is open on the thread: debug builds end the process if one is.
///
/// # Safety
/// - `to` was left by [`transfer`], or entered by a fresh coroutine's set-up, and is continued at
///   most once.
/// - `from` and `to` are valid and distinct, and `from` stays valid until it is continued.
/// - `word` and `code` mean to `to` what it expects.
/// - Both belong to the calling OS thread, or their owner has promised that they may move.
#[inline(always)]
#[track_caller]
pub unsafe fn transfer(
    from: *mut Context,
    to: *const Context,
    word: Word,
    code: usize,
) -> (Word, usize) {
    user::assert_outside();
    // SAFETY: both contexts are valid by the contract.
    unsafe { sanitizer::leave(from, to) };
    // SAFETY: forwarded.
    let arrived = unsafe { backend::transfer(from, to, word, code) };
    // SAFETY: `from` is valid and was just continued.
    unsafe { sanitizer::arrive(from) };
    arrived
}

/// Leaves the running context in [`Control::back`] and continues [`Control::context`]: what resuming does.
///
/// # Safety
/// As for [`transfer`] between these two.
#[inline(always)]
#[track_caller]
pub unsafe fn enter(control: &Control, word: Word, code: usize) -> (Word, usize) {
    // SAFETY: forwarded.
    unsafe {
        within::<{ offset_of!(Control, back) }, { offset_of!(Control, context) }>(
            control, word, code,
        )
    }
}

/// Leaves the running context in [`Control::context`] and continues [`Control::back`]: what suspending does.
///
/// # Safety
/// As for [`transfer`] between these two.
#[inline(always)]
#[track_caller]
pub unsafe fn leave(control: &Control, word: Word, code: usize) -> (Word, usize) {
    // SAFETY: forwarded.
    unsafe {
        within::<{ offset_of!(Control, context) }, { offset_of!(Control, back) }>(
            control, word, code,
        )
    }
}

/// As [`transfer`], between two contexts of a control block.
///
/// # Safety
/// As for [`transfer`].
#[inline(always)]
#[track_caller]
unsafe fn within<const FROM: usize, const TO: usize>(
    control: &Control,
    word: Word,
    code: usize,
) -> (Word, usize) {
    let block = &raw const *control;
    let from = block.wrapping_byte_add(FROM).cast_mut().cast::<Context>();
    let to = block.wrapping_byte_add(TO).cast::<Context>();
    // Two constants: the compiler has no register to spare for a second address.
    #[cfg(all(target_arch = "x86_64", not(leno_baton)))]
    {
        user::assert_outside();
        // SAFETY: both contexts are valid by the contract.
        unsafe { sanitizer::leave(from, to) };
        // SAFETY: forwarded.
        let arrived = unsafe { backend::transfer_within::<FROM, TO>(block, word, code) };
        // SAFETY: `from` is valid and was just continued.
        unsafe { sanitizer::arrive(from) };
        arrived
    }
    // SAFETY: forwarded.
    #[cfg(not(all(target_arch = "x86_64", not(leno_baton))))]
    unsafe {
        transfer(from, to, word, code)
    }
}

/// Continues `to` and gives up the running context for good.
///
/// # Safety
/// As for [`transfer`]; in addition nothing on the running stack is needed any more, except what
/// `word` points to, until the stack is given back.
#[inline(always)]
#[track_caller]
pub unsafe fn jump(to: *const Context, word: Word, code: usize) -> ! {
    user::assert_outside();
    // SAFETY: `to` is valid by the contract.
    unsafe { sanitizer::leave_for_good(to) };
    // SAFETY: forwarded.
    unsafe { backend::jump(to, word, code) }
}
