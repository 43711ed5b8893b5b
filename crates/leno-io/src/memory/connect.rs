//! Connecting: there and back.
//!
//! ```text
//!   stage       it waits for                             then
//!   Unsent      nothing                                  Going, with a latency
//!   Going       its arrival; healing, if hosts are parted   Returning, with a connection or a refusal;
//!                                                        or it waits for room in the backlog
//!   Returning   the answer's arrival                     done
//! ```
//! Whoever connects does the network's part of it, too: at the time of arrival it looks for the
//! listener. If it gives up after the connection was made, that is reset.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use leno_kernel::layer::{Sign, common_now};
use leno_kernel::log::Operation as Kind;
use leno_kernel::{Object, Time};

use super::choices::Decided;
use super::connection::{At, Connection, Side};
use super::error::{error, late};
use super::listener::Backlog;
use super::network::Network;
use super::pipe::{Due, Pipe};
use super::state::{Place, State, hears};
use super::stream::Stream;
use super::wait::{Attempt, Operation};

#[derive(Clone, Copy, Debug)]
enum Stage {
    Unsent,
    Going(Due),
    Returning(Due, Result<At, Refusal>),
    Over,
}

/// Why nothing came of it.
#[derive(Clone, Copy, Debug)]
enum Refusal {
    NobodyListens,
    BacklogFull,
    NoPort,
}

/// See the module.
pub(super) struct Connect {
    network: Network,
    from: usize,
    to: SocketAddr,
    stage: Stage,
    /// Whether it has found the hosts parted.
    was_parted: bool,
    place: Place,
    sign: Arc<Sign>,
    label: String,
}

impl Connect {
    pub(super) fn new(network: &Network, from: usize, to: SocketAddr) -> Connect {
        let (sign, label) = network.inner.with(|state| {
            let label = state.label(from);
            (state.sign(format!("connection from {label} to {to}")), label)
        });
        Connect {
            network: network.clone(),
            from,
            to,
            stage: Stage::Unsent,
            was_parted: false,
            place: Place::Healing,
            sign,
            label,
        }
    }

    /// When it is given up, unless a shorter time is said.
    pub(super) fn deadline(&self) -> Time {
        let limit = self.network.inner.with(|state| {
            let to = state.host_at(self.from, self.to.ip()).unwrap_or(self.from);
            state.routes.between(self.from, to).link.connect_timeout
        });
        common_now() + limit
    }

    /// Whether what was sent off has arrived; when to look again.
    fn has_arrived(
        &mut self,
        due: &mut Due,
        is_parted: bool,
        now: Time,
    ) -> Result<(), Option<Time>> {
        if is_parted {
            self.was_parted = true;
            due.part(now);
            if due.has_come(now) {
                return Ok(());
            }
            self.place = Place::Healing;
            return Err(None);
        }
        if core::mem::take(&mut self.was_parted) {
            due.heal(now, Time::START);
        }
        if due.has_come(now) { Ok(()) } else { Err(due.later()) }
    }

    fn error(&self, refusal: Refusal) -> io::Error {
        let way = format!("from host {} to {}", self.label, self.to);
        match refusal {
            Refusal::NobodyListens => {
                error(ErrorKind::ConnectionRefused, format!("nobody listens: {way}"))
            }
            Refusal::BacklogFull => {
                let text = format!("the listener's backlog is full: {way}");
                error(ErrorKind::ConnectionRefused, text)
            }
            Refusal::NoPort => {
                error(ErrorKind::AddrNotAvailable, format!("the host has no port left: {way}"))
            }
        }
    }

    /// It has arrived: whether there is an answer now. Else it waits for room in the backlog.
    fn is_answered(&mut self, state: &mut State, to: usize) -> bool {
        let port = reached(self.to).port();
        let is_full = self.backlog(state, to).is_some_and(Backlog::is_full);
        if !is_full || state.routes.between(self.from, to).link.refuses_when_full {
            return true;
        }
        self.place = Place::Backlog(to, port);
        false
    }

    /// The listener that hears it, if there is one.
    fn backlog<'a>(&self, state: &'a State, to: usize) -> Option<&'a Backlog> {
        let address = reached(self.to);
        let backlog = state.hosts[to].listeners.get(&address.port());
        backlog.filter(|backlog| hears(backlog.address, address))
    }

    /// It has arrived, and is answered now: what the answer is.
    fn arrive(&self, state: &mut State, to: usize) -> Result<At, Refusal> {
        let address = reached(self.to);
        let backlog = self.backlog(state, to).ok_or(Refusal::NobodyListens)?;
        if backlog.is_full() {
            return Err(Refusal::BacklogFull);
        }
        let connection = connect(state, self.from, to, address).ok_or(Refusal::NoPort)?;
        let backlog = state.hosts[to].listeners.get_mut(&address.port());
        backlog.expect("it was just there").waiting.push_back(connection);
        state.wake(Place::Accept(to, address.port()));
        Ok(At { connection, side: 0 })
    }
}

