//! Operations of several statements.

use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio_postgres::Row as Found;
use tokio_postgres::types::ToSql;

use super::connection::Wire;
use super::{awaited, bytes, id_at, number, schema};
use crate::clock::millis;
use crate::id::SessionId;
use crate::row::State;
use crate::store::{
    Awaits, Commit, Held, INBOX, LARGEST, Lease, Message, NewMessage, Next, Outcome, Release,
    Result, Sent, Want,
};

pub(super) fn outcome(is_stored: bool) -> Outcome {
    if is_stored { Outcome::Stored } else { Outcome::Fenced }
}

pub(super) fn named(held: &[Held]) -> (Vec<SessionId>, Vec<i64>) {
    held.iter().map(|held| (held.id, held.token as i64)).unzip()
}

/// Ids and tokens of leases that are.
pub(super) fn holders(found: &[Found]) -> HashSet<(SessionId, u64)> {
    found.iter().map(|row| (id_at(row, 0), number(row, 1))).collect()
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

/// What a lease asks for.
struct Asked<'a> {
    kinds: Vec<&'a str>,
    versions: Vec<i64>,
    ttl: i64,
    worker: &'a str,
    most: i64,
}

impl<'a> Asked<'a> {
    fn new(want: &'a Want) -> Self {
        Asked {
            kinds: want.build.iter().map(|known| known.kind.as_str()).collect(),
            versions: want.build.iter().map(|known| i64::from(known.version)).collect(),
            ttl: millis(want.ttl),
            worker: &want.worker,
            most: i64::try_from(want.most).unwrap_or(i64::MAX),
        }
    }

    /// Of any.
    fn params(&self) -> [&(dyn ToSql + Sync); 5] {
        [&self.kinds, &self.versions, &self.ttl, &self.worker, &self.most]
    }
}

pub(super) fn lease(wire: &mut Wire, want: &Want) -> Result<Vec<Lease>> {
    let asked = Asked::new(want);
    let found = if let Some(id) = &want.only {
        let [kinds, versions, ttl, worker, most] = asked.params();
        let id = &id.as_bytes()[..];
        wire.ask(schema::LEASE_ONE, &[kinds, versions, ttl, worker, most, &id])?
    } else {
        wire.ask(schema::LEASE, &asked.params())?
    };
    leased(wire, &found)
}

/// Leases, with the messages that they wait for.
fn leased(wire: &mut Wire, found: &[Found]) -> Result<Vec<Lease>> {
    let lease = |row: &Found| Lease {
        id: id_at(row, 0),
        kind: row.get(1),
        version: number(row, 2) as u32,
        token: number(row, 3),
        sequence: number(row, 4),
        awaits: awaited(row.get(5)),
        is_due: row.get(6),
        image: row.get::<_, Option<Vec<u8>>>(7).unwrap_or_default(),
        inbox: Vec::new(),
        was_lost: row.get(8),
        attempts: u32::try_from(number(row, 9)).unwrap_or(u32::MAX),
    };
    // What is stored of these is too large to be read.
    let mut large: Vec<(SessionId, i64)> = Vec::new();
    let mut leases = Vec::new();
    for row in found {
        match row.get(10) {
            size if size <= LARGEST as i64 => leases.push(lease(row)),
            size => large.push((id_at(row, 0), size)),
        }
    }
    let waiting = leases.iter().filter(|lease| lease.awaits == Awaits::Message);
    let waiting: Vec<SessionId> = waiting.map(|lease| lease.id).collect();
    if !waiting.is_empty() {
        let mut inboxes: HashMap<SessionId, Vec<Message>> = HashMap::new();
        let params: [&(dyn ToSql + Sync); 3] =
            [&bytes(&waiting), &(INBOX as i64), &(LARGEST as i64)];
        for row in wire.ask(schema::UNREAD_WITHIN, &params)? {
            match row.get(4) {
                size if size <= LARGEST as i64 => {
                    inboxes.entry(id_at(&row, 0)).or_default().push(message_of(&row));
                }
                size => large.push((id_at(&row, 0), size)),
            }
        }
        for lease in &mut leases {
            lease.inbox = inboxes.remove(&lease.id).unwrap_or_default();
        }
    }
    for (id, size) in large {
        leases.retain(|lease| lease.id != id);
        let reason = format!(
            "quarantined: its image or a message has {size} bytes, of which {LARGEST} are the most"
        );
        wire.ask(schema::QUARANTINE, &[&bytes(&[id]), &reason])?;
    }
    Ok(leases)
}

