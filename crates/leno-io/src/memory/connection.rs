//! A connection: two pipes, and who is at their ends.
//!
//! Side 0 has connected, side 1 was accepted. Pipe `n` is written by side `n` and read by the other.
//!
//! ```text
//!   what a side does               the other one reads               the other one writes
//!   shuts its writing              the rest, then 0 bytes            as before
//!   closes, has read everything    the rest, then 0 bytes            once more (it is lost), then BrokenPipe
//!   closes, has not                the rest, then ConnectionReset    ConnectionReset
//!   the connection is severed      what has arrived, then ConnectionReset; so for both
//! ```

use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;

use leno_kernel::{Sign, Time, Waiter};

use super::error::about;
use super::link::Route;
use super::pipe::{Due, End, Found, Pipe};
use super::state::State;
use super::wait::{Attempt, first};

/// One side of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    pub(super) host: usize,
    pub(super) address: SocketAddr,
    pub(super) is_open: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) sides: [Side; 2],
    pub(super) pipes: [Pipe; 2],
    pub(super) signs: [Arc<Sign>; 2],
}

impl Connection {
    /// The hosts at its ends.
    pub(super) fn hosts(&self) -> (usize, usize) {
        (self.sides[0].host, self.sides[1].host)
    }

    /// `local -> peer`, as one side sees it.
    fn way(&self, side: usize) -> (SocketAddr, SocketAddr) {
        (self.sides[side].address, self.sides[1 - side].address)
    }

    fn wake(&mut self, wakes: &mut Vec<Waiter>) {
        for pipe in &mut self.pipes {
            pipe.readers.wake(wakes);
            pipe.writers.wake(wakes);
        }
    }

    /// Whether it was severed.
    pub(super) fn is_lost(&self) -> bool {
        self.pipes.iter().all(|pipe| pipe.end() == Some(End::Reset))
    }

    fn sever(&mut self, now: Time) {
        self.pipes.iter_mut().for_each(|pipe| pipe.reset(now));
    }

    fn read(
        &mut self,
        side: usize,
        into: &mut [u8],
        keeps: bool,
        now: Time,
        route: &mut Route,
    ) -> Attempt<usize> {
        let (way, about_pipe) = (self.way(side), self.signs[1 - side].object());
        let pipe = &mut self.pipes[1 - side];
        if pipe.is_shut || into.is_empty() {
            return Attempt::Done(Ok(0));
        }
        match pipe.look(now) {
            Found::Bytes(arrived) => {
                let count = route.amount(about_pipe, arrived.min(into.len()));
                pipe.peek(&mut into[..count]);
                if !keeps {
                    pipe.take(count);
                }
                Attempt::Done(Ok(count))
            }
            Found::Ended(End::Done) => Attempt::Done(Ok(0)),
            Found::Ended(End::Reset) => Attempt::Done(Err(reset(way))),
            Found::Nothing(at) => Attempt::Later(at),
        }
    }

    fn write(&mut self, side: usize, bytes: &[u8], now: Time, route: &mut Route) -> Attempt<usize> {
        let (way, about_pipe) = (self.way(side), self.signs[side].object());
        let lost_at = self.pipes[1 - side].lost_at();
        let pipe = &mut self.pipes[side];
        match pipe.end() {
            Some(End::Reset) => return Attempt::Done(Err(reset(way))),
            Some(End::Done) => {
                let what = "this side has shut its writing";
                return Attempt::Done(Err(about(ErrorKind::BrokenPipe, what, way)));
            }
            None if lost_at.is_some_and(|due| due.has_come(now)) => {
                return Attempt::Done(Err(reset(way)));
            }
            None => {}
        }
        if bytes.is_empty() {
            return Attempt::Done(Ok(0));
        }
        if pipe.is_deaf && pipe.told.is_some_and(|told| told.has_come(now)) {
            let what = "the other side is closed";
            return Attempt::Done(Err(about(ErrorKind::BrokenPipe, what, way)));
        }
        let room = route.link.capacity.saturating_sub(pipe.held);
        if room == 0 {
            let told = pipe.told.and_then(Due::later);
            return Attempt::Later(first(told, lost_at.and_then(Due::later)));
        }
        if pipe.is_deaf {
            // They are lost; whoever has written them is told later.
            let count = room.min(bytes.len());
            pipe.held += count;
            let (latency, is_parted) = (*route.link.latency.start(), route.is_parted);
            pipe.told.get_or_insert(Due::new(now, latency, is_parted, Time::START));
            return Attempt::Done(Ok(count));
        }
        let count = route.amount(about_pipe, room.min(bytes.len()));
        if route.goes_wrong(about_pipe, |left| &mut left.broken) {
            self.sever(now);
        } else {
            let latency = route.latency(about_pipe);
            self.pipes[side].put(&bytes[..count], now, latency, route.is_parted);
        }
        Attempt::Done(Ok(count))
    }
}

