//! Driving a coroutine: its frames are a stack, and only the innermost is polled.
//!
//! A callee is never polled inside its caller's poll, or depth would be on the native stack. A frame
//! that stops says why by the core's signal: it yields, it calls, or, when restored, it is where it was.
//! If it says nothing, it awaits somebody else's future, through a macro that `#[resumable]` cannot see
//! into. It may have borrowed the context, so it is dropped at once, while that is still lent.

use std::task::{Context, Waker};

use crate::raw::core::{Core, Signal};
use crate::raw::frame::Frame;
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

impl Drop for Frames {
    /// The innermost first, one after the other: a deep coroutine needs no deep stack to be dropped.
    fn drop(&mut self) {
        while self.0.pop().is_some() {}
    }
}

/// Poisons a coroutine when it is dropped, by a panic; otherwise it is forgotten, and costs nothing.
struct Poison<'a>(&'a mut bool);

impl Drop for Poison<'_> {
    fn drop(&mut self) {
        *self.0 = true;
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

    /// As [`Frames::poll`]; if the frame is new, it has had its chance to take its arguments.
    fn poll_new<Y, I, C>(&mut self, core: &Core<Y, I, C>) -> bool {
        let done = self.poll(core);
        if done || core.signal.get() != Signal::Call {
            core.arguments.set(None);
        }
        done
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

    /// Drops all frames.
    pub(crate) fn clear(&mut self) {
        let core = self.owner.core();
        drop(core.called.take());
        drop(core.returned.take());
        drop(std::mem::take(&mut self.frames));
    }

    /// As [`Stack::run`], for a frame that was never polled.
    pub(crate) fn run_first(&mut self) -> bool {
        let poison = Poison(&mut self.poisoned);
        self.done = self.frames.poll_new(self.owner.core());
        std::mem::forget(poison);
        false
    }

    /// Polls the innermost frame: whether it has yielded, as it mostly does. If not, [`Stack::run_on`] comes
    /// next. A panic leaves the coroutine poisoned.
    #[inline]
    pub(crate) fn run(&mut self) -> bool {
        let core = self.owner.core();
        let poison = Poison(&mut self.poisoned);
        let done = self.frames.poll(core);
        std::mem::forget(poison);
        let yielded = !done && core.signal.get() == Signal::Yield;
        if !yielded {
            self.done = done;
        }
        yielded
    }

    /// After a poll that has not yielded: polls whichever frame is the innermost until the coroutine stops.
    #[inline(never)]
    pub(crate) fn run_on(&mut self) -> Stop {
        let (mut done, core) = (self.done, self.owner.core());
        let poison = Poison(&mut self.poisoned);
        let stop = loop {
            match core.signal.get() {
                _ if done => {
                    let frame = self.frames.0.pop().expect("it was polled");
                    if self.frames.0.is_empty() {
                        break Stop::Done(frame);
                    }
                    core.returned.set(Some(frame));
                }
                Signal::Yield => break Stop::Yielded,
                Signal::Leaf => break Stop::Leaf,
                Signal::Call => match core.called.take() {
                    Some(frame) => self.frames.0.push(frame),
                    None => break Stop::Stray,
                },
                Signal::None | Signal::Capture | Signal::Captured => break Stop::Stray,
            }
            done = self.frames.poll_new(core);
        };
        std::mem::forget(poison);
        stop
    }

    /// Polls every frame once, the outermost first.
    pub(crate) fn poll_all(&mut self) {
        let core = self.owner.core();
        let mut cx = Context::from_waker(Waker::noop());
        for frame in &mut self.frames.0 {
            core.signal.set(Signal::Capture);
            let done = frame.as_mut().poll(&mut cx);
            debug_assert!(!done, "a suspended frame that is captured stays suspended");
        }
    }
}

impl<Y, I, C> Drop for Stack<Y, I, C> {
    fn drop(&mut self) {
        self.clear();
    }
}
