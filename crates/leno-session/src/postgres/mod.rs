//! The store for several machines: PostgreSQL.
//!
//! Times are those of the server's clock. A connection is used by one caller at a time; there are as many as there were
//! callers at once. The address may name several hosts: the first that can be written to is taken, so that after a
//! failover the one that was promoted is found.
//!
//! A client that is stopped or cut off in the middle of a transaction keeps its locks for 3 s at most; then the server
//! takes the transaction back. So it is no more than a worker whose lease has run out.
//!
//! A server, or a network, that falls silent is waited for no longer than [`PostgresLimits`] say: the connection is given up,
//! with all that are idle, and the operation can be asked for again.
//!
//! Nobody waits for the disk, or for a standby, to get a lease: a step waits once, when it is stored. So a server that
//! crashes may forget the leases of its last moments, never a step. Those sessions are due at once, and other workers get
//! them. Tokens rise by random numbers: whoever holds a lease that was forgotten has a token that nobody gets again, and is
//! fenced.
//!
//! Nobody is notified of a step. A worker that finds nothing to do leaves a mark; whoever makes work removes the mark
//! and notifies, once. Workers look by themselves now and then all the same.

mod connection;
mod schema;
mod transact;

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{
    AtomicBool, AtomicI64,
    Ordering::{Acquire, Relaxed, Release as Released},
};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leno_kernel::layer::user::lock;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, Row as Found};

use crate::clock::{FAR, millis, shown};
use crate::error::StoreError;
use crate::id::SessionId;
use crate::row::{Query, Row, State};
use crate::store::{
    Awaits, Change, Commit, Effect, HIGHEST, Held, LARGEST, LEASED, Lease, Message, NewMessage,
    NewSession, Outcome, Release, Result, Sent, Store, Want, Whole,
};
use crate::text;
use connection::Wire;

/// A store on a PostgreSQL server. Clones are the same store.
#[derive(Clone)]
pub struct Postgres(Arc<Wires>);

struct Wires {
    config: Config,
    free: Mutex<Vec<Wire>>,
    /// The one that listens, while nobody does.
    ear: Mutex<Option<Wire>>,
    /// Whether somebody listens.
    is_listening: AtomicBool,
    limits: PostgresLimits,
    /// Up to which message the last sweep has come.
    swept: AtomicI64,
}

/// For how long a server may keep a caller waiting. A connection that takes longer is given up, and the next operation
/// gets another one.
///
/// These hold in addition to what the system does: connections are kept alive, and given up if the other side has not
/// confirmed what was sent within `statement`.
#[derive(Clone, Copy, Debug)]
pub struct PostgresLimits {
    /// To let a client in, for each host that is tried; 5 s.
    pub connect: Duration,
    /// For one statement; 20 s.
    pub statement: Duration,
    /// For one statement that goes through whole tables: to list, count, expire, forget; 2 min.
    pub scan: Duration,
}

impl Default for PostgresLimits {
    fn default() -> Self {
        PostgresLimits {
            connect: Duration::from_secs(5),
            statement: Duration::from_secs(20),
            scan: Duration::from_secs(120),
        }
    }
}

/// How many messages a sweep looks at.
const SWEPT: i64 = 10_000;

/// How many sessions are forgotten in one transaction.
const FORGOTTEN_AT_ONCE: usize = 1000;

/// How many messages are shown of a session.
const SHOWN: i64 = 4096;

impl Postgres {
    /// Opens the store at this address, such as `postgres://user@host:port/database`, and makes its tables if need be.
    /// Several hosts may be named: `host1:port1,host2:port2`.
    ///
    /// # Errors
    /// If the address is none; if no host can be reached; if the tables are of a later version.
    pub fn open(address: &str) -> Result<Self> {
        Postgres::open_within(address, PostgresLimits::default())
    }

