//! The laws of stores as checks, for every store: this crate's own, and yours.
//!
//! Each is a function that panics if a store breaks the law of its number: see [`crate::store`]. Give them a store
//! for themselves: they let old sessions expire and be forgotten. Law 12, about crashes, needs processes to
//! kill: the tests of this crate do that.

mod limits;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

pub use self::limits::{
    law_7_taken_messages_are_swept, law_13_text_has_no_nul, law_14_to_each_its_own,
    law_15_attempts_are_counted, law_16_a_forgotten_session_stays_gone,
    law_17_a_lease_has_a_limited_size,
};
use crate::id::SessionId;
use crate::row::{Query, Row, State};
use crate::store::{
    Awaits, Change, Commit, Held, Known, Lease, NewEffect, NewMessage, NewSession, Next, Outcome,
    Release, Sent, Store, Want, Whole,
};

const HOUR: Duration = Duration::from_secs(3600);

/// A store under examination, with a kind that nobody else uses.
struct Bench<'a> {
    store: &'a dyn Store,
    kind: String,
}

impl<'a> Bench<'a> {
    fn new(store: &'a dyn Store) -> Self {
        Bench { store, kind: format!("law-{}", SessionId::random()) }
    }

    fn new_session(&self) -> NewSession {
        let image = b"first".to_vec();
        NewSession { id: SessionId::random(), kind: self.kind.clone(), version: 1, image }
    }

    fn session(&self) -> SessionId {
        let new = self.new_session();
        assert_eq!(self.store.create(std::slice::from_ref(&new)).unwrap(), [true]);
        new.id
    }

    fn lease_as(&self, version: u32, ttl: Duration) -> Vec<Lease> {
        let build = vec![Known { kind: self.kind.clone(), version }];
        self.store.lease(&Want { worker: "law".into(), build, most: 100, ttl, only: None }).unwrap()
    }

    fn lease(&self, ttl: Duration) -> Vec<Lease> {
        self.lease_as(1, ttl)
    }

    /// The one lease that there is to be had.
    #[track_caller]
    fn one(&self, ttl: Duration) -> Lease {
        let mut leases = self.lease(ttl);
        assert_eq!(leases.len(), 1, "one session is due");
        leases.remove(0)
    }

    #[track_caller]
    fn none(&self) {
        assert_eq!(self.lease(HOUR).len(), 0, "no session is due");
    }

    fn commit(&self, commit: &Commit) -> Outcome {
        self.store.commit(std::slice::from_ref(commit), HOUR).unwrap()[0]
    }

    fn row(&self, id: SessionId) -> Row {
        let mut rows = Vec::new();
        let query = Query { id: Some(id), ..Query::default() };
        self.store.list(&query, &mut |row| rows.push(row)).unwrap();
        assert_eq!(rows.len(), 1);
        rows.remove(0)
    }

    fn whole(&self, id: SessionId) -> Whole {
        self.store.load(id).unwrap().expect("there is such a session")
    }

    fn send(&self, to: SessionId, key: &str) -> Sent {
        let message = NewMessage { to, key: key.into(), body: key.as_bytes().to_vec() };
        self.store.send(&[message]).unwrap()[0]
    }
}

fn step(lease: &Lease, next: Next) -> Commit {
    Commit {
        id: lease.id,
        token: lease.token,
        sequence: lease.sequence,
        version: lease.version,
        image: Some(format!("image {}", lease.sequence + 1).into_bytes()),
        said: Some(format!("\"said {}\"", lease.sequence + 1)),
        next,
        taken: lease.inbox.iter().map(|message| message.number).collect(),
        messages: Vec::new(),
        effects: Vec::new(),
    }
}