/// What an address means where it is used: nothing in particular is the host itself.
fn reached(mut to: SocketAddr) -> SocketAddr {
    match to.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => to.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => to.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    to
}

/// Makes a connection, by number; `None` if the host has no port left.
fn connect(state: &mut State, from: usize, to: usize, address: SocketAddr) -> Option<u64> {
    let used = |state: &State, port: u16| {
        let sides = state.connections.values().flat_map(|connection| connection.sides);
        sides.filter(|side| side.host == from).any(|side| side.address.port() == port)
    };
    let mut port = None;
    for _ in 0..=u16::MAX {
        let is_free =
            |machine: &super::state::Machine, port| !machine.listeners.contains_key(&port);
        let next = state.hosts[from].free_port(is_free)?;
        if !used(state, next) {
            port = Some(next);
            break;
        }
    }
    let ip = if address.ip().is_loopback() { address.ip() } else { state.hosts[from].address };
    let local = SocketAddr::new(ip, port?);
    let side = |host, address| Side { host, address, is_open: true };
    let names = [format!("{local} -> {address}"), format!("{address} -> {local}")];
    let signs = names.map(|name| state.sign(name));
    let sides = [side(from, local), side(to, address)];
    let number = state.number();
    let pipes = [(); 2].map(|()| Pipe::new(&mut state.lines));
    state.connections.insert(number, Connection { sides, pipes, signs });
    Some(number)
}

impl Operation for Connect {
    type Output = Stream;

    fn attempt(&mut self, state: &mut State, now: Time) -> Decided<Attempt<Stream>> {
        let Some(to) = state.host_at(self.from, self.to.ip()) else {
            let text = format!("no host has this address: from host {} to {}", self.label, self.to);
            return Ok(Attempt::Done(Err(error(ErrorKind::HostUnreachable, text))));
        };
        let object = self.sign.object();
        loop {
            let route = state.routes.between(self.from, to);
            let is_parted = route.is_parted;
            match self.stage {
                Stage::Unsent => {
                    let latency = route.latency(&mut state.choices, object)?;
                    // It is sent off once.
                    state.choices.settle();
                    self.was_parted = is_parted;
                    self.stage = Stage::Going(Due::new(now, latency, is_parted, Time::START));
                }
                Stage::Going(mut due) => {
                    let arrived = self.has_arrived(&mut due, is_parted, now);
                    self.stage = Stage::Going(due);
                    if let Err(at) = arrived {
                        return Ok(Attempt::Later(at));
                    }
                    if !self.is_answered(state, to) {
                        return Ok(Attempt::Later(None));
                    }
                    // Before the connection is made.
                    let route = state.routes.between(self.from, to);
                    let latency = route.latency(&mut state.choices, object)?;
                    let back = Due::new(now, latency, false, Time::START);
                    self.stage = Stage::Returning(back, self.arrive(state, to));
                }
                Stage::Returning(mut due, answer) => {
                    let arrived = self.has_arrived(&mut due, is_parted, now);
                    self.stage = Stage::Returning(due, answer);
                    if let Err(at) = arrived {
                        return Ok(Attempt::Later(at));
                    }
                    self.stage = Stage::Over;
                    return Ok(Attempt::Done(match answer {
                        Ok(at) => Ok(Stream::of(&self.network, at, state)),
                        Err(refusal) => Err(self.error(refusal)),
                    }));
                }
                Stage::Over => unreachable!("it is not tried again when it is done"),
            }
        }
    }

    fn place(&self) -> Place {
        self.place
    }

    fn kind(&self) -> (Kind, Option<Object>) {
        (Kind::Receive, None)
    }

    fn sign(&self) -> &Arc<Sign> {
        &self.sign
    }

    fn tell(&self, stream: &Stream) -> Option<String> {
        Some(format!("connected, {} to {}", stream.local_addr(), stream.peer_addr()))
    }

    fn late(&self) -> io::Error {
        late("connect", (format!("host {}", self.label), self.to))
    }
}

impl Drop for Connect {
    fn drop(&mut self) {
        if let Stage::Returning(_, Ok(at)) = self.stage {
            self.network.inner.close(|state, now| state.close_lost(at, now));
        }
    }
}
