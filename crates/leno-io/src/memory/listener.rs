//! Listening: connections that wait to be accepted.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use core::fmt;
use core::time::Duration;

use leno_kernel::io::Interest;
use leno_kernel::layer::{Sign, common_now};
use leno_kernel::log::Operation as Kind;
use leno_kernel::{Object, Time};

use super::choices::Decided;
use super::connection::At;
use super::error::{error, late};
use super::lines::Line;
use super::network::{Inner, Network};
use super::ready::{Look, Ready, Watched};
use super::state::{Place, State};
use super::stream::Stream;
use super::wait::{Attempt, Operation, Waiting};

/// How many connections wait to be accepted by default.
pub(crate) const BACKLOG: usize = 128;

/// What the network knows of a listener.
#[derive(Debug)]
pub(super) struct Backlog {
    pub(super) address: SocketAddr,
    pub(super) limit: usize,
    /// By number, the first come first.
    pub(super) waiting: VecDeque<u64>,
    pub(super) acceptors: Line,
    pub(super) connectors: Line,
}

/// Listens at a port of a host; of [`Host::listen`](super::Host::listen). Clones listen at the same one;
/// when the last is dropped, whoever has not been accepted is reset, and others are refused.
#[derive(Clone)]
pub struct Listener {
    ear: Arc<Ear>,
}

struct Ear {
    network: Network,
    host: usize,
    address: SocketAddr,
    sign: Arc<Sign>,
}

impl Backlog {
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= self.limit
    }
}

impl State {
    /// Listens on a host; at which address.
    pub(super) fn listen(
        &mut self,
        host: usize,
        mut address: SocketAddr,
        limit: usize,
    ) -> io::Result<SocketAddr> {
        let label = self.label(host);
        let machine = &mut self.hosts[host];
        check_own(&label, machine.own(address.ip()), address.ip())?;
        if address.port() == 0 {
            let is_free =
                |machine: &super::state::Machine, port| !machine.listeners.contains_key(&port);
            let port = machine.free_port(is_free).ok_or_else(|| no_port(&label))?;
            address.set_port(port);
        }
        if machine.listeners.contains_key(&address.port()) {
            let text = format!("someone listens already on host {label} at {address}");
            return Err(error(ErrorKind::AddrInUse, text));
        }
        let [acceptors, connectors] = [(); 2].map(|()| self.lines.open());
        let (limit, waiting) = (limit.max(1), VecDeque::new());
        let backlog = Backlog { address, limit, waiting, acceptors, connectors };
        machine.listeners.insert(address.port(), backlog);
        Ok(address)
    }

    /// Stops listening. No policy is asked: those that were not accepted are reset at once.
    fn stop_listening(&mut self, host: usize, port: u16, now: Time) {
        let Some(backlog) = self.hosts[host].listeners.remove(&port) else { return };
        self.lines.close(backlog.connectors);
        self.lines.close(backlog.acceptors);
        for connection in backlog.waiting {
            self.sever(connection, now);
            self.close_after(At { connection, side: 1 }, Duration::ZERO, now);
        }
    }
}

/// An address must be one of the host's.
pub(super) fn check_own(label: &str, is_own: bool, address: IpAddr) -> io::Result<()> {
    if is_own {
        return Ok(());
    }
    let text = format!("{address} is no address of host {label}");
    Err(error(ErrorKind::AddrNotAvailable, text))
}

pub(super) fn no_port(label: &str) -> io::Error {
    error(ErrorKind::AddrInUse, format!("host {label} has no port left"))
}

impl Listener {
    pub(super) fn new(
        network: &Network,
        host: usize,
        address: SocketAddr,
        backlog: usize,
    ) -> io::Result<Listener> {
        let (address, sign) = network.inner.with(|state| {
            let address = state.listen(host, address, backlog)?;
            let name = format!("listener {} {address}", state.label(host));
            io::Result::Ok((address, state.sign(name)))
        })?;
        Ok(Listener { ear: Arc::new(Ear { network: network.clone(), host, address, sign }) })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.ear.address
    }

