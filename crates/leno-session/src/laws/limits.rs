//! The laws about what a store refuses, counts and deletes.

use std::time::Duration;

use super::{Bench, HOUR, step};
use crate::error::StoreError;
use crate::row::State;
use crate::store::{
    Awaits, Change, Commit, Effect, INBOX, LARGEST, LEASED, Lease, NewEffect, NewMessage,
    NewSession, Next, Outcome, Release, Sent, Store,
};

/// What was taken is known by its key until it is swept, and only what was taken is swept.
pub fn law_7_taken_messages_are_swept(store: &dyn Store) {
    let bench = Bench::new(store);
    let id = bench.session();
    let lease = bench.one(HOUR);
    for key in ["taken", "refused", "unread"] {
        bench.send(id, key);
    }
    bench.commit(&step(&lease, Next::Message(None)));
    let lease = bench.one(HOUR);
    let (taken, refused) = (vec![lease.inbox[0].number], vec![lease.inbox[1].number]);
    bench.commit(&Commit { taken, ..step(&lease, Next::Message(None)) });
    let held = bench.one(HOUR).held();
    assert_eq!(store.release(&[Release { held, refused }]).unwrap(), [Outcome::Stored]);
    let sent = |keys: [&str; 3]| keys.map(|key| bench.send(id, key));
    while store.sweep(HOUR).unwrap() > 0 {}
    assert_eq!(sent(["taken", "refused", "unread"]), [Sent::Repeated; 3]);
    // Some at a time, so it may take a while to come round.
    for _ in 0..100 {
        store.sweep(Duration::ZERO).unwrap();
    }
    assert_eq!(bench.whole(id).inbox.len(), 1, "what was not taken stays");
    let expected = [Sent::Queued, Sent::Queued, Sent::Repeated];
    assert_eq!(sent(["taken", "refused", "unread"]), expected);
}

#[track_caller]
fn refused<T>(result: crate::store::Result<T>) {
    match result {
        Err(StoreError::Refused(_)) => {}
        Err(error) => panic!("refused otherwise: {error}"),
        Ok(_) => panic!("it was not refused"),
    }
}

/// Text with a NUL byte, and numbers that not every store holds, are refused, and change nothing.
pub fn law_13_text_has_no_nul(store: &dyn Store) {
    let bench = Bench::new(store);
    let bad = "with a \0 byte".to_owned();
    let (good, new) = (bench.new_session(), bench.new_session());
    refused(store.create(&[good.clone(), NewSession { kind: bad.clone(), ..new }]));
    assert!(store.load(good.id).unwrap().is_none(), "all or nothing");
    let (id, other) = (bench.session(), bench.session());
    let message = |key: &str| NewMessage { to: id, key: key.to_owned(), body: vec![0] };
    refused(store.send(&[message("good"), message(&bad)]));
    refused(store.change(&[id], &Change::Cancel(bad.clone())));
    refused(store.change(&[id], &Change::Quarantine(bad.clone())));
    let mut leases = bench.lease(HOUR);
    leases.sort_by_key(|lease| lease.id != id);
    let (ours, theirs) = (&leases[0], step(&leases[1], Next::Ready));
    let before = bench.row(id);
    let wrong = [
        Commit { said: Some(bad.clone()), ..step(ours, Next::Ready) },
        step(ours, Next::Failed(bad.clone())),
        step(ours, Next::Quarantined(bad.clone())),
        Commit { messages: vec![message(&bad)], ..step(ours, Next::Ready) },
        Commit {
            effects: vec![NewEffect { topic: bad, body: vec![0] }],
            ..step(ours, Next::Ready)
        },
        Commit { sequence: u64::MAX, ..step(ours, Next::Ready) },
        Commit { sequence: i64::MAX as u64, ..step(ours, Next::Ready) },
        Commit { token: u64::MAX, ..step(ours, Next::Ready) },
        Commit { token: 0, sequence: u64::MAX, ..step(ours, Next::Ready) },
    ];
    for wrong in wrong {
        refused(store.commit(&[theirs.clone(), wrong], HOUR));
        assert_eq!((bench.row(id), bench.row(other).sequence), (before.clone(), 0));
    }
    assert!(bench.whole(id).inbox.is_empty() && bench.whole(id).outbox.is_empty());
    // The others by themselves are stored, and bytes may be anything.
    assert_eq!(bench.commit(&theirs), Outcome::Stored);
    let effects = vec![NewEffect { topic: "do".into(), body: vec![0, 1] }];
    let image = Some(vec![0, 255]);
    assert_eq!(bench.commit(&Commit { effects, image, ..step(ours, Next::Done) }), Outcome::Stored);
}

