//! Sockets where cores and threads meet, and fairness on one core.

use std::cell::Cell;
use std::io::{Read, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use crate::support::{LONG, MUCH, listener, on_a_core, pair, run};
use leno_channel::shared;
use leno_io::net::{TcpListener, TcpStream};
use leno_kernel::{LocalSystem, System, spawn, spawn_local, yield_now};

/// Asks an echo server so many times.
fn ask(address: std::net::SocketAddr, times: u32) -> u32 {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut buffer = [0; 4];
    for n in 0..times {
        stream.write_all(&n.to_be_bytes()).unwrap();
        stream.read_exact(&mut buffer).unwrap();
        assert_eq!(u32::from_be_bytes(buffer), n);
    }
    times
}

fn serve(listener: &TcpListener, connections: usize) {
    let served: Vec<_> = listener
        .incoming()
        .take(connections)
        .map(|stream| {
            let stream = stream.unwrap();
            spawn(move || std::io::copy(&mut &stream, &mut &stream).unwrap())
        })
        .collect();
    for one in served {
        assert_eq!(one.join().unwrap(), 200);
    }
}

/// Connections are accepted on one core and served on any; clients are coroutines, too.
#[test]
fn a_system_of_two_cores_serves_itself() {
    let system = System::new(2).unwrap();
    let (listener, address) = listener();
    let server = system.spawn(move || serve(&listener, 40));
    let clients: Vec<_> = (0..40).map(|_| system.spawn(move || ask(address, 50))).collect();
    assert!(clients.into_iter().all(|client| client.join().unwrap() == 50));
    server.join().unwrap();
    assert_eq!(system.wait().unwrap().panicked, 0);
}

/// A listener for each core: the system shares out the connections, and each is served where it was accepted.
#[test]
fn cores_that_share_an_address_serve_what_they_are_given() {
    const CLIENTS: u64 = 60;
    let listeners = TcpListener::bind_several("127.0.0.1:0", 3).unwrap();
    let address = listeners[0].local_addr().unwrap();
    assert!(listeners.iter().all(|listener| listener.local_addr().unwrap() == address));
    let served: Vec<_> = (0..3).map(|_| Arc::new(AtomicU64::new(0))).collect();
    let (stop, stopped) = shared::channel::<()>();
    let cores: Vec<_> = listeners
        .into_iter()
        .zip(served.iter().cloned())
        .map(|(listener, served)| {
            let stopped = stopped.clone();
            on_a_core(move || {
                let accepts = spawn_local(move || {
                    for stream in listener.incoming() {
                        let stream = stream.unwrap();
                        served.fetch_add(1, SeqCst);
                        drop(spawn_local(move || std::io::copy(&mut &stream, &mut &stream)));
                    }
                });
                stopped.recv().unwrap_err();
                accepts.cancel();
            })
        })
        .collect();
    let clients: Vec<_> =
        (0..CLIENTS).map(|_| std::thread::spawn(move || ask(address, 10))).collect();
    assert!(clients.into_iter().all(|client| client.join().unwrap() == 10));
    drop(stop);
    cores.into_iter().for_each(|core| core.join().unwrap());
    let served: Vec<_> = served.iter().map(|served| served.load(SeqCst)).collect();
    assert_eq!(served.iter().sum::<u64>(), CLIENTS);
    // By a hash of their ports, which are all different; that one core gets nothing is not to be expected.
    assert!(served.iter().all(|count| *count < CLIENTS), "{served:?}");
}

/// What cannot be shared is refused by name, and on a network in memory all are handles of one listener.
#[test]
fn several_listeners_are_refused_by_name() {
    let none = TcpListener::bind_several("127.0.0.1:0", 0).unwrap_err();
    assert_eq!(none.kind(), std::io::ErrorKind::InvalidInput);
    // It does not share.
    let (alone, address) = listener();
    let error = TcpListener::bind_several(address, 2).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    assert!(error.to_string().starts_with(&format!("bind to {address}: ")), "{error}");
    drop(alone);
    // Any port: someone else may have that one by now.
    assert_eq!(TcpListener::bind_several("127.0.0.1:0", 2).unwrap().len(), 2);
    let several = TcpListener::bind_several_async("127.0.0.1:0", 3);
    let several = leno_kernel::block_on(several).unwrap();
    let address = several[0].local_addr().unwrap();
    assert!(several.iter().all(|listener| listener.local_addr().unwrap() == address));
    drop(several);

    let network = leno_io::memory::Network::new();
    let host = network.host("server");
    run(move || {
        host.enter(|| {
            let listeners = TcpListener::bind_several("127.0.0.1:80", 2).unwrap();
            let near = TcpStream::connect("127.0.0.1:80").unwrap();
            let (_far, from) = listeners[1].accept().unwrap();
            assert_eq!(from, near.local_addr().unwrap());
        });
    });
}

/// The same with futures, which move between the cores at any time.
#[test]
fn movable_futures_serve() {
    let system = System::new(2).unwrap();
    let (listener, address) = listener();
    let server = system.spawn_future(async move {
        for _ in 0..20 {
            let (stream, _) = listener.accept_async().await.unwrap();
            drop(leno_kernel::spawn_future(async move {
                let mut buffer = [0; 16];
                loop {
                    match stream.read_async(&mut buffer).await.unwrap() {
                        0 => break,
                        count => stream.write_all_async(&buffer[..count]).await.unwrap(),
                    }
                }
            }));
        }
    });
    let clients: Vec<_> = (0..20).map(|_| system.spawn(move || ask(address, 50))).collect();
    assert!(clients.into_iter().all(|client| client.join().unwrap() == 50));
    server.join().unwrap();
    assert_eq!(system.wait().unwrap().panicked, 0);
}

/// Each of two cores has waited for the stream before the other uses it; both directions at once.
#[test]
fn a_stream_is_used_by_two_cores_in_turn_and_at_once() {
    let (near, far) = pair();
    let (near, far) = (Arc::new(near), Arc::new(far));
    for round in 0..4_u8 {
        let (own, other) = (near.clone(), far.clone());
        let reader = on_a_core(move || {
            let mut buffer = [0; 100];
            (&*own).read_exact(&mut buffer).unwrap();
            buffer[99]
        });
        let writer = on_a_core(move || {
            for _ in 0..100 {
                (&*other).write_all(&[round]).unwrap();
                yield_now();
            }
        });
        assert_eq!(reader.join().unwrap(), round);
        writer.join().unwrap();
    }
    let own = near.clone();
    let echo = on_a_core(move || {
        let count = std::io::copy(&mut &*own, &mut &*own).unwrap();
        own.shutdown(std::net::Shutdown::Write).unwrap();
        count
    });
    let (out, back) = (far.clone(), far);
    let writer = on_a_core(move || {
        (&*out).write_all(&[7; 100_000]).unwrap();
        out.shutdown(std::net::Shutdown::Write).unwrap();
    });
    let mut bytes = Vec::new();
    (&*back).read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes.len(), 100_000);
    writer.join().unwrap();
    assert_eq!(echo.join().unwrap(), 100_000);
}

