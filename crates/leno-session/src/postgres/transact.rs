//! Operations of several statements.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tokio_postgres::Row as Found;

use super::connection::Wire;
use super::{awaited, bytes, id_at, ids, number, schema};
use crate::clock::millis;
use crate::id::SessionId;
use crate::row::State;
use crate::store::{
    Awaits, Commit, Held, Lease, Message, NewMessage, Next, Outcome, Release, Result, Sent, Want,
};

pub(super) fn outcome(is_stored: bool) -> Outcome {
    if is_stored { Outcome::Stored } else { Outcome::Fenced }
}

pub(super) fn named(held: &[Held]) -> (Vec<SessionId>, Vec<i64>) {
    held.iter().map(|held| (held.id, held.token as i64)).unzip()
}

/// In one transaction. If it fails the connection is dropped, and the server takes everything back.
pub(super) fn whole<T>(wire: &mut Wire, work: impl FnOnce(&mut Wire) -> Result<T>) -> Result<T> {
    wire.drive(|client| client.batch_execute("BEGIN"))?;
    let result = work(wire)?;
    wire.drive(|client| client.batch_execute("COMMIT"))?;
    Ok(result)
}

pub(super) fn message_of(row: &Found) -> Message {
    Message { number: row.get(1), key: row.get(2), body: row.get(3) }
}

pub(super) fn lease(wire: &mut Wire, want: &Want) -> Result<Vec<Lease>> {
    let mut leases: Vec<Lease> = Vec::new();
    let only = want.only.as_ref().map(|id| &id.as_bytes()[..]);
    for known in &want.build {
        let left = (want.most - leases.len()) as i64;
        if left == 0 {
            break;
        }
        let (version, ttl) = (i64::from(known.version), millis(want.ttl));
        let found =
            wire.ask(schema::LEASE, &[&known.kind, &version, &ttl, &want.worker, &left, &only])?;
        leases.extend(found.iter().map(|row| Lease {
            id: id_at(row, 0),
            kind: known.kind.clone(),
            version: number(row, 1) as u32,
            token: number(row, 2),
            sequence: number(row, 3),
            awaits: awaited(row.get(4)),
            is_due: row.get(5),
            image: row.get(6),
            inbox: Vec::new(),
        }));
    }
    let waiting = leases.iter().filter(|lease| lease.awaits == Awaits::Message);
    let waiting: Vec<SessionId> = waiting.map(|lease| lease.id).collect();
    if !waiting.is_empty() {
        let mut inboxes: HashMap<SessionId, Vec<Message>> = HashMap::new();
        for row in wire.ask(schema::UNREAD, &[&bytes(&waiting)])? {
            inboxes.entry(id_at(&row, 0)).or_default().push(message_of(&row));
        }
        for lease in &mut leases {
            lease.inbox = inboxes.remove(&lease.id).unwrap_or_default();
        }
    }
    Ok(leases)
}

pub(super) fn commit(wire: &mut Wire, batch: &[Commit], ttl: Duration) -> Result<Vec<Outcome>> {
    let is_plain = |commit: &Commit| {
        commit.taken.is_empty()
            && commit.messages.is_empty()
            && !matches!(commit.next, Next::Message(_))
    };
    let stored = if batch.iter().all(is_plain) {
        steps(wire, batch, ttl)?
    } else {
        whole(wire, |wire| steps_with_messages(wire, batch, ttl))?
    };
    let missing: Vec<&Commit> =
        batch.iter().filter(|commit| !stored.contains(&commit.id)).collect();
    let mut earlier = HashSet::new();
    if !missing.is_empty() {
        let named: Vec<SessionId> = missing.iter().map(|commit| commit.id).collect();
        let tokens: Vec<i64> = missing.iter().map(|commit| commit.token as i64).collect();
        let sequences: Vec<i64> = missing.iter().map(|commit| commit.sequence as i64 + 1).collect();
        earlier = ids(&wire.ask(schema::WERE_STORED, &[&bytes(&named), &tokens, &sequences])?);
    }
    Ok(batch.iter().map(|c| outcome(stored.contains(&c.id) || earlier.contains(&c.id))).collect())
}

