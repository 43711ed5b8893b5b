//! What a coroutine's frames and whoever drives it share. No unsafe code here: every field is a cell.

use std::cell::Cell;
use std::ptr::NonNull;

use super::frame::Frame;
use crate::transfer::Transfer;

/// What a frame that is polled is to do, and then why it has stopped. One cell for both: a suspension looks at it
/// twice in each resume.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Signal {
    /// Go on. If it is still there afterwards, the frame has stopped for no reason this crate knows of: it awaits
    /// somebody else's future, or could not be restored.
    None,
    Yield,
    Call,
    /// It has reached the suspension it was stored at.
    Leaf,
    /// Write what is live, and wait again.
    Capture,
    /// It has.
    Captured,
}

pub(crate) struct Core<Y, I, C> {
    pub yielded: Cell<Option<Y>>,
    pub input: Cell<Option<I>>,
    /// A frame that was called and is to be polled next. None is put here once frames are dropped: it could not be
    /// dropped before the core.
    pub called: Cell<Option<Frame>>,
    /// A frame that is done, for its caller.
    pub returned: Cell<Option<Frame>>,
    /// See `lent`: set only while a coroutine is driven.
    pub context: Cell<Option<NonNull<C>>>,
    pub signal: Cell<Signal>,
    /// Whether each new frame reads what it holds and goes to its suspension.
    pub restoring: Cell<bool>,
    /// While capturing or restoring: where frames go to or come from.
    pub transfer: Cell<Option<Box<Transfer>>>,
    /// Whether its frames are dropped, or were: it makes no more of them.
    pub ended: Cell<bool>,
}

impl<Y, I, C> Core<Y, I, C> {
    pub(crate) fn new() -> Self {
        Core {
            yielded: Cell::new(None),
            input: Cell::new(None),
            called: Cell::new(None),
            returned: Cell::new(None),
            context: Cell::new(None),
            signal: Cell::new(Signal::None),
            restoring: Cell::new(false),
            transfer: Cell::new(None),
            ended: Cell::new(false),
        }
    }
}

/// A handle may be used on another thread while its frame is polled: see the claim of `link`.
const _: fn() = || {
    fn is_sent<T: Send>() {}
    is_sent::<Transfer>();
};
