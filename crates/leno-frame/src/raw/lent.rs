//! What whoever drives a coroutine lends to it: the context of a resume, the arguments of a call.
//!
//! Claim: a pointer in the core leads to something that is borrowed as long as it is there.
//! - The context is set by [`lend`] and removed when what that returns is dropped, which `Resumable::drive`
//!   does before it returns or unwinds. A frame that has borrowed
//!   it cannot reach a suspension of this crate's, because that borrows the same handle; if it waits
//!   for something else, it is dropped before the context is taken back (see `drive.rs`, which knows by
//!   the signal that [`context`] clears).
//! - Arguments are set when a frame is made, in the caller's frame, which is pinned and waits for the new
//!   one, or in a local of `start`. They are removed when the new frame was polled once, which comes next,
//!   or replaced by those of a frame that it calls.
//!   Their type is that of the routine, whose body alone has the token that is needed to take them.

use std::ptr::NonNull;

use super::core::{Core, Signal};
use super::link::Link;
use crate::point::Call;
use crate::routine::{Args, Routine};

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
    // that runs; frames that do not run have none, as the header says.
    Some(unsafe { context.as_mut() })
}

/// Shows the next frame its arguments, or that it has none because it is restored.
#[inline]
pub(crate) fn offer<R: Routine>(
    core: &Core<R::Yield, R::Input, R::Context>,
    call: Option<&mut Option<Call<R>>>,
) {
    core.arguments.set(call.map(|call| NonNull::from(call).cast()));
}

/// Takes the arguments that were offered.
#[inline]
pub(crate) fn accept<R: Routine>(
    core: &Core<R::Yield, R::Input, R::Context>,
    _token: Args<R>,
) -> Option<Call<R>> {
    let offered = core.arguments.take()?.cast::<Option<Call<R>>>();
    // SAFETY: offered for the frame that is polled first now, which is `R`'s, since it has the token.
    let offered = unsafe { &mut *offered.as_ptr() };
    offered.take()
}