/// Someone is always ready, and never waits. Those who wait for sockets get their turns all the same:
/// a round takes a bounded number of the busy one's turns.
#[test]
fn a_busy_core_does_not_starve_its_sockets() {
    const ROUNDS: u64 = 50;
    /// A turn takes tens of nanoseconds, so this is far more than any round needs.
    const PATIENCE: u64 = 500_000_000;
    let (near, far) = pair();
    let turns = Rc::new(Cell::new(0_u64));
    let is_done = Rc::new(Cell::new(false));
    let system = LocalSystem::new();
    drop(system.spawn(move || std::io::copy(&mut &far, &mut &far)));
    let done = is_done.clone();
    drop(system.spawn(move || {
        let mut near = near;
        for _ in 0..ROUNDS {
            near.write_all(b"ping").unwrap();
            near.read_exact(&mut [0; 4]).unwrap();
        }
        done.set(true);
    }));
    let (counts, done) = (turns.clone(), is_done.clone());
    drop(system.spawn(move || {
        while !done.get() {
            counts.set(counts.get() + 1);
            assert!(counts.get() < PATIENCE, "the sockets starve");
            yield_now();
        }
    }));
    system.run().unwrap();
    assert!(is_done.get() && turns.get() >= ROUNDS, "{} turns", turns.get());
}

/// A peer is so fast that there is always something to read. Others of the core get their turns.
#[test]
fn a_socket_that_is_always_ready_does_not_keep_the_core() {
    let (near, far) = pair();
    let stop = Arc::new(AtomicBool::new(false));
    let is_stopped = stop.clone();
    let floods = std::thread::spawn(move || {
        far.set_write_timeout(Some(LONG)).unwrap();
        while !is_stopped.load(SeqCst) && (&far).write(&MUCH).is_ok() {}
    });
    let reads = run(move || {
        let reads = Rc::new(Cell::new(0_u64));
        let count = reads.clone();
        let reader = spawn_local(move || {
            // So small that none is short.
            while matches!((&near).read(&mut [0]), Ok(1)) {
                count.set(count.get() + 1);
            }
        });
        let mut turns = 0;
        while turns < 100 || reads.get() < 1000 {
            turns += 1;
            yield_now();
        }
        stop.store(true, SeqCst);
        reader.cancel();
        assert!(reader.join().is_err());
        (reads.get(), turns)
    });
    floods.join().unwrap();
    assert!(reads.0 >= 1000, "{reads:?}");
}

/// The same for a future.
#[test]
fn a_future_whose_socket_is_always_ready_does_not_keep_the_core() {
    let (near, far) = pair();
    let stop = Arc::new(AtomicBool::new(false));
    let is_stopped = stop.clone();
    let floods =
        std::thread::spawn(
            move || {
                while !is_stopped.load(SeqCst) && (&far).write(&MUCH).is_ok() {}
            },
        );
    let reads = Arc::new(AtomicU64::new(0));
    let system = LocalSystem::new();
    let (count, is_stopped) = (reads.clone(), stop.clone());
    drop(system.spawn_future(async move {
        while !is_stopped.load(SeqCst) {
            assert_eq!(near.read_async(&mut [0]).await.unwrap(), 1);
            count.fetch_add(1, SeqCst);
        }
    }));
    drop(system.spawn(move || {
        while reads.load(SeqCst) < 1000 {
            yield_now();
        }
        stop.store(true, SeqCst);
    }));
    system.run().unwrap();
    floods.join().unwrap();
}
