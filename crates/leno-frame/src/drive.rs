//! Driving a coroutine: its frames are a stack, and only the innermost is polled.
//!
//! A callee is never polled inside its caller's poll, or depth would be on the native stack. A frame
//! that stops says why by the core's signal: it yields, it calls, or, when restored, it is where it was.
//! If it says nothing, it awaits somebody else's future, through a macro that `#[resumable]` cannot see
//! into. It may have borrowed the context, and so may one that panics, so all frames are dropped at once, while that is
//! still lent.
//!
//! Frames are dropped one by one, through [`user`]: the `Drop` of what they hold may panic, and whatever it does with a
//! handle meets a core that makes no more frames and shows no context.

use std::task::{Context, Waker};

use leno_context::user::{self, Panic};
use leno_coroutine::floor;

use crate::raw::core::{Core, Signal};
use crate::raw::frame::Frame;
use crate::raw::lent;
use crate::raw::link::Owner;

pub(crate) struct Stack<Y, I, C> {
    // Before the owner, so that frames are dropped first: they reach its core.
    frames: Frames,
    pub owner: Owner<Y, I, C>,
    /// Whether a body has panicked.
    pub poisoned: bool,
    /// Whether the frame that was polled last is done.
    done: bool,
}

#[derive(Default)]
struct Frames(Vec<Frame>);

/// How driving has ended.
pub(crate) enum Stop {
    Yielded,
    /// The outermost frame is done; its result is in it.
    Done(Frame),
    /// A restored frame is where it was.
    Leaf,
    /// A frame waits for something else.
    Stray,
}

/// Poisons a coroutine when it is dropped, by a panic; otherwise it is forgotten, and costs nothing.
struct Poison<'a, Y, I, C>(&'a mut Stack<Y, I, C>);

impl<Y, I, C> Drop for Poison<'_, Y, I, C> {
    #[cold]
    fn drop(&mut self) {
        self.0.poisoned = true;
        drop(self.0.clear());
    }
}

impl Frames {
    /// Polls the innermost frame: whether it is done. If not, the core's signal says why it has stopped.
    #[inline]
    fn poll<Y, I, C>(&mut self, core: &Core<Y, I, C>) -> bool {
        core.signal.set(Signal::None);
        let Some(innermost) = self.0.last_mut() else { return false };
        innermost.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    }
}

impl<Y, I, C> Stack<Y, I, C> {
    pub(crate) fn new() -> Self {
        Stack { frames: Frames::default(), owner: Owner::new(), poisoned: false, done: false }
    }

    pub(crate) fn push(&mut self, frame: Frame) {
        self.frames.0.push(frame);
    }

    /// Makes room for so many frames.
    pub(crate) fn reserve(&mut self, frames: usize) {
        self.frames.0.reserve_exact(frames);
    }

    pub(crate) fn depth(&self) -> usize {
        self.frames.0.len()
    }

    /// Drops all frames, the innermost first, one after the other: a deep coroutine needs no deep stack for that. Returns
    /// the first panic of a `Drop`.
    #[must_use]
    pub(crate) fn clear(&mut self) -> Option<Panic> {
        let link = self.owner.link();
        let core = link.core();
        core.ended.set(true);
        let hidden = lent::hide(core);
        let mut first = None;
        let mut dropped = |frame: Frame| {
            first = floor::first(first.take(), user::try_dispose(frame).err());
        };
        core.called.take().map(&mut dropped);
        core.returned.take().map(&mut dropped);
        while let Some(frame) = self.frames.0.pop() {
            dropped(frame);
        }
        drop(hidden);
        first
    }

    /// As [`Stack::run`], for a frame that was never polled.
    pub(crate) fn run_first(&mut self) -> bool {
        let link = self.owner.link();
        let poison = Poison(self);
        poison.0.done = poison.0.frames.poll(link.core());
        std::mem::forget(poison);
        false
    }

    /// Polls the innermost frame: whether it has yielded, as it mostly does. If not, [`Stack::run_on`] comes
    /// next. A panic leaves the coroutine poisoned.
    #[inline]
    pub(crate) fn run(&mut self) -> bool {
        let link = self.owner.link();
        let poison = Poison(self);
        let done = poison.0.frames.poll(link.core());
        std::mem::forget(poison);
        let yielded = !done && link.core().signal.get() == Signal::Yield;
        if !yielded {
            self.done = done;
        }
        yielded
    }

    /// After a poll that has not yielded: polls whichever frame is the innermost until the coroutine stops.
    #[inline(never)]
    pub(crate) fn run_on(&mut self) -> Stop {
        let (mut done, link) = (self.done, self.owner.link());
        let core = link.core();
        let poison = Poison(self);
        let frames = &mut poison.0.frames;
        let stop = loop {
            match core.signal.get() {
                _ if done => {
                    let frame = frames.0.pop().expect("it was polled");
                    if frames.0.is_empty() {
                        break Stop::Done(frame);
                    }
                    core.returned.set(Some(frame));
                }
                Signal::Yield => break Stop::Yielded,
                Signal::Leaf => break Stop::Leaf,
                Signal::Call => match core.called.take() {
                    Some(frame) => frames.0.push(frame),
                    None => break Stop::Stray,
                },
                Signal::None | Signal::Capture | Signal::Captured => break Stop::Stray,
            }
            done = frames.poll(core);
        };
        std::mem::forget(poison);
        stop
    }

    /// Polls every frame once, the outermost first, to be captured: whether all were. If one was not, which generated
    /// code does not do, the coroutine is poisoned.
    pub(crate) fn poll_all(&mut self) -> bool {
        let link = self.owner.link();
        let poison = Poison(self);
        let mut cx = Context::from_waker(Waker::noop());
        for frame in &mut poison.0.frames.0 {
            link.core().signal.set(Signal::Capture);
            let done = frame.as_mut().poll(&mut cx);
            if done || link.core().signal.get() != Signal::Captured {
                return false;
            }
        }
        std::mem::forget(poison);
        true
    }
}

impl<Y, I, C> Drop for Stack<Y, I, C> {
    /// Raises the first panic of a `Drop`, when everything is dropped, unless the thread unwinds already.
    fn drop(&mut self) {
        let mut first = self.clear();
        let core = self.owner.core();
        for panic in [user::try_dispose(core.yielded.take()), user::try_dispose(core.input.take())]
        {
            first = floor::first(first, panic.err());
        }
        if let Some(first) = first
            && !std::thread::panicking()
        {
            first.resume();
        }
    }
}
