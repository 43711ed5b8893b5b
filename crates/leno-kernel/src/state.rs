//! What a coroutine is doing: one enum, one table, checked at every change in debug builds.
//!
//! ```text
//!   from      to
//!   New       Ready (spawned)                  Finished (never ran)
//!   Ready     Running (picked)                 Finished (ended before it first ran)
//!   Running   Ready (yielded, preempted)       Parked   Calling   Finished
//!   Parked    Ready (unparked)
//!   Calling   Ready (the callee came back)    Running (one that it ran itself came back)
//!   Finished  nothing
//! ```

use core::fmt;

use crate::io::Interest;
use crate::{Co, Object};

/// What a coroutine is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// Made, not spawned yet.
    New,
    /// It can run, and waits for its turn.
    Ready,
    /// It runs.
    Running,
    /// It waits for something.
    Parked(Reason),
    /// It has called another coroutine and waits for that one to come back.
    Calling(Co),
    /// It has ended.
    Finished(Outcome),
}

/// What a parked coroutine waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// An unpark by whoever knows it.
    Passive,
    /// A value from this channel.
    Hungry(Object),
    /// A value from this channel, or the word that none will come.
    Expecting(Object),
    /// Someone to take a value from this channel.
    Blocked(Object),
    /// One of several things.
    Choosing(Object),
    /// The end of another coroutine; `None` if no core has that one yet.
    Joining(Option<Co>),
    /// The same, of a coroutine of another system.
    JoiningOutside(Option<Co>),
    /// The ends of all it has spawned in a scope.
    Children,
    /// A time.
    Sleeping,
    /// The machine to have done something.
    Io,
    /// A descriptor, by its number, to become ready for this.
    Descriptor(i32, Interest),
    /// A call of one of its entries.
    Entry(Object),
    /// A lock.
    Lock(Object),
    /// The answer to a call of this.
    Answer(Object),
    /// A future, woken by whoever holds its waker.
    Future,
    /// A closure on a helper thread.
    Blocking,
    /// One of the coroutines of its sink to become ready.
    Scheduling,
    /// A stack, to start: there was no memory for one. It tries again from time to time.
    Stack,
}

/// How a coroutine ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// Its body returned.
    Returned,
    /// Its body panicked.
    Panicked,
    /// It was made to exit: cancelled, or drained with its system.
    Exited,
    /// Nobody could ever have sent it what it waited for.
    Starved,
    /// Nobody could ever have taken what it waited to send.
    Blockaged,
}

impl State {
    /// Whether the table allows it.
    pub fn may_become(self, next: State) -> bool {
        use State::{Calling, Finished, New, Parked, Ready, Running};
        matches!(
            (self, next),
            (New | Running | Parked(_) | Calling(_), Ready)
                | (Ready | Calling(_), Running)
                | (Running, Parked(_) | Calling(_))
                | (New | Ready | Running, Finished(_))
        )
    }
}

impl Reason {
    /// Whether someone outside the system may end it; of a future only if someone has its waker.
    pub(crate) fn is_open(self) -> bool {
        match self {
            Reason::Hungry(object)
            | Reason::Expecting(object)
            | Reason::Blocked(object)
            | Reason::Choosing(object)
            | Reason::Entry(object)
            | Reason::Lock(object)
            | Reason::Answer(object) => object.is_shared(),
            Reason::Io | Reason::Descriptor(..) | Reason::Blocking | Reason::JoiningOutside(_) => {
                true
            }
            Reason::Passive
            | Reason::Joining(_)
            | Reason::Children
            | Reason::Sleeping
            | Reason::Scheduling
            | Reason::Stack
            | Reason::Future => false,
        }
    }
}

impl Reason {
    /// How a coroutine ends that waits for this in vain.
    pub(crate) fn when_nobody_comes(self) -> Outcome {
        match self {
            Reason::Hungry(_)
            | Reason::Expecting(_)
            | Reason::Choosing(_)
            | Reason::Entry(_)
            | Reason::Answer(_) => Outcome::Starved,
            Reason::Blocked(_) => Outcome::Blockaged,
            _ => Outcome::Exited,
        }
    }
}

impl Reason {
    /// As text, with the name of what it waits for.
    pub(crate) fn on(self, name: &str) -> String {
        match self {
            Reason::Hungry(object)
            | Reason::Expecting(object)
            | Reason::Blocked(object)
            | Reason::Choosing(object)
            | Reason::Entry(object)
            | Reason::Lock(object)
            | Reason::Answer(object) => {
                let (text, object) = (self.to_string(), object.to_string());
                text.replace(&object, &format!("'{name}' ({object})"))
            }
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::New => f.write_str("new"),
            State::Ready => f.write_str("ready"),
            State::Running => f.write_str("running"),
            State::Parked(reason) => reason.fmt(f),
            State::Calling(callee) => write!(f, "calling {callee}"),
            State::Finished(outcome) => outcome.fmt(f),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Passive => f.write_str("parked"),
            Reason::Hungry(channel) => write!(f, "waiting to receive from channel {channel}"),
            Reason::Expecting(channel) => {
                write!(f, "waiting to receive from channel {channel}, or for its close")
            }
            Reason::Blocked(channel) => write!(f, "waiting to send to channel {channel}"),
            Reason::Choosing(choice) => write!(f, "waiting in select {choice}"),
            Reason::Joining(Some(other)) => write!(f, "waiting for the end of {other}"),
            Reason::JoiningOutside(Some(other)) => {
                write!(f, "waiting for the end of {other}, of another system")
            }
            Reason::JoiningOutside(None) => {
                f.write_str("waiting for the end of one not started, of another system")
            }
            Reason::Joining(None) => f.write_str("waiting for the end of one not started"),
            Reason::Children => f.write_str("waiting for the children of its scope"),
            Reason::Sleeping => f.write_str("sleeping"),
            Reason::Io => f.write_str("waiting for I/O"),
            Reason::Descriptor(number, interest) => {
                write!(f, "waiting to {interest} descriptor {number}")
            }
            Reason::Entry(object) => write!(f, "waiting for a call of {object}"),
            Reason::Lock(lock) => write!(f, "waiting for lock {lock}"),
            Reason::Answer(callee) => write!(f, "waiting for the answer of {callee}"),
            Reason::Future => f.write_str("waiting for a future"),
            Reason::Blocking => f.write_str("waiting for a helper thread"),
            Reason::Scheduling => f.write_str("waiting for one of its sink"),
            Reason::Stack => f.write_str("waiting for a stack"),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Returned => "returned",
            Outcome::Panicked => "panicked",
            Outcome::Exited => "exited",
            Outcome::Starved => "starved",
            Outcome::Blockaged => "blockaged",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_as_written() {
        let finished = State::Finished(Outcome::Returned);
        let parked = State::Parked(Reason::Passive);
        let calling = State::Calling(Co::new(0, 0, 1));
        let all = [State::New, State::Ready, State::Running, parked, calling, finished];
        let allowed = |from: State| all.map(|to| u8::from(from.may_become(to)));
        assert_eq!(allowed(State::New), [0, 1, 0, 0, 0, 1]);
        assert_eq!(allowed(State::Ready), [0, 0, 1, 0, 0, 1]);
        assert_eq!(allowed(State::Running), [0, 1, 0, 1, 1, 1]);
        assert_eq!(allowed(parked), [0, 1, 0, 0, 0, 0]);
        assert_eq!(allowed(calling), [0, 1, 1, 0, 0, 0]);
        assert_eq!(allowed(finished), [0; 6]);
    }
}
