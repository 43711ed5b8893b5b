//! What a resumable function can await: a suspension, or a call of another one.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::handle::frame_of;
use crate::raw::core::{Core, Mode, Signal};
use crate::raw::link::Link;
use crate::routine::Routine;

/// What can be awaited in a resumable function. It is not implemented by hand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be awaited in a `#[resumable]` fn",
    label = "not a suspension the coroutine can save",
    note = "only `co.suspend(value)` and calls of other `#[resumable]` fns with the same `Co<..>` type \
            can be awaited; an ordinary future has no frame that could be stored",
    note = "to do I/O, suspend with a request for the host: `co.suspend(Request::Fetch(url)).await`"
)]
pub trait Point<Y, I, C>: Send + Sized {
    /// What awaiting it gives.
    type Output;

    #[doc(hidden)]
    fn begin(point: &mut Option<Self>, link: Reach<Y, I, C>);

    #[doc(hidden)]
    fn finish(link: Reach<Y, I, C>) -> Poll<Self::Output>;
}

/// How a point reaches the core; nobody else can make one.
#[doc(hidden)]
pub struct Reach<Y, I, C>(Link<Y, I, C>);

impl<Y, I, C> Reach<Y, I, C> {
    fn core(&self) -> &Core<Y, I, C> {
        self.0.core()
    }
}

/// What `co.suspend(value)` returns; await it.
#[must_use = "a suspension does nothing unless awaited"]
pub struct Suspend<Y, I> {
    value: Y,
    _input: PhantomData<fn() -> I>,
}

impl<Y, I> Suspend<Y, I> {
    pub(crate) fn new(value: Y) -> Self {
        Suspend { value, _input: PhantomData }
    }
}

impl<Y: Send, I: Send, C> Point<Y, I, C> for Suspend<Y, I> {
    type Output = I;

    #[inline]
    fn begin(point: &mut Option<Self>, link: Reach<Y, I, C>) {
        let core = link.core();
        match point.take() {
            Some(suspend) => {
                core.yielded.set(Some(suspend.value));
                core.signal.set(Signal::Yield);
            }
            None => core.signal.set(Signal::Leaf),
        }
    }

    #[inline]
    fn finish(link: Reach<Y, I, C>) -> Poll<I> {
        link.core().input.take().map_or(Poll::Pending, Poll::Ready)
    }
}

/// A call of a resumable function that has not run yet; await it in another one.
#[must_use = "a call of a resumable fn does nothing unless awaited"]
pub struct Call<R: Routine> {
    args: R::Args,
}

impl<R: Routine> Call<R> {
    #[doc(hidden)]
    pub fn new(args: R::Args) -> Self {
        Call { args }
    }

    pub(crate) fn into_args(self) -> R::Args {
        self.args
    }
}

impl<R: Routine> Point<R::Yield, R::Input, R::Context> for Call<R> {
    type Output = R::Output;

    fn begin(point: &mut Option<Self>, link: Reach<R::Yield, R::Input, R::Context>) {
        // Restored frames have no call: the callee reads its own frame instead of arguments.
        let frame = frame_of(link.0, point.is_some().then_some(point));
        link.core().called.set(Some(frame));
        link.core().signal.set(Signal::Call);
    }

    fn finish(link: Reach<R::Yield, R::Input, R::Context>) -> Poll<R::Output> {
        let Some(mut frame) = link.core().returned.take() else { return Poll::Pending };
        let mut result: Option<R::Output> = None;
        frame.as_mut().result(&mut result);
        Poll::Ready(result.expect("the frame that returned is the one that was called"))
    }
}

/// A point, in the frame that awaits it; without one from the start if the frame was restored.
#[doc(hidden)]
pub struct Slot<P> {
    point: Option<P>,
    begun: bool,
}

// Points are moved out of their slots, never polled in them.
impl<P> Unpin for Slot<P> {}

impl<P> Slot<P> {
    pub fn new(point: P) -> Self {
        Slot { point: Some(point), begun: false }
    }

    pub fn restored() -> Self {
        Slot { point: None, begun: false }
    }
}

/// How a suspension ends.
#[doc(hidden)]
pub enum Step<T> {
    Done(T),
    /// Not at all: the frame is to write what it holds and to wait again.
    Capture,
}

#[doc(hidden)]
pub struct StepFuture<'a, Y, I, C, P> {
    link: Link<Y, I, C>,
    slot: &'a mut Slot<P>,
    _handle: PhantomData<&'a mut ()>,
}

impl<'a, Y, I, C, P> StepFuture<'a, Y, I, C, P> {
    #[inline]
    pub(crate) fn new(link: Link<Y, I, C>, slot: &'a mut Slot<P>) -> Self {
        StepFuture { link, slot, _handle: PhantomData }
    }
}

impl<Y, I, C, P: Point<Y, I, C>> Future for StepFuture<'_, Y, I, C, P> {
    type Output = Step<P::Output>;

    #[inline]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let core = this.link.core();
        if core.mode.get() == Mode::Capture {
            return if core.captured.get() { Poll::Pending } else { Poll::Ready(Step::Capture) };
        }
        if this.slot.begun {
            return P::finish(Reach(this.link)).map(Step::Done);
        }
        this.slot.begun = true;
        P::begin(&mut this.slot.point, Reach(this.link));
        Poll::Pending
    }
}

/// Which branch was chosen: one that suspends, by number, or one that is done.
#[doc(hidden)]
pub enum Chosen<T> {
    Done(T),
    Arm(u32),
}
