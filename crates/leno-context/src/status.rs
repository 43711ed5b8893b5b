//! Reading a coroutine's state from anywhere.
//!
//! The state is part of one atomic word, the *tag*, in the control block: `id << 4 | bits`. Only
//! the thread a coroutine belongs to writes it; everyone may read it. Ids never repeat and the
//! memory of control blocks is never unmapped, so a [`Status`] is a plain address and id: when
//! the tag carries another id, the coroutine it was made for is gone, that is, finished.
//!
//! ```text
//!   from       to         by
//!   New        Running    first resume, first hop
//!   Running    Suspended  suspend, hop away; an inner coroutine suspending this one
//!   Suspended  Running    resume, hop
//!   Running    Finished   return, panic, exit
//!   New        Finished   dropped before it ever ran
//! ```
//! A suspended coroutine that is dropped runs again while it unwinds, then is finished.

use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr::NonNull;
use core::sync::atomic::Ordering::Acquire;

use crate::control::{Control, bits};
use crate::name::Name;

/// What a coroutine is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Created, never run.
    New,
    /// Between two runs.
    Suspended,
    /// Running now, or waiting for a coroutine it has itself resumed.
    Running,
    /// Returned, panicked or exited.
    Finished,
}

impl core::fmt::Display for State {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(match self {
            State::New => "new",
            State::Suspended => "suspended",
            State::Running => "running",
            State::Finished => "finished",
        })
    }
}

/// A view of a coroutine's state that any thread may hold and read.
///
/// It keeps nothing alive: after the coroutine has ended it says [`State::Finished`] for ever.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status {
    control: *const Control,
    id: u64,
}

// SAFETY: only the tag is read, atomically, and its memory is never unmapped.
unsafe impl Send for Status {}
// SAFETY: as above.
unsafe impl Sync for Status {}

impl UnwindSafe for Status {}
impl RefUnwindSafe for Status {}

impl Status {
    /// The status of the coroutine that `control` belongs to now.
    /// The block's memory must never be unmapped, which holds for all blocks leno makes.
    pub fn of(control: &Control) -> Status {
        Status { control, id: control.id() }
    }

    /// The status of the coroutine with this id.
    ///
    /// # Safety
    /// `control` is or was its block: memory that leno made for control blocks, and so never unmaps.
    pub unsafe fn with_id(control: NonNull<Control>, id: u64) -> Status {
        Status { control: control.as_ptr(), id }
    }

    /// The coroutine's id, unique in the process.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// What the coroutine is doing. A moment later it may be doing something else, if it belongs
    /// to another thread.
    pub fn state(&self) -> State {
        // SAFETY: the memory of control blocks is never unmapped, and the tag is only ever
        // accessed atomically.
        let tag = unsafe { &(*self.control).tag }.load(Acquire);
        if tag >> bits::ID_SHIFT != self.id {
            return State::Finished;
        }
        bits::state(tag)
    }

    /// Whether the coroutine has returned, panicked or exited.
    pub fn is_finished(&self) -> bool {
        self.state() == State::Finished
    }

    /// The control block, if the coroutine is still alive.
    pub fn control(&self) -> Option<NonNull<Control>> {
        if self.is_finished() { None } else { NonNull::new(self.control.cast_mut()) }
    }
}

impl core::fmt::Debug for Status {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}[{}]", Name::NONE.or_id(self.id), self.state())
    }
}
