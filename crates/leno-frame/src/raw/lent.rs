//! What whoever drives a coroutine lends to it: the context of a resume, the arguments of a call.
//!
//! Claim: a pointer in the core leads to something that is borrowed as long as it is there.
//! - The context is set by [`lend`] and removed before that returns or unwinds. A frame that has borrowed
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

/// Runs `drive` with a context that frames can reach.
#[inline]
pub(crate) fn lend<Y, I, C, R>(
    core: &Core<Y, I, C>,
    context: &mut C,
    drive: impl FnOnce() -> R,
) -> R {
    struct TakeBack<'a, Y, I, C>(&'a Core<Y, I, C>);
    impl<Y, I, C> Drop for TakeBack<'_, Y, I, C> {
        fn drop(&mut self) {
            self.0.context.set(None);
        }
    }
    core.context.set(Some(NonNull::from(context)));
    let _take_back = TakeBack(core);
    drive()
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