/// Steps and effects, in one statement. Those that were stored.
fn steps(wire: &mut Wire, batch: &[Commit], ttl: Duration) -> Result<HashSet<SessionId>> {
    let named: Vec<SessionId> = batch.iter().map(|commit| commit.id).collect();
    let tokens: Vec<i64> = batch.iter().map(|commit| commit.token as i64).collect();
    let sequences: Vec<i64> = batch.iter().map(|commit| commit.sequence as i64).collect();
    let counts: Vec<i64> = batch.iter().map(|commit| commit.effects.len() as i64).collect();
    let versions: Vec<i64> = batch.iter().map(|commit| i64::from(commit.version)).collect();
    let images: Vec<Option<&[u8]>> = batch.iter().map(|commit| commit.image.as_deref()).collect();
    let said: Vec<Option<&str>> = batch.iter().map(|commit| commit.said.as_deref()).collect();
    let reasons: Vec<&str> = batch.iter().map(reason).collect();
    let (mut states, mut awaits, mut until, mut due) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for commit in batch {
        // State; what is awaited, unless that stays, and for how long; when it is due. Nothing is for ever.
        let (state, awaited, wait, next): (_, Option<i16>, Option<i64>, Option<i64>) = match &commit
            .next
        {
            Next::Kept => (State::Leased, Some(0), Some(0), Some(millis(ttl))),
            Next::Ready => (State::Ready, Some(0), Some(0), Some(0)),
            Next::After(time) => {
                (State::Sleeping, Some(2), Some(millis(*time)), Some(millis(*time)))
            }
            Next::Message(time) => (State::Waiting, Some(1), time.map(millis), time.map(millis)),
            Next::Done => (State::Done, Some(0), Some(0), None),
            Next::Failed(_) => (State::Failed, None, None, None),
            Next::Parked(_) => (State::Parked, None, None, None),
        };
        states.push(state.number());
        awaits.push(awaited);
        until.push(wait);
        due.push(next);
    }
    let (mut whose, mut many, mut nth) = (Vec::new(), Vec::new(), Vec::new());
    let (mut topics, mut bodies) = (Vec::new(), Vec::new());
    for commit in batch {
        for (effect, n) in commit.effects.iter().zip(1_i64..) {
            whose.push(commit.id);
            many.push(commit.effects.len() as i64);
            nth.push(n);
            topics.push(effect.topic.as_str());
            bodies.push(effect.body.as_slice());
        }
    }
    let stored = wire.ask(
        schema::COMMIT,
        &[
            &bytes(&named),
            &tokens,
            &sequences,
            &counts,
            &versions,
            &images,
            &said,
            &reasons,
            &states,
            &awaits,
            &until,
            &due,
            &bytes(&whose),
            &many,
            &nth,
            &topics,
            &bodies,
        ],
    )?;
    Ok(ids(&stored))
}

/// Steps with all that belongs to them, inside a transaction.
fn steps_with_messages(
    wire: &mut Wire,
    batch: &[Commit],
    ttl: Duration,
) -> Result<HashSet<SessionId>> {
    let to = batch.iter().flat_map(|commit| commit.messages.iter().map(|message| message.to));
    let all: Vec<SessionId> = batch.iter().map(|commit| commit.id).chain(to).collect();
    wire.ask(schema::LOCK, &[&bytes(&all)])?;
    let stored = steps(wire, batch, ttl)?;
    let made: Vec<&Commit> = batch.iter().filter(|commit| stored.contains(&commit.id)).collect();
    let taken: Vec<i64> = made.iter().flat_map(|commit| commit.taken.iter().copied()).collect();
    if !taken.is_empty() {
        wire.ask(schema::TAKE, &[&taken])?;
    }
    let messages: Vec<&NewMessage> = made.iter().flat_map(|commit| &commit.messages).collect();
    if !messages.is_empty() {
        send(wire, &messages)?;
    }
    // Those that wait and have mail already, and those that were sent some.
    wire.ask(schema::WAKE, &[&bytes(&all)])?;
    if !messages.is_empty() {
        wire.ask(schema::TELL, &[])?;
    }
    Ok(stored)
}

fn reason(commit: &Commit) -> &str {
    match &commit.next {
        Next::Failed(reason) | Next::Parked(reason) => reason,
        _ => "",
    }
}

pub(super) fn send(wire: &mut Wire, messages: &[&NewMessage]) -> Result<Vec<Sent>> {
    let to: Vec<SessionId> = messages.iter().map(|message| message.to).collect();
    let keys: Vec<&str> = messages.iter().map(|message| message.key.as_str()).collect();
    let bodies: Vec<&[u8]> = messages.iter().map(|message| message.body.as_slice()).collect();
    let queued = wire.ask(schema::SEND, &[&bytes(&to), &keys, &bodies])?;
    let mut queued: HashSet<(SessionId, String)> =
        queued.iter().map(|row| (id_at(row, 0), row.get(1))).collect();
    let sent = messages.iter().map(|message| {
        let is_new = queued.remove(&(message.to, message.key.clone()));
        if is_new { Sent::Queued } else { Sent::Repeated }
    });
    Ok(sent.collect())
}

pub(super) fn release(wire: &mut Wire, released: &[Release]) -> Result<Vec<Outcome>> {
    let (all, tokens) = named(&released.iter().map(|release| release.held).collect::<Vec<_>>());
    let held = ids(&wire.ask(schema::HELD, &[&bytes(&all), &tokens])?);
    let really = released.iter().filter(|release| held.contains(&release.held.id));
    let refused: Vec<i64> = really.flat_map(|release| release.refused.iter().copied()).collect();
    if !refused.is_empty() {
        wire.ask(schema::TAKE, &[&refused])?;
    }
    let given_back: Vec<SessionId> = held.iter().copied().collect();
    wire.ask(schema::RELEASE, &[&bytes(&given_back)])?;
    Ok(all.iter().map(|id| outcome(held.contains(id))).collect())
}
