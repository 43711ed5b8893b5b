//! Servers under load, for the benches of sockets.
//!
//! A contender is a server: a function that is given a listener and how many connections will come, and
//! returns when all of them have ended. It runs on a thread of its own, on the first processor or wherever
//! the system likes ([`Processors`]); the load comes from this thread, or from a process of its own
//! (`serve/apart.rs`, `serve/wrk.rs`), on the second, and is the same for all (`serve/load.rs`). What the
//! process has used of its processors beyond what the load has, the server has used.

pub mod apart;
pub mod load;
mod processor;
pub mod wrk;

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use crate::contender::{Contender, Failure, Result, Turn};
use crate::external::{self, Tool};

/// What serves; see the module.
pub type Server = fn(TcpListener, usize) -> std::result::Result<(), Failure>;

/// What one turn of load came to.
pub struct Served {
    pub took: Duration,
    /// Requests, or connections.
    pub count: u64,
    pub note: Option<String>,
}

/// What comes to a server: so many connections, and `n` operations in all.
pub type Load = fn(Target, usize, u64) -> std::result::Result<Served, Failure>;

/// Who is under load.
#[derive(Clone, Copy)]
pub struct Target {
    pub address: SocketAddr,
    /// The process of the server.
    pub process: u32,
}

/// Where a server may run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Processors {
    /// Beside the load, which has the second.
    First,
    All,
}

impl Processors {
    /// Has the calling thread, and what it starts, run there.
    fn take(self) {
        match self {
            Processors::First => processor::pin(0),
            Processors::All => processor::unpin(),
        }
    }
}

/// How many connections a load makes.
#[derive(Clone, Copy)]
pub enum Connections {
    So(usize),
    /// One for each operation.
    Each,
}

impl Connections {
    fn of(self, n: u64) -> usize {
        match self {
            Connections::So(many) => many,
            Connections::Each => n as usize,
        }
    }
}

/// A contender that is `server` under `load`, on the first processor.
pub fn contender(
    name: &'static str,
    server: Server,
    connections: Connections,
    load: Load,
) -> Contender {
    contender_on(Processors::First, name, server, connections, load)
}

/// The same, where it may run.
pub fn contender_on(
    processors: Processors,
    name: &'static str,
    server: Server,
    connections: Connections,
    load: Load,
) -> Contender {
    Contender::measured(name, move |n| {
        let connections = connections.of(n);
        let listener = listener().map_err(Failure::failed)?;
        let address = listener.local_addr().map_err(Failure::failed)?;
        let serves = thread::spawn(move || {
            processors.take();
            server(listener, connections)
        });
        processor::pin(1);
        let target = Target { address, process: std::process::id() };
        let turn = under(|| load(target, connections, n));
        processor::unpin();
        let turn = turn?;
        serves.join().map_err(|_| Failure::failed("the server panicked"))??;
        Ok(turn)
    })
}

/// A listener that others may stand beside.
fn listener() -> std::io::Result<TcpListener> {
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    listener.set_reuse_port(true)?;
    listener.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    listener.listen(4096)?;
    Ok(listener.into())
}

/// Runs a load; the turn says how much processor time the rest of the process used.
fn under(load: impl FnOnce() -> std::result::Result<Served, Failure>) -> Result {
    let (all, own) = (processor::used_by_process(), processor::used_by_thread());
    let served = load()?;
    let used = (processor::used_by_process() - all)
        .saturating_sub(processor::used_by_thread() - own)
        .as_nanos() as f64;
    let mut note = format!("{:.2} µs of processor each", used / 1e3 / served.count as f64);
    if let Some(more) = served.note {
        note = format!("{note}, {more}");
    }
    Ok(Turn::ns(served.took, served.count).with_note(note))
}

/// How long `f` takes.
fn timed<T>(f: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let done = f();
    (done, start.elapsed())
}

/// A server that is a program of its own: it prints its port, serves, and ends when all its connections
/// have ended. It runs where the others do.
pub fn external(
    tool: Tool,
    bench: &'static str,
    connections: Connections,
    load: Load,
) -> Contender {
    external_on(Processors::First, tool, tool.name(), bench, connections, load)
}

/// The same, where it may run.
pub fn external_on(
    processors: Processors,
    tool: Tool,
    name: &'static str,
    bench: &'static str,
    connections: Connections,
    load: Load,
) -> Contender {
    Contender::external(name, move |n| {
        let connections = connections.of(n);
        let mut command = external::command(tool, bench, connections as u64, n)?;
        // It inherits where it runs.
        processors.take();
        let server = command.stdout(Stdio::piped()).spawn().map_err(Failure::failed);
        processor::pin(1);
        let turn = server.and_then(|server| measure(server, connections, n, load));
        processor::unpin();
        turn
    })
}

fn measure(mut server: Child, connections: usize, n: u64, load: Load) -> Result {
    let mut lines = BufReader::new(server.stdout.take().expect("it is piped")).lines();
    let mut word = || lines.next().and_then(|line| line.ok()).unwrap_or_default();
    let port = word().parse().map_err(|_| Failure::failed("it printed no port"))?;
    let before = processor::used_by_children();
    let address = (Ipv4Addr::LOCALHOST, port).into();
    let served = load(Target { address, process: server.id() }, connections, n)?;
    let version = word();
    server.wait().map_err(Failure::failed)?;
    let used = (processor::used_by_children() - before).as_nanos() as f64;
    let mut note =
        format!("{:.2} µs of processor each, all told", used / 1e3 / served.count as f64);
    if let Some(more) = served.note {
        note = format!("{note}, {more}");
    }
    let turn = Turn::ns(served.took, served.count).with_note(note);
    Ok(Turn { version: Some(version), ..turn })
}
