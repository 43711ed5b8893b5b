//! What whoever drives a coroutine lends to it: the context of a resume.
//!
//! Claim: a pointer in the core leads to something that is borrowed as long as it is there, and one reference
//! at a time is made of it.
//! - The context is set by [`lend`] and removed when what that returns is dropped, which `Resumable::drive`
//!   does before it returns or unwinds.
//! - Only the frame that is polled reaches it: new frames are made, and frames are dropped, while it is hidden
//!   (see [`hide`]).
//! - A frame that has borrowed it cannot reach a suspension of this crate's, because that borrows the same
//!   handle; if it waits for something else, or panics, it is dropped before the context is taken back (see
//!   `drive.rs`, which knows by the signal that [`context`] clears).

use std::ptr::NonNull;

use super::core::{Core, Signal};
use super::link::Link;

/// Shows frames a context until the result is dropped.
#[inline]
pub(crate) fn lend<'a, Y, I, C>(core: &'a Core<Y, I, C>, context: &'a mut C) -> Lent<'a, Y, I, C> {
    core.context.set(Some(NonNull::from(context)));
    Lent(core)
}

/// Takes the context back when it is dropped; it is nobody else's until then. Not to be forgotten.
#[must_use]
pub(crate) struct Lent<'a, Y, I, C>(&'a Core<Y, I, C>);

impl<Y, I, C> Drop for Lent<'_, Y, I, C> {
    #[inline]
    fn drop(&mut self) {
        self.0.context.set(None);
    }
}

/// The context; the result borrows the handle that `link` was borrowed from.
#[inline]
pub(crate) fn context<Y, I, C: Send>(link: &mut Link<Y, I, C>) -> Option<&mut C> {
    link.core().signal.set(Signal::None);
    let mut context = link.core().context.get()?;
    // SAFETY: lent, and there is one borrow at a time, because it borrows the only handle of the frame
    // that is polled; frames that are not have none, and are shown none, as the header says.
    Some(unsafe { context.as_mut() })
}

/// Hides the context from frames until the result is dropped.
#[inline]
pub(crate) fn hide<Y, I, C>(core: &Core<Y, I, C>) -> Hidden<'_, Y, I, C> {
    Hidden(core, core.context.take())
}

/// Shows the context again when it is dropped, also by a panic.
#[must_use]
pub(crate) struct Hidden<'a, Y, I, C>(&'a Core<Y, I, C>, Option<NonNull<C>>);

impl<Y, I, C> Drop for Hidden<'_, Y, I, C> {
    #[inline]
    fn drop(&mut self) {
        self.0.context.set(self.1);
    }
}
