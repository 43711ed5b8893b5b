//! Files that something has happened to: a cell that holds what it should not, a table that is gone, a clock that was
//! set back.
#![forbid(unsafe_code)]

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use leno_frame::{Co, resumable};
use leno_session::{
    Query, SessionError, SessionId, Sessions, Sqlite, Stage, State, StoreError, Wait, store,
};
use rusqlite::Connection;

type Order = Co<Wait, Option<String>, Stage>;

/// Asks, with an effect, and returns what it was told.
#[resumable]
async fn asks(co: &mut Order) -> String {
    co.ctx().effect("ask", "?");
    let answer = co.suspend(Wait::answer_within("well?", Duration::from_secs(3600))).await;
    co.ctx().effect("thank", "!");
    let _nothing = co.suspend(Wait::step()).await;
    answer.unwrap_or_default()
}

struct Bench {
    folder: crate::support::Folder,
    sessions: Sessions,
    file: Connection,
}

impl Bench {
    fn new(name: &str) -> Self {
        let folder = crate::support::Folder::new(name);
        let path = folder.file("store");
        let sessions = Sessions::open(Sqlite::open(&path).unwrap()).register("asks", asks);
        let file = Connection::open(&path).unwrap();
        Bench { folder, sessions, file }
    }

    /// A session that has asked.
    fn asked(&self) -> SessionId {
        let id = self.sessions.start("asks", &()).unwrap();
        self.sessions.run(id).unwrap();
        id
    }

    fn deliver(&self) -> usize {
        self.sessions.deliver(100, |_| Ok::<(), String>(())).unwrap()
    }
}

/// What a cell holds in the place of what its column is for.
const WRONG: [&str; 4] = ["'text'", "CAST(x'ff00fe' AS TEXT)", "x'ff'", "-9223372036854775807"];

/// Every cell of a session, one by one: all others are leased, delivered, listed and counted.
#[test]
fn a_damaged_cell_harms_its_own_session_only() {
    let columns = [
        "id", "kind", "version", "state", "token", "sequence", "effects", "awaits", "until", "due",
        "worker", "said", "reason", "created", "touched", "image", "stored", "attempts", "first",
    ];
    for (n, column) in columns.into_iter().enumerate() {
        for wrong in WRONG {
            let bench = Bench::new(&format!("cell-{n}"));
            let (victim, good) = (bench.asked(), bench.asked());
            for id in [victim, good] {
                bench.sessions.answer(id, "fine").unwrap();
            }
            let sql = format!("UPDATE leno_session SET {column} = {wrong} WHERE id = ?1");
            let what = format!("{column} = {wrong}");
            assert_eq!(bench.file.execute(&sql, [victim.as_bytes()]).unwrap(), 1, "{what}");
            bench.sessions.work_off().unwrap_or_else(|error| panic!("{what}: {error}"));
            let rows = bench.sessions.list(&Query::default()).unwrap();
            assert_eq!(rows.len(), 2, "{what}");
            let row = bench.sessions.show(good).unwrap();
            assert_eq!((row.state, row.text().as_str()), (State::Done, "fine"), "{what}");
            assert_eq!(bench.sessions.count().unwrap().values().sum::<u64>(), 2, "{what}");
            assert!(bench.deliver() >= 3, "{what}");
            bench.sessions.forget(Duration::ZERO).unwrap();
            assert!(bench.sessions.show(good).is_err(), "{what}: what ended is forgotten");
            if column != "id" {
                bench.sessions.inspect(victim).ok();
            }
        }
    }
}

/// What is needed to run it: it is quarantined, and says which cell is damaged.
#[test]
fn a_session_with_a_damaged_cell_is_quarantined_and_says_why() {
    for column in ["token", "sequence", "effects", "awaits", "until", "attempts"] {
        let bench = Bench::new(&format!("says-{column}"));
        let id = bench.asked();
        bench.sessions.answer(id, "fine").unwrap();
        let sql = format!("UPDATE leno_session SET {column} = 'text' WHERE id = ?1");
        bench.file.execute(&sql, [id.as_bytes()]).unwrap();
        bench.sessions.work_off().unwrap();
        let row = bench.sessions.show(id).unwrap();
        assert_eq!(row.state, State::Quarantined, "{column}");
        assert!(row.reason.contains(&format!("`{column}` is damaged")), "{}", row.reason);
        // Once it is mended, it can be retried.
        let sql = format!("UPDATE leno_session SET {column} = 1 WHERE id = ?1");
        bench.file.execute(&sql, [id.as_bytes()]).unwrap();
        bench.sessions.retry(id).unwrap();
        assert_eq!(bench.sessions.run(id).unwrap().state, State::Done, "{column}");
    }
}

