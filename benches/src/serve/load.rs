//! The load on a server: one thread that answers whoever has answered, and waits by epoll.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use polling::{Event, Events, PollMode, Poller};

use super::{Served, Target, processor, timed};
use crate::contender::Failure;
use crate::machine::resident_bytes_of;

/// What goes back and forth.
pub const MESSAGE: usize = 64;

/// Connections that talk where most are idle.
pub const BUSY: usize = 64;

/// Each connection sends a message and waits for its echo, `n` times in all.
pub fn echo(target: Target, connections: usize, n: u64) -> Result<Served, Failure> {
    let clients = open(target.address, connections)?;
    let (talked, took) = timed(|| talk(&clients, n));
    talked?;
    Ok(Served { took, count: n, note: None })
}

/// The same by [`BUSY`] of them, beside others that say nothing.
pub fn echo_beside_idle(target: Target, connections: usize, n: u64) -> Result<Served, Failure> {
    let files = processor::open_files();
    if files < connections as u64 + 100 {
        let why = format!("{files} files may be open here, {} are needed", connections + 100);
        return Err(Failure::Skipped(why));
    }
    let (address, resident_bytes) = (target.address, || resident_bytes_of(target.process));
    let busy = open(address, BUSY)?;
    talk(&busy, n / 10 + 1)?;
    let before = resident_bytes();
    let idle = open(address, connections - BUSY)?;
    // Every one has been accepted and waits, once each has had an answer.
    talk(&idle, idle.len() as u64)?;
    let each = resident_bytes().saturating_sub(before) / idle.len() as u64;
    let (talked, took) = timed(|| talk(&busy, n));
    talked?;
    drop(idle);
    Ok(Served { took, count: n, note: Some(format!("{each} bytes an idle one")) })
}

/// One connection after the other, each ended when the server has sent a byte.
pub fn connect(target: Target, _: usize, n: u64) -> Result<Served, Failure> {
    let (done, took) = timed(|| -> std::io::Result<()> {
        for _ in 0..n {
            let mut client = TcpStream::connect(target.address)?;
            client.read_exact(&mut [0])?;
            // Without this the address would be kept for a minute.
            socket2::SockRef::from(&client).set_linger(Some(core::time::Duration::ZERO))?;
        }
        Ok(())
    });
    done.map_err(Failure::failed)?;
    Ok(Served { took, count: n, note: None })
}

fn open(address: SocketAddr, count: usize) -> Result<Vec<TcpStream>, Failure> {
    let open = || {
        let client = TcpStream::connect(address)?;
        client.set_nodelay(true)?;
        client.set_nonblocking(true)?;
        Ok(client)
    };
    (0..count).map(|_| open()).collect::<std::io::Result<_>>().map_err(Failure::failed)
}

/// `n` messages in all, each sent when the one before it on its connection has come back.
fn talk(clients: &[TcpStream], n: u64) -> Result<(), Failure> {
    let poller = Poller::new().map_err(Failure::failed)?;
    for (key, client) in clients.iter().enumerate() {
        // SAFETY: taken out again below, before the clients are dropped.
        unsafe { poller.add_with_mode(client, Event::readable(key), PollMode::Level) }
            .map_err(Failure::failed)?;
    }
    let talked = exchange(&poller, clients, n);
    for client in clients {
        poller.delete(client).map_err(Failure::failed)?;
    }
    talked.map_err(Failure::failed)
}

fn exchange(poller: &Poller, clients: &[TcpStream], n: u64) -> std::io::Result<()> {
    let message = [7; MESSAGE];
    let mut sent = 0;
    let mut send = |client: &TcpStream| {
        if sent < n {
            sent += 1;
            // 64 bytes always fit into a socket that nobody else fills.
            let mut client = client;
            client.write_all(&message)?;
        }
        std::io::Result::Ok(())
    };
    clients.iter().try_for_each(&mut send)?;
    let (mut received, mut missing) = (0, vec![MESSAGE; clients.len()]);
    let mut events = Events::new();
    while received < n {
        events.clear();
        poller.wait(&mut events, None)?;
        for event in events.iter() {
            let (mut client, missing) = (&clients[event.key], &mut missing[event.key]);
            match client.read(&mut [0; MESSAGE][..*missing]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => *missing -= count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            if *missing == 0 {
                *missing = MESSAGE;
                received += 1;
                send(client)?;
            }
        }
    }
    Ok(())
}
