//! The same samples, unchanged, on a network in memory, under many schedules: who comes first, where reads
//! and writes are cut, when the order to stop comes. A failing run prints a token that replays it.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use leno::explore::Explorer;
use leno::io::memory::{Link, Network};
use leno::io::net::{TcpListener, TcpStream};
use leno::kernel::{LocalSystem, spawn_local, yield_now};
use leno_samples::http::{self, Client, Limits};
use leno_samples::proxy::{self, Moved, proxy};
use leno_samples::serve::{self, stop};

use crate::http::handle;

const RUNS: u64 = 300;

/// What a client got, if it got anything.
fn ask(target: &str) -> io::Result<String> {
    let mut client = Client::connect("127.0.0.1:80".parse().expect("an address"))?;
    let mut text = String::new();
    let mut answer = client.get(target)?;
    // Once it has begun, all of it comes.
    answer.body.read_to_string(&mut text).expect("the rest of the answer");
    assert_eq!((answer.status, text.as_str()), (200, "hello"));
    Ok(text)
}

/// Whenever the order to stop comes: who gets an answer gets all of it, and the server ends by itself.
#[test]
fn a_server_that_stops_breaks_off_no_answer() {
    static ANSWERED: AtomicU64 = AtomicU64::new(0);
    static TOO_LATE: AtomicU64 = AtomicU64::new(0);
    let summary = Explorer::new().random(1).runs(RUNS).run(|| {
        let network = Network::new();
        network.set_link(Link::new().partial(3));
        let system = LocalSystem::new();
        let host = network.host("server");
        let all = system.spawn(move || {
            host.enter(|| {
                let listener = TcpListener::bind("127.0.0.1:80").expect("a free port");
                let (stop, stopped) = stop();
                let server = spawn_local(move || {
                    http::serve(listener, &stopped, &Limits::default(), handle)
                });
                let clients = [(); 2].map(|()| spawn_local(|| ask("/")));
                let stopper = spawn_local(move || {
                    yield_now();
                    drop(stop);
                });
                for client in clients {
                    match client.join().expect("a client that does not panic") {
                        Ok(_) => ANSWERED.fetch_add(1, Relaxed),
                        Err(_) => TOO_LATE.fetch_add(1, Relaxed),
                    };
                }
                stopper.join().expect("it only drops");
                assert!(server.join().expect("a server that does not panic"), "all by themselves");
            });
        });
        system.run().expect("no deadlock");
        all.join().expect("no panic");
        assert_eq!(network.connections(), 0);
    });
    let summary = summary.unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(summary.runs(), RUNS);
    // Both happen, so the order did come at different times.
    let (answered, too_late) = (ANSWERED.load(Relaxed), TOO_LATE.load(Relaxed));
    assert!(answered > 0 && too_late > 0, "{answered} answered, {too_late} too late");
}

/// However the bytes are cut, and whoever is first: they arrive, and so do both ends.
#[test]
fn a_proxy_passes_everything_on() {
    let summary = Explorer::new().random(2).runs(RUNS).run(|| {
        let network = Network::new();
        network.set_link(Link::new().partial(4).capacity(5));
        let host = network.host("server");
        let system = LocalSystem::new();
        let all = system.spawn(move || {
            host.enter(|| {
                let server = TcpListener::bind("127.0.0.1:80").expect("a free port");
                let door = TcpListener::bind("127.0.0.1:81").expect("a free port");
                let (stop, stopped) = stop();
                let proxied = spawn_local(move || {
                    serve::serve(door, &stopped, serve::Limits::default(), |client| {
                        let server = "127.0.0.1:80".parse().expect("an address");
                        let moved = proxy(&client, server, &proxy::Limits::default());
                        assert_eq!(
                            moved.expect("nobody breaks off"),
                            Moved { there: 12, back: 12 }
                        );
                    })
                });
                let echo = spawn_local(move || {
                    let (mut stream, _) = server.accept()?;
                    let mut text = String::new();
                    stream.read_to_string(&mut text)?;
                    stream.write_all(text.as_bytes())
                });
                let mut stream = TcpStream::connect("127.0.0.1:81").expect("the proxy");
                stream.write_all(b"hello, world").expect("room, in the end");
                stream.shutdown(Shutdown::Write).expect("a stream");
                assert_eq!(io::read_to_string(&stream).expect("an answer"), "hello, world");
                echo.join().expect("no panic").expect("no error");
                drop((stop, stream));
                assert!(proxied.join().expect("no panic"));
            });
        });
        system.run().expect("no deadlock");
        all.join().expect("no panic");
        assert_eq!(network.connections(), 0);
    });
    let summary = summary.unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(summary.runs(), RUNS);
}
