//! The store in a file: SQLite with a write-ahead log, synchronised at every commit. Several processes may share
//! the file, on one machine.
//!
//! Each process writes through one connection, and reads through another; a worker that finds the file locked
//! by another process asks again every fraction of a millisecond. A process that is *stopped* in the middle of a
//! write, which takes well under a millisecond, keeps all others from writing until it goes on or dies.
//!
//! Leases are not synchronised, only steps are: a lease survives the death of its process, because the system has
//! it, and if the machine loses its power, all who held leases are gone, too. So a step by itself waits for the disk
//! once, not twice.
//!
//! Times are those of the machine's clock. If it is set back, sessions that are ready stay ready: the file has the latest
//! time at which something was written, and until the clock has come there again, ready ones are looked for up to then.
//! Leases and time limits last longer by what the clock was set back.
//!
//! A new file is for its owner alone (mode 600). A cell that holds what its column is not for harms its own session: see
//! `cells.rs`.

mod cells;
mod connections;
mod schema;
mod transact;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use leno_context::user::lock;
use leno_kernel::blocking;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Params, params};

use self::cells::{Lenient, awaited, bytes};
use self::connections::{Connections, Lasts, Places};
use crate::clock::{millis, now};
use crate::error::StoreError;
use crate::id::SessionId;
use crate::row::{Query, Row, State};
use crate::store::{
    Change, Commit, Effect, HIGHEST, Held, LARGEST, LEASED, Lease, NewMessage, NewSession, Outcome,
    Release, Result, Sent, Store, Want, Whole,
};
use crate::text;

/// How many messages a sweep looks at.
const SWEPT: usize = 10_000;

/// How many messages are shown of a session.
const SHOWN: i64 = 4096;

/// A store in a file. Clones are the same store.
#[derive(Clone)]
pub struct Sqlite(Arc<Connections>);

impl Sqlite {
    /// Opens the store in this file, or makes one.
    ///
    /// # Errors
    /// If the file cannot be opened, is something else, or of a later version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let connections = Connections::open(path.as_ref().to_owned())?;
        let store = Sqlite(Arc::new(connections));
        store
            .write(|transaction| {
                let found: i64 =
                    transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
                match found {
                    0 => transaction.execute_batch(schema::CREATE)?,
                    1 => {
                        transaction.execute_batch(schema::SET_ASIDE)?;
                        transaction.execute_batch(schema::CREATE)?;
                        transaction.execute_batch(schema::TAKE_OVER)?;
                        transaction.execute_batch(schema::RAISE_FORGOTTEN)?;
                    }
                    2..=4 => {
                        if found < 3 {
                            transaction.execute_batch(schema::ADD_STORED)?;
                        }
                        if found < 4 {
                            transaction.execute_batch(schema::ADD_ATTEMPTS)?;
                        }
                        transaction.execute_batch(schema::ADD_FIRST)?;
                    }
                    schema::VERSION => {}
                    _ => return Ok(Err(found)),
                }
                let now = now();
                if connections::horizon(transaction, now)? > now {
                    transaction.execute(schema::SET_BACK, [now])?;
                }
                if found == schema::VERSION {
                    return Ok(Ok(()));
                }
                transaction.execute(schema::TAKEN_NOW, [now])?;
                transaction.pragma_update(None, "user_version", schema::VERSION)?;
                Ok(Ok(()))
            })?
            .map_err(|found| StoreError::Version { found, known: schema::VERSION })?;
        lock(&store.0.writer).has_tables();
        Ok(store)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Runs one write transaction, on a helper thread if a coroutine asks.
    fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&rusqlite::Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        self.write_that(Lasts::Always, |transaction, _| work(transaction))
    }

    fn write_that<T: Send + 'static>(
        &self,
        lasts: Lasts,
        work: impl FnOnce(&rusqlite::Transaction<'_>, &mut Places) -> rusqlite::Result<T>
        + Send
        + 'static,
    ) -> Result<T> {
        let connections = self.0.clone();
        blocking(move || {
            let mut writer = lock(&connections.writer);
            let (transaction, places) = writer.transaction(lasts)?;
            let result = work(&transaction, places)?;
            transaction.commit()?;
            Ok(result)
        })
        .map_err(|error: rusqlite::Error| told(&error))
    }

    fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let connections = self.0.clone();
        blocking(move || {
            let reader = lock(&connections.reader);
            work(&reader)
        })
        .map_err(|error| told(&error))
    }
}