/// Effects that are due. Those that are too large to be read are handed out to nobody: their sessions say so first, one by
/// one, so that no row is locked while another one is waited for.
pub(super) fn outbox(wire: &mut Wire, most: i64, ttl: i64) -> Result<Vec<Found>> {
    let found = wire.ask(schema::OUTBOX, &[&ttl, &most, &(LARGEST as i64)])?;
    let mut large: Vec<i64> = Vec::new();
    for row in &found {
        let size: i64 = row.get(5);
        if size > LARGEST as i64 {
            let reason = format!("quarantined: an effect of it: {}", crate::text::too_large(size));
            let id = [id_at(row, 1)];
            if wire.ask(schema::QUARANTINE, &[&bytes(&id), &reason])?.is_empty() {
                wire.ask(schema::SAY_WHY, &[&bytes(&id), &reason])?;
            }
            large.push(row.get(0));
        }
    }
    if !large.is_empty() {
        wire.ask(schema::SET_ASIDE, &[&large])?;
    }
    Ok(found)
}

/// Whether steps and effects are all there is to it.
fn are_plain(batch: &[Commit]) -> bool {
    batch.iter().all(|commit| {
        commit.taken.is_empty()
            && commit.messages.is_empty()
            && !matches!(commit.next, Next::Message(_))
    })
}

pub(super) fn commit(wire: &mut Wire, batch: &[Commit], ttl: Duration) -> Result<Vec<Outcome>> {
    let stored = if are_plain(batch) {
        places(&wire.ask(schema::COMMIT, &Steps::new(batch, ttl).params())?)
    } else {
        whole(wire, |wire| steps_with_messages(wire, batch, ttl))?
    };
    outcomes(wire, batch, &stored)
}

pub(super) fn commit_and_lease(
    wire: &mut Wire,
    batch: &[Commit],
    want: &Want,
) -> Result<(Vec<Outcome>, Vec<Lease>)> {
    if want.only.is_some() {
        return Ok((commit(wire, batch, want.ttl)?, lease(wire, want)?));
    }
    let asked = Asked::new(want);
    let (stored, found) = if are_plain(batch) {
        let steps = Steps::new(batch, want.ttl);
        let (store, grant) = (wire.statement(schema::COMMIT)?, wire.statement(schema::LEASE_TOO)?);
        let (steps, asked) = (steps.params(), asked.params());
        // All four are sent at once. If one fails, the server takes back what came before.
        let (stored, found) = wire.drive(|client| async move {
            let begun = both(client.batch_execute("BEGIN"), client.query(&store, &steps));
            let ended = both(client.query(&grant, &asked), client.batch_execute("COMMIT"));
            let ((begun, stored), (found, ended)) = both(begun, ended).await;
            begun.and(ended).and_then(|()| Ok((stored?, found?)))
        })?;
        (places(&stored), found)
    } else {
        whole(wire, |wire| {
            let stored = steps_with_messages(wire, batch, want.ttl)?;
            Ok((stored, wire.ask(schema::LEASE_TOO, &asked.params())?))
        })?
    };
    Ok((outcomes(wire, batch, &stored)?, leased(wire, &found)?))
}

/// Both, begun in this order, without waiting in between.
async fn both<A, B>(a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut of_a, mut of_b) = (None, None);
    poll_fn(|cx| {
        if of_a.is_none() {
            of_a = ready(a.as_mut().poll(cx));
        }
        if of_b.is_none() {
            of_b = ready(b.as_mut().poll(cx));
        }
        match (of_a.take(), of_b.take()) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            some => {
                (of_a, of_b) = some;
                Poll::Pending
            }
        }
    })
    .await
}

fn ready<T>(poll: Poll<T>) -> Option<T> {
    if let Poll::Ready(value) = poll { Some(value) } else { None }
}

/// Places in a batch, from 1 on. Not ids: one batch may hold several commits of a session, all but one of them fenced.
fn places(found: &[Found]) -> HashSet<i64> {
    found.iter().map(|row| row.get(0)).collect()
}

/// What became of each, if these were stored now.
fn outcomes(wire: &mut Wire, batch: &[Commit], stored: &HashSet<i64>) -> Result<Vec<Outcome>> {
    let missing: Vec<(i64, &Commit)> =
        (1..).zip(batch).filter(|(place, _)| !stored.contains(place)).collect();
    let mut earlier = HashSet::new();
    if !missing.is_empty() {
        let at: Vec<i64> = missing.iter().map(|(place, _)| *place).collect();
        let named: Vec<SessionId> = missing.iter().map(|(_, commit)| commit.id).collect();
        let tokens: Vec<i64> = missing.iter().map(|(_, commit)| commit.token as i64).collect();
        let sequences: Vec<i64> =
            missing.iter().map(|(_, commit)| commit.sequence as i64 + 1).collect();
        let named = bytes(&named);
        earlier = places(&wire.ask(schema::WERE_STORED, &[&at, &named, &tokens, &sequences])?);
    }
    let became = |place| outcome(stored.contains(&place) || earlier.contains(&place));
    Ok((1..).zip(batch).map(|(place, _)| became(place)).collect())
}

