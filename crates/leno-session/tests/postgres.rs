//! PostgreSQL: the laws, and the same chaos as with a file, with a server that crashes and one that is replaced.
//!
//! Each test starts a server of its own, if PostgreSQL is installed; else it says so and passes.
//!
//! Not in `suite`: the leg of kills builds it with optimisations.
#![forbid(unsafe_code)]

#[path = "suite/support/mod.rs"]
mod support;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use leno_session::store::{Change, Effect, Known, NewMessage, NewSession, Want};
use leno_session::{Postgres, Query, SessionId, State, Store, StoreError, laws, store};
use support::server::Server;
use support::{chaos, zombie};

#[test]
#[ignore = "it is the worker of the others"]
fn worker() {
    chaos::work(chaos::engine);
}

#[test]
fn postgres_obeys_the_laws() {
    let Some(server) = Server::start("laws") else { return };
    let store = Postgres::open(&server.url()).unwrap();
    laws::all(&store);
    laws::law_17_a_lease_has_a_limited_size(&store);
    // In a coroutine, too: it parks at the socket.
    let (system, url) = (leno_kernel::LocalSystem::new(), server.url());
    let checked = system.spawn(move || laws::law_5_all_or_nothing(&Postgres::open(&url).unwrap()));
    system.run().unwrap();
    checked.join().unwrap();
}

/// Stored by an earlier version, or by other means.
#[test]
fn postgres_quarantines_a_session_that_is_too_large_by_itself() {
    let Some(server) = Server::start("large") else { return };
    let store = Postgres::open(&server.url()).unwrap();
    let ids = [1, 2, 3].map(|n| SessionId::from_bytes([n; 16]));
    let new = ids.map(|id| NewSession { id, kind: "k".into(), version: 1, image: vec![1] });
    store.create(&new).unwrap();
    store.send(&[NewMessage { to: ids[1], key: "a".into(), body: vec![1] }]).unwrap();
    let large = "convert_to(repeat('x', 20000000), 'UTF8')";
    let at = |n: u8| format!("WHERE id = decode(repeat('0{n}', 16), 'hex')");
    server.sql(&format!("UPDATE leno_session SET image = {large} {}", at(1)));
    server.sql(&format!("UPDATE leno_session SET awaits = 1 {}", at(2)));
    server.sql(&format!("UPDATE leno_inbox SET body = {large}"));
    let build = vec![Known { kind: "k".into(), version: 1 }];
    let ttl = Duration::from_secs(60);
    let want = Want { worker: "w".into(), build, most: 9, ttl, only: None };
    let leases = store.lease(&want).unwrap();
    assert_eq!(leases.iter().map(|lease| lease.id).collect::<Vec<_>>(), [ids[2]]);
    for id in &ids[..2] {
        let mut rows = Vec::new();
        let query = Query { id: Some(*id), ..Query::default() };
        store.list(&query, &mut |row| rows.push(row)).unwrap();
        assert_eq!(rows[0].state, State::Quarantined);
        assert!(rows[0].reason.contains("has 2000000"), "{}", rows[0].reason);
    }
}

/// Who creates a session while another forgets its id waits for the numbers that are noted of it.
#[test]
fn postgres_begins_above_what_is_forgotten_at_the_same_time() {
    let Some(server) = Server::start("forget") else { return };
    let stores = [(); 2].map(|()| Postgres::open(&server.url()).unwrap());
    let new = NewSession { id: SessionId::random(), kind: "k".into(), version: 1, image: vec![] };
    let build = vec![Known { kind: "k".into(), version: 1 }];
    let ttl = Duration::from_secs(60);
    let want = Want { worker: "w".into(), build, most: 1, ttl, only: None };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                stores[1].forget(Duration::ZERO).unwrap();
            }
        });
        // Also if an assertion fails.
        let _end = End(&is_over);
        let store = &stores[0];
        let mut last = 0;
        for _ in 0..100 {
            while !store.create(std::slice::from_ref(&new)).unwrap()[0] {}
            let token = store.lease(&want).unwrap()[0].token;
            assert!(token > last, "{token} > {last}");
            last = token;
            store.change(&[new.id], &Change::Cancel(String::new())).unwrap();
        }
    });
}

struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// What tables of version 1 had in place of this version's.
const FIRST: &str = "
DROP TABLE leno_effect;
CREATE TABLE leno_effect(
    id bytea NOT NULL, sequence int8 NOT NULL, topic text NOT NULL, body bytea NOT NULL,
    due int8 NOT NULL, PRIMARY KEY(id, sequence));
CREATE INDEX leno_effect_due ON leno_effect(due) WHERE due < 9223372036854775807;
INSERT INTO leno_effect VALUES (decode(repeat('00', 16), 'hex'), 1, 'do', '', 9223372036854775807),
    (decode(repeat('00', 16), 'hex'), 2, 'do', '', 0), (decode(repeat('00', 16), 'hex'), 3, 'do', '', 0),
    (decode(repeat('00', 16), 'hex'), 4, 'do', '', 0);
UPDATE leno_effect SET due = 5 WHERE sequence = 2;
ALTER TABLE leno_session DROP COLUMN stored; ALTER TABLE leno_session DROP COLUMN attempts;
ALTER TABLE leno_session DROP COLUMN first; DROP TABLE leno_forgotten;
ALTER TABLE leno_inbox DROP COLUMN taken_at; UPDATE leno_store SET version = 1";

