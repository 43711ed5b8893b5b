//! `tungstenite` over `rustls` over [`TcpStream`]: three crates' blocking code, 32 coroutines, one thread.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use leno::io::net::TcpStream;
use leno::kernel::{Options, spawn_local, try_spawn_local};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
};
use tungstenite::{Error, Message};

use crate::support::{connect, leaves_nothing, listener, reset};

const CLIENTS: usize = 16;
const ROUNDS: usize = 20;

/// In a build that optimises little, 64 KiB are too few for TLS.
const STACK: usize = 128 * 1024;

fn certificate() -> CertificateDer<'static> {
    CertificateDer::from_slice(include_bytes!("data/localhost.der"))
}

fn server_config() -> Arc<ServerConfig> {
    let key: &[u8] = include_bytes!("data/localhost.key.der");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key));
    let config = ServerConfig::builder().with_no_client_auth();
    Arc::new(config.with_single_cert(vec![certificate()], key).unwrap())
}

fn client_config() -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_slice(include_bytes!("data/authority.der"))).unwrap();
    Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())
}

/// Echoes messages until the client closes.
fn serve(stream: TcpStream, config: Arc<ServerConfig>) -> tungstenite::Result<usize> {
    let tls = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
    let mut socket = tungstenite::accept(tls).map_err(|e| io::Error::other(e.to_string()))?;
    let mut echoed = 0;
    loop {
        match socket.read() {
            Ok(message @ (Message::Text(_) | Message::Binary(_))) => {
                socket.send(message)?;
                echoed += 1;
            }
            Ok(_) => {}
            Err(Error::ConnectionClosed) => {
                // Says in TLS, too, that this is the end.
                let tls = socket.get_mut();
                tls.conn.send_close_notify();
                tls.flush()?;
                return Ok(echoed);
            }
            Err(error) => return Err(error),
        }
    }
}

type Socket = tungstenite::WebSocket<StreamOwned<ClientConnection, TcpStream>>;

fn open(address: SocketAddr, config: Arc<ClientConfig>) -> Socket {
    let name = "localhost".try_into().unwrap();
    let tls = ClientConnection::new(config, name).unwrap();
    let tls = StreamOwned::new(tls, connect(address));
    tungstenite::client("wss://localhost/", tls).unwrap().0
}

fn ask(address: SocketAddr, config: Arc<ClientConfig>, client: usize) {
    let mut socket = open(address, config);
    for round in 0..ROUNDS {
        // Of every size up to several TLS records.
        let text = format!("{client} {round} ").repeat(1 + round * round * 20);
        socket.send(Message::text(text.clone())).unwrap();
        assert_eq!(socket.read().unwrap(), Message::text(text));
    }
    socket.close(None).unwrap();
    loop {
        match socket.read() {
            Ok(_) => {}
            Err(Error::ConnectionClosed) => break,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn echo_over_tls_between_coroutines() {
    let (server, client) = (server_config(), client_config());
    leaves_nothing(move || {
        let (listener, address) = listener();
        let large = Options::new().stack_size(STACK);
        let own = large.clone();
        let acceptor = spawn_local(move || {
            let served: Vec<_> = listener
                .incoming()
                .take(CLIENTS)
                .map(|stream| {
                    let (stream, server) = (stream.unwrap(), server.clone());
                    try_spawn_local(&own, move || serve(stream, server)).unwrap()
                })
                .collect();
            served.into_iter().map(|one| one.join().unwrap().unwrap()).sum::<usize>()
        });
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let client = client.clone();
                try_spawn_local(&large, move || ask(address, client, number)).unwrap()
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        assert_eq!(acceptor.join().unwrap(), CLIENTS * ROUNDS);
    });
}

/// A peer that goes away in the middle is an error in those crates' own words.
#[test]
fn a_reset_reaches_the_caller_through_all_layers() {
    let (server, client) = (server_config(), client_config());
    leaves_nothing(move || {
        let (listener, address) = listener();
        let large = Options::new().stack_size(STACK);
        let served = try_spawn_local(&large, move || serve(listener.accept().unwrap().0, server));
        let asked = try_spawn_local(&large, move || {
            let mut socket = open(address, client);
            socket.send(Message::text("hello")).unwrap();
            assert_eq!(socket.read().unwrap(), Message::text("hello"));
            reset(socket.get_ref().sock.try_clone().unwrap());
        });
        asked.unwrap().join().unwrap();
        let error = served.unwrap().join().unwrap().unwrap_err();
        assert!(
            matches!(&error, Error::Io(error) if error.kind() == io::ErrorKind::ConnectionReset),
            "{error}"
        );
    });
}