/// A batch in columns: steps, and effects.
#[derive(Default)]
struct Steps<'a> {
    ids: Vec<&'a [u8]>,
    tokens: Vec<i64>,
    sequences: Vec<i64>,
    counts: Vec<i64>,
    versions: Vec<i64>,
    images: Vec<Option<&'a [u8]>>,
    said: Vec<Option<&'a str>>,
    reasons: Vec<&'a str>,
    states: Vec<i16>,
    awaits: Vec<Option<i16>>,
    until: Vec<Option<i64>>,
    due: Vec<Option<i64>>,
    whose: Vec<i64>,
    many: Vec<i64>,
    nth: Vec<i64>,
    topics: Vec<&'a str>,
    bodies: Vec<&'a [u8]>,
}

impl<'a> Steps<'a> {
    fn new(batch: &'a [Commit], ttl: Duration) -> Self {
        let mut steps = Steps::default();
        batch.iter().for_each(|commit| steps.add(commit, ttl));
        steps
    }

    fn add(&mut self, commit: &'a Commit, ttl: Duration) {
        self.ids.push(commit.id.as_bytes());
        let place = self.ids.len() as i64;
        self.tokens.push(commit.token as i64);
        self.sequences.push(commit.sequence as i64);
        self.counts.push(commit.effects.len() as i64);
        self.versions.push(i64::from(commit.version));
        self.images.push(commit.image.as_deref());
        self.said.push(commit.said.as_deref());
        self.reasons.push(reason(commit));
        // State; what is awaited, unless that stays, and for how long; when it is due. Nothing is for ever.
        let (state, awaits, until, due) = match &commit.next {
            Next::Kept => (State::Leased, Some(0), Some(0), Some(millis(ttl))),
            Next::Ready => (State::Ready, Some(0), Some(0), Some(0)),
            Next::After(time) => {
                (State::Sleeping, Some(2), Some(millis(*time)), Some(millis(*time)))
            }
            Next::Message(time) => (State::Waiting, Some(1), time.map(millis), time.map(millis)),
            Next::Done => (State::Done, Some(0), Some(0), None),
            Next::Failed(_) => (State::Failed, None, None, None),
            Next::Quarantined(_) => (State::Quarantined, None, None, None),
        };
        self.states.push(state.number());
        self.awaits.push(awaits);
        self.until.push(until);
        self.due.push(due);
        for (effect, nth) in commit.effects.iter().zip(1_i64..) {
            self.whose.push(place);
            self.many.push(commit.effects.len() as i64);
            self.nth.push(nth);
            self.topics.push(&effect.topic);
            self.bodies.push(&effect.body);
        }
    }

    /// As the statement wants them.
    fn params(&self) -> [&(dyn ToSql + Sync); 17] {
        [
            &self.ids,
            &self.tokens,
            &self.sequences,
            &self.counts,
            &self.versions,
            &self.images,
            &self.said,
            &self.reasons,
            &self.states,
            &self.awaits,
            &self.until,
            &self.due,
            &self.whose,
            &self.many,
            &self.nth,
            &self.topics,
            &self.bodies,
        ]
    }
}

/// Steps with all that belongs to them, inside a transaction.
fn steps_with_messages(wire: &mut Wire, batch: &[Commit], ttl: Duration) -> Result<HashSet<i64>> {
    let to = batch.iter().flat_map(|commit| commit.messages.iter().map(|message| message.to));
    let all: Vec<SessionId> = batch.iter().map(|commit| commit.id).chain(to).collect();
    wire.ask(schema::LOCK, &[&bytes(&all)])?;
    let stored = places(&wire.ask(schema::COMMIT, &Steps::new(batch, ttl).params())?);
    let made = (1..).zip(batch).filter(|(place, _)| stored.contains(place));
    let made: Vec<&Commit> = made.map(|(_, commit)| commit).collect();
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
        Next::Failed(reason) | Next::Quarantined(reason) => reason,
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
    let held = holders(&wire.ask(schema::HELD, &[&bytes(&all), &tokens])?);
    let is_held = |held_by: &Held| held.contains(&(held_by.id, held_by.token));
    let really = released.iter().filter(|release| is_held(&release.held));
    let refused: Vec<i64> = really.flat_map(|release| release.refused.iter().copied()).collect();
    if !refused.is_empty() {
        wire.ask(schema::REFUSE, &[&refused])?;
    }
    let given_back: Vec<SessionId> = held.iter().map(|(id, _)| *id).collect();
    wire.ask(schema::RELEASE, &[&bytes(&given_back)])?;
    Ok(released.iter().map(|release| outcome(is_held(&release.held))).collect())
}
