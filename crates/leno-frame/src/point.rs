//! What a resumable function can await: a suspension, or a call of another one.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::handle::frame_of;
use crate::raw::core::{Core, Signal};
use crate::raw::link::Link;
use crate::routine::Routine;

/// What can be awaited in a resumable function. It is not implemented by hand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be awaited in a `#[resumable]` fn",
    label = "not a suspension the coroutine can save",
    note = "only `co.suspend(value)` and calls of other `#[resumable]` fns with the same `Co<..>` type \
            can be awaited; an ordinary future has no frame that could be stored",
    note = "if this is an `async fn` of yours that suspends, write `#[resumable]` above it",
    note = "to do I/O, suspend with a request for the host: `co.suspend(Request::Fetch(url)).await`"
)]
pub trait Point<Y, I, C>: Send + Sized + sealed::Sealed {
    /// What awaiting it gives.
    type Output;

    /// It itself. Of what is no point the compiler then knows nothing more, and says so once.
    #[doc(hidden)]
    type Itself;

    /// What the frame that awaits it holds of it meanwhile.
    #[doc(hidden)]
    type Held: Send;

    /// A body has come here by itself. What it awaits is polled next.
    #[doc(hidden)]
    fn hold(self, reach: Reach<Y, I, C>) -> Self::Held;

    /// A body was rewound to here.
    #[doc(hidden)]
    fn held(reach: Reach<Y, I, C>) -> Self::Held;

    /// The frame goes on.
    #[doc(hidden)]
    fn poll(held: &mut Self::Held, reach: Reach<Y, I, C>) -> Poll<Self::Output>;
}

/// Keeps [`Point`] to the two types of this crate: another one could keep the [`Reach`] it is given, and use it when
/// the coroutine is gone.
mod sealed {
    pub trait Sealed {}

    impl<Y, I> Sealed for super::Suspend<Y, I> {}
    impl<R: super::Routine> Sealed for super::Call<R> {}
}

/// How a point reaches the core; nobody else can make one.
#[doc(hidden)]
pub struct Reach<Y, I, C>(Link<Y, I, C>);

impl<Y, I, C> Reach<Y, I, C> {
    #[inline]
    pub(crate) fn new(link: Link<Y, I, C>) -> Self {
        Reach(link)
    }

    #[inline]
    fn core(&self) -> &Core<Y, I, C> {
        self.0.core()
    }
}

/// Implemented by nothing: what a suspension lacks where `#[resumable]` has not seen its `.await`.
///
/// It is asked of an [`Await`] and not of what is awaited: of two bounds on one type the compiler tells the first, which
/// would be that of `Future`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`co.suspend(..)` and calls of resumable fns can be awaited only in a `#[resumable]` fn",
    label = "not in a `#[resumable]` fn, or hidden from it by a macro",
    note = "write `#[resumable]` above the `async fn` that this `.await` is in",
    note = "an `.await` in what a macro expands to, or in an async block, is not seen: write it in the body of the fn \
            itself; ordinary code starts a coroutine with `Resumable::start`"
)]
pub trait AwaitedInTheSourceOfAResumableFn {}

/// An `.await` of a `P`.
#[doc(hidden)]
pub struct Await<P>(PhantomData<fn() -> P>);

impl<Y, I> Future for Suspend<Y, I>
where
    Await<Self>: AwaitedInTheSourceOfAResumableFn,
{
    type Output = I;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<I> {
        Poll::Pending
    }
}

impl<R: Routine> Future for Call<R>
where
    Await<Self>: AwaitedInTheSourceOfAResumableFn,
{
    type Output = R::Output;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<R::Output> {
        Poll::Pending
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
    type Itself = Self;
    type Held = ();

    #[inline]
    fn hold(self, reach: Reach<Y, I, C>) {
        reach.core().yielded.set(Some(self.value));
        reach.core().signal.set(Signal::Yield);
    }

    #[inline]
    fn held(reach: Reach<Y, I, C>) {
        reach.core().signal.set(Signal::Leaf);
    }

    #[inline]
    fn poll((): &mut (), reach: Reach<Y, I, C>) -> Poll<I> {
        reach.core().input.take().map_or(Poll::Pending, Poll::Ready)
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
    type Itself = Self;
    type Held = ();

    #[inline]
    fn hold(self, reach: Reach<R::Yield, R::Input, R::Context>) {
        begin(&reach, Some(self));
    }

    /// Restored frames have no call: the callee reads its own frame instead of arguments.
    fn held(reach: Reach<R::Yield, R::Input, R::Context>) {
        begin::<R>(&reach, None);
    }

    fn poll((): &mut (), reach: Reach<R::Yield, R::Input, R::Context>) -> Poll<R::Output> {
        let Some(mut frame) = reach.core().returned.take() else { return Poll::Pending };
        let mut result: Option<R::Output> = None;
        frame.as_mut().result(&mut result);
        Poll::Ready(result.expect("the frame that returned is the one that was called"))
    }
}

/// Makes the frame of a call, which is polled when its caller has stopped.
fn begin<R: Routine>(reach: &Reach<R::Yield, R::Input, R::Context>, call: Option<Call<R>>) {
    let core = reach.core();
    if core.ended.get() {
        // A destructor of a frame that is dropped: nobody would poll what it calls.
        return;
    }
    let frame = frame_of(reach.0, call);
    // One that is replaced was called by hand and never awaited.
    drop(core.called.replace(Some(frame)));
    core.signal.set(Signal::Call);
}

/// A point in the frame that awaits it. (`H` is `P::Held`; with `P` it is inferred.)
#[doc(hidden)]
pub struct Slot<P, H> {
    held: H,
    _point: PhantomData<fn() -> P>,
}

// What is held is moved out of its slot, never polled in it.
impl<P, H> Unpin for Slot<P, H> {}

impl<P, H> Slot<P, H> {
    #[inline]
    pub(crate) fn new(held: H) -> Self {
        Slot { held, _point: PhantomData }
    }
}

/// How a suspension ends.
#[doc(hidden)]
pub enum Step<T> {
    Done(T),
    /// Not at all: the frame is to write what it holds and to wait again.
    Capture,
}

/// Awaits what is in a slot. `H` is a parameter of its own and not `P::Held`: the compiler forgets lifetimes when
/// it asks whether a body is `Send`, and could not tell any more whether `P` is a point for a `Y` that has some.
#[doc(hidden)]
pub struct StepFuture<'a, Y, I, C, P, H> {
    link: Link<Y, I, C>,
    slot: &'a mut Slot<P, H>,
}

impl<'a, Y, I, C, P, H> StepFuture<'a, Y, I, C, P, H> {
    #[inline]
    pub(crate) fn new(link: Link<Y, I, C>, slot: &'a mut Slot<P, H>) -> Self {
        StepFuture { link, slot }
    }
}

impl<Y, I, C, P: Point<Y, I, C, Held = H>, H> Future for StepFuture<'_, Y, I, C, P, H> {
    type Output = Step<P::Output>;

    #[inline]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let signal = this.link.core().signal.get();
        if signal == Signal::None {
            P::poll(&mut this.slot.held, Reach::new(this.link)).map(Step::Done)
        } else if signal == Signal::Capture {
            Poll::Ready(Step::Capture)
        } else {
            // It has stopped; the signal is there until the coroutine is resumed, which clears it.
            Poll::Pending
        }
    }
}

/// Which branch was chosen: one that suspends, by number, or one that is done.
#[doc(hidden)]
pub enum Chosen<T> {
    Done(T),
    Arm(u32),
}