/// All laws that can be checked in one process, but [the 17th](law_17_a_lease_has_a_limited_size), which takes long.
pub fn all(store: &dyn Store) {
    law_1_create_is_idempotent(store);
    law_2_one_holder(store);
    law_3_fencing(store);
    law_3_fencing_in_a_batch(store);
    law_4_one_step_at_a_time(store);
    law_5_all_or_nothing(store);
    law_6_commit_is_idempotent(store);
    law_7_messages_are_there_once(store);
    law_8_no_wake_up_is_lost(store);
    law_9_only_who_can(store);
    law_10_what_ended_stays(store);
    law_11_effects_until_confirmed(store);
    law_7_taken_messages_are_swept(store);
    law_13_text_has_no_nul(store);
    law_14_to_each_its_own(store);
    law_15_attempts_are_counted(store);
    law_16_a_forgotten_session_stays_gone(store);
    commit_and_lease_is_both(store);
}

/// A second creation of an id changes nothing.
pub fn law_1_create_is_idempotent(store: &dyn Store) {
    let bench = Bench::new(store);
    let new = bench.new_session();
    let other = NewSession { image: b"other".to_vec(), ..new.clone() };
    assert_eq!(
        store.create(&[new.clone(), other.clone(), bench.new_session()]).unwrap(),
        [true, false, true]
    );
    assert_eq!(bench.whole(new.id).image, b"first");
    let leases = bench.lease(HOUR);
    assert_eq!(leases.len(), 2);
    for lease in &leases {
        assert_eq!(bench.commit(&step(lease, Next::Done)), Outcome::Stored);
    }
    assert_eq!(store.create(&[other]).unwrap(), [false], "also when it has ended");
    assert_eq!(bench.row(new.id).state, State::Done);
}

/// A token is granted once; a lease that lasts excludes others, one that has run out does not.
pub fn law_2_one_holder(store: &dyn Store) {
    let bench = Bench::new(store);
    let id = bench.session();
    let first = bench.one(Duration::ZERO);
    assert_eq!((first.id, first.sequence, first.image.as_slice()), (id, 0, &b"first"[..]));
    let second = bench.one(HOUR);
    assert!(second.token > first.token, "{} > {}", second.token, first.token);
    bench.none();
    let held = Held { id, token: second.token };
    assert_eq!(store.renew(&[held], Duration::ZERO).unwrap(), [Outcome::Stored]);
    let third = bench.one(HOUR);
    assert!(third.token > second.token);
    // Many at once, by several workers: each has one holder.
    let ids: Vec<SessionId> = (0..40).map(|_| bench.session()).collect();
    let granted = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let build = vec![Known { kind: bench.kind.clone(), version: 1 }];
                let want = Want { worker: "law".into(), build, most: 3, ttl: HOUR, only: None };
                let mut nothing = 0;
                while nothing < 3 {
                    let leases = loop {
                        match store.lease(&want) {
                            Err(error) if error.is_passing() => {}
                            leases => break leases.unwrap(),
                        }
                    };
                    nothing = if leases.is_empty() { nothing + 1 } else { 0 };
                    granted.fetch_add(leases.len() as u64, Relaxed);
                }
            });
        }
    });
    assert_eq!(granted.into_inner(), ids.len() as u64);
}

/// An old token changes nothing.
pub fn law_3_fencing(store: &dyn Store) {
    let bench = Bench::new(store);
    let id = bench.session();
    let zombie = bench.one(Duration::ZERO);
    let holder = bench.one(HOUR);
    let late = Commit {
        effects: vec![NewEffect { topic: "late".into(), body: Vec::new() }],
        messages: vec![NewMessage { to: id, key: "late".into(), body: Vec::new() }],
        ..step(&zombie, Next::Done)
    };
    let before = bench.row(id);
    assert_eq!(bench.commit(&late), Outcome::Fenced);
    assert_eq!(store.renew(&[zombie.held()], HOUR).unwrap(), [Outcome::Fenced]);
    let release = Release { held: zombie.held(), refused: Vec::new() };
    assert_eq!(store.release(&[release]).unwrap(), [Outcome::Fenced]);
    assert_eq!(bench.row(id), before);
    assert!(bench.whole(id).outbox.is_empty() && bench.whole(id).inbox.is_empty());
    // In one batch, those that are not fenced are stored.
    let other = bench.session();
    let lease = bench.one(HOUR);
    let outcomes = store.commit(&[late, step(&lease, Next::Ready)], HOUR).unwrap();
    assert_eq!(outcomes, [Outcome::Fenced, Outcome::Stored]);
    assert_eq!((bench.row(other).sequence, bench.row(id).sequence), (1, 0));
    assert_eq!(bench.commit(&step(&holder, Next::Ready)), Outcome::Stored);
    // A change from outside fences, too.
    let held = bench.lease(HOUR).into_iter().find(|lease| lease.id == id).expect("it is ready");
    assert_eq!(store.change(&[id], &Change::Cancel("law".into())).unwrap(), [true]);
    assert_eq!(bench.commit(&step(&held, Next::Ready)), Outcome::Fenced);
    assert_eq!(bench.row(id).state, State::Cancelled);
}

