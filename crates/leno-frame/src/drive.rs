//! Driving a coroutine: its frames are a stack, and only the innermost is polled.
//!
//! A callee is never polled inside its caller's poll, or depth would be on the native stack. A frame
//! that stops says why by the core's signal: it yields, it calls, or, when restored, it is where it was.
//! If it says nothing, it awaits somebody else's future, through a macro that `#[resumable]` cannot see
//! into. It may have borrowed the context, so it is dropped at once, while that is still lent.

use std::task::{Context, Waker};

use crate::raw::core::Signal;
use crate::raw::frame::Frame;
use crate::raw::link::Owner;

pub(crate) struct Stack<Y, I, C> {
    // Before the owner, so that frames are dropped first: they reach its core.
    frames: Frames,
    pub owner: Owner<Y, I, C>,
    /// Whether a body has panicked, or is running now.
    pub poisoned: bool,
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

impl<Y, I, C> Stack<Y, I, C> {
    pub(crate) fn new() -> Self {
        Stack { frames: Frames::default(), owner: Owner::new(), poisoned: false }
    }

    pub(crate) fn push(&mut self, frame: Frame) {
        self.frames.0.push(frame);
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

    /// Polls the innermost frame until the coroutine stops. A panic leaves it poisoned.
    #[inline]
    pub(crate) fn run(&mut self) -> Stop {
        self.poisoned = true;
        let core = self.owner.core();
        let mut cx = Context::from_waker(Waker::noop());
        let stop = loop {
            core.signal.set(Signal::None);
            let Some(top) = self.frames.0.last_mut() else { break Stop::Stray };
            let done = top.as_mut().poll(&mut cx);
            if done || core.signal.get() != Signal::Call {
                core.arguments.set(None);
            }
            if done {
                let frame = self.frames.0.pop().expect("it was polled");
                if self.frames.0.is_empty() {
                    break Stop::Done(frame);
                }
                core.returned.set(Some(frame));
                continue;
            }
            match core.signal.get() {
                Signal::Yield => break Stop::Yielded,
                Signal::Leaf => break Stop::Leaf,
                Signal::Call => match core.called.take() {
                    Some(frame) => self.frames.0.push(frame),
                    None => break Stop::Stray,
                },
                Signal::None => break Stop::Stray,
            }
        };
        self.poisoned = false;
        stop
    }

    /// Polls every frame once, the outermost first.
    pub(crate) fn poll_all(&mut self) {
        let core = self.owner.core();
        let mut cx = Context::from_waker(Waker::noop());
        for frame in &mut self.frames.0 {
            core.captured.set(false);
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
