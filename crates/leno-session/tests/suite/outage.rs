//! PostgreSQL when something is wrong with it, or with the way to it: connections that fall silent, operators that
//! take away what they give back, tables that are gone, values that it cannot hold.
//!
//! Each test starts a server of its own, if PostgreSQL is installed; else it says so and passes.
#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use crate::support::proxy::Proxy;
use crate::support::server::Server;
use crate::support::with_nul::{self, good};
use leno_frame::{Co, resumable};
use leno_session::{
    Pace, Postgres, PostgresLimits, SessionError, SessionId, Sessions, Stage, State, StoreError,
    Wait,
};

const LIMITS: PostgresLimits = PostgresLimits {
    connect: Duration::from_secs(2),
    statement: Duration::from_secs(1),
    scan: Duration::from_secs(2),
};

fn engine(url: &str) -> Sessions {
    let pace = Pace { ttl: Duration::from_secs(2), ..Pace::default() };
    let store = Postgres::open_within(url, LIMITS).unwrap();
    Sessions::open(store).register("good", good).pace(pace)
}

#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(180), "not so: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// By an engine that is not concerned.
#[track_caller]
fn is_run(sessions: &Sessions, id: SessionId) {
    until("it comes to its end", || sessions.show(id).unwrap().state == State::Done);
}

#[test]
fn a_connection_that_falls_silent_is_given_up_and_replaced() {
    let Some(server) = Server::start("silent") else { return };
    let proxy = Proxy::start(server.port);
    let (direct, sessions) = (engine(&server.url()), engine(&proxy.url()));
    let workers = sessions.workers(2);
    is_run(&direct, direct.start("good", &(1_u32,)).unwrap());
    // Those that there are.
    let before = proxy.connections();
    proxy.fall_silent(false);
    is_run(&direct, direct.start("good", &(2_u32,)).unwrap());
    assert!(proxy.connections() > before);
    // One who asks is told, sooner or later, and is served again.
    proxy.fall_silent(false);
    let store = sessions.store();
    let begun = Instant::now();
    while let Err(error) = store.load(SessionId::random()) {
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(180), "{error}");
    }
    // Those to come, too: that is seen, and passes.
    proxy.fall_silent(true);
    until("both workers see it", || sessions.health().retrying == 2);
    proxy.recover();
    is_run(&direct, direct.start("good", &(3_u32,)).unwrap());
    until("all is well again", || sessions.health().is_well());
    assert_eq!(workers.running(), 2);
    workers.drain().unwrap();
}

#[test]
fn what_an_operator_takes_away_and_gives_back_is_waited_for() {
    let Some(server) = Server::start("operator") else { return };
    server.sql("CREATE DATABASE app");
    let url = format!("postgres://leno@127.0.0.1:{}/app", server.port);
    let sessions = engine(&url);
    let workers = sessions.workers(2);
    let id = sessions.start("good", &(1_u32,)).unwrap();
    is_run(&sessions, id);
    // Its name. Nobody may be connected when that changes.
    server.sql("ALTER DATABASE app ALLOW_CONNECTIONS false");
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'app'");
    until("both workers see it", || sessions.health().retrying == 2);
    server.sql("ALTER DATABASE app RENAME TO other");
    let is_named =
        || sessions.health().error.is_some_and(|e| e.to_string().contains("does not exist"));
    until("they are told that there is no such database", is_named);
    server.sql("ALTER DATABASE other RENAME TO app");
    server.sql("ALTER DATABASE app ALLOW_CONNECTIONS true");
    until("all is well again", || sessions.health().is_well());
    let id = sessions.start("good", &(2_u32,)).unwrap();
    is_run(&sessions, id);
    // Who may come in.
    server.forbid_all();
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'app'");
    until("both workers see it", || sessions.health().retrying == 2);
    assert_eq!(workers.running(), 2);
    server.allow_all();
    until("all is well again", || sessions.health().is_well());
    let id = sessions.start("good", &(3_u32,)).unwrap();
    is_run(&sessions, id);
    workers.drain().unwrap();
}

#[test]
fn a_table_that_is_gone_ends_workers_and_is_told() {
    let Some(server) = Server::start("gone") else { return };
    let sessions = engine(&server.url());
    let workers = sessions.workers(2);
    is_run(&sessions, sessions.start("good", &(1_u32,)).unwrap());
    server.sql("DROP TABLE leno_session");
    until("both have ended", || workers.running() == 0);
    assert_eq!(sessions.health().ended, 2);
    let error = workers.drain().unwrap_err();
    assert!(matches!(error, SessionError::Store(StoreError::Damaged(_))), "{error}");
}

#[resumable]
async fn with_effects(co: &mut Co<Wait, Option<String>, Stage>, count: u32) -> u32 {
    let _answer = co.suspend(Wait::answer("well?")).await;
    for _ in 0..count {
        co.ctx().effect("do", "x");
    }
    count
}

#[test]
fn a_value_that_the_server_cannot_hold_fails_its_session_only() {
    let Some(server) = Server::start("values") else { return };
    let sessions = engine(&server.url());
    with_nul::is_cleaned_or_refused(sessions.clone());
    // A number that has no next one.
    let sessions = sessions.register("with_effects", with_effects);
    let ids = [0; 10].map(|_| sessions.start("with_effects", &(2_u32,)).unwrap());
    sessions.work_off().unwrap();
    let sql = "UPDATE leno_session SET effects = 9223372036854775806 WHERE id = '\\x";
    server.sql(&format!("{sql}{}'", ids[4]));
    ids.iter().for_each(|id| sessions.answer(*id, "now").unwrap());
    sessions.work_off().unwrap();
    let states = ids.map(|id| sessions.show(id).unwrap().state);
    let mut expected = [State::Done; 10];
    expected[4] = State::Failed;
    assert_eq!(states, expected);
    assert_eq!(sessions.metrics().isolated, 1);
}

/// Numbers that someone has overwritten: those sessions are quarantined or go on, and no other takes harm.
#[test]
fn a_number_out_of_range_harms_its_own_session_only() {
    let Some(server) = Server::start("numbers") else { return };
    let pace = Pace { ttl: Duration::from_millis(300), attempts: 1, ..Pace::default() };
    let sessions = engine(&server.url()).register("with_effects", with_effects).pace(pace);
    let ids = [0; 10].map(|_| sessions.start("with_effects", &(2_u32,)).unwrap());
    sessions.work_off().unwrap();
    let wrong = [
        "token = 9223372036854775807",
        "token = -5",
        "sequence = 9223372036854775807",
        "sequence = -5",
        "effects = -9223372036854775807",
        "version = -1",
    ];
    for (wrong, id) in wrong.iter().zip(ids) {
        server.sql(&format!("UPDATE leno_session SET {wrong} WHERE id = '\\x{id}'"));
    }
    let workers = sessions.workers(2);
    ids.iter().for_each(|id| sessions.answer(*id, "now").unwrap());
    for id in &ids[wrong.len()..] {
        is_run(&sessions, *id);
    }
    let is_settled = |id: &SessionId| {
        matches!(sessions.show(*id).unwrap().state, State::Done | State::Quarantined)
    };
    until("the others come to rest", || ids.iter().all(is_settled));
    let reasons = [ids[2], ids[3]].map(|id| sessions.show(id).unwrap().reason);
    assert_eq!(reasons[0], "quarantined: its sequence is 9223372036854775807");
    assert_eq!(reasons[1], "quarantined: no step of it can be stored");
    assert_eq!(workers.running(), 2);
    workers.drain().unwrap();
}
