//! Processes: a state of their own, statements of their own, and entries that others call.
//!
//! A call is a message in the process's mailbox; the process serves one message at a time, in order of
//! arrival. Nobody but the process touches its state: it is moved in, arguments are moved along, and a
//! [`Ref`](Process::Ref) has nothing but the entries.
//!
//! `mailbox.rs` where calls wait, with its protocol; `about.rs` what others know of a process; `me.rs` the process's own side; `address.rs` the
//! callers'; `reply.rs` results, `deadlock.rs` who waits for whose; `plan.rs` starting and supervising;
//! `group.rs` when all are idle.

mod about;
mod address;
mod deadlock;
mod error;
mod group;
mod mailbox;
mod me;
mod plan;
mod reply;

pub use address::Address;
pub use error::{Refusal, Refused};
pub(crate) use group::Group;
pub use group::{Ended, Failure};
pub use me::Me;
pub(crate) use plan::{Origin, once};
pub use plan::{Plan, Prepared, Supervision};
pub use reply::{Answer, Reply, ReplyError};

/// What `#[process]` makes of an `impl` block. Write that, not this.
pub trait Process: Sized + Send + 'static {
    /// One variant for each entry.
    type Message: Send + 'static;
    /// What others call it through.
    type Ref: Clone + From<Address<Self>>;

    /// Runs an entry.
    fn serve(&mut self, message: Self::Message, me: &Me<Self>);

    /// Whether the entry's guard is open.
    fn may_serve(&self, message: &Self::Message) -> bool {
        let _ = message;
        true
    }

    /// Whether its caller has withdrawn the call.
    fn is_revoked(message: &Self::Message) -> bool {
        let _ = message;
        false
    }

    /// Its own statements, before it serves entries for ever.
    fn run(&mut self, me: &Me<Self>) {
        let _ = me;
    }

    /// What it does last, when it was stopped.
    fn stopped(&mut self) {}
}

/// What a process is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// It has not started.
    New,
    /// It runs, or is ready, or waits for something other than a call.
    Active,
    /// It waits for a call.
    Waiting,
    /// It has ended.
    Terminated,
}
