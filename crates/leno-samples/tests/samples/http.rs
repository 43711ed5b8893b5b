//! What HTTP asks for.

use std::io::{self, Read, Write};
use std::net::SocketAddr;

use leno::io::net::{TcpListener, TcpStream};
use leno::kernel::{JoinHandle, spawn_local};
use leno_samples::http::{self, Answer, Client, Limits, Request};
use leno_samples::serve::{Stop, stop};

use crate::support::{LONG, connect, leaves_nothing, listener};

/// No time is ever over.
pub(crate) fn patient() -> Limits {
    let mut limits =
        Limits { idle: LONG, head: LONG, stall: LONG, request: LONG, ..Limits::default() };
    limits.server.grace = LONG;
    limits
}

/// A server, and the right to stop it.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) stop: Stop,
    pub(crate) ended: JoinHandle<bool>,
}

impl Server {
    pub(crate) fn new(limits: Limits) -> Server {
        Server::with(limits, handle)
    }

    pub(crate) fn with(
        limits: Limits,
        handler: impl Fn(&mut Request<'_>, Answer<'_>) -> io::Result<()> + 'static,
    ) -> Server {
        Server::at(listener().0, limits, handler)
    }

    pub(crate) fn at(
        listener: TcpListener,
        limits: Limits,
        handler: impl Fn(&mut Request<'_>, Answer<'_>) -> io::Result<()> + 'static,
    ) -> Server {
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = stop();
        let ended = spawn_local(move || http::serve(listener, &stopped, &limits, handler));
        Server { address, stop, ended }
    }

    /// Stops it; whether all connections have ended by themselves.
    pub(crate) fn stop(self) -> bool {
        drop(self.stop);
        self.ended.join().unwrap()
    }
}

/// So many bytes that can be told apart.
pub(crate) fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|n| (n % 251) as u8).collect()
}

pub(crate) fn handle(request: &mut Request<'_>, answer: Answer<'_>) -> io::Result<()> {
    let head = &request.head;
    let (path, query) = head.target.split_once('?').unwrap_or((&head.target, ""));
    let count = query.parse().unwrap_or(0);
    match path {
        "/" => answer.header("content-type", "text/plain").send(200, "hello"),
        "/echo" => {
            let mut body = Vec::new();
            request.body.read_to_end(&mut body)?;
            answer.send(200, body)
        }
        "/through" => {
            let mut out = answer.start(200)?;
            io::copy(&mut request.body, &mut out)?;
            out.finish()
        }
        "/sized" => {
            let mut out = answer.start_sized(200, count as u64)?;
            out.write_all(&bytes(count))?;
            out.finish()
        }
        "/half" => {
            let mut out = answer.start_sized(200, 1000)?;
            out.write_all(&bytes(500))?;
            out.flush()
        }
        "/fails" => Err(io::Error::other("on purpose")),
        "/forgets" => Ok(()),
        _ => answer.send(404, "nothing"),
    }
}

/// What a client reads if it sends this and closes its half.
pub(crate) fn say(address: SocketAddr, text: &str) -> String {
    let mut stream = connect(address);
    stream.write_all(text.as_bytes()).unwrap();
    hear(&mut stream)
}

/// What comes until the end.
pub(crate) fn hear(stream: &mut TcpStream) -> String {
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).unwrap();
    heard
}

fn get(client: &mut Client, target: &str) -> (u16, Vec<u8>) {
    let mut answer = client.get(target).unwrap();
    let mut body = Vec::new();
    answer.body.read_to_end(&mut body).unwrap();
    (answer.status, body)
}

#[test]
fn requests_follow_each_other_on_a_connection() {
    leaves_nothing(|| {
        let mut limits = patient();
        // So another connection would never be served.
        limits.server.connections = 1;
        let server = Server::new(limits);
        let mut client = Client::connect(server.address).unwrap();
        for round in 0..20 {
            assert_eq!(get(&mut client, "/"), (200, b"hello".to_vec()));
            assert_eq!(get(&mut client, "/none"), (404, b"nothing".to_vec()));
            let length = round * 3000;
            assert_eq!(get(&mut client, &format!("/sized?{length}")), (200, bytes(length)));
            // The handler does not read this one, and the server skips it.
            let mut answer = client.post("/", &bytes(length)).unwrap();
            assert_eq!(answer.headers.get("Content-Type"), Some("text/plain"));
            answer.body.read_to_end(&mut Vec::new()).unwrap();
        }
        drop(client);
        assert!(server.stop());
    });
}

#[test]
fn bodies_go_through_whatever_their_length() {
    leaves_nothing(|| {
        let server = Server::new(patient());
        let mut client = Client::connect(server.address).unwrap();
        for length in [0, 1, 8191, 8192, 8193, 100_000] {
            for target in ["/echo", "/through"] {
                let mut answer = client.post(target, &bytes(length)).unwrap();
                let is_known = target == "/echo";
                assert_eq!(answer.body.length(), is_known.then_some(length as u64));
                let mut body = Vec::new();
                answer.body.read_to_end(&mut body).unwrap();
                assert!(body == bytes(length), "{target} {length}");
            }
        }
        drop(client);
        assert!(server.stop());
    });
}

