//! Datagrams: each by itself, and perhaps lost, doubled, or out of order.
//!
//! A datagram is lost, besides by choice: across a partition, if nobody has its port, and if too much
//! waits there already. Nobody is told.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;

use leno_kernel::io::Interest;
use leno_kernel::layer::{Sign, common_now};
use leno_kernel::log::Operation as Kind;
use leno_kernel::{Object, Time};

use super::choices::Decided;
use super::error::{error, late};
use super::mail::LONGEST;
use super::network::{Inner, Network};
use super::ready::{Look, Ready, Watched};
use super::state::{Place, State};
use super::wait::{Attempt, Operation, Waiting};
use crate::user::lock;

/// Sends and receives datagrams at a port of a host; of [`Host::socket`](super::Host::socket). Clones are
/// the same socket.
///
/// # Examples
/// ```
/// use leno_io::memory::Network;
///
/// let network = Network::new();
/// let server = network.host("server").socket(53)?;
/// let client = network.host("client").socket(0)?;
/// client.send_to(b"who?", "server:53")?;
/// let mut buffer = [0; 16];
/// let (count, from) = server.recv_from(&mut buffer)?;
/// assert_eq!((&buffer[..count], from.port()), (&b"who?"[..], client.local_addr().port()));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Socket {
    slot: Arc<Slot>,
}

struct Slot {
    network: Network,
    host: usize,
    address: SocketAddr,
    sign: Arc<Sign>,
    peer: Mutex<Option<SocketAddr>>,
    /// In nanoseconds.
    limit: AtomicU64,
}

impl Socket {
    pub(super) fn new(network: &Network, host: usize, address: SocketAddr) -> io::Result<Socket> {
        let (address, sign) = network.inner.with(|state| state.open(host, address))?;
        let (network, peer, limit) = (network.clone(), Mutex::new(None), AtomicU64::new(u64::MAX));
        Ok(Socket { slot: Arc::new(Slot { network, host, address, sign, peer, limit }) })
    }

    /// Where it is.
    pub fn local_addr(&self) -> SocketAddr {
        self.slot.address
    }

    /// With whom alone it speaks, if [`Self::connect`] has said so.
    pub fn peer_addr(&self) -> Option<SocketAddr> {
        *lock(&self.slot.peer)
    }

    /// From now on it speaks with this peer alone.
    ///
    /// # Errors
    /// When the name is not known.
    pub fn connect(&self, peer: impl super::Address) -> io::Result<()> {
        let peer = peer.resolve(&self.slot.network)?;
        *lock(&self.slot.peer) = Some(peer);
        Ok(())
    }

