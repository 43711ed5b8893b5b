//! Datagrams on their way: what a network knows of a socket for them.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;

use leno_kernel::layer::Sign;
use leno_kernel::{Object, Time};

use super::choices::{Choices, Decided};
use super::error::error;
use super::lines::Line;
use super::link::goes_wrong;
use super::listener::{check_own, no_port};
use super::state::{Machine, State, hears};
use super::wait::Attempt;

/// What the network knows of a socket.
#[derive(Debug)]
pub(super) struct Mail {
    address: SocketAddr,
    /// In the order of their arrival; of those that have arrived, one that was looked at comes first.
    waiting: Vec<Datagram>,
    /// How much room they take.
    held: usize,
    object: Object,
    pub(super) line: Line,
}

#[derive(Clone, Debug)]
struct Datagram {
    at: Time,
    host: usize,
    from: SocketAddr,
    bytes: Vec<u8>,
    is_seen: bool,
}

/// What a datagram takes besides its bytes: those without any are limited, too.
const OVERHEAD: usize = 128;

impl Datagram {
    fn size(&self) -> usize {
        self.bytes.len() + OVERHEAD
    }
}

impl Mail {
    /// When the first of those that wait has arrived, or does.
    pub(super) fn first(&self) -> Option<Time> {
        self.waiting.first().map(|datagram| datagram.at)
    }

    /// Drops those of others than the peer, if there is one.
    fn keep_those_from(&mut self, peer: Option<SocketAddr>) {
        let Some(peer) = peer else { return };
        let Mail { waiting, held, .. } = self;
        for datagram in waiting.extract_if(.., |datagram| datagram.from != peer) {
            *held -= datagram.size();
        }
    }

    /// Which of those that have arrived is received next. One that was looked at stays the first.
    fn next(&self, choices: &mut Choices, left: u32, now: Time) -> Decided<usize> {
        if left == 0 || self.waiting[0].is_seen {
            return Ok(0);
        }
        let arrived = self.waiting.iter().take_while(|datagram| datagram.at <= now);
        let numbers: Vec<_> = (0..arrived.count() as u64).collect();
        choices.pick(self.object, &numbers)
    }
}

/// The longest datagram.
pub(super) const LONGEST: usize = 65_507;

impl State {
    /// Opens a socket on a host; at which address.
    pub(super) fn open(
        &mut self,
        host: usize,
        mut address: SocketAddr,
    ) -> io::Result<(SocketAddr, Arc<Sign>)> {
        let label = self.label(host);
        let machine = &mut self.hosts[host];
        check_own(&label, machine.own(address.ip()), address.ip())?;
        if address.port() == 0 {
            let is_free = |machine: &Machine, port| !machine.sockets.contains_key(&port);
            address.set_port(machine.free_port(is_free).ok_or_else(|| no_port(&label))?);
        }
        if machine.sockets.contains_key(&address.port()) {
            let text = format!("host {label} has a socket at {address} already");
            return Err(error(ErrorKind::AddrInUse, text));
        }
        let sign = self.sign(format!("socket {label} {address}"));
        let mail = Mail {
            address,
            waiting: Vec::new(),
            held: 0,
            object: sign.object(),
            line: self.lines.open(),
        };
        self.hosts[host].sockets.insert(address.port(), mail);
        Ok((address, sign))
    }

    /// Puts a datagram on its way, or loses it.
    pub(super) fn send(
        &mut self,
        host: usize,
        from: SocketAddr,
        to: SocketAddr,
        bytes: &[u8],
        now: Time,
    ) -> Decided<()> {
        let Some(target) = self.host_at(host, to.ip()) else { return Ok(()) };
        let Some(mail) = self.hosts[target].sockets.get_mut(&to.port()) else { return Ok(()) };
        let choices = &mut self.choices;
        let route = self.routes.between(host, target);
        if route.is_parted || !hears(mail.address, to) {
            return Ok(());
        }
        if goes_wrong(choices, mail.object, route.link.left.lost)? {
            route.link.left.lost -= 1;
            return Ok(());
        }
        let is_doubled = goes_wrong(choices, mail.object, route.link.left.doubled)?;
        let mut arrivals = [None; 2];
        for arrival in &mut arrivals[..1 + usize::from(is_doubled)] {
            *arrival = Some(now + route.latency(choices, mail.object)?);
        }
        // All is decided.
        route.link.left.doubled -= u32::from(is_doubled);
        for at in arrivals.into_iter().flatten() {
            let held = mail.held + bytes.len() + OVERHEAD;
            if held > route.link.capacity.max(LONGEST).saturating_add(OVERHEAD) {
                break;
            }
            mail.held = held;
            // Behind one that was looked at, though that may have arrived later: the policy has taken its time.
            let earlier = |datagram: &Datagram| datagram.is_seen || datagram.at <= at;
            let place = mail.waiting.partition_point(earlier);
            mail.waiting
                .insert(place, Datagram { at, host, from, bytes: bytes.to_vec(), is_seen: false });
        }
        self.lines.wake(mail.line);
        Ok(())
    }

    /// Receives a datagram, or with `keeps` only looks.
    pub(super) fn receive(
        &mut self,
        host: usize,
        port: u16,
        peer: Option<SocketAddr>,
        into: &mut [u8],
        keeps: bool,
        now: Time,
    ) -> Decided<Attempt<(usize, SocketAddr)>> {
        let Some(mail) = self.hosts[host].sockets.get_mut(&port) else {
            return Ok(Attempt::Later(None));
        };
        mail.keep_those_from(peer);
        let Some(first) = mail.waiting.first() else { return Ok(Attempt::Later(None)) };
        if first.at > now {
            return Ok(Attempt::Later(Some(first.at)));
        }
        let route = self.routes.between(first.host, host);
        let place = mail.next(&mut self.choices, route.link.left.reordered, now)?;
        route.link.left.reordered -= u32::from(place > 0);
        let mut datagram = mail.waiting.remove(place);
        let (count, from) = (datagram.bytes.len().min(into.len()), datagram.from);
        into[..count].copy_from_slice(&datagram.bytes[..count]);
        if keeps {
            datagram.is_seen = true;
            mail.waiting.insert(0, datagram);
        } else {
            mail.held -= datagram.size();
        }
        Ok(Attempt::Done(Ok((count, from))))
    }
}