/// In pieces of each size, so that every token is cut somewhere.
#[test]
fn chunks_are_read_however_they_are_cut() {
    const TEXT: &str = "POST /echo HTTP/1.1\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n\
        5\r\nhello\r\n2;name=value\r\n, \r\n00a\r\nworld, all\r\n0\r\nchecksum: 7\r\n\r\n";
    leaves_nothing(|| {
        let server = Server::new(patient());
        for size in 1..30 {
            let mut stream = connect(server.address);
            stream.set_nodelay(true).unwrap();
            for piece in TEXT.as_bytes().chunks(size) {
                stream.write_all(piece).unwrap();
                leno::kernel::yield_now();
            }
            let heard = hear(&mut stream);
            assert!(heard.starts_with("HTTP/1.1 200 OK\r\n"), "{heard}");
            assert!(heard.ends_with("\r\n\r\nhello, world, all"), "{heard}");
        }
        assert!(server.stop());
    });
}

#[test]
fn several_requests_at_once_are_answered_in_order() {
    leaves_nothing(|| {
        let server = Server::new(patient());
        let post = "POST /echo HTTP/1.1\r\ncontent-length: 3\r\n\r\none";
        let close = "GET /none HTTP/1.1\r\nConnection: Close\r\n\r\n";
        let heard = say(server.address, &format!("{post}{post}{close}{post}"));
        let bodies: Vec<_> =
            heard.match_indices("HTTP/1.1 ").map(|(at, _)| &heard[at + 9..at + 12]).collect();
        assert_eq!(bodies, ["200", "200", "404"], "{heard}");
        assert!(heard.ends_with("connection: close\r\n\r\nnothing"), "{heard}");
        assert!(server.stop());
    });
}

#[test]
fn old_clients_and_those_who_want_the_head_alone() {
    leaves_nothing(|| {
        let server = Server::new(patient());
        let heard = say(server.address, "GET / HTTP/1.0\r\n\r\n");
        assert!(heard.contains("connection: close") && heard.ends_with("\r\n\r\nhello"), "{heard}");
        let heard = say(server.address, "GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n");
        assert!(heard.contains("connection: keep-alive"), "{heard}");
        let through = "content-length: 3\r\n\r\none";
        let heard = say(server.address, &format!("POST /through HTTP/1.0\r\n{through}"));
        assert!(!heard.contains("chunked") && heard.ends_with("\r\n\r\none"), "{heard}");
        let heard = say(server.address, "HEAD / HTTP/1.1\r\n\r\n");
        assert!(heard.contains("content-length: 5") && heard.ends_with("\r\n\r\n"), "{heard}");
        let heard = say(server.address, &format!("HEAD /through HTTP/1.1\r\n{through}"));
        assert!(heard.contains("chunked") && heard.ends_with("\r\n\r\n"), "{heard}");
        assert!(server.stop());
    });
}

#[test]
fn who_asks_first_is_told_to_go_on_only_if_someone_reads() {
    leaves_nothing(|| {
        let server = Server::new(patient());
        let ask = "HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n";
        let mut stream = connect(server.address);
        write!(stream, "POST /echo {ask}").unwrap();
        let mut go_on = [0; 25];
        stream.read_exact(&mut go_on).unwrap();
        assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
        stream.write_all(b"one").unwrap();
        assert!(hear(&mut stream).ends_with("\r\n\r\none"));
        let heard = say(server.address, &format!("POST / {ask}"));
        assert!(heard.starts_with("HTTP/1.1 200 OK"), "{heard}");
        assert!(server.stop());
    });
}

/// The client would take "100 Continue" for a part of the answer.
#[test]
fn an_answer_that_has_begun_contains_no_100_continue() {
    leaves_nothing(|| {
        let server = Server::new(patient());
        let mut stream = connect(server.address);
        let ask = "HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 3\r\n";
        write!(stream, "POST /through {ask}connection: close\r\n\r\n").unwrap();
        // The head of the answer says that it has begun; then the body may be sent.
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        assert!(head.starts_with(b"HTTP/1.1 200 OK\r\n"));
        stream.write_all(b"one").unwrap();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "3\r\none\r\n0\r\n\r\n");
        // HTTP/1.0 has no such expectation.
        let ask = "HTTP/1.0\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\none";
        let heard = say(server.address, &format!("POST /echo {ask}"));
        assert!(heard.starts_with("HTTP/1.1 200 OK"), "{heard}");
        assert!(server.stop());
    });
}

const STATUSES: [(u16, &str); 6] = [
    (202, "Accepted"),
    (409, "Conflict"),
    (421, "Misdirected Request"),
    (422, "Unprocessable Content"),
    (451, "Unavailable For Legal Reasons"),
    (511, "Network Authentication Required"),
];

#[test]
fn statuses_have_their_reason_phrases() {
    leaves_nothing(|| {
        let server = Server::with(patient(), |request, answer| {
            answer.send(request.head.target[1..].parse().unwrap(), "")
        });
        for (status, words) in STATUSES {
            let heard = say(server.address, &format!("GET /{status} HTTP/1.1\r\n\r\n"));
            assert!(heard.starts_with(&format!("HTTP/1.1 {status} {words}\r\n")), "{heard}");
        }
        assert!(server.stop());
    });
}

#[test]
fn what_a_handler_leaves_undone_is_told() {
    leaves_nothing(|| {
        let server = Server::new(patient());
        for target in ["/fails", "/forgets"] {
            let heard = say(server.address, &format!("GET {target} HTTP/1.1\r\n\r\n"));
            assert!(heard.starts_with("HTTP/1.1 500 "), "{heard}");
        }
        let mut client = Client::connect(server.address).unwrap();
        let mut answer = client.get("/half").unwrap();
        let error = answer.body.read_to_end(&mut Vec::new()).unwrap_err();
        let kinds = [io::ErrorKind::ConnectionReset, io::ErrorKind::UnexpectedEof];
        assert!(kinds.contains(&error.kind()), "{error}");
        drop(client);
        assert!(server.stop());
    });
}
