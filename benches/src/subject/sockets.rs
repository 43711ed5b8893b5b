//! leno in the benches of sockets.

use std::net::TcpListener;

use leno::io::net::{TcpListener as Listener, TcpStream};
use leno::kernel::{LocalSystem, spawn_local, spawn_local_future};

use crate::bench::sockets::{BUFFER, Kind, echo, greet};
use crate::contender::{Contender, Failure};
use crate::serve::{Connections, Load, contender};

pub fn servers(kind: Kind, connections: Connections, load: Load) -> Vec<Contender> {
    match kind {
        Kind::Echo => vec![
            contender("leno", |listener, count| serve(listener, count, echo), connections, load),
            contender("leno futures", serve_by_futures, connections, load),
        ],
        Kind::Greet => {
            vec![contender("leno", |listener, n| serve(listener, n, greet), connections, load)]
        }
    }
}

pub fn serve(
    listener: TcpListener,
    connections: usize,
    each: fn(TcpStream),
) -> Result<(), Failure> {
    run(move || {
        let listener = Listener::from_std(listener)?;
        for _ in 0..connections {
            let (connection, _) = listener.accept()?;
            connection.set_nodelay(true)?;
            drop(spawn_local(move || each(connection)));
        }
        Ok(())
    })
}

fn serve_by_futures(listener: TcpListener, connections: usize) -> Result<(), Failure> {
    run(move || {
        let listener = Listener::from_std(listener)?;
        for _ in 0..connections {
            let (connection, _) = listener.accept()?;
            connection.set_nodelay(true)?;
            drop(spawn_local_future(async move {
                let mut buffer = [0; BUFFER];
                while let Ok(count) = connection.read_async(&mut buffer).await {
                    if count == 0 || connection.write_all_async(&buffer[..count]).await.is_err() {
                        return;
                    }
                }
            }));
        }
        Ok(())
    })
}

/// Runs the acceptor, and whatever it spawns.
fn run(accepts: impl FnOnce() -> std::io::Result<()> + 'static) -> Result<(), Failure> {
    let system = LocalSystem::new();
    let accepted = system.spawn(accepts);
    system.run().map_err(Failure::failed)?;
    accepted.join().map_err(Failure::failed)?.map_err(Failure::failed)
}