/// An old token changes nothing beside the holder's own, in whichever order and with whatever belongs to it.
pub fn law_3_fencing_in_a_batch(store: &dyn Store) {
    let bench = Bench::new(store);
    let build = vec![Known { kind: bench.kind.clone(), version: 1 }];
    let want = Want { worker: "law".into(), build, most: 10, ttl: HOUR, only: None };
    for case in 0..8 {
        let (is_late_last, sends, leases) = (case & 1 == 0, case & 2 == 0, case & 4 == 0);
        let id = bench.session();
        let (zombie, holder) = (bench.one(Duration::ZERO), bench.one(HOUR));
        let mut expected = [Outcome::Fenced, Outcome::Stored];
        let mut held = [zombie.held(), holder.held()];
        let made = |lease: &Lease, name: &str| {
            let message = NewMessage { to: id, key: name.into(), body: Vec::new() };
            let effects = [1, 2, 3].map(|n| NewEffect { topic: name.into(), body: vec![n] });
            let messages = if sends { vec![message] } else { Vec::new() };
            Commit { effects: effects.to_vec(), messages, ..step(lease, Next::After(HOUR)) }
        };
        let mut batch = [made(&zombie, "late"), made(&holder, "holder")];
        if is_late_last {
            expected.reverse();
            held.reverse();
            batch.reverse();
        }
        assert_eq!(store.renew(&held, HOUR).unwrap(), expected);
        // The second time nothing is stored, and the answers are the same.
        for _ in 0..2 {
            let outcomes = if leases {
                store.commit_and_lease(&batch, &want).unwrap().0
            } else {
                store.commit(&batch, HOUR).unwrap()
            };
            assert_eq!(outcomes, expected, "case {case}");
            let whole = bench.whole(id);
            assert_eq!((whole.row.sequence, whole.row.effects), (1, 3), "case {case}");
            let first = whole.outbox[0].sequence;
            let effects = whole.outbox.iter().map(|e| (e.topic.as_str(), e.sequence, e.body[0]));
            let effects: Vec<_> = effects.collect();
            let expected = [1, 2, 3].map(|n| ("holder", first - 1 + n, n as u8));
            assert_eq!(effects, expected, "case {case}");
            let keys: Vec<&str> = whole.inbox.iter().map(|message| message.key.as_str()).collect();
            assert_eq!(keys, if sends { vec!["holder"] } else { vec![] }, "case {case}");
        }
    }
    // What a fenced one refuses to read stays.
    let id = bench.session();
    let lease = bench.one(HOUR);
    bench.commit(&step(&lease, Next::Message(None)));
    bench.send(id, "question");
    let (zombie, holder) = (bench.one(Duration::ZERO), bench.one(HOUR));
    let refused = vec![zombie.inbox[0].number];
    let released = [(&zombie, refused), (&holder, Vec::new())];
    let released = released.map(|(lease, refused)| Release { held: lease.held(), refused });
    assert_eq!(store.release(&released).unwrap(), [Outcome::Fenced, Outcome::Stored]);
    assert_eq!(bench.one(HOUR).inbox.len(), 1);
}

