//! Servers: echoes, echoes beside many idle connections, and connections made and ended.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use super::{Bench, Case, Chart, Load, Scale};
use crate::contender::{Contender, Failure};
use crate::external::Tool;
use crate::outcome::Outcome;
use crate::outcome::Verdict;
use crate::peers;
use crate::serve::{self, Connections, Processors, Server, apart, load};
use crate::subject;

/// What is read at once.
pub const BUFFER: usize = 1024;

const ECHO_CONNECTIONS: usize = 64;

pub const ECHO: Bench = Bench {
    name: "echo",
    unit: "ns",
    about: "an echo server with 64 connections on one core, a message of 64 bytes there and back",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale| {
        let connections = Connections::So(ECHO_CONNECTIONS);
        let mut contenders = servers(Kind::Echo, connections, load::echo);
        contenders.push(serve::contender("thread", by_threads, connections, load::echo));
        contenders.push(serve::external(Tool::Go, "echo", connections, load::echo));
        vec![case(scale, scale.pick(5_000, 50_000), contenders)]
    },
    judge: ahead_of_all,
};

pub const ECHO_IDLE: Bench = Bench {
    name: "echo-idle",
    unit: "ns",
    about: "the same beside 10,000 connections that say nothing",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale| {
        let connections = Connections::So(load::BUSY + scale.pick(1_000, 10_000));
        let mut contenders = servers(Kind::Echo, connections, apart::echo_beside_idle);
        contenders.push(serve::external(Tool::Go, "echo", connections, apart::echo_beside_idle));
        vec![case(scale, scale.pick(5_000, 50_000), contenders)]
    },
    judge: ahead_of_all,
};

pub const CONNECT: Bench = Bench {
    name: "connect",
    unit: "ns",
    about: "a connection: accepted, a byte sent, ended by the client",
    parameter: "",
    chart: Chart::Dots,
    cases: |scale| {
        let (each, load) = (Connections::Each, load::connect as serve::Load);
        let mut contenders = servers(Kind::Greet, each, load);
        contenders.push(serve::external(Tool::Go, "greet", each, load));
        // With all processors, one of which is the load's.
        let all = Processors::All;
        contenders.extend(subject::servers_on_all(each, load));
        contenders.push(serve::contender_on(all, "tokio cores", tokio_greet_cores, each, load));
        contenders.push(serve::external_on(all, Tool::Go, "go cores", "greet-cores", each, load));
        vec![case(scale, scale.pick(200, 2_000), contenders)]
    },
    judge: |outcome| {
        let cores = ["tokio cores", "go cores"].into_iter();
        let cores = cores.flat_map(|peer| outcome.at_most(None, "leno cores", peer, 1.0));
        ahead_of_all(outcome).into_iter().chain(cores).collect()
    },
};

/// What a server does with each connection.
#[derive(Clone, Copy)]
pub enum Kind {
    /// Sends back what comes.
    Echo,
    /// Sends a byte, and waits for the end.
    Greet,
}