/// Each session is handed out with its own messages, whatever the others have.
pub fn law_14_to_each_its_own(store: &dyn Store) {
    let bench = Bench::new(store);
    let ids = [bench.session(), bench.session(), bench.session()];
    for lease in bench.lease(HOUR) {
        bench.commit(&step(&lease, Next::Message(None)));
    }
    let many = |n: usize| NewMessage { to: ids[0], key: n.to_string(), body: Vec::new() };
    store.send(&(0..5000).map(many).collect::<Vec<_>>()).unwrap();
    bench.send(ids[1], "late");
    bench.send(ids[2], "later");
    let leases = bench.lease(HOUR);
    assert_eq!(leases.len(), 3);
    for lease in leases {
        let keys: Vec<&str> = lease.inbox.iter().map(|message| message.key.as_str()).collect();
        if lease.id == ids[0] {
            assert!((1..=INBOX).contains(&keys.len()), "{}", keys.len());
            assert_eq!(keys[0], "0");
        } else {
            assert_eq!(keys, [if lease.id == ids[1] { "late" } else { "later" }]);
        }
        bench.commit(&step(&lease, Next::Done));
    }
}

/// A lost lease is known, and attempts are counted until one comes to an end.
pub fn law_15_attempts_are_counted(store: &dyn Store) {
    let bench = Bench::new(store);
    let id = bench.session();
    let first = bench.one(Duration::ZERO);
    assert_eq!((first.was_lost, first.attempts), (false, 0));
    let second = bench.one(Duration::ZERO);
    assert_eq!((second.was_lost, second.attempts), (true, 0));
    let before = bench.row(id);
    assert_eq!(store.attempt(&[first.held()]).unwrap(), [Outcome::Fenced]);
    assert_eq!(store.attempt(&[second.held()]).unwrap(), [Outcome::Stored]);
    assert_eq!(bench.row(id), before, "nothing else is changed");
    let third = bench.one(Duration::ZERO);
    assert_eq!((third.was_lost, third.attempts), (true, 1));
    assert_eq!(store.attempt(&[third.held()]).unwrap(), [Outcome::Stored]);
    let fourth = bench.one(HOUR);
    assert_eq!((fourth.was_lost, fourth.attempts), (true, 2));
    // One that is stored.
    assert_eq!(bench.commit(&step(&fourth, Next::Kept)), Outcome::Stored);
    store.renew(&[fourth.held()], Duration::ZERO).unwrap();
    let lease = bench.one(HOUR);
    assert_eq!((lease.was_lost, lease.attempts), (true, 0), "the step was stored, its lease lost");
    // One that is given back.
    store.attempt(&[lease.held()]).unwrap();
    store.release(&[Release { held: lease.held(), refused: Vec::new() }]).unwrap();
    let lease = bench.one(HOUR);
    assert_eq!((lease.was_lost, lease.attempts), (false, 0));
    // One that is set aside, and retried.
    store.attempt(&[lease.held()]).unwrap();
    let change = Change::Quarantine("enough".into());
    assert_eq!(store.change(&[id], &change).unwrap(), [true]);
    let row = bench.row(id);
    assert_eq!((row.state, row.reason.as_str()), (State::Quarantined, "enough"));
    assert_eq!(bench.commit(&step(&lease, Next::Ready)), Outcome::Fenced);
    bench.none();
    assert_eq!(store.change(&[id], &Change::Retry).unwrap(), [true]);
    let lease = bench.one(HOUR);
    assert_eq!((lease.was_lost, lease.attempts, lease.awaits), (false, 0, Awaits::Nothing));
    bench.commit(&step(&lease, Next::Done));
    assert_eq!(store.change(&[id], &change).unwrap(), [false], "what ended stays");
}

/// What belongs to a session that was forgotten changes nothing of one that was created anew under its id.
pub fn law_16_a_forgotten_session_stays_gone(store: &dyn Store) {
    let bench = Bench::new(store);
    let new = bench.new_session();
    let create = || assert_eq!(store.create(std::slice::from_ref(&new)).unwrap(), [true]);
    let confirm = |sequences: &[u64]| {
        let done: Vec<_> = sequences.iter().map(|sequence| (new.id, *sequence)).collect();
        store.confirm(&done).unwrap();
    };
    let mut earlier: Vec<Lease> = Vec::new();
    let mut told: Vec<u64> = Vec::new();
    for life in 0..3 {
        create();
        assert_eq!(bench.row(new.id).effects, 0);
        let lease = bench.one(HOUR);
        let before = bench.row(new.id);
        // Whoever has held one of the forgotten goes on.
        for old in &earlier {
            assert!(lease.token > old.token, "life {life}: {} > {}", lease.token, old.token);
            let effects = vec![NewEffect { topic: "late".into(), body: Vec::new() }];
            for late in [step(old, Next::Kept), Commit { effects, ..step(old, Next::Done) }] {
                assert_eq!(bench.commit(&late), Outcome::Fenced, "life {life}");
            }
            assert_eq!(store.renew(&[old.held()], HOUR).unwrap(), [Outcome::Fenced]);
            assert_eq!(store.attempt(&[old.held()]).unwrap(), [Outcome::Fenced]);
            let release = Release { held: old.held(), refused: Vec::new() };
            assert_eq!(store.release(&[release]).unwrap(), [Outcome::Fenced]);
        }
        assert_eq!(bench.row(new.id), before, "life {life}");
        // The holder's own steps are stored, and its effects are no repetitions.
        let effects = [1, 2].map(|n| NewEffect { topic: "do".into(), body: vec![n] }).to_vec();
        let image = Some(vec![life]);
        let made = Commit { effects, image, ..step(&lease, Next::Ready) };
        assert_eq!(bench.commit(&made), Outcome::Stored);
        let whole = bench.whole(new.id);
        assert_eq!((whole.image, whole.row.sequence, whole.row.effects), (vec![life], 1, 2));
        let sequences: Vec<u64> = whole.outbox.iter().map(|effect| effect.sequence).collect();
        assert!(sequences.iter().all(|sequence| told.iter().all(|told| sequence > told)));
        assert_eq!(sequences[1], sequences[0] + 1, "without gaps");
        let is_ours = |effect: &Effect| effect.session == new.id;
        let is_handed_out = || store.outbox(1000, HOUR).unwrap().iter().any(is_ours);
        assert!((0..1000).any(|_| is_handed_out()), "effects are handed out");
        confirm(&told);
        assert_eq!(bench.whole(new.id).outbox.len(), 2, "those of the forgotten were confirmed");
        confirm(&sequences);
        told.extend(sequences);
        earlier.push(lease);
        // In each life one lease more, so that a count that begins anew meets the numbers of the life before.
        for _ in 0..life {
            earlier.push(bench.one(Duration::ZERO));
        }
        store.change(&[new.id], &Change::Cancel("enough".into())).unwrap();
        store.forget(Duration::ZERO).unwrap();
        assert!(store.load(new.id).unwrap().is_none(), "it is forgotten");
    }
}

