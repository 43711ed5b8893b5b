//! Sockets: one server, on the loopback and on a network in memory.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use leno::io::memory::{Link, Network};
use leno::io::net::{TcpListener, TcpStream};
use leno::kernel::{LocalSystem, spawn_local};

use crate::tour::{Stop, expect, say};

pub(super) const STOP: Stop = Stop {
    name: "io",
    shows: "A server in plain sequential code, a coroutine per connection, on one thread. The same\n\
            code then runs on a network in memory, whose delays cost no time.",
    run: io,
    read: "docs/io.md, leno::io, example 11_echo",
};

const CLIENTS: usize = 100;
const REQUESTS: usize = 20;

/// Echoes whatever comes, for so many clients.
fn serve(listener: &TcpListener) -> io::Result<()> {
    for stream in listener.incoming().take(CLIENTS) {
        let stream = stream?;
        drop(spawn_local(move || io::copy(&mut &stream, &mut &stream)));
    }
    Ok(())
}

/// How many answers were right.
fn ask(server: SocketAddr, client: usize) -> io::Result<usize> {
    let mut stream = TcpStream::connect(server)?;
    let mut right = 0;
    for request in 0..REQUESTS {
        let question = format!("{client:03} asks {request:03}");
        stream.write_all(question.as_bytes())?;
        let mut answer = vec![0; question.len()];
        stream.read_exact(&mut answer)?;
        right += usize::from(answer == question.as_bytes());
    }
    Ok(right)
}

/// All clients at once; how many answers were right.
fn all(server: SocketAddr) -> usize {
    let clients = (0..CLIENTS).map(|client| spawn_local(move || ask(server, client)));
    let clients: Vec<_> = clients.collect();
    clients.into_iter().filter_map(|client| client.join().ok()?.ok()).sum()
}

fn io() -> Result<String, String> {
    let system = LocalSystem::new();
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let start = Instant::now();
    drop(system.spawn(move || serve(&listener)));
    let right = system.spawn(move || all(address));
    let report = system.run().map_err(|error| error.to_string())?;
    let (right, took) = (right.join().map_err(|error| error.to_string())?, start.elapsed());
    let micros = took.as_micros() as usize / (CLIENTS * REQUESTS);
    say!("loopback: {CLIENTS} clients, {right} answers, {micros} µs each; {report}");
    expect(&(right, report.alive.len()), &(CLIENTS * REQUESTS, 0))?;

    let system = LocalSystem::builder().virtual_time().build();
    let network = Network::local();
    network.set_link(Link::new().latency(Duration::from_millis(250)));
    let (server, client) = (network.host("moon"), network.host("earth"));
    let address = SocketAddr::new(server.address(), 7);
    drop(server.enter(|| {
        system.spawn(|| TcpListener::bind("0.0.0.0:7").and_then(|listener| serve(&listener)))
    }));
    let right = client.enter(|| system.spawn(move || all(address)));
    system.run().map_err(|error| error.to_string())?;
    let right = right.join().map_err(|error| error.to_string())?;
    say!("in memory, 250 ms each way: {right} answers, and it is {} by its clock", system.now());
    expect(&right, &(CLIENTS * REQUESTS))?;
    Ok(format!("{} requests on the loopback, as many in memory", CLIENTS * REQUESTS))
}