/// What SQLite's errors mean to those who ask a store.
fn told(error: &rusqlite::Error) -> StoreError {
    let text = error.to_string();
    match error.sqlite_error_code() {
        // The last is how SQLite gives up, after ten seconds, on a process that was stopped in the middle of a write.
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed,
        ) => StoreError::Busy(text),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt | ErrorCode::SchemaChanged) => {
            StoreError::Damaged(text)
        }
        // The first is what SQLite says of a table that is not there.
        Some(
            ErrorCode::Unknown
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::ReadOnly,
        )
        | None => StoreError::Damaged(text),
        Some(ErrorCode::TooBig | ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch) => {
            StoreError::Refused(text)
        }
        // A full disk, say: it may have room again.
        Some(_) => StoreError::Unavailable(text),
    }
}

/// All rows of a statement.
fn all<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    make: impl Fn(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare_cached(sql)?.query_map(params, make)?.collect()
}

impl Store for Sqlite {
    fn create(&self, new: &[NewSession]) -> Result<Vec<bool>> {
        text::of_sessions(new)?;
        let new = new.to_vec();
        self.write(move |transaction| {
            let mut insert = transaction.prepare_cached(schema::INSERT)?;
            let mut adopt = transaction.prepare_cached(schema::ADOPT)?;
            let (token, effects) = transact::forgotten(transaction)?;
            let mut create = |new: &NewSession| {
                let made = insert.execute(params![
                    new.id.as_bytes(),
                    new.kind,
                    new.version,
                    now(),
                    new.image,
                    token,
                    effects
                ])?;
                if made == 1 {
                    adopt.execute(params![new.id.as_bytes(), transaction.last_insert_rowid()])?;
                }
                Ok(made == 1)
            };
            new.iter().map(&mut create).collect()
        })
    }

    fn lease(&self, want: &Want) -> Result<Vec<Lease>> {
        text::of_want(want)?;
        let kinds = want.build.iter().map(|known| known.kind.clone()).collect();
        *lock(&self.0.kinds) = kinds;
        // Without a look first, workers that have nothing to do would keep the others from writing.
        if !self.0.is_busy.load(Relaxed) {
            let looked = want.clone();
            if !self.read(move |connection| transact::is_due(connection, &looked))? {
                return Ok(Vec::new());
            }
        }
        let want = want.clone();
        let leases = self.write_that(Lasts::WhileTheMachineRuns, move |transaction, places| {
            transact::lease(transaction, places, &want)
        })?;
        self.0.is_busy.store(!leases.is_empty(), Relaxed);
        Ok(leases)
    }

    fn commit(&self, batch: &[Commit], ttl: Duration) -> Result<Vec<Outcome>> {
        text::of_commits(batch)?;
        let batch = batch.to_vec();
        self.write_that(Lasts::Always, move |transaction, places| {
            let mut steps = transact::Steps::new(transaction, ttl)?;
            batch.iter().map(|commit| steps.commit(places, commit)).collect()
        })
    }

    fn commit_and_lease(
        &self,
        batch: &[Commit],
        want: &Want,
    ) -> Result<(Vec<Outcome>, Vec<Lease>)> {
        text::of_commits(batch).and_then(|()| text::of_want(want))?;
        let (batch, want) = (batch.to_vec(), want.clone());
        let (outcomes, leases) = self.write_that(Lasts::Always, move |transaction, places| {
            let mut steps = transact::Steps::new(transaction, want.ttl)?;
            let outcomes = batch.iter().map(|commit| steps.commit(places, commit));
            let outcomes = outcomes.collect::<rusqlite::Result<Vec<_>>>()?;
            Ok((outcomes, transact::lease(transaction, places, &want)?))
        })?;
        self.0.is_busy.store(!leases.is_empty(), Relaxed);
        Ok((outcomes, leases))
    }

