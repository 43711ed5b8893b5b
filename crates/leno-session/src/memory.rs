//! A store in memory, for tests, and for sessions that need not outlive their process.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use leno_context::user::Section;
use leno_kernel::blocking;

use crate::clock::{FAR, millis, shown, steady as now};
use crate::id::SessionId;
use crate::row::{Query, Row, State};
use crate::store::{
    Awaits, Change, Commit, Effect, Held, INBOX, LARGEST, LEASED, Lease, Message, NewMessage,
    NewSession, Next, Outcome, Release, Result, Sent, Store, Want, Whole,
};
use crate::text;

/// A store in memory. Clones are the same store.
#[derive(Clone, Default)]
pub struct Memory(Arc<Shared>);

#[derive(Default)]
struct Shared {
    tables: Mutex<Tables>,
    more: Condvar,
}

#[derive(Default)]
struct Tables {
    sessions: BTreeMap<SessionId, Entry>,
    /// By kind: due time and id of all that can ever be due.
    due: HashMap<String, BTreeSet<(i64, SessionId)>>,
    inboxes: HashMap<SessionId, Inbox>,
    messages: i64,
    effects: BTreeMap<(SessionId, u64), Stored>,
    /// The highest token of sessions that were forgotten, and the highest sequence of their effects.
    forgotten: (u64, u64),
    /// Counts what may make something due.
    news: u64,
}

struct Entry {
    row: Row,
    due: i64,
    until: i64,
    awaits: Awaits,
    image: Vec<u8>,
    /// Under which token the last step was stored.
    stored: u64,
    /// Attempts at the next step.
    attempts: u32,
    /// The sequence of its last effect.
    last_effect: u64,
}

#[derive(Default)]
struct Inbox {
    unread: Vec<Message>,
    /// By key: when it was taken, or `None` while it is unread.
    keys: BTreeMap<String, Option<i64>>,
}

struct Stored {
    effect: Effect,
    due: i64,
}

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Memory::default()
    }

    fn tables(&self) -> Locked<'_> {
        let tables = self.0.tables.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        Locked { tables, _section: Section::open() }
    }
}

/// The tables, while nobody else has them.
struct Locked<'a> {
    tables: MutexGuard<'a, Tables>,
    _section: Section,
}

impl Deref for Locked<'_> {
    type Target = Tables;

    fn deref(&self) -> &Tables {
        &self.tables
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Tables {
        &mut self.tables
    }
}

impl Tables {
    /// Moves a session to another due time and state.
    fn put(&mut self, id: SessionId, due: i64, state: State) {
        let Some(entry) = self.sessions.get_mut(&id) else { return };
        let queue = self.due.entry(entry.row.kind.clone()).or_default();
        queue.remove(&(entry.due, id));
        (entry.due, entry.row.state) = (due, state);
        if due != FAR {
            queue.insert((due, id));
        }
        self.news += 1;
    }

    fn has_mail(&self, id: SessionId) -> bool {
        self.inboxes.get(&id).is_some_and(|inbox| !inbox.unread.is_empty())
    }

    /// Lets a session wait for what it waits for.
    fn settle(&mut self, id: SessionId) {
        let Some(entry) = self.sessions.get(&id) else { return };
        let (awaits, until) = (entry.awaits, entry.until);
        match awaits {
            Awaits::Nothing => self.put(id, until.min(now()), State::Ready),
            Awaits::Time => self.put(id, until, State::Sleeping),
            Awaits::Message if self.has_mail(id) => self.put(id, now(), State::Ready),
            Awaits::Message => self.put(id, until, State::Waiting),
        }
    }

    fn holder(&mut self, held: Held) -> Option<&mut Entry> {
        let is_held =
            |entry: &&mut Entry| entry.row.token == held.token && entry.row.state == State::Leased;
        self.sessions.get_mut(&held.id).filter(is_held)
    }

