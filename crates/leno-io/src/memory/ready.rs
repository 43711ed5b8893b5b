//! Whether an operation is worth trying: for those who try without waiting, then wait, then try again,
//! and for selects.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io::{self, ErrorKind};
use std::sync::Arc;

use leno_channel::Source;
use leno_kernel::io::Interest;
use leno_kernel::layer::{Sign, common_now};
use leno_kernel::log::Operation as Kind;
use leno_kernel::{Object, Time, Waiter};

use super::choices::Decided;
use super::connection::At;
use super::network::Inner;
use super::pipe::{Due, Found};
use super::state::{Place, State};
use super::wait::{Attempt, Operation, Waiting, own_time};

/// What is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) enum Watched {
    /// A side of a connection.
    Stream(At),
    /// A port of a host that listens.
    Listener(usize, u16),
    /// A port of a host with a socket for datagrams.
    Socket(usize, u16),
}

fn reads(interest: Interest) -> bool {
    interest | Interest::READ == interest
}

pub(super) fn writes(interest: Interest) -> bool {
    interest | Interest::WRITE == interest
}

impl State {
    /// Whether an operation would not wait; else when it is worth looking again.
    pub(super) fn is_ready(
        &self,
        what: Watched,
        interest: Interest,
        now: Time,
    ) -> Result<(), Option<Time>> {
        match what {
            Watched::Stream(at) => {
                let Some(connection) = self.connections.get(&at.connection) else { return Ok(()) };
                let incoming = &connection.pipes[1 - at.side];
                let mut later = None;
                if reads(interest) {
                    match incoming.look(now) {
                        Found::Nothing(at) if !incoming.is_shut => later = at,
                        _ => return Ok(()),
                    }
                }
                if writes(interest) {
                    let (one, other) = connection.hosts();
                    let pipe = &connection.pipes[at.side];
                    let lost = incoming.lost_at();
                    let is_full = pipe.held >= self.routes.look(one, other).capacity;
                    let is_over = pipe.is_deaf || pipe.end().is_some();
                    if !is_full || is_over || lost.is_some_and(|due| due.has_come(now)) {
                        return Ok(());
                    }
                    later = later.or(lost.and_then(Due::later));
                }
                Err(later)
            }
            Watched::Listener(host, port) => {
                let backlog = self.hosts[host].listeners.get(&port);
                let waits = backlog.is_some_and(|backlog| !backlog.waiting.is_empty());
                if waits { Ok(()) } else { Err(None) }
            }
            Watched::Socket(..) if writes(interest) => Ok(()),
            Watched::Socket(host, port) => match self.hosts[host].sockets.get(&port) {
                Some(mail) => match mail.first() {
                    Some(at) if at <= now => Ok(()),
                    later => Err(later),
                },
                None => Ok(()),
            },
        }
    }
}

/// Looks whether an operation is worth trying.
pub(super) struct Look<'a> {
    pub(super) what: Watched,
    pub(super) interest: Interest,
    pub(super) sign: &'a Arc<Sign>,
}

impl Operation for Look<'_> {
    type Output = ();

    fn attempt(&mut self, state: &mut State, now: Time) -> Decided<Attempt<()>> {
        Ok(match state.is_ready(self.what, self.interest, now) {
            Ok(()) => Attempt::Done(Ok(())),
            Err(later) => Attempt::Later(later),
        })
    }

    fn place(&self) -> Place {
        match self.what {
            Watched::Stream(At { connection, side }) => {
                match (reads(self.interest), writes(self.interest)) {
                    (true, true) => Place::Either(connection, side),
                    (_, false) => Place::Bytes(connection, 1 - side),
                    (false, true) => Place::Room(connection, side),
                }
            }
            Watched::Listener(host, port) => Place::Accept(host, port),
            Watched::Socket(host, port) => Place::Mail(host, port),
        }
    }

    fn kind(&self) -> (Kind, Option<Object>) {
        let kind = if reads(self.interest) { Kind::Receive } else { Kind::Send };
        (kind, None)
    }

    fn sign(&self) -> &Arc<Sign> {
        self.sign
    }

    fn is_quiet(&self) -> bool {
        true
    }

    fn tell(&self, (): &()) -> Option<String> {
        None
    }

    fn late(&self) -> io::Error {
        let name = self.sign.name();
        let name = name.as_ref().and_then(|name| name.as_str()).unwrap_or("?");
        let text = format!("the time is over in which to {}: {name}", self.interest);
        io::Error::new(ErrorKind::TimedOut, text)
    }
}

/// Waits until an operation is worth trying; of a stream's `readable` and `writable`, and a listener's
/// `acceptable`. It is a future, and an alternative of a select. When it is dropped, it waits no more.
///
/// # Examples
/// ```
/// use leno_channel::{Select, shared};
/// use leno_io::memory::Network;
///
/// let network = Network::new();
/// let listener = network.host("server").listen(80)?;
/// let _client = network.host("client").connect("server:80")?;
/// let (_stop, stopped) = shared::channel::<()>();
/// let accepted = Select::new()
///     .recv(&stopped, |_| None)
///     .source(listener.acceptable(), |ready| ready.and_then(|()| listener.try_accept()).ok())
///     .wait()?;
/// assert!(accepted.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a future does nothing unless it is awaited"]
pub struct Ready<'a> {
    waiting: Waiting<'a, Look<'a>>,
    /// When it is worth looking again, by the clock of whoever waits.
    later: Option<Time>,
}

impl<'a> Ready<'a> {
    pub(super) fn new(network: &'a Inner, look: Look<'a>) -> Ready<'a> {
        Ready { waiting: Waiting::new(network, look, None), later: None }
    }

    fn look(&self) -> Result<(), Option<Time>> {
        let (network, Look { what, interest, .. }) = self.waiting.parts();
        let common = common_now();
        let looked = network.with(|state| state.is_ready(*what, *interest, common));
        looked.map_err(|later| later.map(|at| own_time(at, common)))
    }
}

impl Source for Ready<'_> {
    type Item = io::Result<()>;

    fn take(&mut self) -> Option<io::Result<()>> {
        match self.waiting.parts().0.check_caller() {
            Ok(()) => self.look().ok().map(Ok),
            Err(error) => Some(Err(error)),
        }
    }

    fn wait(&mut self, waiter: &Waiter) {
        self.waiting.enlist(waiter.clone());
        self.later = self.look().err().flatten();
    }

    fn leave(&mut self, _: &Waiter) {
        self.waiting.leave();
    }

    fn is_ready(&self) -> bool {
        self.look().is_ok()
    }

    fn deadline(&self) -> Option<Time> {
        self.later
    }

    fn is_shared(&self) -> bool {
        !self.waiting.parts().0.is_local()
    }
}

impl Future for Ready<'_> {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.waiting).poll(context)
    }
}

impl fmt::Debug for Ready<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ready({})", self.waiting.parts().1.interest)
    }
}
