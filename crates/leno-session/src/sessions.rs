//! The engine: a store, and the routines that this build can run.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use leno_frame::Entry;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::caught::Caught;
use crate::error::{SessionError, StoreError};
use crate::health::{Health, Vitals};
use crate::id::SessionId;
use crate::kind::{ARGUMENTS, Kept, Kind, Registered, SessionRoutine};
use crate::metrics::{Counters, Metrics};
use crate::row::{Query, Row, State};
use crate::stage::Properties;
use crate::store::{Change, Known, NewMessage, NewSession, Sent, Store};
use crate::text;

/// Sessions in a store, and the routines that this build can run. Clones are the same engine.
///
/// ```
/// use leno_frame::{Co, resumable};
/// use leno_session::{Memory, Sessions, State};
///
/// #[resumable]
/// async fn greeting(co: &mut Co<String, String>) -> String {
///     let name = co.suspend("Who is there?".into()).await;
///     format!("Hello, {name}!")
/// }
///
/// let sessions = Sessions::open(Memory::new()).register("greeting", greeting);
/// let id = sessions.start("greeting", &())?;
/// assert_eq!(sessions.run(id)?.text(), "Who is there?");
/// // Later, in another process, if the store is one that lasts.
/// sessions.answer(id, "Ann")?;
/// let row = sessions.run(id)?;
/// assert_eq!((row.state, row.text().as_str()), (State::Done, "Hello, Ann!"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Sessions {
    pub(crate) store: Caught,
    pub(crate) kinds: Arc<BTreeMap<String, Arc<dyn Kind>>>,
    pub(crate) properties: Arc<Properties>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) vitals: Arc<Vitals>,
    pub(crate) pace: Pace,
}

/// How workers work.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How many sessions a worker leases at once; 32.
    pub batch: usize,
    /// How many steps of a session that waits for nothing a worker makes under one lease; 20.
    pub rounds: usize,
    /// For how long a lease lasts without being renewed; 10 s. A single step that takes longer is done in vain.
    pub ttl: Duration,
    /// How many times a step is tried, with nothing else in hand, whose attempts end their process or outlive their
    /// lease; 5. Then the session is quarantined. 0 is without a limit.
    pub attempts: u32,
    /// For how long keys of messages that were taken are remembered, so that the same message is not taken twice;
    /// 7 days. Then they are deleted by workers, a few at a time. `Duration::MAX` is for ever.
    pub remember: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Pace {
            batch: 32,
            rounds: 20,
            ttl: Duration::from_secs(10),
            attempts: 5,
            remember: Duration::from_secs(7 * 24 * 3600),
        }
    }
}

impl Sessions {
    /// An engine on this store that knows no routines yet.
    pub fn open(store: impl Store + 'static) -> Self {
        Sessions::open_shared(Arc::new(store))
    }

    /// As [`Sessions::open`], with a store that others have, too.
    pub fn open_shared(store: Arc<dyn Store>) -> Self {
        Sessions {
            store: Caught(store),
            kinds: Arc::default(),
            properties: Arc::default(),
            counters: Arc::default(),
            vitals: Arc::default(),
            pace: Pace::default(),
        }
    }

    /// Makes a routine known, under this name, in its version 1.
    ///
    /// # Panics
    /// If the name has a NUL byte, which no store holds.
    #[must_use]
    pub fn register<R, A, F>(self, name: &str, entry: F) -> Self
    where
        R: SessionRoutine,
        A: DeserializeOwned + Send + 'static,
        F: Entry<R, A> + Clone + Send + Sync + 'static,
    {
        self.register_as(name, Kept::new(), entry)
    }

    /// Makes a routine known, under this name, and says how its sessions are kept.
    ///
    /// # Panics
    /// If the name has a NUL byte, which no store holds.
    #[must_use]
    pub fn register_as<R, A, F>(mut self, name: &str, kept: Kept, entry: F) -> Self
    where
        R: SessionRoutine,
        A: DeserializeOwned + Send + 'static,
        F: Entry<R, A> + Clone + Send + Sync + 'static,
    {
        assert!(text::is_plain(name), "the name of a routine has no NUL byte");
        let kind = Registered::<R, A, F> { entry, kept, _types: PhantomData };
        Arc::make_mut(&mut self.kinds).insert(name.to_owned(), Arc::new(kind));
        self
    }