    fn send(&mut self, message: &NewMessage) -> Sent {
        let inbox = self.inboxes.entry(message.to).or_default();
        if inbox.keys.contains_key(&message.key) {
            return Sent::Repeated;
        }
        inbox.keys.insert(message.key.clone(), None);
        self.messages += 1;
        let (number, key, body) = (self.messages, message.key.clone(), message.body.clone());
        inbox.unread.push(Message { number, key, body });
        if self.sessions.get(&message.to).is_some_and(|entry| entry.row.state == State::Waiting) {
            self.put(message.to, now(), State::Ready);
        }
        Sent::Queued
    }

    fn take(&mut self, id: SessionId, taken: &[i64]) {
        if let Some(inbox) = self.inboxes.get_mut(&id) {
            let now = now();
            let Inbox { unread, keys } = inbox;
            unread.retain(|message| {
                let is_taken = taken.contains(&message.number);
                if is_taken {
                    keys.insert(message.key.clone(), Some(now));
                }
                !is_taken
            });
        }
    }

    fn commit(&mut self, commit: &Commit, ttl: Duration) -> Outcome {
        let Some(entry) = self.sessions.get_mut(&commit.id) else { return Outcome::Fenced };
        // Another lease may have been granted since.
        if entry.stored == commit.token
            && entry.row.sequence.checked_sub(1) == Some(commit.sequence)
        {
            return Outcome::Stored;
        }
        let is_held = entry.row.token == commit.token && entry.row.state == State::Leased;
        if !is_held || entry.row.sequence != commit.sequence {
            return Outcome::Fenced;
        }
        (entry.stored, entry.attempts) = (commit.token, 0);
        let now = now();
        let row = &mut entry.row;
        (row.sequence, row.version) = (row.sequence + 1, commit.version);
        row.touched = shown(now);
        row.reason.clear();
        if let Some(image) = &commit.image {
            entry.image.clone_from(image);
            row.size = image.len();
        }
        if let Some(said) = &commit.said {
            row.said.clone_from(said);
        }
        let first = entry.last_effect;
        row.effects += commit.effects.len() as u64;
        entry.last_effect += commit.effects.len() as u64;
        if let Next::Failed(reason) | Next::Quarantined(reason) = &commit.next {
            row.reason.clone_from(reason);
        }
        let waits = match commit.next {
            Next::Kept | Next::Ready | Next::Done => Some((Awaits::Nothing, now)),
            Next::After(time) => Some((Awaits::Time, now + millis(time))),
            Next::Message(None) => Some((Awaits::Message, FAR)),
            Next::Message(Some(time)) => Some((Awaits::Message, now + millis(time))),
            Next::Failed(_) | Next::Quarantined(_) => None,
        };
        if let Some(waits) = waits {
            (entry.awaits, entry.until) = waits;
        }
        for (effect, sequence) in commit.effects.iter().zip(first + 1..) {
            let (topic, body) = (effect.topic.clone(), effect.body.clone());
            let effect = Effect { session: commit.id, sequence, topic, body };
            self.effects.insert((commit.id, sequence), Stored { effect, due: 0 });
        }
        self.take(commit.id, &commit.taken);
        match commit.next {
            Next::Kept => self.put(commit.id, now + millis(ttl), State::Leased),
            Next::Done => self.put(commit.id, FAR, State::Done),
            Next::Failed(_) => self.put(commit.id, FAR, State::Failed),
            Next::Quarantined(_) => self.put(commit.id, FAR, State::Quarantined),
            _ => self.settle(commit.id),
        }
        for message in &commit.messages {
            self.send(message);
        }
        Outcome::Stored
    }

