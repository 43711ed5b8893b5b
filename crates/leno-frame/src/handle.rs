//! The handle through which a resumable function suspends and calls.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::describe::Function;
use crate::image::reader::Reader;
use crate::point::{Call, Point, Reach, Slot, StepFuture, Suspend};
use crate::raw::core::Signal;
use crate::raw::frame::{Frame, frame};
use crate::raw::lent;
use crate::raw::link::Link;
use crate::rewind::{Rewind, Taken};
use crate::routine::{Args, Routine};
use crate::transfer::{Capture, Transfer};

/// The first parameter of every resumable function: `co: &mut Co<Yield, Input, Context>`.
///
/// It is only ever borrowed: its type has no size, so that a handle can be neither moved nor swapped.
pub type Co<Y, I = (), C = ()> = Handheld<Y, I, C, [()]>;

/// What a [`Co`] is.
#[doc(hidden)]
pub struct Handheld<Y, I, C, S: ?Sized> {
    link: Link<Y, I, C>,
    _unsized: S,
}

/// The handle of a body that has not started. A body cannot name `'f`, so it cannot keep the handle
/// anywhere but in its own frame.
#[doc(hidden)]
pub struct Seed<'f, Y, I, C> {
    handle: Handheld<Y, I, C, [(); 0]>,
    _frame: PhantomData<&'f mut ()>,
}

impl<Y, I, C> Seed<'_, Y, I, C> {
    pub(crate) fn new(link: Link<Y, I, C>) -> Self {
        Seed { handle: Handheld { link, _unsized: [] }, _frame: PhantomData }
    }

    pub fn handle(&mut self) -> &mut Co<Y, I, C> {
        &mut self.handle
    }
}

/// The three types of a handle, for code that was given an alias of it.
#[doc(hidden)]
pub trait Handle {
    type Yield: Send + 'static;
    type Input: Send + 'static;
    type Context: 'static;
}

impl<Y: Send + 'static, I: Send + 'static, C: 'static> Handle for Co<Y, I, C> {
    type Yield = Y;
    type Input = I;
    type Context = C;
}

impl<Y, I, C> Co<Y, I, C> {
    /// A suspension: `co.suspend(value).await` hands `value` to whoever resumes the coroutine, and is
    /// the input of the next resume.
    pub fn suspend(&mut self, value: Y) -> Suspend<Y, I> {
        Suspend::new(value)
    }

    /// The context that the current resume has lent. The borrow ends before the next suspension.
    ///
    /// # Panics
    /// Outside a resume: in the closure that a coroutine is started with, in a destructor that runs when its frames are
    /// dropped, or in a hand-written [`Routine`] before its future is polled.
    #[inline]
    pub fn ctx(&mut self) -> &mut C
    where
        C: Send,
    {
        lent::context(&mut self.link)
            .expect("a context is lent only while a body of the coroutine is resumed")
    }

    /// Where a body begins: at its beginning, at a suspension, or not at all, for a reason that the reader keeps.
    #[doc(hidden)]
    #[inline]
    pub fn enter(&mut self, function: &'static Function) -> Option<Rewind> {
        if !self.link.core().restoring.get() {
            return Some(Rewind(0));
        }
        self.read(|reader| reader.begin(function)).map(Rewind)
    }

    /// Takes what a body needs from the frame that it rewinds to. If it cannot be had, the reader keeps the reason.
    /// Out of line, so that bodies are not slowed down by what they do only once.
    #[doc(hidden)]
    #[cold]
    #[inline(never)]
    pub fn rewound<T>(
        &mut self,
        rewind: &mut Rewind,
        take: impl FnOnce(&mut Taken<'_>) -> Option<T>,
    ) -> Option<T> {
        self.read(|reader| {
            let mut frame = Taken { reader, arrived: false };
            let taken = take(&mut frame);
            if frame.arrived {
                rewind.0 = 0;
            }
            taken
        })
    }

    #[inline]
    fn read<T>(&mut self, with: impl FnOnce(&mut Reader) -> Option<T>) -> Option<T> {
        let core = self.link.core();
        let mut transfer = core.transfer.take()?;
        let result = match &mut *transfer {
            Transfer::Read(reader) => with(reader),
            Transfer::Write(_) => None,
        };
        core.transfer.set(Some(transfer));
        result
    }

    #[doc(hidden)]
    #[inline]
    pub fn arguments<R>(&mut self, token: Args<R>) -> R::Args
    where
        R: Routine<Yield = Y, Input = I, Context = C>,
    {
        token.take().expect("a frame that is restored has no arguments, but locals")
    }

    /// What a body is about to await.
    #[doc(hidden)]
    #[inline]
    pub fn hold<P: Point<Y, I, C>>(&mut self, point: P) -> Slot<P::Itself, P::Held> {
        Slot::new(point.hold(Reach::new(self.link)))
    }

    /// What a body awaits that was rewound.
    #[doc(hidden)]
    pub fn held<P: Point<Y, I, C>>(&mut self) -> Slot<P, P::Held> {
        Slot::new(P::held(Reach::new(self.link)))
    }

    #[doc(hidden)]
    #[inline]
    pub fn step<'a, P: Point<Y, I, C>>(
        &'a mut self,
        slot: &'a mut Slot<P, P::Held>,
    ) -> StepFuture<'a, Y, I, C, P, P::Held> {
        StepFuture::new(self.link, slot)
    }

    #[doc(hidden)]
    #[inline(never)]
    pub fn capture(&mut self, function: &'static Function, point: u32) -> Capture<'_> {
        let core = self.link.core();
        core.signal.set(Signal::Captured);
        Capture::begin(&core.transfer, function, point)
    }

    /// Waits for ever: what is left of a frame that could not be restored.
    #[doc(hidden)]
    pub fn parked<T>(&mut self) -> Parked<T> {
        Parked(PhantomData)
    }
}

#[doc(hidden)]
pub struct Parked<T>(PhantomData<fn() -> T>);

impl<T> Future for Parked<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        Poll::Pending
    }
}

/// Makes the frame of a call, or of a frame that is restored, which has no call.
///
/// A body that is written by hand may run code before it is polled. It is shown no context: the frame may
/// be dropped, or polled, only after that was taken back.
pub(crate) fn frame_of<R: Routine>(
    link: Link<R::Yield, R::Input, R::Context>,
    call: Option<Call<R>>,
) -> Frame {
    let hidden = lent::hide(link.core());
    let body = R::body(Seed::new(link), Args::new(call));
    drop(hidden);
    frame(body)
}
