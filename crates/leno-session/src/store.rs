//! What keeps sessions: the trait, and the laws that every store obeys.
//!
//! # The protocol
//! A session is a row: id, sequence, image, due time, lease token. A worker *leases* rows that are due: each
//! gets a new token and becomes due again when the lease ends. It runs a step of each, and *commits*: image,
//! messages taken, messages sent, effects and the next due time, in one durable transaction, **only if the
//! token is still the row's**. A worker that was too slow, or stopped and came back, has an old token: it is
//! *fenced*, and changes nothing.
//!
//! # The laws
//! 1. *Create is idempotent.* A second creation of an id changes nothing.
//! 2. *One holder.* A token is granted once per id. No session is leased while another lease of it lasts; when that has
//!    run out it can be leased, and the new token is higher.
//! 3. *Fencing.* A commit, renewal or release with an old token changes nothing, also in one batch with the
//!    holder's own.
//! 4. *One step at a time.* The sequence rises by exactly 1 with every commit that is stored.
//! 5. *All or nothing.* Image, messages taken, messages sent, effects and due time of a commit are stored
//!    together or not at all, and are durable when it returns.
//! 6. *Commit is idempotent.* The same commit again is answered `Stored`, and stores nothing: whoever lost the
//!    answer may ask again, also if the session has been leased since. Only when a later step of the session is
//!    stored is it `Fenced`, because a store knows the last step alone.
//! 7. *Messages are there once.* A message of a key that the session has already had, even one that was taken,
//!    is not stored again, until [`Store::sweep`] deletes it, which deletes only what was taken. They are handed out
//!    in the order they were stored. One that is sent before its session exists waits for it.
//! 8. *No wake-up is lost.* A session that waits for a message is due as soon as one is there, whichever came
//!    first: the message or the commit that waits.
//! 9. *Only who can.* A session is leased only to workers that know its kind, in its version or a later one.
//! 10. *What ended stays.* A session that is done, cancelled or expired is never leased again.
//! 11. *An effect is handed out until it is confirmed*, and then never again. Its key, id and sequence, is unique;
//!     the sequences of one session follow each other without gaps.
//! 12. *After any crash* every session is at a committed sequence, with the image of that commit.
//! 13. *Text has no NUL.* An operation that is given a kind, key, topic, reason or other text with a NUL byte, or a
//!     sequence or token beyond `i64::MAX`, is refused or fenced, and changes nothing: whatever one store holds,
//!     every store holds.
//! 14. *To each its own.* Whatever the other sessions of a lease have in their inboxes, each is handed out with the
//!     oldest of its own messages, and with [`INBOX`] of them at most.
//! 15. *Attempts are counted.* A lease that follows one which ended with neither a step nor a release says so. What
//!     [`Store::attempt`] counts is durable when it returns, and is counted anew after a step, a release or a retry.
//! 16. *A forgotten session stays gone.* One that is created anew under its id has higher tokens, and its effects higher
//!     sequences: commits, renewals and confirmations that belong to the forgotten one change nothing.
//! 17. *A lease has a limited size.* An image, message, effect or text of more than [`LARGEST`] bytes is refused. A lease
//!     hands out sessions until their images have [`LEASED`] bytes, and messages of each until these have [`LARGEST`], but
//!     one at least; effects are handed out until these have [`LEASED`]. What is stored with more, by whatever means, is not
//!     read, and its session is quarantined by itself, or says why, if it has ended.
//!
//! [`crate::laws`] checks these against any store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::error::StoreError;
use crate::id::SessionId;
use crate::row::{Query, Row, State};

/// What a store's operations return.
pub type Result<T> = std::result::Result<T, StoreError>;

/// A session to create.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// Its name.
    pub id: SessionId,
    /// The routine it runs.
    pub kind: String,
    /// The version of that routine.
    pub version: u32,
    /// Its first image.
    pub image: Vec<u8>,
}

/// A routine that a worker can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its name.
    pub kind: String,
    /// Its version in this build: sessions of later ones are for others.
    pub version: u32,
}

/// Which sessions a worker wants to lease.
#[derive(Clone, Debug)]
pub struct Want {
    /// The worker, for people.
    pub worker: String,
    /// What its build can run.
    pub build: Vec<Known>,
    /// So many at most.
    pub most: usize,
    /// For so long.
    pub ttl: Duration,
    /// None but this one.
    pub only: Option<SessionId>,
}

/// What a session waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Awaits {
    /// Nothing: it can go on.
    Nothing,
    /// A message, for ever or until its due time.
    Message,
    /// Its due time.
    Time,
}