    /// As [`Postgres::open`], with other limits.
    ///
    /// # Errors
    /// As [`Postgres::open`].
    pub fn open_within(address: &str, limits: PostgresLimits) -> Result<Self> {
        let config: Config = address
            .parse()
            .map_err(|error: tokio_postgres::Error| StoreError::Address(error.to_string()))?;
        let store = Postgres(Arc::new(Wires {
            config,
            free: Mutex::default(),
            ear: Mutex::default(),
            is_listening: AtomicBool::new(false),
            limits,
            swept: AtomicI64::new(0),
        }));
        let found: i64 = store.with(|wire| {
            // Tables are made only if need be: that needs locks which keep everybody else waiting.
            let version = |wire: &mut Wire| -> Result<i64> {
                let found = wire.ask("SELECT version FROM leno_store", &[])?;
                Ok(found.first().map_or(0, |row| row.get(0)))
            };
            let is_there = wire.ask("SELECT to_regclass('leno_store') IS NOT NULL", &[])?;
            let is_there = is_there.first().is_some_and(|row| row.get(0));
            let found = if is_there { version(wire)? } else { 0 };
            if found >= schema::VERSION {
                return Ok(found);
            }
            wire.scanning(|wire| wire.drive(|client| client.batch_execute(schema::CREATE)))?;
            version(wire)
        })?;
        if found > schema::VERSION {
            return Err(StoreError::Version { found, known: schema::VERSION });
        }
        Ok(store)
    }

    /// Lends a connection. One that failed is not used again.
    fn with<T>(&self, work: impl FnOnce(&mut Wire) -> Result<T>) -> Result<T> {
        let free = lock(&self.0.free).pop();
        let mut wire = match free {
            Some(wire) => wire,
            None => Wire::connect(&self.0.config, &self.0.limits)?,
        };
        let result = work(&mut wire);
        let mut free = lock(&self.0.free);
        match &result {
            Ok(_) => free.push(wire),
            // What has become of one has probably become of all: nobody waits for each of them in turn.
            Err(StoreError::Unavailable(_)) => {
                let all = std::mem::take(&mut *free);
                drop(free);
                drop(all);
            }
            Err(_) => {}
        }
        result
    }

    /// One statement by itself.
    fn ask(&self, sql: &'static str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Found>> {
        self.with(|wire| wire.ask(sql, params))
    }

    /// One statement by itself that goes through whole tables, or that steps do not wait for.
    fn ask_freely(&self, sql: &'static str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Found>> {
        self.with(|wire| {
            wire.scanning(|wire| {
                transact::whole(wire, |wire| {
                    wire.freely()?;
                    wire.ask(sql, params)
                })
            })
        })
    }

    /// One statement by itself, after which a worker may have something to do.
    fn ask_and_tell(
        &self,
        sql: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Found>> {
        self.with(|wire| {
            let found = wire.ask(sql, params)?;
            wire.ask(schema::TELL, &[])?;
            Ok(found)
        })
    }
}

/// The one who listens, until this is dropped: also if its coroutine exits while it waits.
struct Listening<'a>(&'a AtomicBool);

impl<'a> Listening<'a> {
    /// `None` if somebody listens already.
    fn begin(is_listening: &'a AtomicBool) -> Option<Self> {
        (!is_listening.swap(true, Acquire)).then(|| Listening(is_listening))
    }
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.0.store(false, Released);
    }
}

impl Wire {
    fn ask(&mut self, sql: &'static str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Found>> {
        let statement = self.statement(sql)?;
        self.drive(|client| async move { client.query(&statement, params).await })
    }
}

/// What the server's errors mean to those who ask a store.
fn told(error: &tokio_postgres::Error) -> StoreError {
    let text = match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => std::error::Error::source(error)
            .map_or(error.to_string(), |cause| format!("{error}: {cause}")),
    };
    match error.code().map(SqlState::code) {
        None => StoreError::Unavailable(text),
        Some(code) => match code.get(..2) {
            // Deadlocks, and locks that were waited for too long.
            Some("40" | "55") => StoreError::Busy(text),
            // Connections, resources, an operator's intervention, a server that only reads; what an operator can take away
            // and give back: who may come in, the database's name, rights.
            Some("08" | "53" | "57" | "58" | "25" | "28" | "3D") => StoreError::Unavailable(text),
            _ if code == "42501" => StoreError::Unavailable(text),
            // What another connection does not suffer from: statements that were prepared on this one.
            Some("0A" | "26") => StoreError::Unavailable(text),
            // Values that a column cannot hold, that break a rule, or that are too long.
            Some("22" | "23" | "54") => StoreError::Refused(text),
            // A table that is not there, say.
            _ => StoreError::Damaged(text),
        },
    }
}

