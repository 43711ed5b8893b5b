//! The store in a file: SQLite with a write-ahead log, synchronised at every commit. Several processes may share
//! the file, on one machine.
//!
//! Each process writes through one connection, and reads through another; a worker that finds the file locked
//! by another process asks again every fraction of a millisecond. A process that is *stopped* in the middle of a
//! write, which takes well under a millisecond, keeps all others from writing until it goes on or dies.
//!
//! Times are those of the machine's clock.

mod schema;
mod transact;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use leno_kernel::blocking;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Params, TransactionBehavior, params};

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

struct Connections {
    path: PathBuf,
    writer: Mutex<Connection>,
    reader: Mutex<Connection>,
    /// What the file looked like when `wait` looked last.
    seen: Mutex<i64>,
    /// The kinds that were asked for last, whose times `wait` looks at.
    kinds: Mutex<Vec<String>>,
}

/// How long a write waits for other processes before it says that the store is busy.
const PATIENCE: Duration = Duration::from_secs(5);

impl Sqlite {
    /// Opens the store in this file, or makes one.
    ///
    /// # Errors
    /// If the file cannot be opened, is something else, or of a later version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let (writer, reader) = (connect(&path)?, connect(&path)?);
        let writer = Mutex::new(writer);
        let store = Sqlite(Arc::new(Connections {
            path,
            writer,
            reader: Mutex::new(reader),
            seen: Mutex::new(-1),
            kinds: Mutex::default(),
        }));
        store
            .write(|transaction| {
                let found: i64 =
                    transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
                if found == 0 {
                    transaction.execute_batch(schema::CREATE)?;
                    transaction.pragma_update(None, "user_version", schema::VERSION)?;
                }
                Ok(if found > schema::VERSION { Err(found) } else { Ok(()) })
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
        let connections = self.0.clone();
        blocking(move || {
            let mut writer =
                connections.writer.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let result = work(&transaction)?;
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

impl Connections {
    /// Until someone has written, a time has come, or it has taken long enough.
    fn wait(&self, most: Duration) -> rusqlite::Result<()> {
        let kinds = self.kinds.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        let begun = Instant::now();
        loop {
            let (version, due) = self.look(&kinds)?;
            let mut seen = self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if std::mem::replace(&mut *seen, version) != version {
                return Ok(());
            }
            drop(seen);
            let left = most.saturating_sub(begun.elapsed());
            let until_due = Duration::from_millis(due.saturating_sub(now()).max(0).unsigned_abs());
            if left.is_zero() || until_due.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(until_due).min(Duration::from_millis(5)));
        }
    }

    /// A number that changes whenever the file does, and the next time at which one is due.
    fn look(&self, kinds: &[String]) -> rusqlite::Result<(i64, i64)> {
        let reader = self.reader.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let version = reader.query_row("PRAGMA data_version", [], |row| row.get(0))?;
        let sql = "SELECT due FROM leno_session WHERE kind = ?1 AND due > ?2 ORDER BY due LIMIT 1";
        let (mut next, now) = (FAR, now());
        for kind in kinds {
            let due = reader.prepare_cached(sql)?.query_row(params![kind, now], |row| row.get(0));
            next = next.min(due.optional()?.unwrap_or(FAR));
        }
        Ok((version, next))
    }
}

fn connect(path: &Path) -> Result<Connection> {
    let open = || {
        let mut connection = Connection::open(path)?;
        // SQLite's own pauses grow to a tenth of a second; a write here takes a fraction of a millisecond.
        connection.busy_handler(Some(|count| {
            let pause = if count < 100 { 100 } else { 1000 };
            std::thread::sleep(Duration::from_micros(pause));
            i64::from(count) * 1000 < PATIENCE.as_micros() as i64
        }))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    };
    open().map_err(|error| told(&error))
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

fn effect_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<Effect> {
    let sequence: i64 = row.get(1)?;
    Ok(Effect {
        session: id_at(row, 0)?,
        sequence: sequence.unsigned_abs(),
        topic: row.get(2)?,
        body: row.get(3)?,
    })
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
            let mut create = |new: &NewSession| {
                let made = insert.execute(params![
                    new.id.as_bytes(),
                    new.kind,
                    new.version,
                    now(),
                    new.image
                ])?;
                Ok(made == 1)
            };
            new.iter().map(&mut create).collect()
        })
    }

    fn lease(&self, want: &Want) -> Result<Vec<Lease>> {
        let kinds = want.build.iter().map(|known| known.kind.clone()).collect();
        *self.0.kinds.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = kinds;
        // Without a look first, workers that have nothing to do would keep the others from writing.
        let looked = want.clone();
        let is_due = self.read(move |connection| transact::is_due(connection, &looked))?;
        if !is_due {
            return Ok(Vec::new());
        }
        let want = want.clone();
        self.write(move |transaction| transact::lease(transaction, &want))
    }

    fn commit(&self, batch: &[Commit], ttl: Duration) -> Result<Vec<Outcome>> {
        let batch = batch.to_vec();
        self.write(move |transaction| {
            batch.iter().map(|commit| transact::commit(transaction, commit, ttl)).collect()
        })
    }

    fn renew(&self, held: &[Held], ttl: Duration) -> Result<Vec<Outcome>> {
        let held = held.to_vec();
        self.write(move |transaction| {
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
            for table in ["leno_inbox", "leno_effect", "leno_session"] {
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
            let params = params![now, now + millis(ttl), most as i64];
            let mut effects = all(transaction, schema::OUTBOX, params, effect_of)?;
            effects.sort_by_key(|effect| (effect.session, effect.sequence));
            Ok(effects)
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
            let sql =
                format!("SELECT {}, awaits, image FROM leno_session WHERE id = ?1", schema::ROW);
            let found = connection
                .prepare_cached(&sql)?
                .query_row([key], |row| {
                    Ok((row_of(row)?, awaited(row.get(14)?), image_at(row, 15)?))
                })
                .optional()?;
            let Some((row, awaits, image)) = found else { return Ok(None) };
            let inbox = all(connection, schema::UNREAD, [key], message_of)?;
            let sql =
                "SELECT id, sequence, topic, body FROM leno_effect WHERE id = ?1 AND due < ?2";
            let outbox = all(connection, sql, params![key, FAR], effect_of)?;
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