/// The sequence rises by exactly 1 with every commit that is stored.
pub fn law_4_one_step_at_a_time(store: &dyn Store) {
    let bench = Bench::new(store);
    let id = bench.session();
    let mut lease = bench.one(HOUR);
    for sequence in 1..=5 {
        assert_eq!(bench.commit(&step(&lease, Next::Kept)), Outcome::Stored);
        let row = bench.row(id);
        assert_eq!((row.sequence, row.state, row.token), (sequence, State::Leased, lease.token));
        lease.sequence = sequence;
        bench.none();
    }
    let ahead = Lease { sequence: 7, ..lease.clone() };
    assert_eq!(bench.commit(&step(&ahead, Next::Kept)), Outcome::Fenced, "it would leave a gap");
    assert_eq!(bench.commit(&step(&lease, Next::Ready)), Outcome::Stored);
    assert_eq!(bench.one(HOUR).sequence, 6);
}

/// A commit is stored with everything.
pub fn law_5_all_or_nothing(store: &dyn Store) {
    let bench = Bench::new(store);
    let (id, other) = (bench.session(), SessionId::random());
    let lease = bench.one(HOUR);
    assert_eq!(bench.commit(&step(&lease, Next::Message(None))), Outcome::Stored);
    assert_eq!(bench.row(id).state, State::Waiting);
    bench.send(id, "question");
    let lease = bench.one(HOUR);
    assert_eq!((lease.awaits, lease.inbox.len()), (Awaits::Message, 1));
    let effects = [1, 2].map(|n| NewEffect { topic: "do".into(), body: vec![n] }).to_vec();
    let messages = vec![NewMessage { to: other, key: "answer".into(), body: b"42".to_vec() }];
    let commit = Commit { effects, messages, ..step(&lease, Next::After(HOUR)) };
    assert_eq!(bench.commit(&commit), Outcome::Stored);
    let whole = bench.whole(id);
    assert_eq!((whole.row.sequence, whole.row.effects, whole.row.state), (2, 2, State::Sleeping));
    assert_eq!((whole.image.as_slice(), whole.row.said.as_str()), (&b"image 2"[..], "\"said 2\""));
    let first = whole.outbox[0].sequence;
    assert_eq!(
        whole.outbox.iter().map(|e| (e.sequence, e.body[0])).collect::<Vec<_>>(),
        [(first, 1), (first + 1, 2)]
    );
    assert!(whole.inbox.is_empty() && whole.row.due.is_some());
    bench.none();
    assert_eq!(bench.send(other, "answer"), Sent::Repeated, "the message was sent");
    // What failed keeps its image, its messages and what it waits for.
    let id = bench.session();
    let lease = bench.one(HOUR);
    bench.commit(&step(&lease, Next::Message(None)));
    bench.send(id, "poison");
    let lease = bench.one(HOUR);
    let failed = Next::Failed("panicked".into());
    let commit = Commit { image: None, said: None, taken: Vec::new(), ..step(&lease, failed) };
    assert_eq!(bench.commit(&commit), Outcome::Stored);
    let whole = bench.whole(id);
    assert_eq!((whole.row.state, whole.row.reason.as_str()), (State::Failed, "panicked"));
    assert_eq!((whole.image.as_slice(), whole.inbox.len()), (&b"image 1"[..], 1));
    bench.none();
    assert_eq!(store.change(&[id], &Change::Retry).unwrap(), [true]);
    let lease = bench.one(HOUR);
    assert_eq!((lease.awaits, lease.inbox[0].key.as_str()), (Awaits::Message, "poison"));
}

