//! The laws of stores, of those that need no server.
#![forbid(unsafe_code)]

use std::time::Duration;

use leno_session::store::{Change, Effect, Known, NewMessage, NewSession, Sent, Store, Want};
use leno_session::{Memory, Query, SessionId, Sqlite, State, laws};

#[test]
fn memory_obeys_the_laws() {
    laws::all(&Memory::new());
    laws::law_17_a_lease_has_a_limited_size(&Memory::new());
}

#[test]
fn sqlite_obeys_the_laws() {
    let folder = crate::support::Folder::new("laws");
    let store = Sqlite::open(folder.file("store")).unwrap();
    laws::all(&store);
    laws::law_17_a_lease_has_a_limited_size(&store);
}

/// Stored by an earlier version, or by other means.
#[test]
fn a_session_that_is_too_large_is_quarantined_by_itself() {
    let folder = crate::support::Folder::new("large");
    let path = folder.file("store");
    let store = Sqlite::open(&path).unwrap();
    let ids = [(); 3].map(|()| SessionId::random());
    let new = ids.map(|id| NewSession { id, kind: "k".into(), version: 1, image: vec![1] });
    store.create(&new).unwrap();
    let file = rusqlite::Connection::open(&path).unwrap();
    let large = "UPDATE leno_session SET image = zeroblob(100000000) WHERE id = ?1";
    assert_eq!(file.execute(large, [ids[0].as_bytes()]).unwrap(), 1);
    let message = NewMessage { to: ids[1], key: "a".into(), body: vec![1] };
    store.send(&[message]).unwrap();
    file.execute("UPDATE leno_session SET awaits = 1 WHERE id = ?1", [ids[1].as_bytes()]).unwrap();
    file.execute("UPDATE leno_inbox SET body = zeroblob(100000000)", []).unwrap();
    let build = vec![Known { kind: "k".into(), version: 1 }];
    let want =
        Want { worker: "w".into(), build, most: 9, ttl: Duration::from_secs(60), only: None };
    let leases = store.lease(&want).unwrap();
    assert_eq!(leases.iter().map(|lease| lease.id).collect::<Vec<_>>(), [ids[2]]);
    for id in &ids[..2] {
        let mut rows = Vec::new();
        let query = Query { id: Some(*id), ..Query::default() };
        store.list(&query, &mut |row| rows.push(row)).unwrap();
        assert_eq!(rows[0].state, State::Quarantined);
        assert!(rows[0].reason.contains("has 10000000"), "{}", rows[0].reason);
    }
}

/// A coroutine parks while the store works, so two of one core get on side by side.
#[test]
fn a_coroutine_may_use_a_store() {
    let folder = crate::support::Folder::new("coroutine");
    let store = Sqlite::open(folder.file("store")).unwrap();
    let system = leno_kernel::LocalSystem::new();
    let handles = [store.clone(), store]
        .map(|store| system.spawn(move || laws::law_5_all_or_nothing(&store)));
    system.run().unwrap();
    for handle in handles {
        handle.join().unwrap();
    }
}

/// What another process has stored is there.
#[test]
fn a_store_is_opened_again() {
    let folder = crate::support::Folder::new("again");
    let path = folder.file("store");
    laws::law_5_all_or_nothing(&Sqlite::open(&path).unwrap());
    let counted = Sqlite::open(&path).unwrap().count().unwrap();
    assert_eq!(counted.values().sum::<u64>(), 2, "{counted:?}");
}

/// The tables that this store had before.
const FIRST: &str = "
CREATE TABLE leno_session(
    id BLOB NOT NULL UNIQUE, kind TEXT NOT NULL, version INTEGER NOT NULL, state INTEGER NOT NULL,
    token INTEGER NOT NULL, sequence INTEGER NOT NULL, effects INTEGER NOT NULL,
    awaits INTEGER NOT NULL, until INTEGER NOT NULL, due INTEGER NOT NULL,
    worker TEXT NOT NULL, said TEXT NOT NULL, reason TEXT NOT NULL,
    created INTEGER NOT NULL, touched INTEGER NOT NULL, image BLOB NOT NULL);
