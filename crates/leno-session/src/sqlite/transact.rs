//! What happens inside a transaction.

use std::time::Duration;

use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use super::cells::{Damage, Strict, awaited, bytes};
use super::connections::{Place, Places, horizon};
use super::{all, schema};
use crate::clock::{FAR, millis, now};
use crate::id::SessionId;
use crate::row::State;
use crate::store::{
    Awaits, Commit, Effect, HIGHEST, INBOX, Known, LARGEST, LEASED, Lease, NewMessage, Next,
    Outcome, Release, Sent, Want,
};

type Result<T> = rusqlite::Result<T>;

/// A session that can be leased, or why it cannot be read.
type Readable = std::result::Result<(Place, Lease), Damage>;

pub(super) fn outcome(changed: usize) -> Outcome {
    if changed == 1 { Outcome::Stored } else { Outcome::Fenced }
}

/// Whether a lease would find something.
pub(super) fn is_due(connection: &Connection, want: &Want) -> Result<bool> {
    let mut one = connection.prepare_cached(schema::IS_DUE)?;
    let now = now();
    let horizon = horizon(connection, now)?;
    for known in &want.build {
        if one.query_row(params![known.kind, known.version, now, horizon], |row| row.get(0))? {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn lease(
    connection: &Connection,
    places: &mut Places,
    want: &Want,
) -> Result<Vec<Lease>> {
    let now = now();
    let (due, horizon) = (now + millis(want.ttl), horizon(connection, now)?);
    let mut take = connection.prepare_cached(schema::LEASE)?;
    let mut leases: Vec<(i64, Lease)> = Vec::new();
    let mut size = 0;
    for known in &want.build {
        // The number is the table's own key, which holds nothing but numbers.
        let make = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, read(&Strict(row), known, now)));
        let found: Vec<(i64, Readable)> = match want.only {
            Some(id) => {
                let params = params![known.kind, known.version, now, horizon, id.as_bytes()];
                all(connection, schema::DUE_ONE, params, make)?
            }
            None => {
                let left = i64::try_from(want.most - leases.len()).unwrap_or(i64::MAX);
                let params = params![known.kind, known.version, now, horizon, left];
                let mut due = connection.prepare_cached(schema::DUE)?;
                let (mut rows, mut found) = (due.query(params)?, Vec::new());
                // The rest stays due.
                while size < LEASED
                    && let Some(row) = rows.next()?
                {
                    let (number, readable): (i64, Readable) = make(row)?;
                    size += readable.as_ref().map_or(0, |(_, lease)| lease.image.len());
                    found.push((number, readable));
                }
                found
            }
        };
        for (number, found) in found {
            let (place, lease) = match found {
                Ok(found) => found,
                Err(damage) => {
                    set_aside(connection, number, &damage)?;
                    continue;
                }
            };
            take.execute(params![place.number, lease.token as i64, due, want.worker])?;
            places.note(lease.id, place);
            leases.push((place.number, lease));
        }
        if leases.len() == want.most {
            break;
        }
    }
    let mut granted = Vec::with_capacity(leases.len());
    for (number, mut lease) in leases {
        if lease.awaits == Awaits::Message {
            let params = params![number, INBOX as i64, LARGEST as i64];
            let message = |row: &rusqlite::Row<'_>| {
                let row = Strict(row);
                Ok(row.fits(3).and_then(|()| row.message()))
            };
            let inbox = all(connection, schema::UNREAD_WITHIN, params, message)?;
            match inbox.into_iter().collect::<std::result::Result<_, Damage>>() {
                Ok(inbox) => lease.inbox = inbox,
                Err(damage) => {
                    set_aside(connection, number, &format!("a message of it: {damage}"))?;
                    continue;
                }
            }
        }
        granted.push(lease);
    }
    Ok(granted)
}

/// A session that can be leased, and where it is.
fn read(row: &Strict<'_, '_>, known: &Known, now: i64) -> Readable {
    row.fits(11)?;
    let effects = row.count(5)?;
    let lease = Lease {
        id: row.id(1)?,
        kind: known.kind.clone(),
        version: row.version(2)?,
        token: row.count(3)? + 1,
        sequence: row.count(4)?,
        awaits: awaited(row.number(6)?),
        is_due: row.number(7)? <= now,
        image: bytes(row.0, 8),
        inbox: Vec::new(),
        was_lost: row.number(9)? == i64::from(State::Leased.number()),
        attempts: u32::try_from(row.count(10)?).unwrap_or(u32::MAX),
    };
    Ok((Place { number: row.number(0)?, effects: effects as i64 }, lease))
}