    fn accepting(&self) -> Accept<'_> {
        Accept { ear: &self.ear }
    }

    /// The next connection, and where it comes from.
    ///
    /// # Blocking
    /// Until there is one: parks the calling coroutine, or blocks the calling thread; a future uses
    /// [`Self::accept_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds, and nothing is accepted.
    ///
    /// # Errors
    /// As all operations on a network; see [`Network`].
    ///
    /// # Panics
    /// Inside a future that a core polls, if it has to wait.
    ///
    /// # Examples
    /// ```
    /// use leno_io::memory::Network;
    /// use std::io::{Read, Write};
    ///
    /// let network = Network::new();
    /// let listener = network.host("server").listen(80)?;
    /// let client = std::thread::spawn(move || {
    ///     network.host("client").connect("server:80")?.write_all(b"hello")
    /// });
    /// let (mut stream, _from) = listener.accept()?;
    /// let mut text = String::new();
    /// stream.read_to_string(&mut text)?;
    /// assert_eq!(text, "hello");
    /// client.join().unwrap()?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[track_caller]
    pub fn accept(&self) -> io::Result<(Stream, SocketAddr)> {
        self.ear.inner().wait(self.accepting(), None).map(with_peer)
    }

    /// As [`Self::accept`], for at most `limit`.
    ///
    /// # Errors
    /// [`TimedOut`](ErrorKind::TimedOut) when the time is over; else as [`Self::accept`].
    #[track_caller]
    pub fn accept_timeout(&self, limit: Duration) -> io::Result<(Stream, SocketAddr)> {
        let deadline = Some(common_now() + limit);
        self.ear.inner().wait(self.accepting(), deadline).map(with_peer)
    }

    /// The next connection, if one waits.
    ///
    /// # Errors
    /// [`WouldBlock`](ErrorKind::WouldBlock) if none does; else as [`Self::accept`].
    pub fn try_accept(&self) -> io::Result<(Stream, SocketAddr)> {
        self.ear.inner().try_now(self.accepting()).map(with_peer)
    }

    /// Waits until there is a connection.
    pub fn acceptable(&self) -> Ready<'_> {
        Ready::new(self.ear.inner(), self.look())
    }

    pub(super) fn inner(&self) -> &Inner {
        self.ear.inner()
    }

    pub(super) fn look(&self) -> Look<'_> {
        let what = Watched::Listener(self.ear.host, self.ear.address.port());
        Look { what, interest: Interest::READ, sign: &self.ear.sign }
    }

    /// As [`Self::accept`], for a future.
    ///
    /// # Errors
    /// As [`Self::accept`].
    pub async fn accept_async(&self) -> io::Result<(Stream, SocketAddr)> {
        let waiting = Waiting::new(self.ear.inner(), self.accepting(), None);
        waiting.await.map(with_peer)
    }

    /// The next connections, one after the other, for ever.
    pub fn incoming(&self) -> impl Iterator<Item = io::Result<Stream>> + '_ {
        core::iter::repeat_with(|| self.accept().map(|(stream, _)| stream))
    }
}

impl Ear {
    fn inner(&self) -> &Inner {
        &self.network.inner
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        let (host, port) = (self.host, self.address.port());
        self.network.inner.close_at_point(|state, now| {
            state.stop_listening(host, port, now);
            Ok(())
        });
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listener({})", self.ear.address)
    }
}

/// A connection, and where it comes from.
fn with_peer(stream: Stream) -> (Stream, SocketAddr) {
    let peer = stream.peer_addr();
    (stream, peer)
}

struct Accept<'a> {
    ear: &'a Ear,
}

impl Operation for Accept<'_> {
    /// Made under the lock: connectors are woken after it, whose wakers may suspend the calling code, and have it dropped.
    type Output = Stream;

    fn attempt(&mut self, state: &mut State, _: Time) -> Decided<Attempt<Stream>> {
        let (host, port) = (self.ear.host, self.ear.address.port());
        let backlog = state.hosts[host].listeners.get_mut(&port);
        let Some(connection) = backlog.and_then(|backlog| backlog.waiting.pop_front()) else {
            return Ok(Attempt::Later(None));
        };
        state.wake(Place::Backlog(host, port));
        let at = At { connection, side: 1 };
        Ok(Attempt::Done(Ok(Stream::of(&self.ear.network, at, state))))
    }

    fn place(&self) -> Place {
        Place::Accept(self.ear.host, self.ear.address.port())
    }

    fn kind(&self) -> (Kind, Option<Object>) {
        (Kind::Receive, None)
    }

    fn sign(&self) -> &Arc<Sign> {
        &self.ear.sign
    }

    fn tell(&self, _: &Stream) -> Option<String> {
        Some(format!("accepted at {}", self.ear.address))
    }

    fn late(&self) -> io::Error {
        late("accept a connection", ("anyone", self.ear.address))
    }
}