/// The one of version 2.
const SECOND: &str = "
ALTER TABLE leno_session DROP COLUMN stored; ALTER TABLE leno_session DROP COLUMN attempts;
ALTER TABLE leno_session DROP COLUMN first; DROP TABLE leno_forgotten;
ALTER TABLE leno_inbox DROP COLUMN taken_at; UPDATE leno_store SET version = 2";

/// The one of version 3.
const THIRD: &str = "
ALTER TABLE leno_session DROP COLUMN attempts; ALTER TABLE leno_inbox DROP COLUMN taken_at;
ALTER TABLE leno_session DROP COLUMN first; DROP TABLE leno_forgotten; UPDATE leno_store SET version = 3";

/// The one of version 4.
const FOURTH: &str = "
ALTER TABLE leno_session DROP COLUMN first; DROP TABLE leno_forgotten; UPDATE leno_store SET version = 4";

#[test]
fn tables_of_an_earlier_version_are_taken_over() {
    let Some(server) = Server::start("earlier") else { return };
    drop(Postgres::open(&server.url()).unwrap());
    server.sql(FIRST);
    // The one that was handed out once lies behind the others.
    let order =
        server.tells("SELECT 'in order: ' || string_agg(sequence::text, ' ') FROM leno_effect");
    assert!(order.contains("in order: 1 3 4 2"), "{order}");
    let store = Postgres::open(&server.url()).unwrap();
    let sequences = |effects: Vec<Effect>| effects.iter().map(|e| e.sequence).collect::<Vec<_>>();
    assert_eq!(sequences(store.outbox(10, Duration::ZERO).unwrap()), [2, 3, 4]);
    let numbers =
        "SELECT 'numbers: ' || string_agg(number::text, ' ' ORDER BY sequence) FROM leno_effect";
    assert!(server.tells(numbers).contains("numbers: 1 2 3"));
    laws::all(&store);
    let mut store = store;
    for earlier in [SECOND, THIRD, FOURTH] {
        let before = store.count().unwrap();
        drop(store);
        server.sql(earlier);
        store = Postgres::open(&server.url()).unwrap();
        assert_eq!(store.count().unwrap(), before);
        laws::all(&store);
    }
}

#[test]
fn an_address_without_a_server_is_an_error() {
    let Err(error) = store::open("postgres://leno@127.0.0.1:1/postgres") else {
        panic!("it was opened")
    };
    assert!(error.is_passing(), "{error}");
    assert!(matches!(store::open("postgres://leno@host:port/x"), Err(StoreError::Address(_))));
}

#[test]
fn postgres_loses_and_doubles_nothing_when_workers_are_killed_and_the_server_crashes() {
    let Some(mut server) = Server::start("crash") else { return };
    let folder = support::Folder::new("postgres");
    let mut crashes = 0;
    chaos::run(&server.url(), &folder.file("notes"), |kills| {
        if kills / 5 > crashes && crashes < 1 + chaos::seconds().as_secs() as u32 / 10 {
            server.crash();
            server.launch();
            crashes += 1;
        }
    });
    println!("the server crashed {crashes} times");
}

#[test]
fn postgres_fences_a_worker_that_was_stopped_in_a_step() {
    let Some(server) = Server::start("zombie") else { return };
    zombie::is_fenced(&server.url(), &support::Folder::new("zombie-server"));
}

/// Images that someone has overwritten: those sessions are quarantined, and no other takes harm.
#[test]
fn postgres_damage_to_some_is_no_harm_to_others() {
    let Some(server) = Server::start("damage") else { return };
    chaos::damage(&server.url(), &support::Folder::new("damage-server").file("notes"), |id| {
        let sql = format!(
            "UPDATE leno_session SET image = substr(image, 1, 9) || '\\x0123456789abcdef' WHERE id = '\\x{id}' AND state <> 1"
        );
        server.tells(&sql).contains("UPDATE 1")
    });
}

/// One that waits for work is told once when there is some, however many steps follow.
#[test]
fn postgres_notifies_nobody_of_steps() {
    let Some(server) = Server::start("notify") else { return };
    let sessions = chaos::engine(&server.url());
    let mut ear = server.session();
    ear.say("LISTEN leno_session;");
    let heard = "SELECT query FROM pg_stat_activity WHERE state = 'idle'";
    while !server.tells(heard).contains("LISTEN leno_session") {}
    // One that has found nothing to do asks to be told.
    sessions.store().wait(Duration::from_millis(1)).unwrap();
    let id = sessions.start("careful", &()).unwrap();
    sessions.start_all("careful", (0..50).map(|_| (SessionId::random(), ()))).unwrap();
    let steps = sessions.work_off().unwrap();
    assert_eq!(steps, 51 * 4, "three of each, and its end");
    assert_eq!(sessions.show(id).unwrap().state, State::Done);
    let heard = ear.ends();
    assert_eq!(heard.matches("Asynchronous notification \"leno_session\"").count(), 1, "{heard}");
}

#[test]
fn postgres_loses_and_doubles_nothing_when_a_standby_takes_over() {
    let Some(mut server) = Server::start("primary") else { return };
    let standby = server.standby();
    let folder = support::Folder::new("failover");
    let address =
        format!("postgres://leno@127.0.0.1:{},127.0.0.1:{}/postgres", server.port, standby.port);
    let mut is_over = false;
    chaos::run(&address, &folder.file("notes"), |kills| {
        if kills == 5 && !is_over {
            server.crash();
            standby.promote();
            is_over = true;
        }
    });
    assert!(is_over);
    println!("the standby has taken over");
}
