//! Datagrams on their way: what a network knows of a socket for them.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;

use leno_kernel::{Object, Sign, Time};

use super::error::error;
use super::line::Line;
use super::link::pick;
use super::listener::{check_own, no_port};
use super::state::{Machine, State, hears};
use super::wait::Attempt;

/// What the network knows of a socket.
#[derive(Debug)]
pub(super) struct Mail {
    address: SocketAddr,
    /// In the order of their arrival; of those that have arrived, one that was looked at comes first.
    waiting: Vec<Datagram>,
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

impl Mail {
    /// When the first of those that wait has arrived, or does.
    pub(super) fn first(&self) -> Option<Time> {
        self.waiting.first().map(|datagram| datagram.at)
    }

    /// Which of those that have arrived is received next. One that was looked at stays the first.
    fn next(&self, left: &mut u32, now: Time) -> usize {
        if *left == 0 || self.waiting[0].is_seen {
            return 0;
        }
        let arrived = self.waiting.iter().take_while(|datagram| datagram.at <= now);
        let numbers: Vec<_> = (0..arrived.count() as u64).collect();
        let took = pick(self.object, &numbers);
        *left -= u32::from(took > 0);
        took
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
        let mail =
            Mail { address, waiting: Vec::new(), object: sign.object(), line: Line::default() };
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
    ) {
        let Some(target) = self.host_at(host, to.ip()) else { return };
        let Some(mail) = self.hosts[target].sockets.get_mut(&to.port()) else { return };
        let route = self.routes.between(host, target);
        if route.is_parted || !hears(mail.address, to) {
            return;
        }
        if route.goes_wrong(mail.object, |left| &mut left.lost) {
            return;
        }
        let copies = 1 + usize::from(route.goes_wrong(mail.object, |left| &mut left.doubled));
        // A policy is asked before anything is changed.
        let arrivals: Vec<_> = (0..copies).map(|_| now + route.latency(mail.object)).collect();
        for at in arrivals {
            let held: usize = mail.waiting.iter().map(|datagram| datagram.bytes.len()).sum();
            if held + bytes.len() > route.link.capacity.max(LONGEST) {
                break;
            }
            let place = mail.waiting.partition_point(|earlier| earlier.at <= at);
            mail.waiting
                .insert(place, Datagram { at, host, from, bytes: bytes.to_vec(), is_seen: false });
        }
        mail.line.wake(&mut self.wakes);
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
    ) -> Attempt<(usize, SocketAddr)> {
        let Some(mail) = self.hosts[host].sockets.get_mut(&port) else {
            return Attempt::Later(None);
        };
        mail.waiting.retain(|datagram| peer.is_none_or(|peer| peer == datagram.from));
        let Some(first) = mail.waiting.first() else { return Attempt::Later(None) };
        if first.at > now {
            return Attempt::Later(Some(first.at));
        }
        let route = self.routes.between(first.host, host);
        let place = mail.next(&mut route.link.left.reordered, now);
        let mut datagram = mail.waiting.remove(place);
        let (count, from) = (datagram.bytes.len().min(into.len()), datagram.from);
        into[..count].copy_from_slice(&datagram.bytes[..count]);
        if keeps {
            datagram.is_seen = true;
            mail.waiting.insert(0, datagram);
        }
        Attempt::Done(Ok((count, from)))
    }
}