fn bytes(ids: &[SessionId]) -> Vec<&[u8]> {
    ids.iter().map(|id| &id.as_bytes()[..]).collect()
}

fn id_at(row: &Found, index: usize) -> SessionId {
    let bytes: &[u8] = row.get(index);
    SessionId::from_bytes(bytes.try_into().unwrap_or_default())
}

fn ids(rows: &[Found]) -> HashSet<SessionId> {
    rows.iter().map(|row| id_at(row, 0)).collect()
}

fn number(row: &Found, index: usize) -> u64 {
    row.get::<_, i64>(index).unsigned_abs()
}

fn awaited(number: i16) -> Awaits {
    match number {
        0 => Awaits::Nothing,
        1 => Awaits::Message,
        _ => Awaits::Time,
    }
}

fn row_of(row: &Found) -> Row {
    let due: i64 = row.get(8);
    Row {
        id: id_at(row, 0),
        kind: row.get(1),
        version: number(row, 2) as u32,
        state: State::numbered(row.get(3)).unwrap_or(State::Quarantined),
        sequence: number(row, 4),
        effects: number(row, 5),
        token: number(row, 6),
        worker: row.get(7),
        due: (due != FAR).then(|| shown(due)),
        said: row.get(9),
        reason: row.get(10),
        created: shown(row.get(11)),
        touched: shown(row.get(12)),
        size: number(row, 13) as usize,
    }
}

/// An effect, or its size, if that was too large to be read.
fn effect_of(row: &Found) -> std::result::Result<Effect, i64> {
    let (topic, body) = (row.get(3), row.get::<_, Option<Vec<u8>>>(4));
    let (Some(topic), Some(body)) = (topic, body) else { return Err(row.get(5)) };
    Ok(Effect { session: id_at(row, 1), sequence: number(row, 2), topic, body })
}

/// An effect for those who look: one that is too large says so in its place.
fn shown_effect(row: &Found) -> Effect {
    effect_of(row).unwrap_or_else(|size| {
        let body = text::too_large(size).into_bytes();
        Effect { session: id_at(row, 1), sequence: number(row, 2), topic: String::new(), body }
    })
}

/// A message for those who look: one that is too large says so in its place.
fn shown_message(row: &Found) -> Message {
    if row.get::<_, i64>(4) <= LARGEST as i64 {
        return transact::message_of(row);
    }
    Message { number: row.get(1), key: row.get(2), body: text::too_large(row.get(4)).into_bytes() }
}

impl Store for Postgres {
    fn create(&self, new: &[NewSession]) -> Result<Vec<bool>> {
        text::of_sessions(new)?;
        let named: Vec<SessionId> = new.iter().map(|new| new.id).collect();
        let kinds: Vec<&str> = new.iter().map(|new| new.kind.as_str()).collect();
        let versions: Vec<i64> = new.iter().map(|new| i64::from(new.version)).collect();
        let images: Vec<&[u8]> = new.iter().map(|new| new.image.as_slice()).collect();
        let made =
            self.ask_and_tell(schema::INSERT, &[&bytes(&named), &kinds, &versions, &images])?;
        let mut made = ids(&made);
        // Of two of the same id in one batch, the first is new.
        Ok(named.iter().map(|id| made.remove(id)).collect())
    }

    fn lease(&self, want: &Want) -> Result<Vec<Lease>> {
        text::of_want(want)?;
        self.with(|wire| transact::lease(wire, want))
    }

    fn commit(&self, batch: &[Commit], ttl: Duration) -> Result<Vec<Outcome>> {
        text::of_commits(batch)?;
        self.with(|wire| transact::commit(wire, batch, ttl))
    }

