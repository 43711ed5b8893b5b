//! What a store says of a session to those who look.

use std::fmt;
use std::time::SystemTime;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::id::SessionId;

/// Where a session is.
///
/// ```text
///   create -> Ready -> Leased -> Ready | Waiting | Sleeping | Done | Failed | Quarantined
///             Leased -> Leased             its lease ran out, and another worker has it now
///             Waiting -> Ready             a message has come
///             Waiting, Sleeping -> Leased  its time has come
///             Failed, Quarantined -> Ready      retry
///             any but the ended -> Cancelled;  Waiting, Sleeping, Failed, Quarantined -> Expired
/// ```
/// Done, cancelled and expired ones have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum State {
    /// It can run.
    Ready,
    /// A worker has it, or had it when it died.
    Leased,
    /// It waits for a message, perhaps for a limited time.
    Waiting,
    /// It waits for a time.
    Sleeping,
    /// It has returned.
    Done,
    /// A step of it panicked. It is as it was before that step, and can be retried.
    Failed,
    /// It was put aside: the build that tried could not read it, it kept ending its process, or it is damaged. It can be
    /// retried.
    Quarantined,
    /// Someone has cancelled it.
    Cancelled,
    /// It has waited for too long.
    Expired,
}

impl State {
    /// All of them, in the order of their numbers.
    pub const ALL: [State; 9] = [
        State::Ready,
        State::Leased,
        State::Waiting,
        State::Sleeping,
        State::Done,
        State::Failed,
        State::Quarantined,
        State::Cancelled,
        State::Expired,
    ];

    /// Its number in a store.
    pub fn number(self) -> i16 {
        self as i16
    }

    /// The state of a number.
    pub fn numbered(number: i16) -> Option<State> {
        usize::try_from(number).ok().and_then(|number| State::ALL.get(number)).copied()
    }

    /// Whether it never runs again.
    pub fn has_ended(self) -> bool {
        matches!(self, State::Done | State::Cancelled | State::Expired)
    }

    /// The state of a name, as [`State`] is written.
    pub fn parse(name: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.to_string() == name)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Ready => "ready",
            State::Leased => "leased",
            State::Waiting => "waiting",
            State::Sleeping => "sleeping",
            State::Done => "done",
            State::Failed => "failed",
            State::Quarantined => "quarantined",
            State::Cancelled => "cancelled",
            State::Expired => "expired",
        })
    }
}

/// One session, as a store has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name.
    pub id: SessionId,
    /// The routine it runs.
    pub kind: String,
    /// The version of that routine that ran last.
    pub version: u32,
    /// Where it is.
    pub state: State,
    /// How many commits there were.
    pub sequence: u64,
    /// How many effects it has had.
    pub effects: u64,
    /// The number of its last lease.
    pub token: u64,
    /// Who has it, or had it last.
    pub worker: String,
    /// When it can be leased; `None` if a message is needed first, or never.
    pub due: Option<SystemTime>,
    /// What it was suspended with, or has returned, as JSON.
    pub said: String,
    /// Why it failed, was quarantined, cancelled or expired.
    pub reason: String,
    /// When it was created.
    pub created: SystemTime,
    /// When it was last changed.
    pub touched: SystemTime,
    /// The size of its image in bytes.
    pub size: usize,
}

impl Row {
    /// What it says, for people: text as it is, anything else as JSON.
    pub fn text(&self) -> String {
        serde_json::from_str::<String>(&self.said).unwrap_or_else(|_| self.said.clone())
    }

    /// What it says, as a value: its result, if it is done. `None` if it is not of that type, or nested deeper than the stack
    /// has room for.
    pub fn value<T: DeserializeOwned>(&self) -> Option<T> {
        leno_frame::json::from_slice(self.said.as_bytes()).ok()
    }
}

/// Which sessions to list; all that are not excluded, by id.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Only this one.
    pub id: Option<SessionId>,
    /// Only those of this routine.
    pub kind: Option<String>,
    /// Only those in this state.
    pub state: Option<State>,
    /// Only those behind this one.
    pub after: Option<SessionId>,
    /// So many at most; 0 for all.
    pub limit: usize,
}
