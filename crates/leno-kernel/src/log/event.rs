//! What a log holds.

use core::fmt;
use core::panic::Location;

use crate::policy::{ChoiceKind, Why};
use crate::{Co, Name, Object, Outcome, Reason, Time};

/// Something that has happened on a core.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Event {
    /// When, by the system's clock.
    pub at: Time,
    /// Which core it happened on.
    pub core: u32,
    /// The coroutine that did it; `None` if the core did, for someone outside or for time.
    pub by: Option<Co>,
    /// What it was.
    pub what: What,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum What {
    /// This coroutine was spawned.
    Spawned {
        /// Which one.
        co: Co,
        /// Its name.
        name: Name,
        /// Where it was spawned.
        site: &'static Location<'static>,
    },
    /// It has its turn.
    Runs,
    /// It has given its turn to others.
    Yielded,
    /// It waits for something.
    Parked(Reason),
    /// It has called this coroutine, which runs until it comes back.
    Calls(Co),
    /// This coroutine has become ready.
    Woke {
        /// Which one.
        co: Co,
        /// Why.
        why: Why,
    },
    /// It has ended.
    Ended(Outcome),
    /// A choice that the rules leave open.
    Chose {
        /// What was chosen.
        kind: ChoiceKind,
        /// Whom it was about.
        object: Option<Object>,
        /// Which one, from 0.
        took: usize,
        /// Among how many.
        of: usize,
    },
    /// It begins an operation on something that can be waited on.
    Begins(Operation, Object),
    /// The operation has succeeded, in the order in which values pass.
    Does(Operation, Object),
    /// The operation has failed, or was given up.
    Fails(Operation, Object),
    /// A word of the user's: see [`mark`](crate::log::mark).
    Marked(Name),
}

/// What is done to something that can be waited on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// A value is put in.
    Send,
    /// A value is taken out.
    Receive,
    /// One of several operations.
    Select,
    /// Several operations at once.
    Join,
    /// A lock is taken, or a permit.
    Lock,
    /// It is given back.
    Unlock,
    /// An end goes, or the whole is closed.
    Close,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::Send => "send",
            Operation::Receive => "receive",
            Operation::Select => "select",
            Operation::Join => "join",
            Operation::Lock => "lock",
            Operation::Unlock => "unlock",
            Operation::Close => "close",
        })
    }
}