/// The same commit again stores nothing.
pub fn law_6_commit_is_idempotent(store: &dyn Store) {
    let bench = Bench::new(store);
    let id = bench.session();
    let lease = bench.one(HOUR);
    let effects = vec![NewEffect { topic: "do".into(), body: Vec::new() }];
    let commit = Commit { effects, ..step(&lease, Next::Kept) };
    for _ in 0..3 {
        assert_eq!(bench.commit(&commit), Outcome::Stored);
        let row = bench.row(id);
        assert_eq!((row.sequence, row.effects), (1, 1));
    }
    let last = Commit { sequence: 1, effects: Vec::new(), ..step(&lease, Next::Done) };
    for _ in 0..2 {
        assert_eq!(bench.commit(&last), Outcome::Stored);
    }
    assert_eq!(bench.row(id).sequence, 2);
    // Twice in one batch; and also when someone else has the session, whom that does not disturb.
    let id = bench.session();
    let lease = bench.one(HOUR);
    let effects = vec![NewEffect { topic: "do".into(), body: Vec::new() }];
    let commit = Commit { effects, ..step(&lease, Next::Ready) };
    let twice = [commit.clone(), commit.clone()];
    assert_eq!(store.commit(&twice, HOUR).unwrap(), [Outcome::Stored; 2]);
    let next = bench.one(HOUR);
    let before = bench.row(id);
    assert_eq!((before.sequence, before.effects, bench.whole(id).outbox.len()), (1, 1, 1));
    assert_eq!(bench.commit(&commit), Outcome::Stored);
    assert_eq!(bench.row(id), before);
    let forged = Commit { token: next.token, ..commit.clone() };
    assert_eq!(bench.commit(&forged), Outcome::Fenced, "the step was not stored by this holder");
    assert_eq!(bench.commit(&step(&next, Next::Ready)), Outcome::Stored);
    let before = bench.row(id);
    assert_eq!(bench.commit(&commit), Outcome::Fenced, "there is a later step");
    assert_eq!(bench.row(id), before);
}

/// A key stands for one message, in order, also before the session is there.
pub fn law_7_messages_are_there_once(store: &dyn Store) {
    let bench = Bench::new(store);
    let new = bench.new_session();
    assert_eq!(bench.send(new.id, "early"), Sent::Queued);
    store.create(std::slice::from_ref(&new)).unwrap();
    let id = new.id;
    for (key, sent) in [("b", Sent::Queued), ("a", Sent::Queued), ("b", Sent::Repeated)] {
        assert_eq!(bench.send(id, key), sent);
    }
    let lease = bench.one(HOUR);
    bench.commit(&step(&Lease { inbox: Vec::new(), ..lease }, Next::Message(None)));
    let lease = bench.one(HOUR);
    let keys: Vec<&str> = lease.inbox.iter().map(|message| message.key.as_str()).collect();
    assert_eq!(keys, ["early", "b", "a"]);
    let taken = vec![lease.inbox[0].number];
    bench.commit(&Commit { taken, ..step(&lease, Next::Message(None)) });
    assert_eq!(bench.send(id, "early"), Sent::Repeated, "it was taken");
    let lease = bench.one(HOUR);
    assert_eq!(lease.inbox.len(), 2);
    // What cannot be read is put aside without a step.
    let refused = lease.inbox.iter().map(|message| message.number).collect();
    assert_eq!(
        store.release(&[Release { held: lease.held(), refused }]).unwrap(),
        [Outcome::Stored]
    );
    let row = bench.row(id);
    assert_eq!((row.state, row.sequence), (State::Waiting, 2));
    bench.none();
}

/// Whichever comes first, the message or the wait for it.
pub fn law_8_no_wake_up_is_lost(store: &dyn Store) {
    let bench = Bench::new(store);
    let id = bench.session();
    let lease = bench.one(HOUR);
    bench.send(id, "while it runs");
    bench.none();
    bench.commit(&step(&lease, Next::Message(None)));
    let lease = bench.one(HOUR);
    bench.commit(&step(&lease, Next::Message(Some(HOUR))));
    bench.none();
    bench.send(id, "while it waits");
    let lease = bench.one(HOUR);
    assert!(!lease.is_due);
    // Its time comes without a message.
    bench.commit(&step(&lease, Next::Message(Some(Duration::ZERO))));
    let lease = bench.one(HOUR);
    assert!(lease.is_due && lease.inbox.is_empty());
    // One that sleeps is not woken by a message, and finds it later.
    bench.commit(&step(&lease, Next::After(HOUR)));
    bench.send(id, "while it sleeps");
    bench.none();
    assert_eq!(bench.row(id).state, State::Sleeping);
    // Senders and a holder that waits again and again, at the same time.
    let id = bench.session();
    std::thread::scope(|scope| {
        for sender in 0..2 {
            let bench = &bench;
            scope.spawn(move || {
                for n in 0..10 {
                    let message =
                        NewMessage { to: id, key: format!("{sender}/{n}"), body: Vec::new() };
                    while store
                        .send(std::slice::from_ref(&message))
                        .is_err_and(|error| error.is_passing())
                    {}
                }
                assert_eq!(bench.row(id).id, id);
            });
        }
        let mut taken = 0;
        while taken < 20 {
            store.wait(Duration::from_millis(5)).unwrap();
            let build = vec![Known { kind: bench.kind.clone(), version: 1 }];
            let want = Want { worker: "law".into(), build, most: 1, ttl: HOUR, only: Some(id) };
            let Ok(leases) = store.lease(&want) else { continue };
            for lease in leases {
                // The first step is leased without a wait for messages, so it takes none.
                taken += lease.inbox.len();
                let commit = step(&lease, Next::Message(None));
                while store
                    .commit(std::slice::from_ref(&commit), HOUR)
                    .is_err_and(|error| error.is_passing())
                {}
            }
        }
    });
    assert_eq!(bench.row(id).state, State::Waiting);
}