/// A session that a worker has for a while.
#[derive(Clone, Debug)]
pub struct Lease {
    /// Its name.
    pub id: SessionId,
    /// The routine it runs.
    pub kind: String,
    /// The version of that routine that ran last.
    pub version: u32,
    /// The number of this lease.
    pub token: u64,
    /// How many commits there were.
    pub sequence: u64,
    /// What it waits for.
    pub awaits: Awaits,
    /// Whether the time it waits for has come.
    pub is_due: bool,
    /// Its image.
    pub image: Vec<u8>,
    /// Messages that were not taken yet, the oldest first; not necessarily all.
    pub inbox: Vec<Message>,
    /// Whether the lease before this one ended with neither a step nor a release: its holder died, was cut off, or
    /// took too long.
    pub was_lost: bool,
    /// How many attempts at its next step were counted, by [`Store::attempt`].
    pub attempts: u32,
}

/// How many messages a lease hands out at most.
pub const INBOX: usize = 16;

/// The highest number of a forgotten session that counts: a higher one is damage, and would leave no room for others.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) const HIGHEST: u64 = 1 << 62;

/// How many bytes an image, a message with its key, an effect or a text may have.
pub const LARGEST: usize = 8 << 20;

/// After how many bytes of images a lease hands out no more sessions, and of effects no more of these.
pub const LEASED: usize = 4 * LARGEST;

/// A message in a session's inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// By which it is taken.
    pub number: i64,
    /// What its sender calls it.
    pub key: String,
    /// What it says.
    pub body: Vec<u8>,
}

/// A message to be sent.
#[derive(Clone, Debug)]
pub struct NewMessage {
    /// To which session.
    pub to: SessionId,
    /// What it is called: a second one of this key, to the same session, is the same message.
    pub key: String,
    /// What it says.
    pub body: Vec<u8>,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is in the inbox now.
    Queued,
    /// It had been sent before.
    Repeated,
}

/// Something to be done in the world outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEffect {
    /// What sort of thing.
    pub topic: String,
    /// The rest.
    pub body: Vec<u8>,
}

/// Something to be done in the world outside. It is handed out at least once; `(session, sequence)` is what to tell
/// the world, so that it is done once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// By which session.
    pub session: SessionId,
    /// Its number: one more than that of the session's effect before it. The first is 1, or a higher one in a store that
    /// has forgotten sessions.
    pub sequence: u64,
    /// What sort of thing.
    pub topic: String,
    /// The rest.
    pub body: Vec<u8>,
}

impl Effect {
    /// The idempotency key as text.
    pub fn key(&self) -> String {
        format!("{}/{}", self.session, self.sequence)
    }
}

/// What a session does after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Next {
    /// It goes on, and the worker keeps its lease, renewed if need be.
    Kept,
    /// It goes on, with whichever worker.
    Ready,
    /// It goes on after this time.
    After(Duration),
    /// It goes on when there is a message, or after this time.
    Message(Option<Duration>),
    /// It has returned.
    Done,
    /// Its step panicked.
    Failed(String),
    /// Its image could not be read, or not be written.
    Quarantined(String),
}

/// A step that was made.
#[derive(Clone, Debug)]
pub struct Commit {
    /// Whose.
    pub id: SessionId,
    /// Under which lease.
    pub token: u64,
    /// The sequence before it.
    pub sequence: u64,
    /// The version of the routine that made it.
    pub version: u32,
    /// The new image; `None` if it is as it was.
    pub image: Option<Vec<u8>>,
    /// What it was suspended with, or has returned, as JSON; `None` if that is as it was.
    pub said: Option<String>,
    /// What it does next. If it is as it was (failed, quarantined), so is what it waits for.
    pub next: Next,
    /// Numbers of the messages that were taken.
    pub taken: Vec<i64>,
    /// Messages to other sessions, or to itself.
    pub messages: Vec<NewMessage>,
    /// What is to be done in the world.
    pub effects: Vec<NewEffect>,
}

/// A lease to be renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Of which session.
    pub id: SessionId,
    /// Which lease.
    pub token: u64,
}

/// A lease to be given back without a step.
#[derive(Clone, Debug)]
pub struct Release {
    /// Which lease.
    pub held: Held,
    /// Numbers of messages that nobody will ever be able to read, to be put aside.
    pub refused: Vec<i64>,
}

/// Whether something was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was, durably.
    Stored,
    /// It was not: the lease is no longer the session's.
    Fenced,
}

/// A change from outside, whoever has the session. Its lease is void then.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Change {
    /// It ends, for this reason. Those that have ended stay as they are.
    Cancel(String),
    /// A failed or quarantined one can run again.
    Retry,
    /// A failed or quarantined one gets another image, of this version of its routine, and can run again.
    Replace(Vec<u8>, u32),
    /// It is quarantined, for this reason, whatever is stored of it. Those that have ended stay as they are.
    Quarantine(String),
}

/// A session with all that there is of it, as far as that has a limited size: of an image, message or effect of more than
/// [`LARGEST`] bytes only the size is told, in the place of its body. A store that is outside of the process gives the
/// oldest messages until these have [`LARGEST`] bytes, and the oldest effects until these have [`LEASED`].
#[derive(Clone, Debug)]
pub struct Whole {
    /// What there is to see of it.
    pub row: Row,
    /// What it waits for.
    pub awaits: Awaits,
    /// Its image.
    pub image: Vec<u8>,
    /// Its messages that were not taken yet.
    pub inbox: Vec<Message>,
    /// Effects that were not confirmed.
    pub outbox: Vec<Effect>,
}

