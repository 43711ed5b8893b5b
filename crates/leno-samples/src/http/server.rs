//! All connections, and what they may do.

use std::io;
use std::time::Duration;

use leno::io::net::TcpListener;
use leno::kernel::scope;

use super::answer::Answer;
use super::connection::{Connection, Request};
use super::watch::Watch;
use crate::serve::{self, Stopped, serve_refusing};

/// The answer to a client that has too many connections.
const TOO_MANY: &[u8] = b"HTTP/1.1 429 Too Many Requests\r\n\
    content-type: text/plain\r\n\
    content-length: 21\r\n\
    connection: close\r\n\
    \r\n\
    too many connections\n";

/// What a server allows.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many connections, and for how long after the order to stop.
    pub server: serve::Limits,
    /// Bytes of a request's head.
    pub head_bytes: usize,
    /// Bytes of a request's body.
    pub body_bytes: u64,
    /// For how long a connection may be open without a request.
    pub idle: Duration,
    /// For how long a head may take, however steadily it trickles.
    pub head: Duration,
    /// For how long a client may send nothing of its body, or take nothing of its answer.
    pub stall: Duration,
    /// For how long a request may take, from its head to the end of its answer.
    pub request: Duration,
}

impl Default for Limits {
    /// 16 KiB and 1 MiB; 30 seconds idle, 5 for a head, 10 without progress, a minute for all.
    fn default() -> Self {
        Limits {
            server: serve::Limits::default(),
            head_bytes: 16 * 1024,
            body_bytes: 1024 * 1024,
            idle: Duration::from_secs(30),
            head: Duration::from_secs(5),
            stall: Duration::from_secs(10),
            request: Duration::from_secs(60),
        }
    }
}

/// Serves until told to stop: then idle connections end, and the others after their answers. Whether all
/// have ended within the grace.
///
/// # Panics
/// As [`serve::serve`].
pub fn serve(
    listener: TcpListener,
    stopped: &Stopped,
    limits: &Limits,
    handler: impl Fn(&mut Request<'_>, Answer<'_>) -> io::Result<()>,
) -> bool {
    let watch = Watch::new(stopped, limits);
    scope(|scope| {
        let watcher = scope.spawn(|| watch.run());
        let in_time = serve_refusing(listener, stopped, limits.server, TOO_MANY, |stream| {
            let Ok(watched) = stream.try_clone() else { return };
            let guard = watch.enter(watched);
            let peer = stream.peer_addr().ok();
            let stream = &stream;
            let handler = &handler;
            let connection = Connection { stream, peer, stopped, limits, handler, guard };
            // That a client went away is no news, and the handler knows of its own errors.
            let _ended = connection.serve();
        });
        watcher.cancel();
        in_time
    })
}
