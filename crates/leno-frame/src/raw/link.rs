//! How frames reach the core of their coroutine.
//!
//! Claim: a [`Link`] is used only while its [`Owner`] is alive, and by one thread at a time. Links are in
//! handles, handles are in frames, and frames are in the stack beside the owner, in its `called` and
//! `returned`, or in the hands of whoever drives. A coroutine drops its frames before its owner. No
//! handle leaves its frame: its type has no size that users could move, its seed has a lifetime that a
//! body cannot name, and a future that a frame awaits borrows it.

use std::ptr::NonNull;

use super::core::Core;

pub(crate) struct Link<Y, I, C>(NonNull<Core<Y, I, C>>);

// SAFETY: a link is sent with the frame it is in, and that with its owner, by whoever has all of them
// exclusively; or, while a frame is polled, to a thread that has borrowed the handle exclusively. What
// is reached by it is `Send`: inputs and yielded values by the bounds here, frames by their type, a
// transfer as `core` asserts, and a context only by code that asks for `C: Send`.
unsafe impl<Y: Send, I: Send, C> Send for Link<Y, I, C> {}

impl<Y, I, C> Clone for Link<Y, I, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Y, I, C> Copy for Link<Y, I, C> {}

impl<Y, I, C> Link<Y, I, C> {
    #[inline]
    pub(crate) fn core(&self) -> &Core<Y, I, C> {
        // SAFETY: the core is alive, as the header says; it is only ever looked at by shared references.
        unsafe { self.0.as_ref() }
    }
}

/// Ends the core when it is dropped.
pub(crate) struct Owner<Y, I, C>(Link<Y, I, C>);

impl<Y, I, C> Owner<Y, I, C> {
    pub(crate) fn new() -> Self {
        Owner(Link(NonNull::from(Box::leak(Box::new(Core::new())))))
    }

    #[inline]
    pub(crate) fn link(&self) -> Link<Y, I, C> {
        self.0
    }

    #[inline]
    pub(crate) fn core(&self) -> &Core<Y, I, C> {
        self.0.core()
    }
}

impl<Y, I, C> Drop for Owner<Y, I, C> {
    fn drop(&mut self) {
        // SAFETY: made from a box in `new`, and given back once, here; frames are gone already.
        let core = unsafe { Box::from_raw(self.0.0.as_ptr()) };
        drop(core);
    }
}