fn servers(kind: Kind, connections: Connections, load: serve::Load) -> Vec<Contender> {
    let peers: [(&'static str, Server); 2] = match kind {
        Kind::Echo => [("tokio", tokio_echo), ("may", may_echo)],
        Kind::Greet => [("tokio", tokio_greet), ("may", may_greet)],
    };
    let mut all = subject::servers(kind, connections, load);
    all.extend(peers.map(|(name, server)| serve::contender(name, server, connections, load)));
    all
}

fn case(scale: Scale, operations: u64, contenders: Vec<Contender>) -> Case {
    let rounds = Some(scale.pick(2, 9));
    let load = Load::Fixed(operations);
    Case { parameter: None, load, isolated: true, rounds, contenders }
}

fn ahead_of_all(outcome: &Outcome) -> Vec<Verdict> {
    let peers = ["tokio", "may", "go"];
    peers.into_iter().flat_map(|peer| outcome.at_most(None, "leno", peer, 1.0)).collect()
}

/// Serves as many connections as are named, each by `serve`, on a runtime.
macro_rules! async_server {
    ($name:ident on $runtime:expr, $connection:ident => $serve:expr) => {
        fn $name(listener: TcpListener, connections: usize) -> Result<(), Failure> {
            let serves = async move {
                listener.set_nonblocking(true)?;
                let listener = tokio::net::TcpListener::from_std(listener)?;
                let mut all = tokio::task::JoinSet::new();
                for _ in 0..connections {
                    let ($connection, _) = listener.accept().await?;
                    $connection.set_nodelay(true)?;
                    all.spawn(async move { $serve });
                }
                while all.join_next().await.is_some() {}
                std::io::Result::Ok(())
            };
            let runtime = $runtime.enable_io().build();
            runtime.map_err(Failure::failed)?.block_on(serves).map_err(Failure::failed)
        }
    };
}

async_server!(tokio_echo on tokio::runtime::Builder::new_current_thread(), connection => {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (mut connection, mut buffer) = (connection, [0; BUFFER]);
    while let Ok(count) = connection.read(&mut buffer).await {
        if count == 0 || connection.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
});

async_server!(tokio_greet on tokio::runtime::Builder::new_current_thread(), connection => {
    greet_async(connection).await
});

async_server!(tokio_greet_cores on tokio::runtime::Builder::new_multi_thread().worker_threads(2), connection => {
    greet_async(connection).await
});

async fn greet_async(mut connection: tokio::net::TcpStream) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    if connection.write_all(&[1]).await.is_ok() {
        let _ended = connection.read(&mut [0]).await;
    }
}

fn may_echo(listener: TcpListener, connections: usize) -> Result<(), Failure> {
    by_may(listener, connections, echo)
}

fn may_greet(listener: TcpListener, connections: usize) -> Result<(), Failure> {
    by_may(listener, connections, greet)
}

pub fn by_may(
    listener: TcpListener,
    connections: usize,
    serve: fn(may::net::TcpStream),
) -> Result<(), Failure> {
    peers::may_on_one_worker();
    drop(listener.set_nonblocking(true));
    let accepts = move || -> std::io::Result<()> {
        use std::os::fd::{FromRawFd, IntoRawFd};
        // SAFETY: the descriptor is the listener's, which gives it away.
        let listener = unsafe { may::net::TcpListener::from_raw_fd(listener.into_raw_fd()) };
        let mut all = Vec::with_capacity(connections);
        for _ in 0..connections {
            let (connection, _) = listener.accept()?;
            connection.set_nodelay(true)?;
            // SAFETY: what it calls keeps nothing of its thread.
            all.push(unsafe { may::coroutine::spawn(move || serve(connection)) });
        }
        all.into_iter().for_each(|one| drop(one.join()));
        Ok(())
    };
    // SAFETY: as above.
    let accepts = unsafe { may::coroutine::spawn(accepts) };
    accepts.join().map_err(|_| Failure::failed("it panicked"))?.map_err(Failure::failed)
}

fn by_threads(listener: TcpListener, connections: usize) -> Result<(), Failure> {
    let start = || {
        let (connection, _) = listener.accept()?;
        connection.set_nodelay(true)?;
        Ok(thread::spawn(move || echo(connection)))
    };
    let all: std::io::Result<Vec<_>> = (0..connections).map(|_| start()).collect();
    all.map_err(Failure::failed)?.into_iter().for_each(|one| drop(one.join()));
    Ok(())
}

/// Sends back what comes, until the end.
pub fn echo(mut connection: impl Read + Write) {
    let mut buffer = [0; BUFFER];
    while let Ok(count) = connection.read(&mut buffer) {
        if count == 0 || connection.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}

/// Sends a byte, and waits for the end.
pub fn greet(mut connection: impl Read + Write) {
    if connection.write_all(&[1]).is_ok() {
        let _ended = connection.read(&mut [0]);
    }
}
