//! What a coroutine's frames and whoever drives it share. No unsafe code here: every field is a cell.

use std::cell::Cell;
use std::ptr::NonNull;

use super::frame::Frame;
use crate::transfer::Transfer;

/// What is being done with a coroutine.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mode {
    Run,
    /// Each frame is polled once and writes what it holds.
    Capture,
    /// Each frame reads what it holds and goes to its suspension.
    Restore,
}

/// Why the innermost frame has stopped.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Signal {
    /// For no reason this crate knows of: it awaits somebody else's future, or could not be restored.
    None,
    Yield,
    Call,
    /// It has reached the suspension it was stored at.
    Leaf,
}

pub(crate) struct Core<Y, I, C> {
    pub yielded: Cell<Option<Y>>,
    pub input: Cell<Option<I>>,
    /// A frame that was called and is to be polled next.
    pub called: Cell<Option<Frame>>,
    /// A frame that is done, for its caller.
    pub returned: Cell<Option<Frame>>,
    /// See `lent`: set only while a coroutine is driven.
    pub context: Cell<Option<NonNull<C>>>,
    /// See `lent`: set only until a new frame was polled once.
    pub arguments: Cell<Option<NonNull<()>>>,
    pub mode: Cell<Mode>,
    pub signal: Cell<Signal>,
    /// While capturing: whether the frame that is polled has written itself.
    pub captured: Cell<bool>,
    /// While capturing or restoring: where frames go to or come from.
    pub transfer: Cell<Option<Box<Transfer>>>,
}

impl<Y, I, C> Core<Y, I, C> {
    pub(crate) fn new() -> Self {
        Core {
            yielded: Cell::new(None),
            input: Cell::new(None),
            called: Cell::new(None),
            returned: Cell::new(None),
            context: Cell::new(None),
            arguments: Cell::new(None),
            mode: Cell::new(Mode::Run),
            signal: Cell::new(Signal::None),
            captured: Cell::new(false),
            transfer: Cell::new(None),
        }
    }
}
