//! Clients that misbehave, and what the limits do about them.

use std::cell::Cell;
use std::io::{self, ErrorKind, Read, Write};
use std::rc::Rc;

use leno::channel::never;
use leno::io::memory::Network;
use leno::io::net::{TcpListener, TcpStream};
use leno::io::time::{now, sleep};
use leno::kernel::{LocalSystem, spawn_local};
use leno_samples::http::{Client, Limits};

use crate::http::{Server, bytes, handle, patient, say};
use crate::support::{MS, connect, leaves_nothing, listener, reset};

/// Whether the server still serves.
fn is_well(server: &Server) -> bool {
    let mut text = String::new();
    let mut client = Client::connect(server.address).unwrap();
    client.get("/").unwrap().body.read_to_string(&mut text).unwrap();
    text == "hello"
}

#[track_caller]
fn is_refused(server: &Server, request: &str, status: u16) {
    let heard = say(server.address, request);
    assert!(heard.starts_with(&format!("HTTP/1.1 {status} ")), "{status}: {heard}");
    assert!(heard.contains("connection: close"), "{heard}");
}

#[test]
fn what_is_too_large_or_malformed_is_refused() {
    leaves_nothing(|| {
        let limits = Limits { head_bytes: 1000, body_bytes: 100, ..patient() };
        let server = Server::new(limits);
        let head = |headers: &str| format!("POST /echo HTTP/1.1\r\n{headers}\r\n");
        is_refused(&server, &head(&format!("a: {}\r\n", "b".repeat(2000))), 431);
        is_refused(&server, &format!("GET /{}", "a".repeat(20_000)), 431);
        is_refused(&server, &head(&"a: b\r\n".repeat(65)), 431);
        is_refused(&server, &head("content-length: 101\r\n"), 413);
        let chunked = head("transfer-encoding: chunked\r\n");
        let chunk = format!("40\r\n{}\r\n", "a".repeat(64));
        is_refused(&server, &format!("{chunked}{chunk}{chunk}0\r\n\r\n"), 413);
        is_refused(&server, &format!("{chunked}what\r\n"), 400);
        is_refused(&server, &format!("{chunked}fffffffffffffffff\r\n"), 400);
        is_refused(&server, &format!("{chunked}{}", "1".repeat(5000)), 400);
        is_refused(&server, &format!("{chunked}1\r\nab"), 400);
        is_refused(&server, &format!("{chunked}5\r\na"), 400);
        is_refused(&server, &format!("{chunked}0\r\n{}", "a: b\r\n".repeat(500)), 400);
        is_refused(&server, &head("content-length: 1\r\ntransfer-encoding: chunked\r\n"), 400);
        is_refused(&server, &head("host: a\r\nhost: b\r\n"), 400);
        is_refused(&server, &head("host: a\r\nHost: a\r\n"), 400);
        is_refused(&server, "\x16\x03\x01\x02\x00\x01\r\n\r\n", 400);
        is_refused(&server, "GET / HTTP/9.9\r\n\r\n", 505);
        assert!(is_well(&server));
        assert!(server.stop());
    });
}

