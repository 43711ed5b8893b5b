//! A proxy between clients and a server, which can fall silent: connections stay open, and nothing passes any more.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::time::Duration;

pub(crate) struct Proxy {
    pub(crate) port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Connections of earlier rounds are silent.
    round: AtomicU32,
    /// So are those to come.
    is_deaf: AtomicBool,
    is_over: AtomicBool,
    connections: AtomicU32,
}

impl Proxy {
    pub(crate) fn start(to: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, state) = (listener.local_addr().unwrap().port(), Arc::new(State::default()));
        let shared = state.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                if shared.is_over.load(SeqCst) {
                    return;
                }
                let (client, round) = (client.unwrap(), shared.round.load(SeqCst));
                shared.connections.fetch_add(1, SeqCst);
                let server = TcpStream::connect(("127.0.0.1", to)).unwrap();
                let ends =
                    [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)];
                for (from, to) in ends {
                    let shared = shared.clone();
                    std::thread::spawn(move || pass(from, to, &shared, round));
                }
            }
        });
        Proxy { port, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://leno@127.0.0.1:{}/postgres", self.port)
    }

    /// All connections that there are fall silent; new ones too, or not.
    pub(crate) fn fall_silent(&self, new_too: bool) {
        self.state.is_deaf.store(new_too, SeqCst);
        self.state.round.fetch_add(1, SeqCst);
    }

    /// New connections pass again.
    pub(crate) fn recover(&self) {
        self.state.round.fetch_add(1, SeqCst);
        self.state.is_deaf.store(false, SeqCst);
    }

    pub(crate) fn connections(&self) -> u32 {
        self.state.connections.load(SeqCst)
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, state: &State, round: u32) {
    from.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut buffer = [0; 4096];
    while !state.is_over.load(SeqCst) {
        let is_silent = || state.round.load(SeqCst) != round || state.is_deaf.load(SeqCst);
        if is_silent() {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        }
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) if !is_silent() => {
                if to.write_all(&buffer[..count]).is_err() {
                    break;
                }
            }
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => break,
        }
    }
    let _gone = to.shutdown(std::net::Shutdown::Both);
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.is_over.store(true, SeqCst);
        let _woken = TcpStream::connect(("127.0.0.1", self.port));
    }
}
