//! The loop that all servers share: it accepts connections, limits those of all clients and those of each, and
//! ends in two steps.
//!
//! ```text
//!   acceptor --- stream ---> server --- spawns ---> a coroutine per connection
//!      ^                        ^                        ^
//!   1. cancelled             3. cancelled,            2. sees the order, and
//!      when told to stop        with all that it has,    ends when it likes
//!                               when the grace is over
//! ```
//!
//! Step 1 closes the channel between the two; so the server's loop ends, and its scope waits for the
//! connections. Nothing is listed by hand: whoever ends a scope ends what is in it.
//!
//! A client is an address; of IPv6, the first 64 bits of one, since a subscriber gets all addresses that begin
//! with them. Connections beyond a client's limit are told so and closed at once: if they waited for their
//! turn, those of all other clients would wait behind them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv6Addr, Shutdown};
use std::time::Duration;

use leno::channel::{Receiver, Semaphore, Sender, Shared, WaitGroup, channel, shared};
use leno::io::net::{TcpListener, TcpStream};
use leno::io::signal::{Signal, Signals};
use leno::kernel::scope;

/// Writes a line to stderr. A server goes on also if nobody reads that: `eprintln!` would panic.
///
/// # Examples
/// ```
/// leno_samples::serve::note(format_args!("{} clients", 3));
/// ```
pub fn note(line: fmt::Arguments<'_>) {
    let _unread = writeln!(io::stderr(), "{line}");
}

/// Writes a line to stdout. A server goes on also if nobody reads that: `println!` would panic.
///
/// # Examples
/// ```
/// leno_samples::serve::tell(format_args!("{} bytes", 3));
/// ```
pub fn tell(line: fmt::Arguments<'_>) {
    let _unread = writeln!(io::stdout(), "{line}");
}

/// The right to stop a server, from any thread. Dropping it is the order.
#[derive(Debug)]
pub struct Stop(
    #[expect(dead_code, reason = "it is there to be dropped")] Sender<Infallible, Shared>,
);

/// Where the order to stop is seen, by as many as like.
#[derive(Clone, Debug)]
pub struct Stopped(Receiver<Infallible, Shared>);

/// An order to stop, and where it is seen.
pub fn stop() -> (Stop, Stopped) {
    // Nothing can be sent; that the channel is closed is the message.
    let (order, seen) = shared::channel();
    (Stop(order), Stopped(seen))
}

impl Stop {
    /// Waits for Ctrl-C or a polite `kill`, and gives the order.
    ///
    /// # Errors
    /// When the system refuses to tell of signals.
    pub fn on_signal(self) -> io::Result<()> {
        let signal = Signals::new(&[Signal::Interrupt, Signal::Terminate])?.recv()?;
        note(format_args!("{signal}: ending"));
        Ok(())
    }
}

impl Stopped {
    /// Waits for the order.
    pub fn wait(&self) {
        let _closed = self.0.recv();
    }

    /// Whether it has been given.
    pub fn is_now(&self) -> bool {
        self.0.is_closed()
    }

    /// Something to receive from in a select: it fails when the order is given.
    pub fn order(&self) -> &Receiver<Infallible, Shared> {
        &self.0
    }
}

/// What a server allows.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once. Those beyond wait in the system's line.
    pub connections: usize,
    /// Connections of one client at once. Those beyond are told so and closed.
    pub per_client: usize,
    /// After the order to stop: for how long connections may go on.
    pub grace: Duration,
}

impl Default for Limits {
    /// 1,000 connections, 200 of each client, 10 seconds.
    fn default() -> Self {
        Limits { connections: 1000, per_client: 200, grace: Duration::from_secs(10) }
    }
}

