//! leno in the benches of sockets.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

use leno::channel::shared;
use leno::io::net::{TcpListener as Listener, TcpStream};
use leno::kernel::{LocalSystem, spawn_local, spawn_local_future};

use crate::bench::sockets::{BUFFER, Kind, echo, greet};
use crate::contender::{Contender, Failure};
use crate::serve::{Connections, Load, Processors, contender, contender_on};

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

/// With all processors: one core that the system may move, and two of them, each with a listener of its own.
pub fn servers_on_all(connections: Connections, load: Load) -> Vec<Contender> {
    let (all, free) = (Processors::All, |listener, n| serve(listener, n, greet));
    vec![
        contender_on(all, "leno free", free, connections, load),
        contender_on(all, "leno cores", serve_by_cores, connections, load),
    ]
}

/// The system shares out the connections; whoever takes the last one tells the others.
fn serve_by_cores(listener: TcpListener, connections: usize) -> Result<(), Failure> {
    let address = listener.local_addr().map_err(Failure::failed)?;
    let mut listeners = Listener::bind_several(address, 1).map_err(Failure::failed)?;
    listeners.push(Listener::from_std(listener).map_err(Failure::failed)?);
    let left = Arc::new(AtomicUsize::new(connections));
    let (done, all_done) = shared::unbounded::<()>();
    let cores = listeners.into_iter().map(|listener| {
        let (left, done, all_done) = (left.clone(), done.clone(), all_done.clone());
        thread::spawn(move || {
            run(move || {
                let accepts = spawn_local(move || {
                    for connection in listener.incoming() {
                        let connection = connection?;
                        connection.set_nodelay(true)?;
                        drop(spawn_local(move || greet(connection)));
                        if left.fetch_sub(1, SeqCst) == 1 {
                            drop((done.send(()), done.send(())));
                        }
                    }
                    std::io::Result::Ok(())
                });
                drop(all_done.recv());
                accepts.cancel();
                Ok(())
            })
        })
    });
    let cores: Vec<_> = cores.collect();
    cores.into_iter().try_for_each(|core| core.join().expect("it only serves"))
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
