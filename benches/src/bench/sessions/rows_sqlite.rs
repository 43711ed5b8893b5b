//! Loops written by hand, on SQLite.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, TransactionBehavior, params};

use super::database::path;
use super::{Begin, Chain, Keeper, Pace, Waiting};
use crate::contender::Failure;

const TABLES: &str = "
CREATE TABLE session(id INTEGER PRIMARY KEY, token INTEGER NOT NULL, sequence INTEGER NOT NULL,
    due INTEGER NOT NULL, state BLOB NOT NULL);
CREATE INDEX session_due ON session(due);
CREATE TABLE inbox(number INTEGER PRIMARY KEY, id INTEGER NOT NULL, body TEXT NOT NULL, taken INTEGER NOT NULL);
CREATE INDEX inbox_unread ON inbox(id, number) WHERE taken = 0;
CREATE TABLE effect(id INTEGER NOT NULL, sequence INTEGER NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY(id, sequence)) WITHOUT ROWID;";

const LEASE: &str = "
UPDATE session SET token = token + 1, due = ?2
WHERE id IN (SELECT id FROM session WHERE due <= ?1 ORDER BY due LIMIT ?3)
RETURNING id, token, sequence, state";

const COMMIT: &str = "UPDATE session SET sequence = ?3 + 1, state = ?4 WHERE id = ?1 AND token = ?2 AND sequence = ?3";
const COMMIT_AND_LEAVE: &str = "
UPDATE session SET sequence = ?3 + 1, state = ?4, due = ?5 WHERE id = ?1 AND token = ?2 AND sequence = ?3";
const EFFECT: &str = "INSERT INTO effect VALUES (?1, ?2, ?3)";

/// Never.
const FAR: i64 = i64::MAX;
const LEASE_MILLIS: i64 = 10_000;

type Result<T> = std::result::Result<T, Failure>;

pub fn keepers() -> Vec<Keeper> {
    let waiting = Some(Waiting { fill: fill_waiting, work: answer_all });
    vec![
        Keeper { name: "row", fill, work, waiting },
        Keeper { name: "row locked", fill, work: work_locked, waiting: None },
    ]
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as i64
}

fn open(address: &str) -> Result<Connection> {
    let open = || {
        let mut connection = Connection::open(path(address))?;
        connection.busy_handler(Some(|count| {
            std::thread::sleep(Duration::from_micros(100));
            count < 100_000
        }))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        Ok(connection)
    };
    open().map_err(|error: rusqlite::Error| Failure::failed(error))
}

/// One transaction.
fn within<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate);
    let transaction = transaction.map_err(Failure::failed)?;
    let result = work(&transaction)?;
    transaction.commit().map_err(Failure::failed)?;
    Ok(result)
}

fn fill(address: &str, count: u64) -> Result<()> {
    let mut connection = open(address)?;
    connection.execute_batch(TABLES).map_err(Failure::failed)?;
    within(&mut connection, |connection| {
        for id in 0..count as i64 {
            let sql = "INSERT INTO session VALUES (?1, 0, 0, 0, ?2)";
            let state = Chain::new(id.unsigned_abs()).bytes();
            connection.execute(sql, params![id, state]).map_err(Failure::failed)?;
        }
        Ok(())
    })
}

/// A session that was leased.
struct Leased {
    id: i64,
    token: i64,
    sequence: i64,
    state: Vec<u8>,
}

fn lease(connection: &Connection, most: usize) -> Result<Vec<Leased>> {
    let found = || -> rusqlite::Result<Vec<Leased>> {
        let mut lease = connection.prepare_cached(LEASE)?;
        let rows = lease.query_map(params![now(), now() + LEASE_MILLIS, most as i64], |row| {
            Ok(Leased {
                id: row.get(0)?,
                token: row.get(1)?,
                sequence: row.get(2)?,
                state: row.get(3)?,
            })
        })?;
        rows.collect()
    };
    found().map_err(Failure::failed)
}