    fn change(&mut self, id: SessionId, change: &Change) -> bool {
        let Some(entry) = self.sessions.get_mut(&id) else { return false };
        let is_stuck = matches!(entry.row.state, State::Failed | State::Quarantined);
        let state = match change {
            Change::Cancel(_) | Change::Quarantine(_) if entry.row.state.has_ended() => {
                return false;
            }
            Change::Cancel(reason) => {
                entry.row.reason.clone_from(reason);
                State::Cancelled
            }
            Change::Quarantine(reason) => {
                entry.row.reason.clone_from(reason);
                State::Quarantined
            }
            Change::Retry | Change::Replace(..) if !is_stuck => return false,
            Change::Retry => State::Ready,
            Change::Replace(image, version) => {
                (entry.row.size, entry.row.version) = (image.len(), *version);
                entry.image.clone_from(image);
                State::Ready
            }
        };
        entry.row.token += 1;
        entry.attempts = 0;
        entry.row.touched = shown(now());
        self.put(id, if state == State::Ready { now() } else { FAR }, state);
        true
    }

    fn row(&self, entry: &Entry) -> Row {
        Row { due: (entry.due != FAR).then(|| shown(entry.due)), ..entry.row.clone() }
    }

    fn outbox_of(&self, id: SessionId) -> Vec<Effect> {
        let range = self.effects.range((id, 0)..=(id, u64::MAX));
        range
            .filter(|(_, stored)| stored.due != FAR)
            .map(|(_, stored)| stored.effect.clone())
            .collect()
    }
}

/// The first messages, as many as a lease hands out.
fn first(unread: &[Message]) -> Vec<Message> {
    let mut size = 0;
    let fits = |message: &&Message| {
        let is_room = size < LARGEST;
        size += message.key.len() + message.body.len();
        is_room
    };
    unread.iter().take(INBOX).take_while(fits).cloned().collect()
}

impl Store for Memory {
    fn create(&self, new: &[NewSession]) -> Result<Vec<bool>> {
        text::of_sessions(new)?;
        let mut tables = self.tables();
        let created = new.iter().map(|new| {
            if tables.sessions.contains_key(&new.id) {
                return false;
            }
            let now = now();
            let (token, last_effect) = tables.forgotten;
            let row = Row {
                id: new.id,
                kind: new.kind.clone(),
                version: new.version,
                state: State::Ready,
                sequence: 0,
                effects: 0,
                token,
                worker: String::new(),
                due: None,
                said: "null".into(),
                reason: String::new(),
                created: shown(now),
                touched: shown(now),
                size: new.image.len(),
            };
            let image = new.image.clone();
            let awaits = Awaits::Nothing;
            let entry = Entry {
                row,
                due: FAR,
                until: now,
                awaits,
                image,
                stored: 0,
                attempts: 0,
                last_effect,
            };
            tables.sessions.insert(new.id, entry);
            tables.put(new.id, now, State::Ready);
            true
        });
        let created = created.collect();
        self.0.more.notify_all();
        Ok(created)
    }

    fn lease(&self, want: &Want) -> Result<Vec<Lease>> {
        text::of_want(want)?;
        let mut tables = self.tables();
        let now = now();
        let (mut leases, mut size) = (Vec::new(), 0);
        for known in &want.build {
            let due = tables.due.get(&known.kind).into_iter().flatten();
            let due = due.take_while(|(due, _)| *due <= now).map(|(_, id)| *id);
            let fits = |id: &SessionId| {
                want.only.is_none_or(|only| only == *id)
                    && tables.sessions[id].row.version <= known.version
            };
            let ids: Vec<SessionId> = due.filter(fits).take(want.most - leases.len()).collect();
            for id in ids {
                if size >= LEASED {
                    break;
                }
                size += tables.sessions[&id].image.len();
                let was_lost = tables.sessions[&id].row.state == State::Leased;
                tables.put(id, now + millis(want.ttl), State::Leased);
                let inbox =
                    tables.inboxes.get(&id).map_or(Vec::new(), |inbox| first(&inbox.unread));
                let Some(entry) = tables.sessions.get_mut(&id) else { continue };
                entry.row.token += 1;
                entry.row.worker.clone_from(&want.worker);
                leases.push(Lease {
                    id,
                    kind: entry.row.kind.clone(),
                    version: entry.row.version,
                    token: entry.row.token,
                    sequence: entry.row.sequence,
                    awaits: entry.awaits,
                    is_due: entry.until <= now,
                    image: entry.image.clone(),
                    inbox,
                    was_lost,
                    attempts: entry.attempts,
                });
            }
        }
        Ok(leases)
    }