CREATE INDEX leno_session_due ON leno_session(kind, due);
CREATE TABLE leno_inbox(
    number INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL, key TEXT NOT NULL, body BLOB NOT NULL,
    taken INTEGER NOT NULL DEFAULT 0, UNIQUE(id, key));
CREATE INDEX leno_inbox_unread ON leno_inbox(id, number) WHERE taken = 0;
CREATE TABLE leno_effect(
    id BLOB NOT NULL, sequence INTEGER NOT NULL, topic TEXT NOT NULL, body BLOB NOT NULL,
    due INTEGER NOT NULL, PRIMARY KEY(id, sequence)) WITHOUT ROWID;
CREATE INDEX leno_effect_due ON leno_effect(due) WHERE due < 9223372036854775807;
INSERT INTO leno_session VALUES (zeroblob(16), 'old', 1, 0, 7, 3, 3, 1, 0, 0, '', 'null', '', 1, 1, x'0102');
INSERT INTO leno_inbox(id, key, body, taken) VALUES (zeroblob(16), 'a', x'61', 1), (zeroblob(16), 'b', x'62', 0);
INSERT INTO leno_effect VALUES (zeroblob(16), 1, 'do', x'01', 9223372036854775807), (zeroblob(16), 2, 'do', x'02', 5),
    (zeroblob(16), 3, 'do', x'03', 0);
PRAGMA user_version = 1;";

#[test]
fn a_file_of_an_earlier_version_is_taken_over() {
    let folder = crate::support::Folder::new("earlier");
    let path = folder.file("store");
    rusqlite::Connection::open(&path).unwrap().execute_batch(FIRST).unwrap();
    let store = Sqlite::open(&path).unwrap();
    let id = SessionId::from_bytes([0; 16]);
    let whole = store.load(id).unwrap().expect("it is there");
    assert_eq!((whole.row.sequence, whole.row.effects, whole.row.token), (3, 3, 7));
    assert_eq!((whole.image.as_slice(), whole.inbox[0].body.as_slice()), (&[1, 2][..], &b"b"[..]));
    let effects = |effects: Vec<Effect>| effects.iter().map(|e| e.sequence).collect::<Vec<_>>();
    assert_eq!(effects(whole.outbox), [2, 3], "the first was confirmed");
    assert_eq!(effects(store.outbox(10, Duration::ZERO).unwrap()), [2, 3]);
    let message = NewMessage { to: id, key: "a".into(), body: Vec::new() };
    assert_eq!(store.send(&[message]).unwrap(), [Sent::Repeated], "it was taken");
    let build = vec![Known { kind: "old".into(), version: 1 }];
    let ttl = Duration::from_secs(60);
    let want = Want { worker: "later".into(), build, most: 10, ttl, only: None };
    let leases = store.lease(&want).unwrap();
    assert_eq!((leases.len(), leases[0].inbox.len(), leases[0].token), (1, 1, 8));
    drop(store);
    laws::all(&Sqlite::open(&path).unwrap());
}

/// What a file of version 2 had in place of this version's.
const SECOND: &str =
    "ALTER TABLE leno_session DROP COLUMN stored; ALTER TABLE leno_session DROP COLUMN attempts;
ALTER TABLE leno_session DROP COLUMN first; DROP TABLE leno_forgotten; DROP TABLE leno_clock; UPDATE leno_inbox SET taken = 1 WHERE taken > 0; PRAGMA user_version = 2;";

/// What a file of version 3 had in place of this version's.
const THIRD: &str = "ALTER TABLE leno_session DROP COLUMN attempts; DROP TABLE leno_clock;
ALTER TABLE leno_session DROP COLUMN first; DROP TABLE leno_forgotten;
UPDATE leno_inbox SET taken = 1 WHERE taken > 0; PRAGMA user_version = 3;";

#[test]
fn a_file_of_version_2_is_taken_over() {
    let folder = crate::support::Folder::new("second");
    let path = folder.file("store");
    laws::law_5_all_or_nothing(&Sqlite::open(&path).unwrap());
    let before = Sqlite::open(&path).unwrap().count().unwrap();
    rusqlite::Connection::open(&path).unwrap().execute_batch(SECOND).unwrap();
    let store = Sqlite::open(&path).unwrap();
    assert_eq!(store.count().unwrap(), before);
    laws::all(&store);
}