/// Leases some, makes steps of them in rounds, and leaves them.
fn work(address: &str, pace: Pace, begin: Begin<'_>, time: Duration) -> Result<u64> {
    let mut connection = open(address)?;
    begin()?;
    let (start, mut made) = (Instant::now(), 0);
    while start.elapsed() < time {
        let mut leased = within(&mut connection, |connection| lease(connection, pace.batch))?;
        let read = leased.iter().map(|session| postcard::from_bytes::<Chain>(&session.state));
        let mut chains =
            read.collect::<std::result::Result<Vec<_>, _>>().map_err(Failure::failed)?;
        for round in 1..=pace.rounds {
            let is_last = round == pace.rounds || start.elapsed() >= time;
            let steps = chains.iter_mut().map(|chain| (chain.advance(), chain.bytes()));
            let steps: Vec<_> = steps.collect();
            made += within(&mut connection, |connection| {
                let mut stored = 0;
                for (session, (effect, state)) in leased.iter_mut().zip(&steps) {
                    let Leased { id, token, sequence, .. } = *session;
                    let changed = if is_last {
                        let mut commit = connection.prepare_cached(COMMIT_AND_LEAVE);
                        let commit = commit.as_mut().map_err(Failure::failed)?;
                        commit.execute(params![id, token, sequence, state, now()])
                    } else {
                        let mut commit = connection.prepare_cached(COMMIT);
                        let commit = commit.as_mut().map_err(Failure::failed)?;
                        commit.execute(params![id, token, sequence, state])
                    };
                    if changed.map_err(Failure::failed)? == 1 {
                        session.sequence += 1;
                        effected(connection, id, session.sequence, effect)?;
                        stored += 1;
                    }
                }
                Ok(stored)
            })?;
            if is_last {
                break;
            }
        }
    }
    Ok(made)
}

fn effected(connection: &Connection, id: i64, sequence: i64, body: &str) -> Result<()> {
    let insert = connection.prepare_cached(EFFECT);
    let inserted = insert.and_then(|mut insert| insert.execute(params![id, sequence, body]));
    inserted.map(drop).map_err(Failure::failed)
}

/// Takes some that are due, makes a step of each, all in one transaction.
fn work_locked(address: &str, pace: Pace, begin: Begin<'_>, time: Duration) -> Result<u64> {
    let mut connection = open(address)?;
    begin()?;
    let (start, mut made) = (Instant::now(), 0);
    while start.elapsed() < time {
        made += within(&mut connection, |connection| {
            let select =
                "SELECT id, sequence, state FROM session WHERE due <= ?1 ORDER BY due LIMIT ?2";
            let found = || -> rusqlite::Result<Vec<(i64, i64, Vec<u8>)>> {
                let mut select = connection.prepare_cached(select)?;
                let rows = select.query_map(params![now(), pace.batch as i64], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                })?;
                rows.collect()
            };
            let found = found().map_err(Failure::failed)?;
            for (id, sequence, state) in &found {
                let (state, effect) = Chain::step(state)?;
                let update = "UPDATE session SET sequence = ?2, state = ?3, due = ?4 WHERE id = ?1";
                let update = connection.prepare_cached(update);
                let updated = update
                    .and_then(|mut update| update.execute(params![id, sequence + 1, state, now()]));
                updated.map_err(Failure::failed)?;
                effected(connection, *id, sequence + 1, &effect)?;
            }
            Ok(found.len() as u64)
        })?;
    }
    Ok(made)
}

fn fill_waiting(address: &str, count: u64) -> Result<()> {
    fill(address, count)?;
    let mut connection = open(address)?;
    within(&mut connection, |connection| {
        for id in 0..count as i64 {
            let sql = "INSERT INTO inbox(id, body, taken) VALUES (?1, 'yes', 0)";
            connection.execute(sql, params![id]).map_err(Failure::failed)?;
        }
        Ok(())
    })
}

/// Makes a step of each that has an answer; it waits for the next one then.
fn answer_all(address: &str, pace: Pace) -> Result<u64> {
    let mut connection = open(address)?;
    let mut made = 0;
    loop {
        let leased = within(&mut connection, |connection| {
            let leased = lease(connection, pace.batch)?;
            let unread = "SELECT number, body FROM inbox WHERE id = ?1 AND taken = 0 ORDER BY number LIMIT 1";
            let with_answer = leased.into_iter().map(|session| {
                let unread = connection.prepare_cached(unread);
                let message = unread.and_then(|mut unread| {
                    unread.query_row([session.id], |row| {
                        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
                    })
                });
                Ok((session, message.map_err(Failure::failed)?))
            });
            with_answer.collect::<Result<Vec<_>>>()
        })?;
        if leased.is_empty() {
            return Ok(made);
        }
        made += within(&mut connection, |connection| {
            let mut stored = 0;
            for (session, (number, _)) in &leased {
                let Leased { id, token, sequence, .. } = *session;
                let (state, effect) = Chain::step(&session.state)?;
                let commit = connection.prepare_cached(COMMIT_AND_LEAVE);
                let changed = commit.and_then(|mut commit| {
                    commit.execute(params![id, token, sequence, state, FAR])
                });
                if changed.map_err(Failure::failed)? == 1 {
                    let take =
                        connection.prepare_cached("UPDATE inbox SET taken = 1 WHERE number = ?1");
                    take.and_then(|mut take| take.execute([number])).map_err(Failure::failed)?;
                    effected(connection, id, sequence + 1, &effect)?;
                    stored += 1;
                }
            }
            Ok(stored)
        })?;
    }
}
