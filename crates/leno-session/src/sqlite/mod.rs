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
//! Times are those of the machine's clock.

mod connections;
mod schema;
mod transact;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use leno_kernel::blocking;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Params, params};

use self::connections::{Connections, Lasts, Places};
use crate::clock::{FAR, millis, now, shown};
use crate::error::StoreError;
use crate::id::SessionId;
use crate::row::{Query, Row, State};
use crate::store::{
    Awaits, Change, Commit, Effect, Held, Lease, Message, NewMessage, NewSession, Outcome, Release,
    Result, Sent, Store, Want, Whole,
};

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
                    }
                    2 => transaction.execute_batch(schema::ADD_STORED)?,
                    schema::VERSION => return Ok(Ok(())),
                    _ => return Ok(Err(found)),
                }
                transaction.pragma_update(None, "user_version", schema::VERSION)?;
                Ok(Ok(()))
            })?
            .map_err(|found| StoreError::Version { found, known: schema::VERSION })?;
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
            let mut writer =
                connections.writer.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
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
            work(&connections.reader.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
        })
        .map_err(|error| told(&error))
    }
}

/// What SQLite's errors mean to those who ask a store.
fn told(error: &rusqlite::Error) -> StoreError {
    let text = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy(text),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt | ErrorCode::SchemaChanged) => {
            StoreError::Damaged(text)
        }
        Some(
            ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::ReadOnly
            | ErrorCode::TypeMismatch,
        )
        | None => StoreError::Damaged(text),
        // A full disk, say: it may have room again.
        Some(_) => StoreError::Unavailable(text),
    }
}

fn awaited(number: i64) -> Awaits {
    match number {
        0 => Awaits::Nothing,
        1 => Awaits::Message,
        _ => Awaits::Time,
    }
}

fn id_at(row: &rusqlite::Row<'_>, index: usize) -> rusqlite::Result<SessionId> {
    Ok(SessionId::from_bytes(row.get(index)?))
}

/// Whatever is there: in SQLite a column may hold anything, and one damaged session must not stop the others.
fn image_at(row: &rusqlite::Row<'_>, index: usize) -> rusqlite::Result<Vec<u8>> {
    Ok(match row.get_ref(index)? {
        ValueRef::Blob(bytes) | ValueRef::Text(bytes) => bytes.to_vec(),
        _ => Vec::new(),
    })
}

fn row_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    let state: i16 = row.get(3)?;
    let due: i64 = row.get(8)?;
    Ok(Row {
        id: id_at(row, 0)?,
        kind: row.get(1)?,
        version: row.get(2)?,
        state: State::numbered(state).unwrap_or(State::Parked),
        sequence: row.get::<_, i64>(4)?.unsigned_abs(),
        effects: row.get::<_, i64>(5)?.unsigned_abs(),
        token: row.get::<_, i64>(6)?.unsigned_abs(),
        worker: row.get(7)?,
        due: (due != FAR).then(|| shown(due)),
        said: row.get(9)?,
        reason: row.get(10)?,
        created: shown(row.get(11)?),
        touched: shown(row.get(12)?),
        size: row.get::<_, Option<i64>>(13)?.unwrap_or(0).unsigned_abs() as usize,
    })
}

fn message_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<Message> {
    Ok(Message { number: row.get(0)?, key: row.get(1)?, body: row.get(2)? })
}

/// With its number.
fn effect_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<(i64, Effect)> {
    let effect = Effect {
        session: id_at(row, 1)?,
        sequence: row.get::<_, i64>(2)?.unsigned_abs(),
        topic: row.get(3)?,
        body: row.get(4)?,
    };
    Ok((row.get(0)?, effect))
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
        let new = new.to_vec();
        self.write(move |transaction| {
            let mut insert = transaction.prepare_cached(schema::INSERT)?;
            let mut adopt = transaction.prepare_cached(schema::ADOPT)?;
            let mut create = |new: &NewSession| {
                let made = insert.execute(params![
                    new.id.as_bytes(),
                    new.kind,
                    new.version,
                    now(),
                    new.image
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
        let kinds = want.build.iter().map(|known| known.kind.clone()).collect();
        *self.0.kinds.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = kinds;
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

    fn release(&self, released: &[Release]) -> Result<Vec<Outcome>> {
        let released = released.to_vec();
        self.write(move |transaction| {
            released.iter().map(|release| transact::release(transaction, release)).collect()
        })
    }

    fn send(&self, messages: &[NewMessage]) -> Result<Vec<Sent>> {
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
        let (ids, change) = (ids.to_vec(), change.clone());
        self.write(move |transaction| {
            let one = |id: &SessionId| {
                let id = id.as_bytes();
                let changed =
                    match &change {
                        Change::Cancel(reason) => transaction
                            .prepare_cached(schema::CANCEL)?
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
            let ids = all(transaction, schema::FORGOTTEN, [limit], |row| id_at(row, 0))?;
            for table in ["leno_inbox", "leno_session"] {
                let mut delete =
                    transaction.prepare(&format!("DELETE FROM {table} WHERE id = ?1"))?;
                for id in &ids {
                    delete.execute([id.as_bytes()])?;
                }
            }
            Ok(ids.len() as u64)
        })
    }

    fn outbox(&self, most: usize, ttl: Duration) -> Result<Vec<Effect>> {
        self.write(move |transaction| {
            let now = now();
            let found = all(transaction, schema::OUTBOX, params![now, most as i64], effect_of)?;
            let mut lend = transaction.prepare_cached(schema::LEND)?;
            for (number, _) in &found {
                lend.execute(params![number, now + millis(ttl)])?;
            }
            Ok(found.into_iter().map(|(_, effect)| effect).collect())
        })
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
        let query = query.clone();
        let rows = self.read(move |connection| {
            let sql = format!(
                "SELECT {} FROM leno_session WHERE (?1 IS NULL OR id = ?1) AND (?2 IS NULL OR kind = ?2) \
                 AND (?3 IS NULL OR state = ?3) AND (?4 IS NULL OR id > ?4) ORDER BY id LIMIT ?5",
                schema::ROW
            );
            let limit = if query.limit == 0 { -1 } else { query.limit as i64 };
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
                "SELECT {}, awaits, image, number FROM leno_session WHERE id = ?1",
                schema::ROW
            );
            let found = connection
                .prepare_cached(&sql)?
                .query_row([key], |row| {
                    let number: i64 = row.get(16)?;
                    Ok((row_of(row)?, awaited(row.get(14)?), image_at(row, 15)?, number))
                })
                .optional()?;
            let Some((row, awaits, image, number)) = found else { return Ok(None) };
            let inbox = all(connection, schema::UNREAD, [number], message_of)?;
            let outbox = all(connection, schema::UNCONFIRMED, [key], effect_of)?;
            let outbox = outbox.into_iter().map(|(_, effect)| effect).collect();
            Ok(Some(Whole { row, awaits, image, inbox, outbox }))
        })
    }

    fn count(&self) -> Result<BTreeMap<State, u64>> {
        self.read(|connection| {
            let sql = "SELECT state, count(*) FROM leno_session GROUP BY state";
            let counts = all(connection, sql, [], |row| {
                Ok((
                    State::numbered(row.get(0)?).unwrap_or(State::Parked),
                    row.get::<_, i64>(1)?.unsigned_abs(),
                ))
            })?;
            Ok(counts.into_iter().collect())
        })
    }
}