#[test]
fn a_file_of_version_3_is_taken_over() {
    let folder = crate::support::Folder::new("third");
    let path = folder.file("store");
    laws::law_5_all_or_nothing(&Sqlite::open(&path).unwrap());
    let before = Sqlite::open(&path).unwrap().count().unwrap();
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute_batch(THIRD).unwrap();
    let store = Sqlite::open(&path).unwrap();
    assert_eq!(store.count().unwrap(), before);
    assert_eq!(store.sweep(Duration::from_secs(3600)).unwrap(), 0, "taken now, as far as we know");
    assert!(store.sweep(Duration::ZERO).unwrap() > 0);
    laws::all(&store);
}

/// What a file of version 4 had in place of this version's.
const FOURTH: &str = "ALTER TABLE leno_session DROP COLUMN first; DROP TABLE leno_forgotten;
PRAGMA user_version = 4;";

/// It does not know what was forgotten: new sessions begin above whatever there can have been.
#[test]
fn a_file_of_version_4_is_taken_over() {
    let folder = crate::support::Folder::new("fourth");
    let path = folder.file("store");
    laws::law_16_a_forgotten_session_stays_gone(&Sqlite::open(&path).unwrap());
    let file = rusqlite::Connection::open(&path).unwrap();
    let highest = "SELECT max(token, effects) FROM leno_forgotten";
    let before: i64 = file.query_row(highest, [], |row| row.get(0)).unwrap();
    file.execute_batch(FOURTH).unwrap();
    let store = Sqlite::open(&path).unwrap();
    let after: i64 = file.query_row(highest, [], |row| row.get(0)).unwrap();
    assert!(after > 1_000_000 && after > before, "{after} > {before}");
    laws::all(&store);
}

/// A number that someone has made too large is not handed on to all others.
#[test]
fn a_forgotten_session_with_a_damaged_token_harms_no_other() {
    let folder = crate::support::Folder::new("forgotten");
    let path = folder.file("store");
    let store = Sqlite::open(&path).unwrap();
    let new = NewSession { id: SessionId::random(), kind: "k".into(), version: 1, image: vec![] };
    let file = rusqlite::Connection::open(&path).unwrap();
    for wrong in ["9223372036854775807", "-5", "'text'", "x'ff'", "1.5"] {
        assert_eq!(store.create(std::slice::from_ref(&new)).unwrap(), [true], "{wrong}");
        let sql = format!("UPDATE leno_session SET token = {wrong}, effects = {wrong}, state = 4");
        assert_eq!(file.execute(&sql, []).unwrap(), 1);
        assert_eq!(store.forget(Duration::ZERO).unwrap(), 1, "{wrong}");
        laws::law_16_a_forgotten_session_stays_gone(&store);
    }
    for wrong in ["'text'", "x'ff'", "9223372036854775807", "-5"] {
        let sql = format!("UPDATE leno_forgotten SET token = {wrong}, effects = {wrong}");
        file.execute(&sql, []).unwrap();
        assert_eq!(store.create(std::slice::from_ref(&new)).unwrap(), [true], "{wrong}");
        let build = vec![Known { kind: "k".into(), version: 1 }];
        let ttl = Duration::from_secs(60);
        let want = Want { worker: "w".into(), build, most: 10, ttl, only: None };
        assert_eq!(store.lease(&want).unwrap().len(), 1, "{wrong}");
        store.change(&[new.id], &Change::Cancel(String::new())).unwrap();
        assert_eq!(store.forget(Duration::ZERO).unwrap(), 1, "{wrong}");
    }
}

#[test]
fn what_is_no_store_is_refused() {
    let folder = crate::support::Folder::new("wrong");
    std::fs::write(
        folder.file("text"),
        "this is no database, but long enough to look like one".repeat(40),
    )
    .unwrap();
    let Err(error) = Sqlite::open(folder.file("text")) else { panic!("it was opened") };
    assert!(error.to_string().starts_with("the store cannot be read: "), "{error}");
    assert!(Sqlite::open(folder.file("no/such/folder")).is_err());
    let path = folder.file("later");
    drop(Sqlite::open(&path).unwrap());
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let Err(error) = Sqlite::open(&path) else { panic!("it was opened") };
    assert_eq!(error.to_string(), "the store is of version 99; this build knows 5");
}
