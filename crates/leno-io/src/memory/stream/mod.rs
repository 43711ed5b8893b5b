//! One side of a connection, as its user has it.

mod operation;

use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;

use leno_kernel::io::Interest;
use leno_kernel::layer::{Sign, common_now};
use leno_kernel::log::Operation as Kind;
use leno_kernel::{Object, Time};

use crate::memory::connection::At;
use crate::memory::error::error;
use crate::memory::network::{Inner, Network};
use crate::memory::ready::{Look, Ready, Watched};
use crate::memory::state::State;
use crate::memory::wait::Waiting;
use operation::{Reading, Writing};

/// One side of a connection; of [`Host::connect`](super::Host::connect) and
/// [`Listener::accept`](super::Listener::accept). Clones are the same side; it closes when the last is
/// dropped.
///
/// # Blocking
/// Reading waits until something has arrived, writing until there is room: a coroutine parks, a thread
/// blocks; a future uses the `_async` twins.
///
/// # Cancellation
/// When the calling coroutine is to exit while it waits, nothing has been read or written, and its stack
/// unwinds.
///
/// # Errors
/// [`ConnectionReset`](ErrorKind::ConnectionReset), [`BrokenPipe`](ErrorKind::BrokenPipe), and
/// [`TimedOut`](ErrorKind::TimedOut) with a [limit](Self::set_read_timeout); see [`Network`]. A peer that
/// has written everything gives 0 bytes, which `read_exact` turns into
/// [`UnexpectedEof`](ErrorKind::UnexpectedEof).
///
/// # Panics
/// Inside a future that a core polls, if it has to wait.
#[derive(Clone)]
pub struct Stream {
    end: Arc<Socket>,
}

struct Socket {
    network: Network,
    at: At,
    local: SocketAddr,
    peer: SocketAddr,
    /// Of the pipe it reads, and of the one it writes.
    signs: [Arc<Sign>; 2],
    /// What its operations touch.
    route: Object,
    /// In nanoseconds.
    read_limit: AtomicU64,
    write_limit: AtomicU64,
    /// Whether closing it is a reset.
    is_abrupt: AtomicBool,
}

/// There is no limit.
const NONE: u64 = u64::MAX;

impl Stream {
    /// A side of a connection; made under the lock, so that it is never open without a handle that closes it.
    pub(in crate::memory) fn of(network: &Network, at: At, state: &mut State) -> Stream {
        let connection = &state.connections[&at.connection];
        let [local, peer] = [at.side, 1 - at.side].map(|side| connection.sides[side].address);
        let signs = [1 - at.side, at.side].map(|pipe| connection.signs[pipe].clone());
        let (one, other) = connection.hosts();
        let route = state.routes.between(one, other).object;
        let network = network.clone();
        let (read_limit, write_limit) = (AtomicU64::new(NONE), AtomicU64::new(NONE));
        let is_abrupt = AtomicBool::new(false);
        let end =
            Socket { network, at, local, peer, signs, route, read_limit, write_limit, is_abrupt };
        Stream { end: Arc::new(end) }
    }

    /// Its own address.
    pub fn local_addr(&self) -> SocketAddr {
        self.end.local
    }

    /// The other side's address.
    pub fn peer_addr(&self) -> SocketAddr {
        self.end.peer
    }