/// Each of these is followed by what would be another request for someone who reads it otherwise.
#[test]
fn what_can_be_read_in_two_ways_ends_the_connection() {
    leaves_nothing(|| {
        let server = Server::new(patient());
        let again = "GET /again HTTP/1.1\r\n\r\n";
        let head =
            |version: u8, headers: &str| format!("POST /echo HTTP/1.{version}\r\n{headers}\r\n");
        let chunked = head(1, "transfer-encoding: chunked\r\n");
        let old = head(0, "transfer-encoding: chunked\r\nconnection: keep-alive\r\n");
        let requests = [
            (head(1, "transfer-encoding: \u{a0}chunked\r\n"), "5\r\nhello\r\n0\r\n\r\n", 501),
            (head(1, "content-length: 5\u{a0}\r\n"), "hello", 400),
            (old, "5\r\nhello\r\n0\r\n\r\n", 400),
            (chunked.clone(), "5;\nxx\r\nhello\r\n0\r\n\r\n", 400),
            (chunked.clone(), "5;a\u{0}b\r\nhello\r\n0\r\n\r\n", 400),
            (chunked.clone(), "5\r\nhello\r\n0;\n\r\n\r\n", 400),
            (chunked.clone(), "5\r\nhello\r\n0\r\na: b\n\r\n", 400),
        ];
        for (head, body, status) in requests {
            let request = format!("{head}{body}{again}");
            is_refused(&server, &request, status);
            assert_eq!(say(server.address, &request).matches("HTTP/1.1 ").count(), 1, "{request}");
        }
        // A chunk may have an extension, and the last one trailers.
        let request = format!("{chunked}5;a=b \r\nhello\r\n0\r\na: b\r\n\r\n{again}");
        let heard = say(server.address, &request);
        assert_eq!(heard.matches("HTTP/1.1 ").count(), 2, "{heard}");
        assert!(server.stop());
    });
}

/// A handler that ignores what is wrong with the body does not make the rest of it another request.
#[test]
fn a_body_that_is_malformed_stays_so() {
    leaves_nothing(|| {
        let server = Server::at(listener().0, patient(), |request, answer| {
            let mut body = Vec::new();
            if let Err(first) = request.body.read_to_end(&mut body) {
                let second = request.body.read(&mut [0]).expect_err("it stays malformed");
                assert_eq!((first.kind(), second.kind()), (ErrorKind::InvalidData, first.kind()));
            }
            answer.send(200, "taken")
        });
        let head = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n";
        let rest = "\r\n0\r\n\r\nGET /again HTTP/1.1\r\n\r\n";
        for body in ["5\r\nhelloXX", "5\r\nhello\r\n0\r\na: b\n", "what\r\n", "0\r\na\n"] {
            let heard = say(server.address, &format!("{head}{body}{rest}"));
            assert!(heard.starts_with("HTTP/1.1 200 "), "{heard}");
            assert_eq!(heard.matches("HTTP/1.1 ").count(), 1, "{body:?}: {heard}");
        }
        assert!(server.stop());
    });
}

/// One client opens ten times as many silent connections as all clients together may have.
#[test]
fn a_client_with_many_silent_connections_shuts_nobody_else_out() {
    let system = LocalSystem::builder().virtual_time().build();
    let network = Network::local();
    let [host, silent, guest] = ["server", "silent", "guest"].map(|name| network.host(name));
    let ended = system.spawn(move || {
        let mut limits = patient();
        (limits.server.connections, limits.server.per_client) = (40, 20);
        let listener = host.enter(|| TcpListener::bind("0.0.0.0:80").unwrap());
        let server = host.enter(|| Server::at(listener, limits, handle));
        let many: Vec<TcpStream> =
            silent.enter(|| (0..400).map(|_| TcpStream::connect("server:80").unwrap()).collect());
        let begun = now();
        guest.enter(|| {
            let mut stream = TcpStream::connect("server:80").unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n").unwrap();
            let mut heard = String::new();
            stream.read_to_string(&mut heard).unwrap();
            assert!(heard.ends_with("hello"), "{heard}");
        });
        assert_eq!(now(), begun, "the guest has waited");
        // The first ones are open; those beyond the client's limit were told why they are closed.
        let (mut open, mut refused) = (0, 0);
        for mut stream in many {
            match stream.try_read(&mut [0]) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => open += 1,
                _ => {
                    let mut heard = String::new();
                    stream.read_to_string(&mut heard).unwrap();
                    assert!(heard.starts_with("TTP/1.1 429 Too Many Requests\r\n"), "{heard}");
                    assert!(heard.ends_with("\r\n\r\ntoo many connections\n"), "{heard}");
                    refused += 1;
                }
            }
        }
        assert_eq!((open, refused), (20, 380));
        // When they have ended, the client may have others.
        sleep(MS);
        silent.enter(|| {
            let mut stream = TcpStream::connect("server:80").unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n").unwrap();
            let mut heard = String::new();
            stream.read_to_string(&mut heard).unwrap();
            assert!(heard.ends_with("hello"), "{heard}");
        });
        assert!(server.stop());
    });
    system.run().unwrap();
    ended.join().unwrap();
}

