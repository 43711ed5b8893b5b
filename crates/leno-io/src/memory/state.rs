//! What a network knows: hosts, links, connections, and who waits where.
//!
//! All of it is behind one lock, as the state of a wait queue (`lines.rs`), held for as long as an operation looks and
//! acts ([`Inner::with`](super::network::Inner::with)), never while anyone waits. An operation notes which lines go on;
//! those who wait there are woken when the lock is released. A policy is not asked under the lock: an operation that finds
//! no answer of it changes nothing, and is tried again with the answer; see `choices.rs`.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use leno_kernel::layer::Sign;
use leno_kernel::{Object, Time, Waiter};

use super::choices::Choices;
use super::connection::Connection;
use super::lines::{Line, Lines};
use super::link::{Link, Route};
use super::listener::Backlog;
use super::mail::Mail;

/// Where someone waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// For bytes of this pipe of a connection.
    Bytes(u64, usize),
    /// For room in it.
    Room(u64, usize),
    /// For one or the other, at this side of a connection.
    Either(u64, usize),
    /// For a connection to accept at this port of a host.
    Accept(usize, u16),
    /// For room among those that are not accepted yet.
    Backlog(usize, u16),
    /// For datagrams at this port of a host.
    Mail(usize, u16),
    /// For hosts that are parted to be so no more.
    Healing,
}

/// How to wake one that waits: a waiter for each of the two lines that a place may have.
pub(super) type Waiters = [Option<Waiter>; 2];

/// Made without the lock: to clone a waker is code of others.
pub(super) fn waiters(place: Place, waiter: Waiter) -> Waiters {
    let second = matches!(place, Place::Either(..)).then(|| waiter.clone());
    [Some(waiter), second]
}

/// A host, as the network knows it.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) name: String,
    pub(super) address: IpAddr,
    pub(super) listeners: BTreeMap<u16, Backlog>,
    pub(super) sockets: BTreeMap<u16, Mail>,
    /// The number that its coroutines inherit, once it was entered.
    pub(super) heritage: Option<u32>,
    next_port: u16,
}

/// See the module.
#[derive(Debug)]
pub(super) struct State {
    pub(super) hosts: Vec<Machine>,
    pub(super) routes: Routes,
    pub(super) connections: BTreeMap<u64, Connection>,
    pub(super) lines: Lines,
    pub(super) healing: Line,
    /// What the operation that holds the lock was answered by its policy; empty if none holds it.
    pub(super) choices: Choices,
    /// When someone has tried something last.
    pub(super) latest: Time,
    is_local: bool,
    next: u64,
}

/// The ways between hosts, both directions in one.
#[derive(Debug)]
pub(super) struct Routes {
    pub(super) usual: Link,
    pub(super) all: BTreeMap<(usize, usize), Route>,
    is_local: bool,
}

impl Routes {
    /// What the way between two hosts is like.
    pub(super) fn look(&self, one: usize, other: usize) -> &Link {
        let pair = (one.min(other), one.max(other));
        self.all.get(&pair).map_or(&self.usual, |route| &route.link)
    }

    pub(super) fn between(&mut self, one: usize, other: usize) -> &mut Route {
        let pair = (one.min(other), one.max(other));
        let (usual, is_local) = (&self.usual, self.is_local);
        self.all.entry(pair).or_insert_with(|| Route::new(usual.clone(), object(is_local)))
    }
}

fn object(is_local: bool) -> Object {
    if is_local { Object::local() } else { Object::shared() }
}

/// The first of the ports that are given to whoever asks for none.
const FIRST_PORT: u16 = 49_152;

impl State {
    pub(super) fn new(is_local: bool) -> State {
        let mut lines = Lines::default();
        let healing = lines.open();
        State {
            hosts: Vec::new(),
            routes: Routes { usual: Link::new(), all: BTreeMap::new(), is_local },
            connections: BTreeMap::new(),
            lines,
            healing,
            choices: Choices::default(),
            latest: Time::START,
            is_local,
            next: 0,
        }
    }