    fn commit(&self, batch: &[Commit], ttl: Duration) -> Result<Vec<Outcome>> {
        text::of_commits(batch)?;
        let mut tables = self.tables();
        let outcomes = batch.iter().map(|commit| tables.commit(commit, ttl)).collect();
        self.0.more.notify_all();
        Ok(outcomes)
    }

    fn renew(&self, held: &[Held], ttl: Duration) -> Result<Vec<Outcome>> {
        let mut tables = self.tables();
        let renew = |held: &Held| {
            if tables.holder(*held).is_none() {
                return Outcome::Fenced;
            }
            tables.put(held.id, now() + millis(ttl), State::Leased);
            Outcome::Stored
        };
        Ok(held.iter().map(renew).collect())
    }

    fn attempt(&self, held: &[Held]) -> Result<Vec<Outcome>> {
        let mut tables = self.tables();
        let attempt = |held: &Held| {
            let Some(entry) = tables.holder(*held) else { return Outcome::Fenced };
            entry.attempts = entry.attempts.saturating_add(1);
            Outcome::Stored
        };
        Ok(held.iter().map(attempt).collect())
    }

    fn release(&self, released: &[Release]) -> Result<Vec<Outcome>> {
        let mut tables = self.tables();
        let release = |release: &Release| {
            let Some(entry) = tables.holder(release.held) else { return Outcome::Fenced };
            entry.attempts = 0;
            tables.take(release.held.id, &release.refused);
            tables.settle(release.held.id);
            Outcome::Stored
        };
        let outcomes = released.iter().map(release).collect();
        self.0.more.notify_all();
        Ok(outcomes)
    }

    fn send(&self, messages: &[NewMessage]) -> Result<Vec<Sent>> {
        text::of_messages(messages)?;
        let mut tables = self.tables();
        let sent = messages.iter().map(|message| tables.send(message)).collect();
        self.0.more.notify_all();
        Ok(sent)
    }

    fn wait(&self, most: Duration) -> Result<()> {
        let shared = self.0.clone();
        blocking(move || {
            let tables = shared.tables.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let first =
                tables.due.values().filter_map(|due| due.first()).map(|(due, _)| *due).min();
            let left = first.unwrap_or(FAR).saturating_sub(now()).max(0);
            let left = most.min(Duration::from_millis(left.unsigned_abs()));
            let news = tables.news;
            let wait = shared.more.wait_timeout_while(tables, left, |tables| tables.news == news);
            drop(wait);
        });
        Ok(())
    }

    fn change(&self, ids: &[SessionId], change: &Change) -> Result<Vec<bool>> {
        text::of_change(change)?;
        let mut tables = self.tables();
        let changed = ids.iter().map(|id| tables.change(*id, change)).collect();
        self.0.more.notify_all();
        Ok(changed)
    }

    fn expire(&self, untouched: Duration) -> Result<u64> {
        let mut tables = self.tables();
        let limit = shown(now() - millis(untouched));
        let is_old = |entry: &&Entry| {
            let state = entry.row.state;
            entry.row.touched <= limit
                && matches!(
                    state,
                    State::Waiting | State::Sleeping | State::Failed | State::Quarantined
                )
        };
        let old: Vec<_> =
            tables.sessions.values().filter(is_old).map(|entry| entry.row.id).collect();
        for id in &old {
            tables.put(*id, FAR, State::Expired);
            if let Some(entry) = tables.sessions.get_mut(id) {
                entry.row.token += 1;
                entry.row.touched = shown(now());
            }
        }
        Ok(old.len() as u64)
    }

