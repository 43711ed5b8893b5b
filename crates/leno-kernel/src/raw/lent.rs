//! The sign that a parked coroutine lends to whoever looks at it.
//!
//! Claims:
//! - A sign is here only while [`Lent::lend`] runs, whose caller borrows it: it is taken back when
//!   the call returns or unwinds. If the frame of that call is left for ever, suspended, so is the
//!   borrow; the coroutine has no slot then, and [`Lent::clear`] is called before another has it.
//! - [`Lent::look`] runs on the same thread, because a `Lent` is not `Sync`, and calls nobody's code:
//!   so no frame goes on meanwhile, and none ends.

use core::cell::Cell;
use core::ptr::NonNull;

use crate::sign::{Shown, Sign};

/// See the module.
pub(crate) struct Lent(Cell<Option<NonNull<Sign>>>);

impl Lent {
    pub(crate) const fn new() -> Lent {
        Lent(Cell::new(None))
    }

    /// Calls `f` while `sign` can be looked at.
    #[inline(always)]
    pub(crate) fn lend<R>(&self, sign: &Sign, f: impl FnOnce() -> R) -> R {
        struct TakeBack<'a>(&'a Lent);
        impl Drop for TakeBack<'_> {
            #[inline(always)]
            fn drop(&mut self) {
                self.0.clear();
            }
        }
        self.0.set(Some(NonNull::from_ref(sign)));
        let _take_back = TakeBack(self);
        f()
    }

    /// What the sign shows, if one is here.
    pub(crate) fn look(&self) -> Option<Shown> {
        // SAFETY: a sign that is here is borrowed by whoever has lent it.
        self.0.get().map(|sign| unsafe { sign.as_ref() }.look())
    }

    #[inline(always)]
    pub(crate) fn clear(&self) {
        self.0.set(None);
    }
}