#[test]
fn damaged_messages_and_effects_harm_their_own_session_only() {
    for (n, column) in ["key", "body", "taken", "session", "id"].into_iter().enumerate() {
        for wrong in ["'text'", "CAST(x'ff00fe' AS TEXT)", "1.5"] {
            let bench = Bench::new(&format!("message-{n}"));
            let (victim, good) = (bench.asked(), bench.asked());
            for id in [victim, good] {
                bench.sessions.answer(id, "fine").unwrap();
            }
            let sql = format!("UPDATE leno_inbox SET {column} = {wrong} WHERE id = ?1");
            bench.file.execute(&sql, [victim.as_bytes()]).unwrap();
            bench.sessions.work_off().unwrap();
            assert_eq!(bench.sessions.show(good).unwrap().state, State::Done, "{column} {wrong}");
            bench.sessions.inspect(victim).unwrap();
            bench.sessions.sweep().unwrap();
        }
    }
    for (n, column) in ["id", "sequence", "topic", "body", "due"].into_iter().enumerate() {
        for wrong in ["'text'", "CAST(x'ff00fe' AS TEXT)", "1.5"] {
            let bench = Bench::new(&format!("effect-{n}"));
            let (victim, _good) = (bench.asked(), bench.asked());
            let sql = format!("UPDATE leno_effect SET {column} = {wrong} WHERE id = ?1");
            bench.file.execute(&sql, [victim.as_bytes()]).unwrap();
            assert!(bench.deliver() >= 1, "{column} {wrong}");
            assert_eq!(bench.deliver(), 0, "{column} {wrong}");
            bench.sessions.inspect(victim).unwrap();
        }
    }
    let bench = Bench::new("effect-said");
    let id = bench.asked();
    bench.file.execute("UPDATE leno_effect SET topic = x'ff'", []).unwrap();
    assert_eq!(bench.deliver(), 0);
    let row = bench.sessions.show(id).unwrap();
    assert_eq!(row.state, State::Quarantined);
    assert!(row.reason.contains("an effect of it: `topic` is damaged"), "{}", row.reason);
}

#[test]
fn a_table_that_is_gone_ends_workers_and_is_told() {
    let bench = Bench::new("dropped");
    let workers = bench.sessions.workers(1);
    bench.file.execute_batch("DROP TABLE leno_session").unwrap();
    let begun = Instant::now();
    while workers.running() > 0 {
        assert!(begun.elapsed() < Duration::from_secs(180), "it is waited for");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(bench.sessions.health().ended, 1);
    let error = workers.drain().unwrap_err();
    assert!(matches!(error, SessionError::Store(StoreError::Damaged(_))), "{error}");
    assert!(error.to_string().contains("no such table"), "{error}");
}

/// As a clock does that is set back by a minute: all that is in the file was written in the future.
#[test]
fn ready_sessions_are_run_though_the_clock_was_set_back() {
    let bench = Bench::new("clock");
    let ready: Vec<_> = (0..40).map(|_| bench.sessions.start("asks", &()).unwrap()).collect();
    let set_back = "UPDATE leno_session SET due = due + 60000, until = until + 60000, touched = touched + 60000;
        UPDATE leno_clock SET latest = latest + 60000";
    bench.file.execute_batch(set_back).unwrap();
    bench.sessions.work_off().unwrap();
    for id in &ready {
        assert_eq!(bench.sessions.show(*id).unwrap().state, State::Waiting);
    }
    // And what is woken meanwhile, also in a process that starts now.
    bench.sessions.answer(ready[0], "fine").unwrap();
    bench.file.execute_batch(set_back).unwrap();
    let again = Sqlite::open(bench.folder.file("store")).unwrap();
    let again = Sessions::open(again).register("asks", asks);
    again.work_off().unwrap();
    assert_eq!(again.show(ready[0]).unwrap().state, State::Done);
    // Whose time has not come is not woken.
    assert_eq!(again.show(ready[1]).unwrap().state, State::Waiting);
}

#[test]
fn a_new_file_is_for_its_owner_alone() {
    let bench = Bench::new("mode");
    bench.asked();
    let files = ["store", "store-wal", "store-shm"].map(|name| bench.folder.file(name));
    for file in files {
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
}

#[test]
fn an_address_that_names_no_file_is_refused() {
    for address in ["", "sqlite:", ":memory:", "sqlite::memory:"] {
        let opened = store::open(address);
        assert!(matches!(opened, Err(StoreError::Address(_))), "{address}");
    }
    assert!(matches!(Sqlite::open(""), Err(StoreError::Address(_))));
}
