//! What happens inside a transaction.

use std::time::Duration;

use rusqlite::{Connection, params};

use super::{all, awaited, id_at, image_at, message_of, schema};
use crate::clock::{FAR, millis, now};
use crate::row::State;
use crate::store::{Awaits, Commit, Lease, NewMessage, Next, Outcome, Release, Sent, Want};

type Result<T> = rusqlite::Result<T>;

pub(super) fn outcome(changed: usize) -> Outcome {
    if changed == 1 { Outcome::Stored } else { Outcome::Fenced }
}

/// Whether a lease would find something.
pub(super) fn is_due(connection: &Connection, want: &Want) -> Result<bool> {
    let mut one = connection.prepare_cached(
        "SELECT EXISTS(SELECT 1 FROM leno_session WHERE kind = ?1 AND version <= ?2 AND due <= ?3)",
    )?;
    let now = now();
    for known in &want.build {
        if one.query_row(params![known.kind, known.version, now], |row| row.get(0))? {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn lease(connection: &Connection, want: &Want) -> Result<Vec<Lease>> {
    let now = now();
    let due = now + millis(want.ttl);
    let mut leases: Vec<Lease> = Vec::new();
    for known in &want.build {
        let make = |row: &rusqlite::Row<'_>| {
            let until: i64 = row.get(5)?;
            Ok(Lease {
                id: id_at(row, 0)?,
                kind: known.kind.clone(),
                version: row.get(1)?,
                token: row.get::<_, i64>(2)?.unsigned_abs(),
                sequence: row.get::<_, i64>(3)?.unsigned_abs(),
                awaits: awaited(row.get(4)?),
                is_due: until <= now,
                image: image_at(row, 6)?,
                inbox: Vec::new(),
            })
        };
        let left = (want.most - leases.len()) as i64;
        let found = match want.only {
            Some(id) => {
                let params =
                    params![known.kind, known.version, now, due, want.worker, id.as_bytes()];
                all(connection, schema::LEASE_ONE, params, make)?
            }
            None => {
                let params = params![known.kind, known.version, now, due, want.worker, left];
                all(connection, schema::LEASE, params, make)?
            }
        };
        leases.extend(found);
        if leases.len() == want.most {
            break;
        }
    }
    for lease in leases.iter_mut().filter(|lease| lease.awaits == Awaits::Message) {
        lease.inbox = all(connection, schema::UNREAD, [lease.id.as_bytes()], message_of)?;
    }
    Ok(leases)
}

fn has_mail(connection: &Connection, id: &[u8; 16]) -> Result<bool> {
    connection.prepare_cached(schema::HAS_MAIL)?.query_row([id], |row| row.get(0))
}

/// A step whose lease is kept, if that lease has half its time left. Whether it was stored.
fn store_kept(connection: &Connection, commit: &Commit, ttl: Duration, now: i64) -> Result<bool> {
    let changed = connection.prepare_cached(schema::COMMIT_KEPT)?.execute(params![
        commit.id.as_bytes(),
        commit.token as i64,
        commit.sequence as i64,
        commit.effects.len() as i64,
        commit.version,
        commit.image,
        commit.said,
        now,
        now + millis(ttl / 2)
    ])?;
    Ok(changed == 1)
}

/// Any step. Whether it was stored.
fn store(connection: &Connection, commit: &Commit, ttl: Duration, now: i64) -> Result<bool> {
    // State, what is awaited and until when (unless that stays), and when it is due.
    let (state, waits, due) = match &commit.next {
        Next::Kept => (State::Leased, Some((0, now)), now + millis(ttl)),
        Next::Ready => (State::Ready, Some((0, now)), now),
        Next::After(time) => (State::Sleeping, Some((2, now + millis(*time))), now + millis(*time)),
        Next::Message(time) => {
            let until = time.map_or(FAR, |time| now + millis(time));
            (State::Waiting, Some((1, until)), until)
        }
        Next::Done => (State::Done, Some((0, now)), FAR),
        Next::Failed(_) => (State::Failed, None, FAR),
        Next::Parked(_) => (State::Parked, None, FAR),
    };
    let reason = match &commit.next {
        Next::Failed(reason) | Next::Parked(reason) => reason.as_str(),
        _ => "",
    };
    let changed = connection.prepare_cached(schema::COMMIT)?.execute(params![
        commit.id.as_bytes(),
        commit.token as i64,
        commit.sequence as i64,
        commit.effects.len() as i64,
        commit.version,
        commit.image,
        commit.said,
        reason,
        state.number(),
        waits.map(|(awaits, _)| awaits),
        waits.map(|(_, until)| until),
        due,
        now
    ])?;
    Ok(changed == 1)
}

pub(super) fn commit(connection: &Connection, commit: &Commit, ttl: Duration) -> Result<Outcome> {
    let now = now();
    let is_stored = (commit.next == Next::Kept && store_kept(connection, commit, ttl, now)?)
        || store(connection, commit, ttl, now)?;
    let (id, token, sequence) = (commit.id.as_bytes(), commit.token as i64, commit.sequence as i64);
    if !is_stored {
        let mut was_stored = connection.prepare_cached(schema::WAS_STORED)?;
        let was_stored =
            was_stored.query_row(params![id, token, sequence + 1], |row| row.get(0))?;
        return Ok(if was_stored { Outcome::Stored } else { Outcome::Fenced });
    }
    for number in &commit.taken {
        connection.prepare_cached(schema::TAKE)?.execute([number])?;
    }
    if !commit.effects.is_empty() {
        let mut effects = connection.prepare_cached(schema::EFFECTS)?;
        let effects: i64 = effects.query_row([id], |row| row.get(0))?;
        let first = effects - commit.effects.len() as i64 + 1;
        let mut insert = connection.prepare_cached(schema::EFFECT)?;
        for (effect, sequence) in commit.effects.iter().zip(first..) {
            insert.execute(params![id, sequence, effect.topic, effect.body])?;
        }
    }
    for message in &commit.messages {
        send(connection, message)?;
    }
    if matches!(commit.next, Next::Message(_)) && has_mail(connection, id)? {
        connection.prepare_cached(schema::WAKE)?.execute(params![id, now])?;
    }
    Ok(Outcome::Stored)
}

pub(super) fn send(connection: &Connection, message: &NewMessage) -> Result<Sent> {
    let to = message.to.as_bytes();
    let mut insert = connection.prepare_cached(schema::SEND)?;
    if insert.execute(params![to, message.key, message.body])? == 0 {
        return Ok(Sent::Repeated);
    }
    connection.prepare_cached(schema::WAKE)?.execute(params![to, now()])?;
    Ok(Sent::Queued)
}

pub(super) fn release(connection: &Connection, release: &Release) -> Result<Outcome> {
    let (id, token) = (release.held.id.as_bytes(), release.held.token as i64);
    let mut holds = connection.prepare_cached(
        "SELECT EXISTS(SELECT 1 FROM leno_session WHERE id = ?1 AND token = ?2 AND state = 1)",
    )?;
    if !holds.query_row(params![id, token], |row| row.get(0))? {
        return Ok(Outcome::Fenced);
    }
    for number in &release.refused {
        connection.prepare_cached(schema::TAKE)?.execute([number])?;
    }
    let has_mail = has_mail(connection, id)?;
    connection
        .prepare_cached(schema::RELEASE)?
        .execute(params![id, token, has_mail, now()])
        .map(outcome)
}