    /// Someone tries something at this time.
    pub(super) fn at(&mut self, now: Time) -> &mut State {
        self.latest = self.latest.max(now);
        self
    }

    pub(super) fn sign(&self, name: String) -> Arc<Sign> {
        let sign = Sign::new(object(self.is_local));
        sign.set_name(name);
        sign.set_ends(1, 1);
        Arc::new(sign)
    }

    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The host of this name, which is made if there is none.
    pub(super) fn host(&mut self, name: &str) -> usize {
        if let Some(host) = self.hosts.iter().position(|host| host.name == name) {
            return host;
        }
        let number = self.hosts.len();
        // 10.0.0.1, 10.0.0.2, ..
        let address = Ipv4Addr::from_bits(0x0a00_0001 + number as u32);
        self.hosts.push(Machine {
            name: name.to_owned(),
            address: address.into(),
            listeners: BTreeMap::new(),
            sockets: BTreeMap::new(),
            heritage: None,
            next_port: FIRST_PORT,
        });
        number
    }

    /// The host that is meant by an address on host `from`.
    pub(super) fn host_at(&self, from: usize, address: IpAddr) -> Option<usize> {
        if address.is_loopback() || address.is_unspecified() {
            return Some(from);
        }
        self.hosts.iter().position(|host| host.address == address)
    }

    /// `'name' address`, for messages.
    pub(super) fn label(&self, host: usize) -> String {
        let host = &self.hosts[host];
        format!("'{}' {}", host.name, host.address)
    }

    /// The lines of a place, if there is such a place.
    pub(super) fn lines_at(&self, place: Place) -> [Option<Line>; 2] {
        let pipe = |number, pipe: usize| Some(&self.connections.get(&number)?.pipes[pipe]);
        let listener = |host: usize, port| self.hosts[host].listeners.get(&port);
        let line = match place {
            Place::Either(number, side) => {
                let reads = pipe(number, 1 - side).map(|pipe| pipe.readers);
                return [reads, pipe(number, side).map(|pipe| pipe.writers)];
            }
            Place::Bytes(number, n) => pipe(number, n).map(|pipe| pipe.readers),
            Place::Room(number, n) => pipe(number, n).map(|pipe| pipe.writers),
            Place::Accept(host, port) => listener(host, port).map(|backlog| backlog.acceptors),
            Place::Backlog(host, port) => listener(host, port).map(|backlog| backlog.connectors),
            Place::Mail(host, port) => self.hosts[host].sockets.get(&port).map(|mail| mail.line),
            Place::Healing => Some(self.healing),
        };
        [line, None]
    }

    /// Has one that remembers no place woken, once. Takes the waiters that are needed; the others are to be dropped
    /// without the lock.
    pub(super) fn poll(&mut self, place: Place, waiters: &mut Waiters) {
        for (line, waiter) in self.lines_at(place).into_iter().zip(waiters) {
            if let Some(line) = line {
                *waiter = waiter.take().and_then(|waiter| self.lines.poll(line, waiter));
            }
        }
    }

    /// All who wait there go on.
    pub(super) fn wake(&mut self, place: Place) {
        let lines = self.lines_at(place);
        lines.into_iter().flatten().for_each(|line| self.lines.wake(line));
    }
}

impl Machine {
    /// The address that `local` is on this machine, if it is one of its own.
    pub(super) fn own(&self, address: IpAddr) -> bool {
        address.is_unspecified() || address.is_loopback() || address == self.address
    }

    /// A port that `is_free`, each after the one before.
    pub(super) fn free_port(&mut self, is_free: impl Fn(&Machine, u16) -> bool) -> Option<u16> {
        for _ in FIRST_PORT..=u16::MAX {
            let port = self.next_port;
            self.next_port = port.checked_add(1).unwrap_or(FIRST_PORT);
            if is_free(self, port) {
                return Some(port);
            }
        }
        None
    }
}

/// Whether something that was bound to `own` hears what is sent to `to`.
pub(super) fn hears(own: SocketAddr, to: SocketAddr) -> bool {
    own.port() == to.port()
        && (own.ip() == to.ip() || own.ip().is_unspecified() || to.ip().is_unspecified())
}