/// Serves each connection by a coroutine of its own, until told to stop. Then nothing more is accepted,
/// and the connections have some grace to end by themselves.
///
/// Returns when all have ended: whether by themselves.
///
/// # Panics
/// Outside of a coroutine with a stack; or when a connection's code panics and all have ended.
pub fn serve(
    listener: TcpListener,
    stopped: &Stopped,
    limits: Limits,
    connection: impl Fn(TcpStream),
) -> bool {
    serve_refusing(listener, stopped, limits, b"", connection)
}

/// Serves as [`serve`] does. A client that has as many connections as it may is sent `refusal` on further ones,
/// as far as there is room for it, before they are closed.
///
/// # Panics
/// As [`serve`].
pub fn serve_refusing(
    listener: TcpListener,
    stopped: &Stopped,
    limits: Limits,
    refusal: &[u8],
    connection: impl Fn(TcpStream),
) -> bool {
    let doors = Semaphore::local(limits.connections);
    let clients = Clients { most: limits.per_client, open: RefCell::default() };
    let servers = WaitGroup::local();
    scope(|scope| {
        let (accepted, streams) = channel();
        let acceptor = scope.spawn(move || accept(&listener, &accepted));
        let is_serving = servers.worker();
        let server = scope.spawn(|| {
            let _ends_last = is_serving;
            leno::kernel::scope(|connections| {
                for stream in streams {
                    let Some(client) = clients.admit(&stream) else {
                        refuse(&stream, refusal);
                        continue;
                    };
                    let Ok(door) = doors.acquire() else { break };
                    let connection = &connection;
                    connections.spawn(move || {
                        let _open = (door, client);
                        connection(stream);
                    });
                }
            });
        });
        stopped.wait();
        acceptor.cancel();
        let in_time = servers.wait_timeout(limits.grace).is_ok();
        if !in_time {
            server.cancel();
        }
        in_time
    })
}

/// How many connections each client has.
struct Clients {
    most: usize,
    open: RefCell<HashMap<IpAddr, usize>>,
}

/// One connection of a client, which counts until it is dropped.
struct Admitted<'a> {
    clients: &'a Clients,
    client: IpAddr,
}

impl Clients {
    /// Counts a connection. Returns `None` if its client has as many as it may, or is gone.
    fn admit(&self, stream: &TcpStream) -> Option<Admitted<'_>> {
        let client = client(stream.peer_addr().ok()?.ip());
        let mut open = self.open.borrow_mut();
        let count = open.entry(client).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Admitted { clients: self, client })
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        let mut open = self.clients.open.borrow_mut();
        if let Some(count) = open.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.client);
            }
        }
    }
}

/// Tells a client that it has too many connections, without waiting for it.
fn refuse(stream: &TcpStream, refusal: &[u8]) {
    // A socket that is closed while something is unread is reset, and the client may lose what it was told.
    let mut ignored = [0; 4096];
    let _nothing_or_gone = stream.try_read(&mut ignored);
    let _gone = stream.try_write(refusal);
    let _gone = stream.shutdown(Shutdown::Write);
}

/// Returns the client that an address belongs to.
fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
    }
}

/// Hands connections on, one at a time, so that the rest wait in the system's line.
fn accept(listener: &TcpListener, accepted: &Sender<TcpStream>) {
    for stream in listener.incoming() {
        match stream {
            Ok(stream) => {
                if accepted.send(stream).is_err() {
                    break;
                }
            }
            // Of descriptors, say. It goes on when there are some again.
            Err(error) => note(format_args!("cannot accept: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::client;

    #[test]
    fn addresses_of_one_client_are_one() {
        let client = |text: &str| client(text.parse().expect("an address"));
        assert_eq!(client("::ffff:10.0.0.1"), client("10.0.0.1"));
        assert_ne!(client("10.0.0.2"), client("10.0.0.1"));
        assert_eq!(client("2001:db8:1:2::1"), client("2001:db8:1:2:3:4:5:6"));
        assert_ne!(client("2001:db8:1:2::1"), client("2001:db8:1:3::1"));
    }
}
