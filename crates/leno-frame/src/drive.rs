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

impl<Y, I, C> Stack<Y, I, C> {
    pub(crate) fn new() -> Self {
        Stack { frames: Frames::default(), owner: Owner::new(), poisoned: false, done: false }
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

    /// Polls the innermost frame: whether it has yielded, as it mostly does. If not, [`Stack::run_on`] comes
    /// next. A panic leaves the coroutine poisoned.
    #[inline]
    pub(crate) fn run(&mut self) -> bool {
        self.poisoned = true;
        let done = self.poll_innermost();
        let yielded = !done && self.owner.core().signal.get() == Signal::Yield;
        if yielded {
            self.poisoned = false;
        } else {
            self.done = done;
        }
        yielded
    }

    /// Whether the innermost frame is done. If not, the core's signal says why it has stopped.
    #[inline]
    fn poll_innermost(&mut self) -> bool {
        let core = self.owner.core();
        core.signal.set(Signal::None);
        let Some(innermost) = self.frames.0.last_mut() else { return false };
        let done = innermost.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if done || core.signal.get() != Signal::Call {
            core.arguments.set(None);
        }
        done
    }

    /// After a poll that has not yielded: polls whichever frame is the innermost until the coroutine stops.
    #[inline(never)]
    pub(crate) fn run_on(&mut self) -> Stop {
        let mut done = self.done;
        let stop = loop {
            let core = self.owner.core();
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
                Signal::None => break Stop::Stray,
            }
            done = self.poll_innermost();
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