/// A session is leased to those who know its kind and version.
pub fn law_9_only_who_can(store: &dyn Store) {
    let (bench, other) = (Bench::new(store), Bench::new(store));
    let new = NewSession { version: 2, ..bench.new_session() };
    store.create(std::slice::from_ref(&new)).unwrap();
    bench.none();
    other.none();
    let lease = bench.lease_as(3, HOUR).pop().expect("a later build can");
    assert_eq!(lease.version, 2);
    bench.commit(&Commit { version: 3, ..step(&lease, Next::Ready) });
    assert_eq!(bench.lease_as(2, HOUR).len(), 0, "it is of version 3 now");
    assert_eq!(bench.lease_as(3, HOUR).len(), 1);
    let id = bench.session();
    let want = |only| Want {
        worker: "law".into(),
        build: vec![Known { kind: bench.kind.clone(), version: 3 }],
        most: 10,
        ttl: HOUR,
        only: Some(only),
    };
    assert_eq!(store.lease(&want(new.id)).unwrap().len(), 0, "another is due, but not this one");
    assert_eq!(store.lease(&want(id)).unwrap().len(), 1);
}

/// What has ended is never leased again, until it is forgotten.
pub fn law_10_what_ended_stays(store: &dyn Store) {
    let bench = Bench::new(store);
    let (done, cancelled, old) = (bench.session(), bench.session(), bench.session());
    for lease in bench.lease(HOUR) {
        let next = if lease.id == done { Next::Done } else { Next::Message(None) };
        bench.commit(&step(&lease, next));
    }
    let cancel = Change::Cancel("enough".into());
    assert_eq!(store.change(&[cancelled, done], &cancel).unwrap(), [true, false]);
    assert_eq!(store.expire(HOUR).unwrap(), 0);
    assert!(store.expire(Duration::ZERO).unwrap() >= 1);
    assert_eq!(bench.row(cancelled).reason, "enough");
    for (id, state) in [(done, State::Done), (cancelled, State::Cancelled), (old, State::Expired)] {
        bench.send(id, "too late");
        assert_eq!(store.change(&[id], &Change::Retry).unwrap(), [false]);
        assert_eq!(bench.row(id).state, state);
    }
    bench.none();
    assert_eq!(store.forget(HOUR).unwrap(), 0);
    assert!(store.forget(Duration::ZERO).unwrap() >= 3);
    assert!(store.load(done).unwrap().is_none());
    assert_eq!(store.change(&[done], &cancel).unwrap(), [false], "it is gone");
}