/// What is too large is refused, and a lease hands out no more than it may.
pub fn law_17_a_lease_has_a_limited_size(store: &dyn Store) {
    let bench = Bench::new(store);
    let (most, more) = (vec![7; LARGEST], vec![7; LARGEST + 1]);
    let large = |image: &[u8]| NewSession { image: image.to_vec(), ..bench.new_session() };
    refused(store.create(&[bench.new_session(), large(&more)]));
    let id = bench.session();
    let lease = bench.one(HOUR);
    let message =
        |key: &str, body: &[u8]| NewMessage { to: id, key: key.into(), body: body.into() };
    refused(store.send(&[message("good", b""), message("k", &most)]));
    let effect = NewEffect { topic: "do".into(), body: most.clone() };
    for wrong in [
        Commit { image: Some(more.clone()), ..step(&lease, Next::Ready) },
        Commit { said: Some("\"".repeat(LARGEST + 1)), ..step(&lease, Next::Ready) },
        Commit { messages: vec![message("k", &most)], ..step(&lease, Next::Ready) },
        Commit { effects: vec![effect], ..step(&lease, Next::Ready) },
    ] {
        refused(store.commit(&[wrong], HOUR));
    }
    assert_eq!(bench.commit(&step(&lease, Next::Message(None))), Outcome::Stored);
    // Messages: until these are too many bytes, but one at least, and the others later.
    let keys = ["a", "b", "c", "d"];
    let half = &most[..LARGEST / 2 + 1];
    for key in keys {
        store.send(&[message(key, if key == "c" { &most[1..] } else { half })]).unwrap();
    }
    let mut seen = Vec::new();
    for _ in 0..keys.len() {
        let lease = bench.one(HOUR);
        let size: usize = lease.inbox.iter().map(|message| message.body.len()).sum();
        assert!(size <= 2 * LARGEST, "{size}");
        seen.extend(lease.inbox.iter().map(|message| message.key.clone()));
        assert_eq!(bench.commit(&step(&lease, Next::Message(None))), Outcome::Stored);
        if seen.len() == keys.len() {
            break;
        }
    }
    assert_eq!(seen, keys);
    // Effects, likewise.
    let other = bench.session();
    let lease = bench.one(HOUR);
    let effect = |n| NewEffect { topic: "do".into(), body: vec![n; LARGEST - 2] };
    let effects = (0..6).map(effect).collect();
    assert_eq!(bench.commit(&Commit { effects, ..step(&lease, Next::Done) }), Outcome::Stored);
    let mut told = Vec::new();
    for _ in 0..100 {
        let effects = store.outbox(1000, HOUR).unwrap();
        let size: usize = effects.iter().map(|effect| effect.body.len()).sum();
        assert!(size < LEASED + LARGEST, "{size}");
        let ours = effects.iter().filter(|effect| effect.session == other);
        told.extend(ours.map(|effect| (effect.session, effect.sequence)));
        if told.len() == 6 {
            break;
        }
    }
    assert_eq!(told.len(), 6, "all are handed out");
    store.confirm(&told).unwrap();
    // Sessions, likewise.
    let ids: Vec<_> = (0..6).map(|_| large(&most)).collect();
    for new in &ids {
        assert_eq!(store.create(std::slice::from_ref(new)).unwrap(), [true]);
    }
    let first = bench.lease(HOUR);
    assert_eq!(first.len(), LEASED / LARGEST, "as many as there is room for");
    assert_eq!(bench.lease(HOUR).len(), ids.len() - first.len());
    let ids: Vec<_> = ids.iter().map(|new| new.id).collect();
    store.change(&ids, &Change::Cancel("enough".into())).unwrap();
    store.forget(Duration::ZERO).unwrap();
}
