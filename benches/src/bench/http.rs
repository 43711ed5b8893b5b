//! HTTP servers under `wrk`: requests that are answered with a few bytes, over connections that stay.
//!
//! Contenders by hand read heads with `httparse` and answer nothing but what is asked here; the others are
//! servers that one would use: leno's among its samples, hyper, and Go's own.

use std::io::{Read, Write};
use std::net::TcpListener;

use super::{Bench, Case, Chart, Load};
use crate::contender::Failure;
use crate::external::Tool;
use crate::outcome::{Outcome, Verdict};
use crate::serve::{self, Connections, wrk};
use crate::{peers, subject};

/// What is answered.
pub const BODY: &str = "hello\n";
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhello\n";

pub const HTTP: Bench = Bench {
    name: "http",
    unit: "ns",
    about: "an HTTP/1.1 server on one core, 64 connections of wrk on the other; per request",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale| {
        let connections = Connections::So(wrk::CONNECTIONS);
        let mut contenders = subject::http(connections, wrk::plaintext);
        for (name, server) in [("tokio", tokio as serve::Server), ("hyper", hyper), ("may", may)] {
            contenders.push(serve::contender(name, server, connections, wrk::plaintext));
        }
        contenders.push(serve::external(Tool::Go, "http", connections, wrk::plaintext));
        // So many seconds.
        let (load, rounds) = (Load::Fixed(scale.pick(1, 3)), Some(scale.pick(1, 5)));
        vec![Case { parameter: None, load, isolated: true, rounds, contenders }]
    },
    judge: ahead,
};

fn ahead(outcome: &Outcome) -> Vec<Verdict> {
    let equals = ["tokio", "may"].map(|peer| ("leno plain", peer));
    let servers = ["hyper", "go"].map(|peer| ("leno", peer));
    let pairs = equals.into_iter().chain(servers);
    pairs.flat_map(|(own, peer)| outcome.at_most(None, own, peer, 1.0)).collect()
}

/// Requests as they come in pieces, and their answers.
pub struct Requests {
    read: Vec<u8>,
}

impl Requests {
    pub fn new() -> Requests {
        Requests { read: Vec::with_capacity(1024) }
    }

    /// What to answer to what has come, if anything; nothing any more if it is no HTTP.
    pub fn came(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.read.extend_from_slice(bytes);
        let (mut done, mut answers) = (0, Vec::new());
        loop {
            let mut headers = [httparse::EMPTY_HEADER; 16];
            let mut request = httparse::Request::new(&mut headers);
            match request.parse(&self.read[done..]).ok()? {
                httparse::Status::Complete(length) => done += length,
                httparse::Status::Partial => break,
            }
            answers.extend_from_slice(ANSWER);
        }
        self.read.drain(..done);
        Some(answers)
    }
}

/// Answers until the client has ended.
pub fn answer(mut connection: impl Read + Write) {
    let (mut requests, mut buffer) = (Requests::new(), [0; 1024]);
    while let Ok(count @ 1..) = connection.read(&mut buffer) {
        let Some(answers) = requests.came(&buffer[..count]) else { return };
        if connection.write_all(&answers).is_err() {
            return;
        }
        // That was the request to stop; who counts connections ends by its end.
        if buffer[..count].starts_with(b"GET /stop") {
            return;
        }
    }
}

/// The same for tokio's.
async fn answer_async(mut connection: tokio::net::TcpStream) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (mut requests, mut buffer) = (Requests::new(), [0; 1024]);
    while let Ok(count @ 1..) = connection.read(&mut buffer).await {
        let Some(answers) = requests.came(&buffer[..count]) else { return };
        if connection.write_all(&answers).await.is_err() || buffer.starts_with(b"GET /stop") {
            return;
        }
    }
}

/// On a runtime of one thread, serves each connection by `each`.
fn by_tokio<F>(
    listener: TcpListener,
    connections: usize,
    each: fn(tokio::net::TcpStream) -> F,
) -> Result<(), Failure>
where
    F: Future<Output = ()> + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let serves = async move {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let mut all = tokio::task::JoinSet::new();
        for _ in 0..connections {
            let (connection, _) = listener.accept().await?;
            connection.set_nodelay(true)?;
            all.spawn(each(connection));
        }
        while all.join_next().await.is_some() {}
        std::io::Result::Ok(())
    };
    runtime.map_err(Failure::failed)?.block_on(serves).map_err(Failure::failed)
}

fn tokio(listener: TcpListener, connections: usize) -> Result<(), Failure> {
    by_tokio(listener, connections, answer_async)
}

fn hyper(listener: TcpListener, connections: usize) -> Result<(), Failure> {
    type Asked = hyper::Request<hyper::body::Incoming>;
    type Answered = hyper::Response<http_body_util::Full<hyper::body::Bytes>>;
    async fn hello(_: Asked) -> Result<Answered, core::convert::Infallible> {
        Ok(hyper::Response::new(http_body_util::Full::new(hyper::body::Bytes::from(BODY))))
    }
    by_tokio(listener, connections, |connection| async move {
        let io = hyper_util::rt::TokioIo::new(connection);
        let service = hyper::service::service_fn(hello);
        let timer = hyper_util::rt::TokioTimer::new();
        let mut server = hyper::server::conn::http1::Builder::new();
        let _ended = server.timer(timer).serve_connection(io, service).await;
    })
}

fn may(listener: TcpListener, connections: usize) -> Result<(), Failure> {
    peers::may_on_one_worker();
    super::sockets::by_may(listener, connections, answer)
}