/// The highest token of sessions that were forgotten, and the highest sequence of their effects: new ones begin above.
pub(super) fn forgotten(connection: &Connection) -> Result<(i64, i64)> {
    let mut numbers = connection.prepare_cached(schema::FORGOTTEN_NUMBERS)?;
    let found = numbers
        .query_row([], |row| Ok((row.get(0).unwrap_or(0), row.get(1).unwrap_or(0))))
        .optional()?;
    let within = |number: i64| number.clamp(0, HIGHEST as i64);
    Ok(found.map_or((0, 0), |(token, effects)| (within(token), within(effects))))
}

/// Nobody runs this one any more, and it says why.
fn set_aside(connection: &Connection, number: i64, damage: &str) -> Result<()> {
    let reason = format!("quarantined: {damage}");
    let reason = crate::text::clean(&reason);
    let mut set_aside = connection.prepare_cached(schema::SET_ASIDE_ROW)?;
    set_aside.execute(params![number, reason, now()]).map(drop)
}

/// Effects that were not confirmed. Those that cannot be read are handed out to nobody, and their sessions say so.
pub(super) fn outbox(connection: &Connection, most: usize, ttl: Duration) -> Result<Vec<Effect>> {
    let (now, most) = (now(), i64::try_from(most).unwrap_or(i64::MAX));
    let mut lend = connection.prepare_cached(schema::LEND)?;
    let make = |row: &rusqlite::Row<'_>| {
        Ok((row.get::<_, i64>(0)?, Strict(row).effect(), Strict(row).id(1)))
    };
    loop {
        let params = params![now, most, LEASED as i64, LARGEST as i64];
        let found = all(connection, schema::OUTBOX, params, make)?;
        let is_over = found.is_empty();
        let mut effects = Vec::with_capacity(found.len());
        for (number, effect, id) in found {
            match effect {
                Ok(effect) => {
                    lend.execute(params![number, now + millis(ttl)])?;
                    effects.push(effect);
                }
                Err(damage) => {
                    lend.execute(params![number, FAR])?;
                    let reason = format!("quarantined: an effect of it: {damage}");
                    if let Ok(id) = id {
                        let (id, reason) = (id.as_bytes(), crate::text::clean(&reason));
                        let mut quarantine = connection.prepare_cached(schema::QUARANTINE)?;
                        if quarantine.execute(params![id, reason, now])? == 0 {
                            connection
                                .prepare_cached(schema::SAY_WHY)?
                                .execute(params![id, reason])?;
                        }
                    }
                }
            }
        }
        if is_over || !effects.is_empty() {
            return Ok(effects);
        }
    }
}

fn has_mail(connection: &Connection, session: i64) -> Result<bool> {
    connection.prepare_cached(schema::HAS_MAIL)?.query_row([session], |row| row.get(0))
}

/// Where a session is, by its id.
fn place(connection: &Connection, id: SessionId) -> Result<Option<Place>> {
    let mut found = connection.prepare_cached(schema::PLACE)?;
    let make = |row: &rusqlite::Row<'_>| Ok(Place { number: row.get(0)?, effects: row.get(1)? });
    found.query_row([id.as_bytes()], make).optional()
}

/// A batch of steps in one transaction.
pub(super) struct Steps<'c> {
    connection: &'c Connection,
    ttl: Duration,
    now: i64,
    kept: CachedStatement<'c>,
    left: CachedStatement<'c>,
    effect: CachedStatement<'c>,
}

impl<'c> Steps<'c> {
    pub(super) fn new(connection: &'c Connection, ttl: Duration) -> Result<Self> {
        Ok(Steps {
            connection,
            ttl,
            now: now(),
            kept: connection.prepare_cached(schema::COMMIT_KEPT)?,
            left: connection.prepare_cached(schema::COMMIT)?,
            effect: connection.prepare_cached(schema::EFFECT)?,
        })
    }