    fn commit_and_lease(
        &self,
        batch: &[Commit],
        want: &Want,
    ) -> Result<(Vec<Outcome>, Vec<Lease>)> {
        text::of_commits(batch).and_then(|()| text::of_want(want))?;
        self.with(|wire| transact::commit_and_lease(wire, batch, want))
    }

    fn renew(&self, held: &[Held], ttl: Duration) -> Result<Vec<Outcome>> {
        let (named, tokens) = transact::named(held);
        let renewed = self.ask(schema::RENEW, &[&bytes(&named), &tokens, &millis(ttl)])?;
        let renewed = transact::holders(&renewed);
        let is_renewed = |held: &Held| renewed.contains(&(held.id, held.token));
        Ok(held.iter().map(|held| transact::outcome(is_renewed(held))).collect())
    }

    fn attempt(&self, held: &[Held]) -> Result<Vec<Outcome>> {
        let (named, tokens) = transact::named(held);
        let counted = transact::holders(&self.ask(schema::ATTEMPT, &[&bytes(&named), &tokens])?);
        let is_counted = |held: &Held| counted.contains(&(held.id, held.token));
        Ok(held.iter().map(|held| transact::outcome(is_counted(held))).collect())
    }

    fn release(&self, released: &[Release]) -> Result<Vec<Outcome>> {
        self.with(|wire| transact::whole(wire, |wire| transact::release(wire, released)))
    }

    fn send(&self, messages: &[NewMessage]) -> Result<Vec<Sent>> {
        text::of_messages(messages)?;
        self.with(|wire| {
            transact::whole(wire, |wire| {
                let to: Vec<SessionId> = messages.iter().map(|message| message.to).collect();
                wire.ask(schema::LOCK, &[&bytes(&to)])?;
                let sent = transact::send(wire, &messages.iter().collect::<Vec<_>>())?;
                wire.ask(schema::WAKE, &[&bytes(&to)])?;
                wire.ask(schema::TELL, &[])?;
                Ok(sent)
            })
        })
    }

    fn wait(&self, most: Duration) -> Result<()> {
        // One listens for all of the process; the others look again a little later.
        let Some(_listening) = Listening::begin(&self.0.is_listening) else {
            leno_kernel::blocking(move || std::thread::sleep(most.min(Duration::from_millis(20))));
            return Ok(());
        };
        let ear = || lock(&self.0.ear);
        let free = ear().take();
        let mut wire = match free {
            Some(wire) => wire,
            None => {
                let mut wire = Wire::connect(&self.0.config, &self.0.limits)?;
                wire.drive(|client| client.batch_execute("LISTEN leno_session"))?;
                wire
            }
        };
        wire.ask(schema::ASK, &[])?;
        // Between the mark and what was looked at before it, something may have come; so not for long.
        wire.listen(most.min(Duration::from_millis(50)))?;
        let old = ear().replace(wire);
        drop(old);
        Ok(())
    }

    fn change(&self, named: &[SessionId], change: &Change) -> Result<Vec<bool>> {
        text::of_change(change)?;
        let changed = match change {
            Change::Cancel(reason) => self.ask(schema::CANCEL, &[&bytes(named), reason])?,
            Change::Quarantine(reason) => self.ask(schema::QUARANTINE, &[&bytes(named), reason])?,
            Change::Retry => {
                self.ask_and_tell(schema::RETRY, &[&bytes(named), &None::<Vec<u8>>, &None::<i64>])?
            }
            Change::Replace(image, version) => {
                let version = Some(i64::from(*version));
                self.ask_and_tell(schema::RETRY, &[&bytes(named), &Some(image), &version])?
            }
        };
        let changed = ids(&changed);
        Ok(named.iter().map(|id| changed.contains(id)).collect())
    }

    fn expire(&self, untouched: Duration) -> Result<u64> {
        Ok(self.ask_freely(schema::EXPIRE, &[&millis(untouched)])?.len() as u64)
    }

