//! Suspending from inside a body.
//!
//! Claims:
//! - Whenever safe code can call a [`Suspender`]'s methods, its coroutine has not ended. Why: a body gets
//!   `&Suspender` for a lifetime it cannot name, so the reference stays in frames of the coroutine, or
//!   in what lives in those frames; and it is neither `Send` nor `Sync`, so it stays on the thread.
//! - Code that suspends the coroutine runs inside it. Why: each call looks; see [`super::chain`].

use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use leno_context::control::Control;
use leno_context::{Status, unwind, word};

use super::chain;
use crate::Exiting;

/// A body's way out: hands values to whoever resumed the coroutine.
///
/// A coroutine further in may use the suspender of one further out, if it borrows it (see
/// [`crate::scope`]): then the outer one suspends, with everything between the two. Code that borrows
/// the suspender but does not run inside its coroutine, such as a child of `leno::kernel::scope`, cannot:
/// suspending panics there.
pub struct Suspender<In, Out> {
    control: NonNull<Control>,
    types: PhantomData<fn(Out) -> In>,
}

impl<In, Out> Suspender<In, Out> {
    /// # Safety
    /// The coroutine of `control` takes `In` and gives `Out`, and the suspender is used only
    /// while it runs.
    pub(crate) unsafe fn new(control: NonNull<Control>) -> Self {
        Suspender { control, types: PhantomData }
    }

    #[inline(always)]
    fn control(&self) -> &Control {
        // SAFETY: the coroutine has not ended (see the module), so its block is live.
        unsafe { self.control.as_ref() }
    }

    #[inline(always)]
    #[track_caller]
    fn assert_inside(&self) {
        // SAFETY: it has not ended, and is of this thread (see the module).
        unsafe { chain::assert_may_leave(self.control, "the suspender") };
    }

    /// Hands `out` to whoever resumed this coroutine. Returns the input it is next resumed with.
    ///
    /// # Cancellation
    /// When the coroutine is dropped instead of resumed, this call unwinds the stack, so that
    /// destructors run. Code that catches the unwinding with `catch_unwind` should let it go on.
    ///
    /// # Panics
    /// When the calling code does not run inside this coroutine, or this coroutine is below one of a system
    /// that runs on top of it, by `leno::kernel::attach` or eagerly. Aborts the process, with a message, when
    /// called while this coroutine's own stack unwinds; in destructors use [`Self::try_suspend`].
    #[inline(always)]
    #[track_caller]
    pub fn suspend(&self, out: Out) -> In {
        self.assert_inside();
        let out = ManuallyDrop::new(out);
        // SAFETY: the coroutine is running on this thread, on the chain of the calling code, as was just
        // found out; its resumer unpacks an `Out` at once.
        let word = unsafe { unwind::suspend(self.control(), word::pack(&out)) };
        // SAFETY: a resumer packs an `In` and stays until it is read.
        unsafe { word::unpack(word) }
    }

    /// Like [`Self::suspend`], but gives the value back when the coroutine cannot suspend.
    ///
    /// # Errors
    /// [`Exiting`] while this coroutine's own stack unwinds.
    ///
    /// # Panics
    /// When the calling code does not run inside this coroutine.
    #[track_caller]
    pub fn try_suspend(&self, out: Out) -> Result<In, Exiting<Out>> {
        self.assert_inside();
        if !unwind::can_suspend(self.control()) {
            return Err(Exiting(out));
        }
        Ok(self.suspend(out))
    }

    /// The coroutine's id, unique in the process.
    pub fn id(&self) -> u64 {
        self.control().id()
    }

    /// The coroutine's name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        self.control().name().as_str()
    }

    /// A view of the coroutine's state that any thread may read.
    pub fn status(&self) -> Status {
        Status::of(self.control())
    }
}

impl<In, Out> core::fmt::Debug for Suspender<In, Out> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Suspender({})", self.control().shown())
    }
}
