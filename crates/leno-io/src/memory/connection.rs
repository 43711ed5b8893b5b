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

use core::time::Duration;
use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;

use leno_kernel::Time;
use leno_kernel::layer::Sign;

use super::choices::{Choices, Decided};
use super::error::about;
use super::lines::{Line, Lines};
use super::link::{Route, goes_wrong};
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

    fn lines(&self) -> impl Iterator<Item = Line> {
        self.pipes.iter().flat_map(Pipe::lines)
    }

    fn wake(&self, lines: &mut Lines) {
        self.lines().for_each(|line| lines.wake(line));
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
        (route, choices): (&mut Route, &mut Choices),
    ) -> Decided<Attempt<usize>> {
        let (way, about_pipe) = (self.way(side), self.signs[1 - side].object());
        let pipe = &mut self.pipes[1 - side];
        if pipe.is_shut || into.is_empty() {
            return Ok(Attempt::Done(Ok(0)));
        }
        Ok(match pipe.look(now) {
            Found::Bytes(arrived) => {
                let most = arrived.min(into.len());
                let count = route.amount(choices, about_pipe, most)?;
                route.link.left.partial -= u32::from(count < most);
                pipe.peek(&mut into[..count]);
                if !keeps {
                    pipe.take(count);
                }
                Attempt::Done(Ok(count))
            }
            Found::Ended(End::Done) => Attempt::Done(Ok(0)),
            Found::Ended(End::Reset) => Attempt::Done(Err(reset(way))),
            Found::Nothing(at) => Attempt::Later(at),
        })
    }

    fn write(
        &mut self,
        side: usize,
        bytes: &[u8],
        now: Time,
        (route, choices): (&mut Route, &mut Choices),
    ) -> Decided<Attempt<usize>> {
        let (way, about_pipe) = (self.way(side), self.signs[side].object());
        let lost_at = self.pipes[1 - side].lost_at();
        let pipe = &mut self.pipes[side];
        match pipe.end() {
            Some(End::Reset) => return Ok(Attempt::Done(Err(reset(way)))),
            Some(End::Done) => {
                let what = "this side has shut its writing";
                return Ok(Attempt::Done(Err(about(ErrorKind::BrokenPipe, what, way))));
            }
            None if lost_at.is_some_and(|due| due.has_come(now)) => {
                return Ok(Attempt::Done(Err(reset(way))));
            }
            None => {}
        }
        if bytes.is_empty() {
            return Ok(Attempt::Done(Ok(0)));
        }
        if pipe.is_deaf && pipe.told.is_some_and(|told| told.has_come(now)) {
            let what = "the other side is closed";
            return Ok(Attempt::Done(Err(about(ErrorKind::BrokenPipe, what, way))));
        }
        let room = route.link.capacity.saturating_sub(pipe.held);
        if room == 0 {
            let told = pipe.told.and_then(Due::later);
            return Ok(Attempt::Later(first(told, lost_at.and_then(Due::later))));
        }
        if pipe.is_deaf {
            // They are lost; whoever has written them is told later.
            let count = room.min(bytes.len());
            pipe.held += count;
            let (latency, is_parted) = (*route.link.latency.start(), route.is_parted);
            pipe.told.get_or_insert(Due::new(now, latency, is_parted, Time::START));
            return Ok(Attempt::Done(Ok(count)));
        }
        let most = room.min(bytes.len());
        let count = route.amount(choices, about_pipe, most)?;
        if goes_wrong(choices, about_pipe, route.link.left.broken)? {
            route.link.left.broken -= 1;
            self.sever(now);
        } else {
            let latency = route.latency(choices, about_pipe)?;
            self.pipes[side].put(&bytes[..count], now, latency, route.is_parted);
        }
        // Only now, when all is decided.
        route.link.left.partial -= u32::from(count < most);
        Ok(Attempt::Done(Ok(count)))
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
    ) -> Decided<Attempt<usize>> {
        let Some(connection) = self.connections.get_mut(&at.connection) else { return gone() };
        let (one, other) = connection.hosts();
        let route = self.routes.between(one, other);
        let attempt = connection.read(at.side, into, keeps, now, (route, &mut self.choices))?;
        if let Attempt::Done(Ok(count)) = attempt
            && count > 0
            && !keeps
        {
            self.lines.wake(connection.pipes[1 - at.side].writers);
        }
        Ok(attempt)
    }

    pub(super) fn write(&mut self, at: At, bytes: &[u8], now: Time) -> Decided<Attempt<usize>> {
        let Some(connection) = self.connections.get_mut(&at.connection) else { return gone() };
        let (one, other) = connection.hosts();
        let route = self.routes.between(one, other);
        let attempt = connection.write(at.side, bytes, now, (route, &mut self.choices))?;
        if let Attempt::Done(Ok(_)) = attempt {
            // Of both pipes: the connection may be lost now.
            connection.wake(&mut self.lines);
        }
        Ok(attempt)
    }

    /// How long what a side sends takes now; `None` if the connection is gone.
    fn latency(&mut self, at: At) -> Decided<Option<Duration>> {
        let Some(connection) = self.connections.get(&at.connection) else { return Ok(None) };
        let (one, other) = connection.hosts();
        let object = connection.signs[at.side].object();
        self.routes.between(one, other).latency(&mut self.choices, object).map(Some)
    }

    /// Shuts reading, writing, or both.
    pub(super) fn shut(&mut self, at: At, how: Shutdown, now: Time) -> Decided<()> {
        let latency = if how == Shutdown::Read { None } else { self.latency(at)? };
        let Some(connection) = self.connections.get_mut(&at.connection) else { return Ok(()) };
        let (one, other) = connection.hosts();
        let route = self.routes.between(one, other);
        if let Some(latency) = latency {
            connection.pipes[at.side].finish(End::Done, now, latency, route.is_parted);
        }
        if how != Shutdown::Write {
            let incoming = &mut connection.pipes[1 - at.side];
            incoming.is_shut = true;
            incoming.clear();
        }
        connection.wake(&mut self.lines);
        Ok(())
    }

    /// Closes a side. If it is abrupt, what it has written and has not arrived never does, and the other side
    /// learns of a reset.
    pub(super) fn close(&mut self, at: At, is_abrupt: bool, now: Time) -> Decided<()> {
        let abandons = if is_abrupt { self.latency(at)? } else { None };
        if let Some(latency) = self.latency(at)? {
            if let Some(latency) = abandons {
                self.abandon(at, latency, now);
            }
            self.close_after(at, latency, now);
        }
        Ok(())
    }

    /// Loses a connection, and closes a side of it.
    pub(super) fn close_lost(&mut self, at: At, now: Time) -> Decided<()> {
        if let Some(latency) = self.latency(at)? {
            self.sever(at.connection, now);
            self.close_after(at, latency, now);
        }
        Ok(())
    }

    /// Closes a side; the other one learns so after this time.
    pub(super) fn close_after(&mut self, at: At, latency: Duration, now: Time) {
        let Some(connection) = self.connections.get_mut(&at.connection) else { return };
        let (one, other) = connection.hosts();
        let route = self.routes.between(one, other);
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
        connection.wake(&mut self.lines);
        if connection.sides.iter().all(|side| !side.is_open) {
            connection.lines().for_each(|line| self.lines.close(line));
            self.connections.remove(&at.connection);
        }
    }

    /// What this side has written and has not arrived never does, and the other side learns of a reset.
    fn abandon(&mut self, at: At, latency: Duration, now: Time) {
        let Some(connection) = self.connections.get_mut(&at.connection) else { return };
        let (one, other) = connection.hosts();
        let is_parted = self.routes.between(one, other).is_parted;
        connection.pipes[at.side].abandon(now, latency, is_parted);
    }

    /// Loses a connection.
    pub(super) fn sever(&mut self, number: u64, now: Time) {
        if let Some(connection) = self.connections.get_mut(&number) {
            connection.sever(now);
            connection.wake(&mut self.lines);
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
            connection.wake(&mut self.lines);
        }
        if !is_parted {
            self.lines.wake(self.healing);
        }
    }
}

fn gone<R>() -> Decided<Attempt<R>> {
    Ok(Attempt::Done(Err(ErrorKind::NotConnected.into())))
}