/// Effects are handed out until they are confirmed.
pub fn law_11_effects_until_confirmed(store: &dyn Store) {
    let bench = Bench::new(store);
    let id = bench.session();
    let mut lease = bench.one(HOUR);
    for n in 0..3 {
        let effects = vec![NewEffect { topic: "do".into(), body: vec![n] }];
        bench.commit(&Commit { effects, ..step(&lease, Next::Kept) });
        lease.sequence += 1;
    }
    let ours = |ttl| {
        let effects = store.outbox(1000, ttl).unwrap();
        let ours = effects.into_iter().filter(|effect| effect.session == id);
        ours.map(|effect| effect.sequence).collect::<Vec<_>>()
    };
    let first = bench.whole(id).outbox[0].sequence;
    assert_eq!(ours(Duration::ZERO), [first, first + 1, first + 2]);
    store.confirm(&[(id, first + 1)]).unwrap();
    assert_eq!(ours(HOUR), [first, first + 2]);
    assert_eq!(ours(HOUR), [0; 0], "someone is about it");
    bench.commit(&step(&lease, Next::Done));
    store.forget(Duration::ZERO).unwrap();
    assert!(store.load(id).unwrap().is_some(), "it has something to be done");
    store.confirm(&[(id, first), (id, first + 2)]).unwrap();
    store.forget(Duration::ZERO).unwrap();
    assert!(store.load(id).unwrap().is_none());
}

/// A commit that leases what is next is a commit and a lease.
pub fn commit_and_lease_is_both(store: &dyn Store) {
    let bench = Bench::new(store);
    let build = vec![Known { kind: bench.kind.clone(), version: 1 }];
    let want =
        |most| Want { worker: "law".into(), build: build.clone(), most, ttl: HOUR, only: None };
    let id = bench.session();
    let first = bench.one(HOUR);
    let others = [bench.session(), bench.session()];
    let effects = vec![NewEffect { topic: "do".into(), body: Vec::new() }];
    let commit = Commit { effects, ..step(&first, Next::After(HOUR)) };
    let batch = std::slice::from_ref(&commit);
    let (outcomes, leases) = store.commit_and_lease(batch, &want(1)).unwrap();
    assert_eq!((outcomes.as_slice(), leases.len()), (&[Outcome::Stored][..], 1));
    assert!(others.contains(&leases[0].id));
    assert_eq!((bench.row(id).state, bench.row(id).effects), (State::Sleeping, 1));
    // The same again stores nothing, and leases the next.
    let (outcomes, more) = store.commit_and_lease(batch, &want(10)).unwrap();
    assert_eq!((outcomes.as_slice(), more.len()), (&[Outcome::Stored][..], 1));
    assert!(others.contains(&more[0].id) && more[0].id != leases[0].id);
    assert_eq!((bench.row(id).sequence, bench.row(id).effects), (1, 1));
    // What it leaves ready can be leased by it; what is fenced changes nothing.
    let zombie = Commit { token: leases[0].token.wrapping_add(1), ..step(&leases[0], Next::Done) };
    let batch = [zombie, step(&more[0], Next::Ready)];
    let (outcomes, again) = store.commit_and_lease(&batch, &want(10)).unwrap();
    assert_eq!(outcomes, [Outcome::Fenced, Outcome::Stored]);
    let granted = again.iter().map(|lease| (lease.id, lease.sequence)).collect::<Vec<_>>();
    assert_eq!(granted, [(more[0].id, 1)]);
    assert_eq!(bench.row(leases[0].id).state, State::Leased);
    // Whose answer was lost asks again: it was stored, although it is leased anew. That lease stays as it is.
    let before = bench.row(more[0].id);
    let (outcomes, nothing) = store.commit_and_lease(&batch, &want(10)).unwrap();
    assert_eq!((outcomes.as_slice(), nothing.len()), (&[Outcome::Fenced, Outcome::Stored][..], 0));
    assert_eq!(bench.row(more[0].id), before);
    assert_eq!(bench.commit(&step(&again[0], Next::After(HOUR))), Outcome::Stored);
    // One that waits and has a message is handed out with it.
    let id = bench.session();
    let lease = bench.one(HOUR);
    bench.send(id, "early");
    let batch = [step(&lease, Next::Message(None))];
    let (outcomes, leases) = store.commit_and_lease(&batch, &want(10)).unwrap();
    assert_eq!((outcomes.as_slice(), leases.len()), (&[Outcome::Stored][..], 1));
    assert_eq!((leases[0].id, leases[0].inbox.len()), (id, 1));
}
