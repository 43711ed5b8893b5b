//! Connections of a process: one that writes, one that reads.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64};
use std::time::{Duration, Instant};

use leno_context::user::lock;
use rusqlite::config::DbConfig;
use rusqlite::{
    Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params,
};

use super::{schema, told};
use crate::clock::{FAR, now};
use crate::error::StoreError;
use crate::id::SessionId;
use crate::store::Result;

pub(super) struct Connections {
    pub(super) path: PathBuf,
    pub(super) writer: Mutex<Writer>,
    pub(super) reader: Mutex<Connection>,
    /// Whether the last lease found something: then the next one need not look first.
    pub(super) is_busy: AtomicBool,
    /// What the file looked like when `wait` looked last.
    seen: Mutex<i64>,
    /// The kinds that were asked for last, whose times `wait` looks at.
    pub(super) kinds: Mutex<Vec<String>>,
    /// Up to which message the last sweep has come.
    pub(super) swept: AtomicI64,
}

/// The connection that writes.
pub(super) struct Writer {
    connection: Connection,
    /// How it is set.
    lasts: Lasts,
    places: Places,
    /// The time that was written last, by this process.
    latest: i64,
}

/// Where sessions that were leased here are, so that they need not be looked for by their ids. A hint: whoever uses it
/// checks it.
#[derive(Default)]
pub(super) struct Places(HashMap<SessionId, Place>);

/// A session's number, and how many effects it has had.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) number: i64,
    pub(super) effects: i64,
}

impl Places {
    pub(super) fn note(&mut self, id: SessionId, place: Place) {
        // Of leases that nobody came back from.
        if self.0.len() >= 10_000 {
            self.0.clear();
        }
        self.0.insert(id, place);
    }

    pub(super) fn take(&mut self, id: SessionId) -> Option<Place> {
        self.0.remove(&id)
    }
}

/// What cannot undo a transaction that has returned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lasts {
    /// The loss of power.
    Always,
    /// The death of this process.
    WhileTheMachineRuns,
}

impl Writer {
    pub(super) fn transaction(
        &mut self,
        lasts: Lasts,
    ) -> rusqlite::Result<(Transaction<'_>, &mut Places)> {
        if self.lasts != lasts {
            let level = if lasts == Lasts::Always { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", level)?;
            self.lasts = lasts;
        }
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let now = now();
        if now > self.latest.saturating_add(TICK) {
            begun.prepare_cached(schema::TICK)?.execute([now])?;
            self.latest = now;
        }
        Ok((begun, &mut self.places))
    }

    /// The tables are there: from now on it is noted when something is written.
    pub(super) fn has_tables(&mut self) {
        self.latest = 0;
    }
}

/// How often it is noted what time it is, in milliseconds.
const TICK: i64 = 1000;

/// Up to when sessions are looked for that are ready. A clock that was set back leaves them in the future: at most this
/// far behind what was noted, because that is late by a tick, and by another one if its transaction was taken back.
pub(super) fn horizon(connection: &Connection, now: i64) -> rusqlite::Result<i64> {
    let latest = connection
        .prepare_cached(schema::LATEST)?
        .query_row([], |row| Ok(row.get::<_, i64>(0).unwrap_or(0)));
    let latest = latest.optional()?.unwrap_or(0);
    Ok(if latest > now { latest.saturating_add(2 * TICK) } else { now })
}

/// How long a write waits for other processes before it says that the store is busy.
const PATIENCE: Duration = Duration::from_secs(5);

impl Connections {
    pub(super) fn open(path: PathBuf) -> Result<Connections> {
        // To SQLite these are databases of one connection alone.
        if path.as_os_str().is_empty() || path == Path::new(":memory:") {
            return Err(StoreError::Address(format!("`{}` names no file", path.display())));
        }
        make_private(&path);
        let (writer, reader) = (connect(&path)?, connect(&path)?);
        Ok(Connections {
            path,
            writer: Mutex::new(Writer {
                connection: writer,
                lasts: Lasts::Always,
                places: Places::default(),
                // There may be no tables yet.
                latest: FAR,
            }),
            reader: Mutex::new(reader),
            is_busy: AtomicBool::new(false),
            seen: Mutex::new(-1),
            kinds: Mutex::default(),
            swept: AtomicI64::new(0),
        })
    }

    /// Until someone has written, a time has come, or it has taken long enough.
    pub(super) fn wait(&self, most: Duration) -> rusqlite::Result<()> {
        let kinds = lock(&self.kinds).clone();
        let begun = Instant::now();
        loop {
            let (version, due) = self.look(&kinds)?;
            let mut seen = lock(&self.seen);
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
        let reader = lock(&self.reader);
        let version = reader.query_row("PRAGMA data_version", [], |row| row.get(0))?;
        let sql = "SELECT due FROM leno_session WHERE kind = ?1 AND due > ?2 AND due <= ?3 ORDER BY due LIMIT 1";
        let (mut next, now) = (FAR, now());
        for kind in kinds {
            let due =
                reader.prepare_cached(sql)?.query_row(params![kind, now, FAR], |row| row.get(0));
            next = next.min(due.optional()?.unwrap_or(FAR));
        }
        Ok((version, next))
    }
}

/// Makes a new file that is for its owner alone: dialogues may be private, and ids are. SQLite gives the files that it puts
/// beside it the same mode. One that is there already stays as it is.
fn make_private(path: &Path) {
    let mut options = OpenOptions::new();
    // What is wrong with the path is said by SQLite.
    let _made = options.write(true).create_new(true).mode(0o600).open(path);
}

fn connect(path: &Path) -> Result<Connection> {
    let open = || {
        // Without what reads a path as an address of its own kind.
        let flags = OpenFlags::default() & !OpenFlags::SQLITE_OPEN_URI;
        let mut connection = Connection::open_with_flags(path, flags)?;
        // SQLite's own pauses grow to a tenth of a second; a write here takes a fraction of a millisecond.
        connection.busy_handler(Some(|count| {
            let pause = if count < 100 { 100 } else { 1000 };
            std::thread::sleep(Duration::from_micros(pause));
            i64::from(count) * 1000 < PATIENCE.as_micros() as i64
        }))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        // Plans that do not depend on arguments: else statements are compiled anew when these change.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    };
    open().map_err(|error| told(&error))
}