/// Keeps sessions, by the laws of this module's header.
///
/// Operations are synchronous: a thread blocks, a coroutine parks, and others of its core run meanwhile. They
/// take batches, because one durable transaction for many steps costs as much as for one. Every one may be
/// asked for again after an error.
pub trait Store: Send + Sync {
    /// Creates sessions. Tells which were new.
    fn create(&self, new: &[NewSession]) -> Result<Vec<bool>>;
    /// Leases sessions that are due.
    fn lease(&self, want: &Want) -> Result<Vec<Lease>>;
    /// Stores steps, in one transaction: one step of a session, whatever else the batch holds of it. Leases that are kept
    /// last for half of `ttl` at least from now on.
    fn commit(&self, batch: &[Commit], ttl: Duration) -> Result<Vec<Outcome>>;
    /// Stores steps and leases sessions that are due: for a worker that has nothing in hand any more. Stores that do both
    /// in one transaction spare it one. An error of the lease alone shows at the next one. If the answer is lost, the
    /// steps are stored and what was leased is leased to nobody until that lease has run out, as with [`Store::lease`].
    fn commit_and_lease(
        &self,
        batch: &[Commit],
        want: &Want,
    ) -> Result<(Vec<Outcome>, Vec<Lease>)> {
        let outcomes = self.commit(batch, want.ttl)?;
        Ok((outcomes, self.lease(want).unwrap_or_default()))
    }
    /// Makes leases last for `ttl` from now on.
    fn renew(&self, held: &[Held], ttl: Duration) -> Result<Vec<Outcome>>;
    /// Counts an attempt at the next step of each, durably, before it is made. A session whose attempts end its
    /// process is known by their number: see [`Lease::attempts`].
    fn attempt(&self, held: &[Held]) -> Result<Vec<Outcome>>;
    /// Gives leases back; the sessions wait for what they waited for.
    fn release(&self, released: &[Release]) -> Result<Vec<Outcome>>;
    /// Sends messages.
    fn send(&self, messages: &[NewMessage]) -> Result<Vec<Sent>>;
    /// Waits until something may be due, and for this long at most.
    fn wait(&self, most: Duration) -> Result<()>;
    /// Changes sessions from outside. Tells which were changed.
    fn change(&self, ids: &[SessionId], change: &Change) -> Result<Vec<bool>>;
    /// Ends those that nobody has touched for so long and that wait, sleep, failed or are quarantined. Tells how many.
    fn expire(&self, untouched: Duration) -> Result<u64>;
    /// Deletes those that ended so long ago and whose effects are all confirmed. Tells how many.
    fn forget(&self, ended: Duration) -> Result<u64>;
    /// Deletes messages that were taken so long ago, some at a time: their keys are unknown then. Tells how many.
    fn sweep(&self, taken: Duration) -> Result<u64>;
    /// Hands effects out that were not confirmed, the oldest first. For `ttl` they are handed to nobody else.
    fn outbox(&self, most: usize, ttl: Duration) -> Result<Vec<Effect>>;
    /// Confirms effects that were handed out, by session and sequence.
    fn confirm(&self, done: &[(SessionId, u64)]) -> Result<()>;
    /// Shows sessions, by id.
    fn list(&self, query: &Query, each: &mut dyn FnMut(Row)) -> Result<()>;
    /// All there is of a session.
    fn load(&self, id: SessionId) -> Result<Option<Whole>>;
    /// How many there are in each state.
    fn count(&self) -> Result<BTreeMap<State, u64>>;
}

/// Opens the store at an address: `memory`, `sqlite:PATH` (or a path alone), `postgres://..`.
///
/// # Errors
/// If this build has no such store, or it cannot be opened.
pub fn open(address: &str) -> Result<Arc<dyn Store>> {
    if matches!(address, "" | "sqlite:") {
        return Err(StoreError::Address("it is empty".into()));
    }
    if address == "memory" {
        return Ok(Arc::new(crate::Memory::new()));
    }
    if address.starts_with("postgres://") || address.starts_with("postgresql://") {
        #[cfg(feature = "postgres")]
        return Ok(Arc::new(crate::Postgres::open(address)?));
        #[cfg(not(feature = "postgres"))]
        return Err(StoreError::Address("this build is without the feature `postgres`".into()));
    }
    #[cfg(feature = "sqlite")]
    return Ok(Arc::new(crate::Sqlite::open(address.strip_prefix("sqlite:").unwrap_or(address))?));
    #[cfg(not(feature = "sqlite"))]
    Err(StoreError::Address(format!("`{address}`; this build is without the feature `sqlite`")))
}
