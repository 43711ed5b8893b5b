//! Suspending from inside a body.
//!
//! Claim: whenever safe code can call a [`Suspender`]'s methods, its coroutine is running and is
//! on the chain of resumers of the calling code. Why: a body gets `&Suspender` for a lifetime it
//! cannot name, so the reference stays in frames of the coroutine, or in scoped coroutines and
//! ring members that live in those frames and run only while they do; and it is neither `Send`
//! nor `Sync`, so it stays on the thread.

use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use leno_context::control::Control;
use leno_context::{Status, unwind, word};

use crate::Exiting;

/// A body's way out: hands values to whoever resumed the coroutine.
///
/// A coroutine further in may use the suspender of one further out, if it borrows it (see
/// [`crate::scope`]): then the outer one suspends, with everything between the two.
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
        // SAFETY: the coroutine is running (see the module), so its block is live.
        unsafe { self.control.as_ref() }
    }

    /// Hands `out` to whoever resumed this coroutine. Returns the input it is next resumed with.
    ///
    /// # Cancellation
    /// When the coroutine is dropped instead of resumed, this call unwinds the stack, so that
    /// destructors run. Code that catches the unwinding with `catch_unwind` should let it go on.
    ///
    /// # Panics
    /// Aborts the process, with a message, when called while this coroutine's own stack unwinds;
    /// in destructors use [`Self::try_suspend`].
    #[inline(always)]
    pub fn suspend(&self, out: Out) -> In {
        let out = ManuallyDrop::new(out);
        // SAFETY: the coroutine is running on this thread, on the chain of the calling code; its
        // resumer unpacks an `Out` at once.
        let word = unsafe { unwind::suspend(self.control(), word::pack(&out)) };
        // SAFETY: a resumer packs an `In` and stays until it is read.
        unsafe { word::unpack(word) }
    }

    /// Like [`Self::suspend`], but gives the value back when the coroutine cannot suspend.
    ///
    /// # Errors
    /// [`Exiting`] while this coroutine's own stack unwinds.
    pub fn try_suspend(&self, out: Out) -> Result<In, Exiting<Out>> {
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