    /// For how long reading waits at most; `None` for as long as it takes.
    ///
    /// # Errors
    /// [`InvalidInput`](ErrorKind::InvalidInput) if it is nothing.
    pub fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        set(&self.end.read_limit, limit)
    }

    /// For how long writing waits at most; `None` for as long as it takes.
    ///
    /// # Errors
    /// As [`Self::set_read_timeout`].
    pub fn set_write_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        set(&self.end.write_limit, limit)
    }

    /// What was set.
    pub fn read_timeout(&self) -> Option<Duration> {
        get(&self.end.read_limit)
    }

    /// What was set.
    pub fn write_timeout(&self) -> Option<Duration> {
        get(&self.end.write_limit)
    }

    /// Shuts one direction or both. What was written arrives; the other side then reads 0 bytes.
    pub fn shutdown(&self, how: Shutdown) {
        self.end.inner().point(Kind::Close);
        let now = common_now();
        self.end.inner().decide(|state| state.shut(self.end.at, how, now));
    }

    /// Loses the connection, as if a cable were pulled and both sides had noticed: what is on its way is
    /// gone, and every operation from now on fails with
    /// [`ConnectionReset`](ErrorKind::ConnectionReset), on both sides, once what has arrived is read.
    pub fn sever(&self) {
        self.end.inner().point(Kind::Close);
        let now = common_now();
        self.end.inner().with(|state| state.sever(self.end.at.connection, now));
    }

    /// Whether closing this side resets the connection: the other side reads what has arrived by then,
    /// and then fails with [`ConnectionReset`](ErrorKind::ConnectionReset).
    pub fn set_abrupt(&self, is_abrupt: bool) {
        self.end.is_abrupt.store(is_abrupt, Relaxed);
    }

    /// What was set.
    pub fn is_abrupt(&self) -> bool {
        self.end.is_abrupt.load(Relaxed)
    }

    /// As `read`, but it never waits.
    ///
    /// # Errors
    /// [`WouldBlock`](ErrorKind::WouldBlock) if it would have to; else as `read`.
    pub fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        self.end.inner().try_now(self.reading(into, false))
    }

    /// As [`Self::peek`], but it never waits.
    ///
    /// # Errors
    /// As [`Self::try_read`].
    pub fn try_peek(&self, into: &mut [u8]) -> io::Result<usize> {
        self.end.inner().try_now(self.reading(into, true))
    }

    /// As `write`, but it never waits.
    ///
    /// # Errors
    /// [`WouldBlock`](ErrorKind::WouldBlock) if it would have to; else as `write`.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.end.inner().try_now(self.writing(bytes))
    }

    /// The same, into several buffers.
    pub(crate) fn try_read_vectored(&self, into: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let mut bytes = vec![0; into.iter().map(|part| part.len()).sum()];
        let count = self.try_read(&mut bytes)?;
        let mut rest = &bytes[..count];
        for part in into {
            let (own, others) = rest.split_at(rest.len().min(part.len()));
            part[..own.len()].copy_from_slice(own);
            rest = others;
        }
        Ok(count)
    }

    /// The same, of several parts.
    pub(crate) fn try_write_vectored(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        self.try_write(&bytes)
    }

    /// Waits until reading is worth trying.
    pub fn readable(&self) -> Ready<'_> {
        self.ready(Interest::READ)
    }

    /// Waits until writing is worth trying.
    pub fn writable(&self) -> Ready<'_> {
        self.ready(Interest::WRITE)
    }

    pub(crate) fn ready(&self, interest: Interest) -> Ready<'_> {
        Ready::new(self.end.inner(), self.look(interest))
    }

    pub(in crate::memory) fn inner(&self) -> &Inner {
        self.end.inner()
    }

    pub(in crate::memory) fn look(&self, interest: Interest) -> Look<'_> {
        let sign = &self.end.signs[usize::from(interest == Interest::WRITE)];
        Look { what: Watched::Stream(self.end.at), interest, sign }
    }

    /// As `read`, but what is read stays where it is.
    ///
    /// # Errors
    /// As `read`.
    #[track_caller]
    pub fn peek(&self, into: &mut [u8]) -> io::Result<usize> {
        self.end.inner().wait(self.reading(into, true), deadline(&self.end.read_limit))
    }

    /// As `read`, for a future.
    ///
    /// # Errors
    /// As `read`.
    ///
    /// # Examples
    /// ```
    /// use leno_io::memory::Network;
    /// use leno_kernel::LocalSystem;
    ///
    /// let (system, network) = (LocalSystem::new(), Network::local());
    /// let listener = network.host("server").listen(80)?;
    /// drop(system.spawn_future(async move {
    ///     let client = network.host("client");
    ///     client.connect_async("server:80").await?.write_async(b"hello").await
    /// }));
    /// let heard = system.spawn_future(async move {
    ///     let mut buffer = [0; 16];
    ///     let (stream, _) = listener.accept_async().await?;
    ///     let count = stream.read_async(&mut buffer).await?;
    ///     std::io::Result::Ok(buffer[..count].to_vec())
    /// });
    /// system.run()?;
    /// assert_eq!(heard.join()??, b"hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn read_async(&self, into: &mut [u8]) -> io::Result<usize> {
        let deadline = deadline(&self.end.read_limit);
        Waiting::new(self.end.inner(), self.reading(into, false), deadline).await
    }

    /// As `read_exact`, for a future.
    ///
    /// # Errors
    /// [`UnexpectedEof`](ErrorKind::UnexpectedEof) if the stream ends before; else as `read`.
    pub async fn read_exact_async(&self, mut into: &mut [u8]) -> io::Result<()> {
        while !into.is_empty() {
            match self.read_async(into).await? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                count => into = &mut into[count..],
            }
        }
        Ok(())
    }

    /// As `read_to_end`, for a future.
    ///
    /// # Errors
    /// As `read`; what was read before is in `all`.
    pub async fn read_to_end_async(&self, all: &mut Vec<u8>) -> io::Result<usize> {
        let before = all.len();
        let mut piece = vec![0; 1 << 12];
        loop {
            match self.read_async(&mut piece).await? {
                0 => return Ok(all.len() - before),
                count => all.extend_from_slice(&piece[..count]),
            }
        }
    }

    /// As [`Self::peek`], for a future.
    ///
    /// # Errors
    /// As `read`.
    pub async fn peek_async(&self, into: &mut [u8]) -> io::Result<usize> {
        let deadline = deadline(&self.end.read_limit);
        Waiting::new(self.end.inner(), self.reading(into, true), deadline).await
    }

    /// As `write`, for a future.
    ///
    /// # Errors
    /// As `write`.
    pub async fn write_async(&self, bytes: &[u8]) -> io::Result<usize> {
        let deadline = deadline(&self.end.write_limit);
        Waiting::new(self.end.inner(), self.writing(bytes), deadline).await
    }

    /// As `write_all`, for a future.
    ///
    /// # Errors
    /// As `write`.
    pub async fn write_all_async(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let count = self.write_async(bytes).await?;
            bytes = &bytes[count..];
        }
        Ok(())
    }

    fn reading<'a>(&'a self, into: &'a mut [u8], keeps: bool) -> Reading<'a> {
        Reading { end: &self.end, into, keeps }
    }

    fn writing<'a>(&'a self, bytes: &'a [u8]) -> Writing<'a> {
        Writing { end: &self.end, bytes }
    }
}

fn set(limit: &AtomicU64, to: Option<Duration>) -> io::Result<()> {
    if to.is_some_and(|to| to.is_zero()) {
        return Err(error(ErrorKind::InvalidInput, "a limit of no time at all"));
    }
    let nanos = |to: Duration| u64::try_from(to.as_nanos()).unwrap_or(NONE);
    limit.store(to.map_or(NONE, nanos), Relaxed);
    Ok(())
}

fn get(limit: &AtomicU64) -> Option<Duration> {
    let nanos = limit.load(Relaxed);
    (nanos != NONE).then(|| Duration::from_nanos(nanos))
}

fn deadline(limit: &AtomicU64) -> Option<Time> {
    get(limit).map(|limit| common_now() + limit)
}

impl Socket {
    fn inner(&self) -> &Inner {
        &self.network.inner
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let is_abrupt = self.is_abrupt.load(Relaxed);
        self.inner().close_at_point(|state, now| state.close(self.at, is_abrupt, now));
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({} -> {})", self.end.local, self.end.peer)
    }
}