/// A byte at a time, for ever.
#[test]
fn heads_that_trickle_are_cut_off_and_others_served() {
    leaves_nothing(|| {
        let server = Server::new(Limits { head: 50 * MS, ..patient() });
        let address = server.address;
        let slow: Vec<_> = (0..50)
            .map(|_| {
                spawn_local(move || {
                    let mut stream = connect(address);
                    stream.write_all(b"GET / HTTP/1.1\r\na: ").unwrap();
                    let mut reads = stream.try_clone().unwrap();
                    let trickle = spawn_local(move || {
                        while stream.write_all(b"b").is_ok() {
                            sleep(5 * MS);
                        }
                    });
                    let mut heard = [0; 12];
                    reads.read_exact(&mut heard).unwrap();
                    assert_eq!(&heard, b"HTTP/1.1 408");
                    trickle.cancel();
                })
            })
            .collect();
        assert!(is_well(&server));
        slow.into_iter().for_each(|one| one.join().unwrap());
        assert!(server.stop());
    });
}

const POST: &[u8] = b"POST /echo HTTP/1.1\r\ncontent-length: 1000\r\n\r\n";

#[test]
fn bodies_that_stop_are_given_up() {
    leaves_nothing(|| {
        let server = Server::new(Limits { stall: 30 * MS, ..patient() });
        let mut stream = connect(server.address);
        stream.write_all(POST).unwrap();
        let mut heard = [0; 12];
        stream.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"HTTP/1.1 408");
        drop(stream);
        assert!(is_well(&server));
        assert!(server.stop());
    });
}

/// Never silent for long, and never done.
#[test]
fn bodies_that_trickle_are_cut_off() {
    leaves_nothing(|| {
        let server = Server::new(Limits { request: 100 * MS, ..patient() });
        let mut stream = connect(server.address);
        stream.write_all(POST).unwrap();
        while stream.write_all(b"a").is_ok() {
            sleep(5 * MS);
        }
        drop(stream);
        assert!(is_well(&server));
        assert!(server.stop());
    });
}

/// Whatever a handler waits for: it is unwound, its connection ends, and the others do not notice.
#[test]
fn handlers_that_never_end_are_ended() {
    leaves_nothing(|| {
        let (waiting, waited) = (Rc::new(()), Rc::new(Cell::new(0)));
        let (held, counts) = (waiting.clone(), waited.clone());
        let server =
            Server::with(Limits { request: 50 * MS, ..patient() }, move |request, answer| {
                if request.head.target == "/" {
                    return answer.send(200, "hello");
                }
                let _held = held.clone();
                counts.set(counts.get() + 1);
                never().recv().unwrap();
                answer.send(200, "too late")
            });
        let address = server.address;
        let clients: Vec<_> = (0..10)
            .map(|n| {
                spawn_local(move || {
                    sleep(MS * n);
                    say(address, "GET /never HTTP/1.1\r\n\r\n")
                })
            })
            .collect();
        assert!(is_well(&server));
        clients.into_iter().for_each(|client| assert_eq!(client.join().unwrap(), ""));
        assert_eq!((waited.get(), Rc::strong_count(&waiting)), (10, 2));
        assert!(is_well(&server));
        assert!(server.stop());
    });
}

