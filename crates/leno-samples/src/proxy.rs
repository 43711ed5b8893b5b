//! A TCP proxy: what comes from one side goes to the other.
//!
//! **Back-pressure** needs no code: a direction reads again only when what it has read is written. When one
//! side takes nothing, the proxy holds one buffer for it and reads no more; so the system's buffers fill,
//! and the other side waits, as if it were connected directly.
//!
//! **Half-close** is passed on: when one side has said all, the other is told so, and may go on talking.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;

use leno::io::net::TcpStream;
use leno::kernel::scope;

/// Bytes that the proxy holds per direction.
pub const BUFFER: usize = 16 * 1024;

/// What a proxy allows.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For how long connecting to the other side may take.
    pub connect: Duration,
    /// For how long one side may take nothing, though there is something for it.
    pub stall: Duration,
}

impl Default for Limits {
    /// 5 seconds, a minute.
    fn default() -> Self {
        Limits { connect: Duration::from_secs(5), stall: Duration::from_secs(60) }
    }
}

/// How many bytes went each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// From the client to the server behind the proxy.
    pub there: u64,
    /// From there to the client.
    pub back: u64,
}

/// Connects a client to the server behind the proxy, until both have said all.
///
/// # Errors
/// When the server cannot be reached; when a side goes away or stalls. Then both connections are ended.
pub fn proxy(client: &TcpStream, server: SocketAddr, limits: &Limits) -> io::Result<Moved> {
    let server = &TcpStream::connect_timeout(&server, limits.connect)?;
    for stream in [client, server] {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(limits.stall))?;
    }
    scope(|scope| {
        let there = scope.spawn(|| pump(client, server));
        let back = pump(server, client);
        match there.join() {
            Ok(there) => Ok(Moved { there: there?, back: back? }),
            Err(ended) => Err(io::Error::other(ended.to_string())),
        }
    })
}

/// One direction, to its end.
fn pump(mut from: &TcpStream, mut to: &TcpStream) -> io::Result<u64> {
    let mut buffer = vec![0; BUFFER];
    let mut moved = 0;
    let end = loop {
        match from.read(&mut buffer) {
            Ok(0) => break to.shutdown(Shutdown::Write),
            Ok(count) => match to.write_all(&buffer[..count]) {
                Ok(()) => moved += count as u64,
                Err(error) => break Err(error),
            },
            Err(error) => break Err(error),
        }
    };
    if end.is_err() {
        // The other direction waits for one of these two, and is to end as well.
        let _gone = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    }
    end.map(|()| moved)
}
