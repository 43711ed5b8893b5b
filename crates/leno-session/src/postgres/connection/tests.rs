//! What connections to a server are set to, read back.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;

use leno_kernel::LocalSystem;

use super::*;
use crate::postgres::transact::whole;
use crate::postgres::{Listening, Postgres};
use crate::store::Store as _;

#[path = "../../../tests/suite/support/server.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod server;

const LIMITS: PostgresLimits = PostgresLimits {
    connect: Duration::from_secs(60),
    statement: Duration::from_secs(40),
    scan: Duration::from_secs(50),
};

/// What the server has for a setting.
fn setting(wire: &mut Wire, show: &'static str) -> String {
    wire.ask(show, &[]).unwrap()[0].get(0)
}

#[test]
fn a_connection_to_a_server_is_kept_alive_and_has_time_limits() {
    let Some(server) = server::Server::start("kept-alive") else { return };
    let stream = block_on(open("127.0.0.1", server.port, &LIMITS)).unwrap();
    assert!(stream.nodelay().unwrap());
    let socket = SockRef::from(&stream);
    assert!(socket.keepalive().unwrap());
    assert_eq!(socket.tcp_keepalive_time().unwrap(), KEEP_ALIVE);
    assert_eq!(socket.tcp_keepalive_interval().unwrap(), Duration::from_secs(5));
    assert_eq!(socket.tcp_keepalive_retries().unwrap(), 3);
    assert_eq!(socket.tcp_user_timeout().unwrap(), Some(LIMITS.statement));
    drop(stream);

    let mut wire = Wire::connect(&server.url().parse().unwrap(), &LIMITS).unwrap();
    assert_eq!(setting(&mut wire, "SHOW statement_timeout"), "36s");
    assert_eq!(setting(&mut wire, "SHOW lock_timeout"), "10s");
    assert_eq!(setting(&mut wire, "SHOW idle_in_transaction_session_timeout"), "3s");
    let freely = whole(&mut wire, |wire| {
        wire.freely()?;
        Ok(setting(wire, "SHOW statement_timeout"))
    });
    assert_eq!(freely.unwrap(), "45s");
}

#[test]
fn limits_that_the_system_cannot_hold_are_its_longest_and_shortest() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let longest = Duration::from_millis(i32::MAX as u64);
    for (statement, set) in
        [(Duration::MAX, longest), (Duration::from_nanos(1), Duration::from_millis(1))]
    {
        let limits = PostgresLimits { statement, ..LIMITS };
        let stream = block_on(open("127.0.0.1", port, &limits)).unwrap();
        assert_eq!(SockRef::from(&stream).tcp_user_timeout().unwrap(), Some(set));
    }
}

#[test]
fn a_socket_that_cannot_be_kept_alive_is_an_error() {
    // No socket of the internet's, so it has none of these options.
    let (near, _far) = UnixStream::pair().unwrap();
    let stream = TcpStream::from_std(OwnedFd::from(near).into()).unwrap();
    assert!(keep_alive(&stream, LIMITS.statement).is_err());
}

#[test]
fn a_store_listens_again_after_one_who_listened_was_cancelled() {
    let Some(server) = server::Server::start("listens") else { return };
    let store = Postgres::open_within(&server.url(), LIMITS).unwrap();
    let is_listening = || store.0.ear.lock().is_ok_and(|ear| ear.is_some());
    let system = LocalSystem::new();
    let own = store.clone();
    let listens = system.spawn(move || own.wait(Duration::from_secs(60)));
    let cancels = system.spawn(move || listens.cancel());
    assert_eq!(system.run().unwrap().exited, 1);
    drop(cancels);
    assert!(!is_listening(), "what it listened by is gone");
    store.wait(Duration::from_millis(1)).unwrap();
    assert!(is_listening());
}

#[test]
fn one_at_a_time_listens() {
    let is_listening = AtomicBool::new(false);
    let one = Listening::begin(&is_listening);
    assert!(one.is_some());
    assert!((0..2).all(|_| Listening::begin(&is_listening).is_none()));
    drop(one);
    assert!(Listening::begin(&is_listening).is_some());
}