fn reset(way: (SocketAddr, SocketAddr)) -> io::Error {
    about(ErrorKind::ConnectionReset, "the connection is lost", way)
}

/// One side of a connection, by number.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) connection: u64,
    pub(super) side: usize,
}

impl State {
    /// Reads, or with `keeps` only looks.
    pub(super) fn read(
        &mut self,
        at: At,
        into: &mut [u8],
        keeps: bool,
        now: Time,
    ) -> Attempt<usize> {
        let Some(connection) = self.connections.get_mut(&at.connection) else { return gone() };
        let (one, other) = connection.hosts();
        let route = self.routes.between(one, other);
        let attempt = connection.read(at.side, into, keeps, now, route);
        if let Attempt::Done(Ok(count)) = attempt
            && count > 0
            && !keeps
        {
            connection.pipes[1 - at.side].writers.wake(&mut self.wakes);
        }
        attempt
    }

    pub(super) fn write(&mut self, at: At, bytes: &[u8], now: Time) -> Attempt<usize> {
        let Some(connection) = self.connections.get_mut(&at.connection) else { return gone() };
        let (one, other) = connection.hosts();
        let attempt = connection.write(at.side, bytes, now, self.routes.between(one, other));
        if let Attempt::Done(Ok(_)) = attempt {
            // Of both pipes: the connection may be lost now.
            connection.wake(&mut self.wakes);
        }
        attempt
    }

    /// Shuts reading, writing, or both.
    pub(super) fn shut(&mut self, at: At, how: Shutdown, now: Time) {
        let Some(connection) = self.connections.get_mut(&at.connection) else { return };
        let (one, other) = connection.hosts();
        let route = self.routes.between(one, other);
        if how != Shutdown::Read {
            let latency = route.latency(connection.signs[at.side].object());
            connection.pipes[at.side].finish(End::Done, now, latency, route.is_parted);
        }
        if how != Shutdown::Write {
            let incoming = &mut connection.pipes[1 - at.side];
            incoming.is_shut = true;
            incoming.clear();
        }
        connection.wake(&mut self.wakes);
    }

    /// A side closes.
    pub(super) fn close(&mut self, at: At, now: Time) {
        let Some(connection) = self.connections.get_mut(&at.connection) else { return };
        let (one, other) = connection.hosts();
        let route = self.routes.between(one, other);
        let latency = route.latency_or_shortest(connection.signs[at.side].object());
        connection.sides[at.side].is_open = false;
        let incoming = &mut connection.pipes[1 - at.side];
        let is_unread = matches!(incoming.look(now), Found::Bytes(_));
        // What is still on its way finds nobody, and whoever has sent it learns so.
        if incoming.held > 0 {
            let (shortest, is_parted) = (*route.link.latency.start(), route.is_parted);
            incoming.told = Some(Due::new(now, shortest, is_parted, Time::START));
        }
        incoming.deafen();
        let end = if is_unread { End::Reset } else { End::Done };
        connection.pipes[at.side].finish(end, now, latency, route.is_parted);
        connection.wake(&mut self.wakes);
        if connection.sides.iter().all(|side| !side.is_open) {
            self.connections.remove(&at.connection);
        }
    }

    /// What this side has written and has not arrived never does, and the other side learns of a reset.
    pub(super) fn abandon(&mut self, at: At, now: Time) {
        let Some(connection) = self.connections.get_mut(&at.connection) else { return };
        let (one, other) = connection.hosts();
        let route = self.routes.between(one, other);
        let latency = route.latency(connection.signs[at.side].object());
        connection.pipes[at.side].abandon(now, latency, route.is_parted);
    }

    /// Loses a connection.
    pub(super) fn sever(&mut self, number: u64, now: Time) {
        if let Some(connection) = self.connections.get_mut(&number) {
            connection.sever(now);
            connection.wake(&mut self.wakes);
        }
    }

    /// Parts two hosts, or heals what was between them.
    pub(super) fn part(&mut self, one: usize, other: usize, is_parted: bool, now: Time) {
        let route = self.routes.between(one, other);
        if core::mem::replace(&mut route.is_parted, is_parted) == is_parted {
            return;
        }
        for connection in self.connections.values_mut() {
            if ![(one, other), (other, one)].contains(&connection.hosts()) {
                continue;
            }
            for pipe in &mut connection.pipes {
                if is_parted { pipe.part(now) } else { pipe.heal(now) }
            }
            connection.wake(&mut self.wakes);
        }
        if !is_parted {
            self.healing.wake(&mut self.wakes);
        }
    }
}

fn gone<R>() -> Attempt<R> {
    Attempt::Done(Err(ErrorKind::NotConnected.into()))
}