    /// For how long receiving waits at most; `None` for as long as it takes.
    ///
    /// # Errors
    /// [`InvalidInput`](ErrorKind::InvalidInput) if it is nothing.
    pub fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        if limit.is_some_and(|limit| limit.is_zero()) {
            return Err(error(ErrorKind::InvalidInput, "a limit of no time at all"));
        }
        let nanos = |limit: Duration| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        self.slot.limit.store(limit.map_or(u64::MAX, nanos), Relaxed);
        Ok(())
    }

    /// What was set.
    pub fn read_timeout(&self) -> Option<Duration> {
        let nanos = self.slot.limit.load(Relaxed);
        (nanos != u64::MAX).then(|| Duration::from_nanos(nanos))
    }

    /// Sends a datagram. It never waits.
    ///
    /// # Errors
    /// When the name is not known, or it is too long. That it did not arrive is no error.
    pub fn send_to(&self, bytes: &[u8], to: impl super::Address) -> io::Result<usize> {
        let to = to.resolve(&self.slot.network)?;
        let (network, slot) = (&self.slot.network.inner, &self.slot);
        network.check_caller()?;
        if bytes.len() > LONGEST {
            let text =
                format!("a datagram of {} bytes, from {} to {to}", bytes.len(), slot.address);
            return Err(error(ErrorKind::InvalidInput, text));
        }
        network.point(Kind::Send);
        let now = common_now();
        network.decide(|state| {
            let ip = match slot.address.ip() {
                ip if !ip.is_unspecified() => ip,
                _ if to.ip().is_loopback() => to.ip(),
                _ => state.hosts[slot.host].address,
            };
            state.send(slot.host, SocketAddr::new(ip, slot.address.port()), to, bytes, now)
        });
        Ok(bytes.len())
    }

    /// Sends a datagram to the peer of [`Self::connect`].
    ///
    /// # Errors
    /// [`NotConnected`](ErrorKind::NotConnected) if there is none; else as [`Self::send_to`].
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.send_to(bytes, self.need_peer()?)
    }

    pub(crate) fn need_peer(&self) -> io::Result<SocketAddr> {
        let text = || format!("socket {} has no peer", self.slot.address);
        self.peer_addr().ok_or_else(|| error(ErrorKind::NotConnected, text()))
    }

    /// The next datagram, and where it comes from. What does not fit is cut off.
    ///
    /// # Blocking
    /// Until there is one: parks the calling coroutine, or blocks the calling thread; a future uses
    /// [`Self::recv_from_async`].
    ///
    /// # Cancellation
    /// When the calling coroutine is to exit, its stack unwinds, and nothing is received.
    ///
    /// # Errors
    /// [`TimedOut`](ErrorKind::TimedOut) with a [limit](Self::set_read_timeout); else as all operations
    /// on a network.
    ///
    /// # Panics
    /// Inside a future that a core polls, if it has to wait.
    #[track_caller]
    pub fn recv_from(&self, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.slot.inner().wait(self.receiving(into, false), self.deadline())
    }

    /// As [`Self::recv_from`], but it never waits.
    ///
    /// # Errors
    /// [`WouldBlock`](ErrorKind::WouldBlock) if it would have to; else as [`Self::recv_from`].
    pub fn try_recv_from(&self, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.slot.inner().try_now(self.receiving(into, false))
    }

    /// As [`Self::peek_from`], but it never waits.
    ///
    /// # Errors
    /// As [`Self::try_recv_from`].
    pub fn try_peek_from(&self, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.slot.inner().try_now(self.receiving(into, true))
    }

    /// From the peer.
    pub(crate) fn try_recv(&self, into: &mut [u8]) -> io::Result<usize> {
        self.try_recv_from(into).map(|(count, _)| count)
    }

    /// The same, and it stays where it is.
    pub(crate) fn try_peek(&self, into: &mut [u8]) -> io::Result<usize> {
        self.try_peek_from(into).map(|(count, _)| count)
    }

    /// Waits until there is a datagram.
    pub fn readable(&self) -> Ready<'_> {
        self.ready(Interest::READ)
    }

    pub(crate) fn ready(&self, interest: Interest) -> Ready<'_> {
        Ready::new(self.slot.inner(), self.look(interest))
    }

    pub(super) fn inner(&self) -> &Inner {
        self.slot.inner()
    }

    pub(super) fn look(&self, interest: Interest) -> Look<'_> {
        let what = Watched::Socket(self.slot.host, self.slot.address.port());
        Look { what, interest, sign: &self.slot.sign }
    }

    /// As [`Self::recv_from`], but it stays where it is.
    ///
    /// # Errors
    /// As [`Self::recv_from`].
    #[track_caller]
    pub fn peek_from(&self, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.slot.inner().wait(self.receiving(into, true), self.deadline())
    }

    /// As [`Self::recv_from`], for a future.
    ///
    /// # Errors
    /// As [`Self::recv_from`].
    pub async fn recv_from_async(&self, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let deadline = self.deadline();
        Waiting::new(self.slot.inner(), self.receiving(into, false), deadline).await
    }

    /// As [`Self::peek_from`], for a future.
    ///
    /// # Errors
    /// As [`Self::recv_from`].
    pub async fn peek_from_async(&self, into: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let deadline = self.deadline();
        Waiting::new(self.slot.inner(), self.receiving(into, true), deadline).await
    }

    fn deadline(&self) -> Option<Time> {
        self.read_timeout().map(|limit| common_now() + limit)
    }

    fn receiving<'a>(&'a self, into: &'a mut [u8], keeps: bool) -> Receiving<'a> {
        Receiving { slot: &self.slot, into, keeps, peer: self.peer_addr() }
    }
}

impl Slot {
    fn inner(&self) -> &Inner {
        &self.network.inner
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let (host, port) = (self.host, self.address.port());
        self.inner().close_at_point(|state, _| {
            if let Some(mail) = state.hosts[host].sockets.remove(&port) {
                state.lines.close(mail.line);
            }
            Ok(())
        });
    }
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Socket({})", self.slot.address)
    }
}

struct Receiving<'a> {
    slot: &'a Slot,
    into: &'a mut [u8],
    keeps: bool,
    peer: Option<SocketAddr>,
}

impl Operation for Receiving<'_> {
    type Output = (usize, SocketAddr);

    fn attempt(&mut self, state: &mut State, now: Time) -> Decided<Attempt<(usize, SocketAddr)>> {
        let (host, port) = (self.slot.host, self.slot.address.port());
        state.receive(host, port, self.peer, self.into, self.keeps, now)
    }

    fn place(&self) -> Place {
        Place::Mail(self.slot.host, self.slot.address.port())
    }

    fn kind(&self) -> (Kind, Option<Object>) {
        (Kind::Receive, None)
    }

    fn sign(&self) -> &Arc<Sign> {
        &self.slot.sign
    }

    fn tell(&self, (count, from): &(usize, SocketAddr)) -> Option<String> {
        Some(format!("receives {count} bytes, {from} to {}", self.slot.address))
    }

    fn late(&self) -> io::Error {
        late(
            "receive",
            (self.peer.map_or("anyone".to_owned(), |peer| peer.to_string()), self.slot.address),
        )
    }
}