    pub(super) fn commit(&mut self, places: &mut Places, commit: &Commit) -> Result<Outcome> {
        // First where it was, then where it is.
        let mut at = places.take(commit.id);
        let mut is_stored = at.map_or(Ok(false), |at| self.store(commit, at))?;
        if !is_stored {
            at = place(self.connection, commit.id)?;
            is_stored = at.map_or(Ok(false), |at| self.store(commit, at))?;
        }
        let id = commit.id.as_bytes();
        let Some(at) = at.filter(|_| is_stored) else {
            let mut was_stored = self.connection.prepare_cached(schema::WAS_STORED)?;
            let after = params![id, commit.token as i64, commit.sequence as i64 + 1];
            let was_stored = was_stored.query_row(after, |row| row.get(0))?;
            return Ok(if was_stored { Outcome::Stored } else { Outcome::Fenced });
        };
        let effects = at.effects + commit.effects.len() as i64;
        if commit.next == Next::Kept {
            places.note(commit.id, Place { effects, ..at });
        }
        for number in &commit.taken {
            self.connection.prepare_cached(schema::TAKE)?.execute([number, &self.now])?;
        }
        for (effect, sequence) in commit.effects.iter().zip(at.effects + 1..) {
            self.effect.execute(params![id, sequence, effect.topic, effect.body])?;
        }
        for message in &commit.messages {
            send(self.connection, message)?;
        }
        if matches!(commit.next, Next::Message(_)) && has_mail(self.connection, at.number)? {
            let mut wake = self.connection.prepare_cached(schema::WAKE)?;
            wake.execute(params![at.number, self.now])?;
        }
        Ok(Outcome::Stored)
    }

    /// Whether a step was stored: of the session at this place.
    fn store(&mut self, commit: &Commit, at: Place) -> Result<bool> {
        let now = self.now;
        let effects = at.effects + commit.effects.len() as i64;
        if let (Next::Kept, Some(image), Some(said)) = (&commit.next, &commit.image, &commit.said) {
            // If half of its lease's time is left.
            let changed = self.kept.execute(params![
                at.number,
                commit.id.as_bytes(),
                commit.token as i64,
                commit.sequence as i64,
                at.effects,
                effects,
                commit.version,
                image,
                said,
                now,
                now + millis(self.ttl / 2)
            ])?;
            if changed == 1 {
                return Ok(true);
            }
        }
        // State, what is awaited and until when (unless that stays), and when it is due.
        let (state, waits, due) = match &commit.next {
            Next::Kept => (State::Leased, Some((0, now)), now + millis(self.ttl)),
            Next::Ready => (State::Ready, Some((0, now)), now),
            Next::After(time) => {
                let until = now + millis(*time);
                (State::Sleeping, Some((2, until)), until)
            }
            Next::Message(time) => {
                let until = time.map_or(FAR, |time| now + millis(time));
                (State::Waiting, Some((1, until)), until)
            }
            Next::Done => (State::Done, Some((0, now)), FAR),
            Next::Failed(_) => (State::Failed, None, FAR),
            Next::Quarantined(_) => (State::Quarantined, None, FAR),
        };
        let reason = match &commit.next {
            Next::Failed(reason) | Next::Quarantined(reason) => reason.as_str(),
            _ => "",
        };
        let changed = self.left.execute(params![
            at.number,
            commit.id.as_bytes(),
            commit.token as i64,
            commit.sequence as i64,
            at.effects,
            effects,
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
}

pub(super) fn send(connection: &Connection, message: &NewMessage) -> Result<Sent> {
    let mut number = connection.prepare_cached(schema::NUMBER)?;
    let session = number.query_row([message.to.as_bytes()], |row| row.get(0)).optional()?;
    let session: i64 = session.unwrap_or(0);
    let mut insert = connection.prepare_cached(schema::SEND)?;
    let to = message.to.as_bytes();
    if insert.execute(params![session, to, message.key, message.body])? == 0 {
        return Ok(Sent::Repeated);
    }
    connection.prepare_cached(schema::WAKE)?.execute(params![session, now()])?;
    Ok(Sent::Queued)
}

pub(super) fn release(connection: &Connection, release: &Release) -> Result<Outcome> {
    let (id, token) = (release.held.id.as_bytes(), release.held.token as i64);
    let mut holder = connection.prepare_cached(
        "SELECT number FROM leno_session WHERE id = ?1 AND token = ?2 AND state = 1",
    )?;
    let holder = holder.query_row(params![id, token], |row| row.get::<_, i64>(0)).optional()?;
    let Some(session) = holder else { return Ok(Outcome::Fenced) };
    for number in &release.refused {
        connection.prepare_cached(schema::REFUSE)?.execute([number, &now()])?;
    }
    let has_mail = has_mail(connection, session)?;
    connection
        .prepare_cached(schema::RELEASE)?
        .execute(params![id, token, has_mail, now()])
        .map(outcome)
}