    fn forget(&self, ended: Duration) -> Result<u64> {
        let mut tables = self.tables();
        let limit = shown(now() - millis(ended));
        let is_old = |entry: &&Entry| entry.row.state.has_ended() && entry.row.touched <= limit;
        let old = tables.sessions.values().filter(is_old).map(|entry| entry.row.id);
        let old: Vec<_> = old.filter(|id| tables.outbox_of(*id).is_empty()).collect();
        for id in &old {
            if let Some(entry) = tables.sessions.remove(id) {
                let (token, effect) = &mut tables.forgotten;
                *token = entry.row.token.max(*token);
                *effect = entry.last_effect.max(*effect);
            }
            tables.inboxes.remove(id);
            tables.effects.retain(|(session, _), _| session != id);
        }
        Ok(old.len() as u64)
    }

    fn sweep(&self, taken: Duration) -> Result<u64> {
        let mut tables = self.tables();
        let limit = now() - millis(taken);
        let mut count = 0;
        for inbox in tables.inboxes.values_mut() {
            let before = inbox.keys.len();
            inbox.keys.retain(|_, taken| taken.is_none_or(|taken| taken > limit));
            count += before - inbox.keys.len();
        }
        tables.inboxes.retain(|_, inbox| !inbox.keys.is_empty());
        Ok(count as u64)
    }

    fn outbox(&self, most: usize, ttl: Duration) -> Result<Vec<Effect>> {
        let mut tables = self.tables();
        let now = now();
        let due = tables.effects.values_mut().filter(|stored| stored.due <= now).take(most);
        let mut size = 0;
        let due = due.take_while(|stored| {
            let is_room = size < LEASED;
            size += stored.effect.topic.len() + stored.effect.body.len();
            is_room
        });
        let effects = due.map(|stored| {
            stored.due = now + millis(ttl);
            stored.effect.clone()
        });
        Ok(effects.collect())
    }

    fn confirm(&self, done: &[(SessionId, u64)]) -> Result<()> {
        let mut tables = self.tables();
        for key in done {
            if let Some(stored) = tables.effects.get_mut(key) {
                stored.due = FAR;
            }
        }
        Ok(())
    }

    fn list(&self, query: &Query, each: &mut dyn FnMut(Row)) -> Result<()> {
        text::of_query(query)?;
        let tables = self.tables();
        let is_meant = |entry: &&Entry| {
            let row = &entry.row;
            query.id.is_none_or(|id| id == row.id)
                && query.kind.as_ref().is_none_or(|kind| *kind == row.kind)
                && query.state.is_none_or(|state| state == row.state)
                && query.after.is_none_or(|after| row.id > after)
        };
        let limit = if query.limit == 0 { usize::MAX } else { query.limit };
        let rows = tables.sessions.values().filter(is_meant).take(limit);
        let rows: Vec<Row> = rows.map(|entry| tables.row(entry)).collect();
        drop(tables);
        rows.into_iter().for_each(each);
        Ok(())
    }

    fn load(&self, id: SessionId) -> Result<Option<Whole>> {
        let tables = self.tables();
        Ok(tables.sessions.get(&id).map(|entry| Whole {
            row: tables.row(entry),
            awaits: entry.awaits,
            image: entry.image.clone(),
            inbox: tables.inboxes.get(&id).map_or(Vec::new(), |inbox| inbox.unread.clone()),
            outbox: tables.outbox_of(id),
        }))
    }

    fn count(&self) -> Result<BTreeMap<State, u64>> {
        let mut count = BTreeMap::new();
        for entry in self.tables().sessions.values() {
            *count.entry(entry.row.state).or_default() += 1;
        }
        Ok(count)
    }
}