#[test]
fn who_does_not_take_the_answer_is_given_up() {
    leaves_nothing(|| {
        let failed = Rc::new(Cell::new(0));
        let counts = failed.clone();
        let limits = Limits { stall: 30 * MS, ..patient() };
        let server = Server::with(limits, move |_, answer| {
            // More than the system's buffers hold.
            let result = answer.send(200, vec![0; 32 << 20]);
            assert_eq!(result.as_ref().unwrap_err().kind(), ErrorKind::TimedOut);
            counts.set(counts.get() + 1);
            result
        });
        let clients: Vec<_> = (0..3)
            .map(|_| {
                let mut stream = connect(server.address);
                stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
                stream
            })
            .collect();
        while failed.get() < 3 {
            sleep(MS);
        }
        drop(clients);
        assert!(server.stop());
    });
}

#[test]
fn resets_at_any_time_end_one_connection_only() {
    leaves_nothing(|| {
        let server = Server::new(patient());
        let address = server.address;
        let clients: Vec<_> = (0..60)
            .map(|n| {
                spawn_local(move || {
                    let mut stream = connect(address);
                    let said: &[u8] = match n % 6 {
                        0 => b"",
                        1 => b"GET /",
                        2 => b"POST /echo HTTP/1.1\r\ncontent-length: 10\r\n\r\nabc",
                        3 => b"GET /sized?8000000 HTTP/1.1\r\n\r\n",
                        4 => {
                            b"POST /through HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc"
                        }
                        _ => b"GET / HTTP/1.1\r\n\r\n",
                    };
                    stream.write_all(said).unwrap();
                    if n % 6 == 5 {
                        stream.read_exact(&mut [0; 10]).unwrap();
                    }
                    sleep(MS * (n / 6));
                    reset(stream);
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        assert!(is_well(&server));
        assert!(server.stop());
    });
}

/// The client takes a little at a time, so that nearly every write is a partial one.
#[test]
fn large_answers_reach_slow_readers_whole() {
    leaves_nothing(|| {
        let server = Server::new(patient());
        let mut stream = connect(server.address);
        stream.write_all(b"GET /sized?3000000 HTTP/1.1\r\nconnection: close\r\n\r\n").unwrap();
        let (mut heard, mut part) = (Vec::new(), [0; 10_007]);
        loop {
            match stream.read(&mut part).unwrap() {
                0 => break,
                count => heard.extend_from_slice(&part[..count]),
            }
            leno::kernel::yield_now();
        }
        assert!(heard.ends_with(&bytes(3_000_000)));
        assert!(server.stop());
    });
}

#[test]
fn connections_beyond_the_limit_wait_in_line() {
    leaves_nothing(|| {
        let mut limits = patient();
        limits.server.connections = 2;
        let server = Server::new(limits);
        let address = server.address;
        let holders: Vec<_> = (0..2).map(|_| Client::connect(address).unwrap()).collect();
        let mut holders = holders.into_iter();
        for holder in holders.as_mut_slice() {
            holder.get("/").unwrap().body.read_to_end(&mut Vec::new()).unwrap();
        }
        let is_served = Rc::new(Cell::new(false));
        let tells = is_served.clone();
        let waits = spawn_local(move || {
            let answer = say(address, "GET / HTTP/1.1\r\n\r\n");
            tells.set(true);
            answer
        });
        sleep(20 * MS);
        assert!(!is_served.get());
        drop(holders.next());
        assert!(waits.join().unwrap().ends_with("hello"));
        drop(holders);
        assert!(server.stop());
    });
}

#[test]
fn the_idle_are_sent_away() {
    leaves_nothing(|| {
        let (listener, address) = listener();
        let mut asks_once = connect(address);
        asks_once.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut never_asks = connect(address);
        // By now both wait in line, and what is asked is there.
        let limits = Limits { idle: 10 * MS, ..patient() };
        let server = Server::at(listener, limits, handle);
        assert!(io::read_to_string(&mut asks_once).unwrap().ends_with("hello"));
        assert_eq!(io::read_to_string(&mut never_asks).unwrap(), "");
        assert!(server.stop());
    });
}