    fn forget(&self, ended: Duration) -> Result<u64> {
        let ended = millis(ended);
        let old = self.ask_freely(schema::FORGOTTEN, &[&ended])?;
        let old: Vec<SessionId> = old.iter().map(|row| id_at(row, 0)).collect();
        let mut count = 0;
        // Some at a time: whoever creates sessions waits meanwhile.
        for some in old.chunks(FORGOTTEN_AT_ONCE) {
            let params: [&(dyn ToSql + Sync); 3] = [&ended, &bytes(some), &(HIGHEST as i64)];
            let found = self.with(|wire| {
                wire.scanning(|wire| {
                    transact::whole(wire, |wire| {
                        wire.freely()?;
                        wire.ask(schema::LOCK_FORGOTTEN, &[])?;
                        wire.ask(schema::FORGET, &params)
                    })
                })
            })?;
            count += found.first().map_or(0, |row| number(row, 0));
        }
        Ok(count)
    }

    fn sweep(&self, taken: Duration) -> Result<u64> {
        let after = self.0.swept.load(Relaxed);
        let found = self.ask(schema::SWEEP, &[&after, &millis(taken), &SWEPT])?;
        let Some(row) = found.first() else { return Ok(0) };
        // From the beginning again, when it has come to the end.
        let is_over = row.get::<_, i64>(1) < SWEPT;
        self.0.swept.store(if is_over { 0 } else { row.get(0) }, Relaxed);
        Ok(number(row, 2))
    }

    fn outbox(&self, most: usize, ttl: Duration) -> Result<Vec<Effect>> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        loop {
            let mut found = self.with(|wire| transact::outbox(wire, most, millis(ttl)))?;
            found.sort_by_key(|row| number(row, 0));
            let effects: Vec<_> = found.iter().filter_map(|row| effect_of(row).ok()).collect();
            // Those that were too large are not found again.
            if found.is_empty() || !effects.is_empty() {
                return Ok(effects);
            }
        }
    }

    fn confirm(&self, done: &[(SessionId, u64)]) -> Result<()> {
        let (named, sequences): (Vec<_>, Vec<_>) =
            done.iter().map(|(id, n)| (*id, *n as i64)).unzip();
        self.ask_freely(schema::CONFIRM, &[&bytes(&named), &sequences]).map(drop)
    }

    fn list(&self, query: &Query, each: &mut dyn FnMut(Row)) -> Result<()> {
        text::of_query(query)?;
        let found = if let Some(id) = query.id {
            self.ask(schema::SHOW, &[&&id.as_bytes()[..]])?
        } else {
            let after = query.after.as_ref().map(|id| &id.as_bytes()[..]);
            let limit = i64::try_from(query.limit).unwrap_or(0);
            let state = query.state.map(State::number);
            self.ask_freely(schema::LIST, &[&query.kind, &state, &after, &limit])?
        };
        found.iter().map(row_of).for_each(each);
        Ok(())
    }

    fn load(&self, id: SessionId) -> Result<Option<Whole>> {
        self.with(|wire| {
            let key = &id.as_bytes()[..];
            let (largest, most) = (LARGEST as i64, LEASED as i64);
            let found = wire.ask(schema::LOAD, &[&key, &(LARGEST as i32)])?;
            let Some(row) = found.first() else { return Ok(None) };
            let inbox = wire.ask(schema::UNREAD_WITHIN, &[&vec![key], &SHOWN, &largest])?;
            let outbox = wire.ask(schema::UNCONFIRMED, &[&key, &largest, &most])?;
            Ok(Some(Whole {
                row: row_of(row),
                awaits: awaited(row.get(14)),
                image: row.get::<_, Option<Vec<u8>>>(15).unwrap_or_default(),
                inbox: inbox.iter().map(shown_message).collect(),
                outbox: outbox.iter().map(shown_effect).collect(),
            }))
        })
    }

    fn count(&self) -> Result<BTreeMap<State, u64>> {
        let found = self.ask_freely(schema::COUNT, &[])?;
        let state = |row: &Found| State::numbered(row.get(0)).unwrap_or(State::Quarantined);
        let mut states = BTreeMap::new();
        for row in &found {
            *states.entry(state(row)).or_default() += number(row, 1);
        }
        Ok(states)
    }
}