    /// Gives something to all sessions: see [`crate::Stage::get`].
    #[must_use]
    pub fn provide<T: Send + Sync + 'static>(mut self, property: Arc<T>) -> Self {
        Arc::make_mut(&mut self.properties).insert(TypeId::of::<T>(), property);
        self
    }

    /// Says how workers work.
    #[must_use]
    pub fn pace(mut self, pace: Pace) -> Self {
        self.pace = Pace { batch: pace.batch.max(1), rounds: pace.rounds.max(1), ..pace };
        self
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store.0
    }

    /// What this engine has done so far, in this process.
    pub fn metrics(&self) -> Metrics {
        self.counters.read()
    }

    /// How its workers are, in this process.
    pub fn health(&self) -> Health {
        self.vitals.read()
    }

    pub(crate) fn build(&self) -> Vec<Known> {
        let known = |(kind, of): (&String, &Arc<dyn Kind>)| Known {
            kind: kind.clone(),
            version: of.version(),
        };
        self.kinds.iter().map(known).collect()
    }

    fn kind(&self, kind: &str) -> Result<&Arc<dyn Kind>, SessionError> {
        self.kinds.get(kind).ok_or_else(|| SessionError::NoKind {
            kind: kind.to_owned(),
            known: self.kinds.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
        })
    }

    /// Starts a session with an id that nobody can guess. `arguments` are those of the routine after its handle,
    /// as a tuple. It runs when a worker has time.
    ///
    /// # Errors
    /// If there is no such routine, or these are not its arguments; if the store fails.
    pub fn start(&self, kind: &str, arguments: &impl Serialize) -> Result<SessionId, SessionError> {
        let id = SessionId::random();
        self.start_as(id, kind, arguments)?;
        Ok(id)
    }

    /// Starts a session of this id, unless there is one. Tells whether it was new.
    ///
    /// # Errors
    /// As [`Sessions::start`].
    pub fn start_as(
        &self,
        id: SessionId,
        kind: &str,
        arguments: &impl Serialize,
    ) -> Result<bool, SessionError> {
        Ok(self.start_all(kind, [(id, arguments)])? == 1)
    }

    /// Starts many, in one transaction. Tells how many were new.
    ///
    /// # Errors
    /// As [`Sessions::start`]; none is started then.
    pub fn start_all<A: Serialize>(
        &self,
        kind: &str,
        sessions: impl IntoIterator<Item = (SessionId, A)>,
    ) -> Result<usize, SessionError> {
        let of = self.kind(kind)?;
        let wrong = |cause| SessionError::Arguments { kind: kind.to_owned(), cause };
        let new = sessions.into_iter().map(|(id, arguments)| {
            let json =
                leno_frame::json::to_vec(&arguments).map_err(|error| wrong(error.to_string()))?;
            of.check_arguments(&json).map_err(wrong)?;
            let image = [&[ARGUMENTS], &json[..]].concat();
            Ok(NewSession { id, kind: kind.to_owned(), version: of.version(), image })
        });
        let new = new.collect::<Result<Vec<_>, SessionError>>()?;
        let started = self.patiently(|| self.store.create(&new))?;
        let count = started.iter().filter(|new| **new).count();
        Counters::add(&self.counters.started, count);
        Ok(count)
    }

    /// Answers what a session has asked. An answer that comes while it asks nothing, or that is one too many, is kept,
    /// and taken by its next wait for an answer, whatever that asks.
    ///
    /// # Errors
    /// If there is no such session, it has ended, or its routine cannot read this; if the store fails.
    pub fn answer(&self, id: SessionId, text: &str) -> Result<(), SessionError> {
        let key = SessionId::random().to_string();
        self.answer_once(id, &key, text.as_bytes()).map(drop)
    }

    /// Sends a message to a session, unless it has had one of this key.
    ///
    /// # Errors
    /// As [`Sessions::answer`].
    pub fn answer_once(&self, id: SessionId, key: &str, body: &[u8]) -> Result<Sent, SessionError> {
        let row = self.show(id)?;
        if row.state.has_ended() {
            return Err(SessionError::Ended(id, row.state));
        }
        if let Some(kind) = self.kinds.get(&row.kind) {
            kind.check_answer(body)
                .map_err(|cause| SessionError::Answer { kind: row.kind, cause })?;
        }
        let message = NewMessage { to: id, key: key.to_owned(), body: body.to_vec() };
        let sent = self.patiently(|| self.store.send(std::slice::from_ref(&message)))?;
        Counters::add(&self.counters.sent, 1);
        Ok(sent.first().copied().unwrap_or(Sent::Queued))
    }

    /// What there is to see of a session.
    ///
    /// # Errors
    /// If there is none; if the store fails.
    pub fn show(&self, id: SessionId) -> Result<Row, SessionError> {
        let query = Query { id: Some(id), ..Query::default() };
        self.list(&query)?.pop().ok_or(SessionError::NoSession(id))
    }

    /// Sessions, by id.
    ///
    /// # Errors
    /// If the store fails.
    pub fn list(&self, query: &Query) -> Result<Vec<Row>, SessionError> {
        self.patiently(|| {
            let mut rows = Vec::new();
            self.store.list(query, &mut |row| rows.push(row))?;
            Ok(rows)
        })
    }

    /// How many sessions there are in each state.
    ///
    /// # Errors
    /// If the store fails.
    pub fn count(&self) -> Result<BTreeMap<State, u64>, SessionError> {
        self.patiently(|| self.store.count())
    }

    /// Ends a session, whoever runs it.
    ///
    /// # Errors
    /// If there is none, or it has ended; if the store fails.
    pub fn cancel(&self, id: SessionId, reason: &str) -> Result<(), SessionError> {
        self.change(id, &Change::Cancel(text::clean(reason).into_owned()), "it cannot be cancelled")
    }

    /// Lets a failed or quarantined session try again: the same step, from where it was.
    ///
    /// # Errors
    /// If there is none, or it is neither failed nor quarantined; if the store fails.
    pub fn retry(&self, id: SessionId) -> Result<(), SessionError> {
        self.change(id, &Change::Retry, "only what failed or was quarantined can be retried")
    }

    fn change(
        &self,
        id: SessionId,
        change: &Change,
        rule: &'static str,
    ) -> Result<(), SessionError> {
        let changed = self.patiently(|| self.store.change(&[id], change))?;
        if changed == [true] {
            return Ok(());
        }
        let row = self.show(id)?;
        Err(SessionError::State(id, row.state, rule))
    }

    /// Lets all quarantined sessions of a routine try again, in this build: after it was given what they lack. Those that
    /// still cannot be read are quarantined again. Tells how many.
    ///
    /// # Errors
    /// If there is no such routine; if the store fails.
    pub fn retry_quarantined(&self, kind: &str) -> Result<usize, SessionError> {
        self.kind(kind)?;
        let query =
            Query { kind: Some(kind.into()), state: Some(State::Quarantined), ..Query::default() };
        let ids: Vec<SessionId> = self.list(&query)?.into_iter().map(|row| row.id).collect();
        let changed = self.patiently(|| self.store.change(&ids, &Change::Retry))?;
        Ok(changed.iter().filter(|changed| **changed).count())
    }

    /// Puts another image in the place of a failed or quarantined session's, perhaps an edited one, if this build can
    /// read it. The session can run then.
    ///
    /// # Errors
    /// If this build cannot read the image; if the session is neither failed nor quarantined; if the store fails.
    pub fn replace(&self, id: SessionId, image: Vec<u8>) -> Result<(), SessionError> {
        let row = self.show(id)?;
        let kind = self.kind(&row.kind)?;
        kind.open(&image).map_err(|cause| SessionError::Unreadable(id, cause))?;
        let change = Change::Replace(image, kind.version());
        self.change(id, &change, "only what failed or was quarantined can be given another image")
    }

    /// Ends sessions that nobody has touched for so long and that wait, sleep, failed or are quarantined. Tells how many.
    ///
    /// # Errors
    /// If the store fails.
    pub fn expire(&self, untouched: Duration) -> Result<u64, SessionError> {
        self.patiently(|| self.store.expire(untouched))
    }

    /// Deletes sessions that ended so long ago and have no effects to be delivered. Tells how many.
    ///
    /// # Errors
    /// If the store fails.
    pub fn forget(&self, ended: Duration) -> Result<u64, SessionError> {
        self.patiently(|| self.store.forget(ended))
    }

    /// Asks a store again for ten seconds if it is busy or away.
    pub(crate) fn patiently<T>(
        &self,
        ask: impl Fn() -> Result<T, StoreError>,
    ) -> Result<T, SessionError> {
        self.ask(Duration::from_secs(10), ask)
    }

    pub(crate) fn ask<T>(
        &self,
        patience: Duration,
        ask: impl Fn() -> Result<T, StoreError>,
    ) -> Result<T, SessionError> {
        let begun = Instant::now();
        let mut pause = Duration::from_millis(2);
        loop {
            match ask() {
                Err(error) if error.is_passing() && begun.elapsed() < patience => {
                    Counters::add(&self.counters.retried, 1);
                    leno_kernel::blocking(move || std::thread::sleep(pause));
                    pause = (pause * 2).min(Duration::from_millis(200));
                }
                result => return Ok(result?),
            }
        }
    }

    /// A name for a worker of this process.
    pub(crate) fn worker_name() -> String {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed))
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Sessions");
        shown.field("kinds", &self.kinds.keys()).field("pace", &self.pace).finish_non_exhaustive()
    }
}