    fn renew(&self, held: &[Held], ttl: Duration) -> Result<Vec<Outcome>> {
        let held = held.to_vec();
        self.write_that(Lasts::WhileTheMachineRuns, move |transaction, _| {
            let mut renew = transaction.prepare_cached(schema::RENEW)?;
            let due = now() + millis(ttl);
            let mut one = |held: &Held| {
                renew
                    .execute(params![held.id.as_bytes(), held.token as i64, due])
                    .map(transact::outcome)
            };
            held.iter().map(&mut one).collect()
        })
    }

    fn attempt(&self, held: &[Held]) -> Result<Vec<Outcome>> {
        let held = held.to_vec();
        self.write(move |transaction| {
            let mut attempt = transaction.prepare_cached(schema::ATTEMPT)?;
            let mut one = |held: &Held| {
                attempt
                    .execute(params![held.id.as_bytes(), held.token as i64])
                    .map(transact::outcome)
            };
            held.iter().map(&mut one).collect()
        })
    }

    fn release(&self, released: &[Release]) -> Result<Vec<Outcome>> {
        let released = released.to_vec();
        self.write(move |transaction| {
            released.iter().map(|release| transact::release(transaction, release)).collect()
        })
    }

    fn send(&self, messages: &[NewMessage]) -> Result<Vec<Sent>> {
        text::of_messages(messages)?;
        let messages = messages.to_vec();
        self.write(move |transaction| {
            messages.iter().map(|message| transact::send(transaction, message)).collect()
        })
    }

    fn wait(&self, most: Duration) -> Result<()> {
        let connections = self.0.clone();
        blocking(move || connections.wait(most)).map_err(|error| told(&error))
    }

    fn change(&self, ids: &[SessionId], change: &Change) -> Result<Vec<bool>> {
        text::of_change(change)?;
        let (ids, change) = (ids.to_vec(), change.clone());
        self.write(move |transaction| {
            let one = |id: &SessionId| {
                let id = id.as_bytes();
                let changed =
                    match &change {
                        Change::Cancel(reason) => transaction
                            .prepare_cached(schema::CANCEL)?
                            .execute(params![id, reason, now()])?,
                        Change::Quarantine(reason) => transaction
                            .prepare_cached(schema::QUARANTINE)?
                            .execute(params![id, reason, now()])?,
                        Change::Retry => {
                            let nothing = None::<i64>;
                            transaction.prepare_cached(schema::RETRY)?.execute(params![
                                id,
                                now(),
                                nothing,
                                nothing
                            ])?
                        }
                        Change::Replace(image, version) => transaction
                            .prepare_cached(schema::RETRY)?
                            .execute(params![id, now(), image, version])?,
                    };
                Ok(changed == 1)
            };
            ids.iter().map(one).collect()
        })
    }

    fn expire(&self, untouched: Duration) -> Result<u64> {
        self.write(move |transaction| {
            let limit = now() - millis(untouched);
            Ok(transaction.execute(schema::EXPIRE, params![limit, now()])? as u64)
        })
    }

    fn forget(&self, ended: Duration) -> Result<u64> {
        self.write(move |transaction| {
            let limit = now() - millis(ended);
            let old = all(transaction, schema::FORGOTTEN, [limit], |row| row.get::<_, i64>(0))?;
            let mut messages = transaction.prepare_cached(schema::FORGET_MESSAGES)?;
            let mut note = transaction.prepare_cached(schema::NOTE_FORGOTTEN)?;
            let mut session = transaction.prepare_cached(schema::FORGET)?;
            for number in &old {
                note.execute([*number, HIGHEST as i64])?;
                messages.execute([number])?;
                session.execute([number])?;
            }
            Ok(old.len() as u64)
        })
    }

