//! Effects of more bytes than a store takes, stored by an earlier version or by other means: they are not read, their session
//! says so, and all others are delivered.
use std::time::Duration;

use crate::support::{self, server::Server};
use leno_session::store::{Commit, Effect, Known, LARGEST, NewEffect, NewSession, Next, Want};
use leno_session::{Postgres, Query, Row, SessionId, Sessions, Sqlite, State, Store};
use rusqlite::Connection;

const TTL: Duration = Duration::from_secs(60);

/// The most that an effect may have.
const SIZE: i64 = LARGEST as i64;

/// Sessions that have said something to be done: one that goes on, one that is done, and one more.
fn sessions(store: &impl Store) -> [SessionId; 3] {
    let ids = [1, 2, 3].map(|n| SessionId::from_bytes([n; 16]));
    let new = ids.map(|id| NewSession { id, kind: "k".into(), version: 1, image: vec![1] });
    store.create(&new).unwrap();
    let build = vec![Known { kind: "k".into(), version: 1 }];
    let want = Want { worker: "w".into(), build, most: 9, ttl: TTL, only: None };
    let mut leases = store.lease(&want).unwrap();
    leases.sort_by_key(|lease| lease.id);
    let commit = |lease: &leno_session::store::Lease| Commit {
        id: lease.id,
        token: lease.token,
        sequence: lease.sequence,
        version: 1,
        image: None,
        said: None,
        next: if lease.id == ids[1] { Next::Done } else { Next::Ready },
        taken: Vec::new(),
        effects: vec![NewEffect { topic: "do".into(), body: vec![7] }],
        messages: Vec::new(),
    };
    let batch: Vec<_> = leases.iter().map(commit).collect();
    store.commit(&batch, TTL).unwrap();
    ids
}

fn show(store: &impl Store, id: SessionId) -> Row {
    let mut rows = Vec::new();
    let query = Query { id: Some(id), ..Query::default() };
    store.list(&query, &mut |row| rows.push(row)).unwrap();
    rows.remove(0)
}

/// After the effects of the first two were made too large.
fn check(store: &impl Store, ids: [SessionId; 3]) {
    let says = format!("it has {} bytes, of which {LARGEST} are the most", LARGEST + 3);
    // The reader is told, and gets the rest.
    let whole = store.load(ids[0]).unwrap().unwrap();
    assert_eq!(String::from_utf8_lossy(&whole.outbox[0].body), says);
    let names = |effects: &[Effect]| effects.iter().map(|own| own.session).collect::<Vec<_>>();
    // One by one, too: it goes on to the first that can be read.
    let effects = store.outbox(1, TTL).unwrap();
    assert_eq!(names(&effects), [ids[2]]);
    assert_eq!((&*effects[0].topic, &*effects[0].body), ("do", &[7][..]));
    assert!(store.outbox(9, TTL).unwrap().is_empty());
    let row = show(store, ids[0]);
    assert_eq!(row.state, State::Quarantined);
    assert_eq!(row.reason, format!("quarantined: an effect of it: {says}"));
    let row = show(store, ids[1]);
    assert_eq!(row.state, State::Done, "it has ended");
    assert!(row.reason.contains(&says), "{}", row.reason);
    let row = show(store, ids[2]);
    assert_eq!((row.state, row.reason.as_str()), (State::Ready, ""));
    store.confirm(&[(ids[2], effects[0].sequence)]).unwrap();
}

#[test]
fn sqlite_reads_no_effect_that_is_too_large() {
    let folder = support::Folder::new("large-effects");
    let path = folder.file("store");
    let store = Sqlite::open(&path).unwrap();
    let ids = sessions(&store);
    let file = Connection::open(&path).unwrap();
    for id in &ids[..2] {
        let sql = "UPDATE leno_effect SET body = zeroblob(?2) WHERE id = ?1";
        file.execute(sql, rusqlite::params![id.as_bytes(), SIZE + 1]).unwrap();
    }
    check(&store, ids);
    // Once it can be read, it is delivered, and its session goes on.
    let sql = "UPDATE leno_effect SET body = x'07', due = 0 WHERE id = ?1";
    file.execute(sql, [ids[0].as_bytes()]).unwrap();
    assert_eq!(store.outbox(9, TTL).unwrap().len(), 1);
}

#[test]
fn postgres_reads_no_effect_that_is_too_large() {
    let Some(server) = Server::start("large-effects") else { return };
    let store = Postgres::open(&server.url()).unwrap();
    let ids = sessions(&store);
    let large = format!("convert_to(repeat('x', {}), 'UTF8')", LARGEST + 1);
    let first = "id <> decode(repeat('03', 16), 'hex')";
    server.sql(&format!("UPDATE leno_effect SET body = {large} WHERE {first}"));
    check(&store, ids);
}

#[test]
fn what_is_shown_of_a_session_has_a_limited_size() {
    let folder = support::Folder::new("large-shown");
    let path = folder.file("store");
    let store = Sqlite::open(&path).unwrap();
    let ids = sessions(&store);
    let file = Connection::open(&path).unwrap();
    let sql = "UPDATE leno_session SET image = zeroblob(?2) WHERE id = ?1";
    file.execute(sql, rusqlite::params![ids[0].as_bytes(), SIZE + 1]).unwrap();
    let sql = "INSERT INTO leno_effect(id, sequence, topic, body, due) VALUES (?1, ?2, 'do', zeroblob(?3), 0)";
    for n in 2..9 {
        file.execute(sql, rusqlite::params![ids[0].as_bytes(), n, SIZE - 2]).unwrap();
    }
    let sql = "INSERT INTO leno_inbox(session, id, key, body, taken) \
               SELECT number, id, 'k', zeroblob(?2), 0 FROM leno_session WHERE id = ?1";
    file.execute(sql, rusqlite::params![ids[0].as_bytes(), SIZE]).unwrap();
    let whole = store.load(ids[0]).unwrap().unwrap();
    assert_eq!((whole.image.len(), whole.row.size), (0, LARGEST + 1));
    let size: usize = whole.outbox.iter().map(|effect| effect.body.len()).sum();
    assert!(whole.outbox.len() > 1 && size <= 5 * LARGEST, "{size}");
    assert!(whole.inbox[0].body.starts_with(b"it has "));
    let shown = Sessions::open(store).inspect(ids[0]).unwrap();
    let says = format!("it has {} bytes, of which {LARGEST} are the most", LARGEST + 1);
    assert_eq!(shown["image"]["unreadable"], says);
}
