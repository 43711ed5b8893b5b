//! The network in memory.

use std::future::Future;
use std::io::{Read, Write};
use std::task::Context;
use std::time::Duration;

use leno::io::memory::{Host, Link, Listener, Network, Socket, Stream};

use crate::area::Act;
use crate::bomb;
use crate::world::{self, Cx};

/// The operations.
pub const ACTS: &[Act] = &[
    ("network", network),
    ("net_connect", connect),
    ("net_accept", accept),
    ("net_write", write),
    ("net_read", read),
    ("net_read", read),
    ("net_poll", poll),
    ("net_poll", poll),
    ("net_sever", sever),
    ("net_datagram", datagram),
];

struct Net {
    network: Network,
    hosts: [Host; 2],
    listener: Listener,
}

const SHORT: Duration = Duration::from_micros(200);

fn network(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    let network = Network::new();
    let hosts = [network.host("one"), network.host("two")];
    let link = Link::new().connect_timeout(Duration::from_millis(1)).capacity(4 + usize::from(y));
    network.set_link(if y % 4 == 0 { link.latency(Duration::from_micros(20)) } else { link });
    if let Ok(listener) = hosts[0].listen(80) {
        world::share(x, Net { network, hosts, listener });
    }
}

fn connect(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    let Some(net) = world::shared::<Net>(x) else { return };
    if let Ok(stream) = net.hosts[1].connect_timeout((&net.hosts[0], 80), SHORT) {
        let _ = stream.set_read_timeout(Some(SHORT));
        let _ = stream.set_write_timeout(Some(SHORT));
        stream.set_abrupt(y % 4 == 0);
        world::share(x, stream);
    }
}

fn accept(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    let Some(net) = world::shared::<Net>(x) else { return };
    let accepted =
        if y % 2 == 0 { net.listener.try_accept() } else { net.listener.accept_timeout(SHORT) };
    if let Ok((stream, _)) = accepted {
        let _ = stream.set_read_timeout(Some(SHORT));
        let _ = stream.set_write_timeout(Some(SHORT));
        world::share(x, stream);
    }
}

fn write(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    let Some(stream) = world::shared::<Stream>(x) else { return };
    let _ = if y % 2 == 0 { stream.try_write(&[y; 40]) } else { (&*stream).write(&[y; 40]) };
}

fn read(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    let Some(stream) = world::shared::<Stream>(x) else { return };
    let mut into = [0; 32];
    let _ = match y % 3 {
        0 => stream.try_read(&mut into),
        1 => (&*stream).read(&mut into),
        _ => stream.try_peek(&mut into),
    };
}

fn poll(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let waker = bomb::waker(z);
    let context = &mut Context::from_waker(&waker);
    if let Some(net) = world::shared::<Net>(x)
        && y % 4 == 0
    {
        let _ = Box::pin(net.listener.acceptable()).as_mut().poll(context);
    }
    let Some(stream) = world::shared::<Stream>(x) else { return };
    // It borrows the stream for ever, and so does its waker's place in the stream's state.
    let stream: &'static std::sync::Arc<Stream> = Box::leak(Box::new(stream));
    let mut ready = Box::pin(if y % 2 == 0 { stream.readable() } else { stream.writable() });
    let _ = ready.as_mut().poll(context);
    if y % 8 < 4 {
        std::mem::forget(ready);
    }
}

fn sever(_: &Cx<'_>, x: u8, y: u8, _: u8) {
    if let Some(net) = world::shared::<Net>(x) {
        match y % 4 {
            0 => drop(net.network.sever(&net.hosts[0], &net.hosts[1])),
            1 => net.network.partition(&[&net.hosts[0]], &[&net.hosts[1]]),
            2 => net.network.heal_all(),
            _ => drop(net.network.connections()),
        }
    }
    if let Some(stream) = world::shared::<Stream>(x) {
        match y % 3 {
            0 => stream.sever(),
            1 => stream.shutdown(std::net::Shutdown::Both),
            _ => stream.shutdown(std::net::Shutdown::Write),
        }
    }
}

fn datagram(_: &Cx<'_>, x: u8, y: u8, z: u8) {
    let Some(net) = world::shared::<Net>(x) else { return };
    if let Ok(socket) = net.hosts[usize::from(y % 2)].socket(53) {
        let _ = socket.set_read_timeout(Some(SHORT));
        world::share(x, socket);
    }
    let Some(socket) = world::shared::<Socket>(x) else { return };
    let _ = socket.send_to(&[z; 20], (&net.hosts[usize::from(z % 2)], 53));
    let mut into = [0; 32];
    let _ = if z % 2 == 0 { socket.try_recv_from(&mut into) } else { socket.recv_from(&mut into) };
    let _ = Box::pin(socket.readable()).as_mut().poll(&mut Context::from_waker(&bomb::waker(z)));
}