    fn sweep(&self, taken: Duration) -> Result<u64> {
        let (limit, after) = (now() - millis(taken), self.0.swept.load(Relaxed));
        let looked = self.read(move |connection| {
            let params = params![after, limit, SWEPT as i64];
            let make =
                |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?));
            all(connection, schema::TAKEN, params, make)
        })?;
        // From the beginning again, when it has come to the end.
        let last = looked.last().filter(|_| looked.len() == SWEPT).map_or(0, |(number, _)| *number);
        self.0.swept.store(last, Relaxed);
        let old: Vec<i64> =
            looked.into_iter().filter_map(|(number, is_old)| is_old.then_some(number)).collect();
        if old.is_empty() {
            return Ok(0);
        }
        self.write(move |transaction| {
            let mut sweep = transaction.prepare_cached(schema::SWEEP)?;
            old.iter().try_fold(0, |count, number| Ok(count + sweep.execute([number])? as u64))
        })
    }

    fn outbox(&self, most: usize, ttl: Duration) -> Result<Vec<Effect>> {
        self.write(move |transaction| transact::outbox(transaction, most, ttl))
    }

    fn confirm(&self, done: &[(SessionId, u64)]) -> Result<()> {
        if done.is_empty() {
            return Ok(());
        }
        let done = done.to_vec();
        self.write(move |transaction| {
            let mut confirm = transaction.prepare_cached(schema::CONFIRM)?;
            for (id, sequence) in done {
                confirm.execute(params![id.as_bytes(), sequence as i64])?;
            }
            Ok(())
        })
    }

    fn list(&self, query: &Query, each: &mut dyn FnMut(Row)) -> Result<()> {
        text::of_query(query)?;
        let query = query.clone();
        let rows = self.read(move |connection| {
            let sql = format!(
                "SELECT {} FROM leno_session WHERE (?1 IS NULL OR id = ?1) AND (?2 IS NULL OR kind = ?2) \
                 AND (?3 IS NULL OR state = ?3) AND (?4 IS NULL OR id > ?4) ORDER BY id LIMIT ?5",
                schema::ROW
            );
            let row_of = |row: &rusqlite::Row<'_>| Ok(Lenient::new(row).session());
            let limit = if query.limit == 0 { -1 } else { i64::try_from(query.limit).unwrap_or(-1) };
            let id = query.id.map(|id| *id.as_bytes());
            if let Some(id) = id {
                // By its index, which the general form cannot use.
                let sql = format!("SELECT {} FROM leno_session WHERE id = ?1", schema::ROW);
                return all(connection, &sql, [id], row_of);
            }
            let (state, after) = (query.state.map(State::number), query.after.map(|id| *id.as_bytes()));
            all(connection, &sql, params![id, query.kind, state, after, limit], row_of)
        })?;
        rows.into_iter().for_each(each);
        Ok(())
    }

    fn load(&self, id: SessionId) -> Result<Option<Whole>> {
        self.read(move |connection| {
            let key = id.as_bytes();
            let sql = format!(
                "SELECT {}, awaits, iif(octet_length(image) <= {LARGEST}, image, NULL), number \
                 FROM leno_session WHERE id = ?1",
                schema::ROW
            );
            let found = connection
                .prepare_cached(&sql)?
                .query_row([key], |row| {
                    let number: i64 = row.get(17)?;
                    let awaits = awaited(row.get(15).unwrap_or(0));
                    Ok((Lenient::new(row).session(), awaits, bytes(row, 16), number))
                })
                .optional()?;
            let Some((row, awaits, image, number)) = found else { return Ok(None) };
            let message = |row: &rusqlite::Row<'_>| Ok(Lenient::new(row).message());
            let most = params![number, SHOWN, LARGEST as i64];
            let inbox = all(connection, schema::UNREAD_WITHIN, most, message)?;
            let effect = |row: &rusqlite::Row<'_>| Ok(Lenient::new(row).effect());
            let most = params![key, LARGEST as i64, LEASED as i64];
            let outbox = all(connection, schema::UNCONFIRMED, most, effect)?;
            Ok(Some(Whole { row, awaits, image, inbox, outbox }))
        })
    }

    fn count(&self) -> Result<BTreeMap<State, u64>> {
        self.read(|connection| {
            let sql = "SELECT state, count(*) FROM leno_session GROUP BY state";
            let counts = all(connection, sql, [], |row| {
                let state = row.get(0).ok().and_then(State::numbered).unwrap_or(State::Quarantined);
                Ok((state, row.get::<_, i64>(1)?.unsigned_abs()))
            })?;
            let mut states = BTreeMap::new();
            for (state, count) in counts {
                *states.entry(state).or_default() += count;
            }
            Ok(states)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_stopped_in_a_write_makes_the_store_busy() {
        for code in [rusqlite::ffi::SQLITE_BUSY, rusqlite::ffi::SQLITE_PROTOCOL] {
            let error = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
            assert!(matches!(told(&error), StoreError::Busy(_)), "{error:?}");
        }
    }
}
