//! Peers that misbehave. After each, the process has as many descriptors as before and the system no
//! coroutines; and nobody spins. Not in `suite`: it counts the descriptors of its process.

#[path = "suite/support.rs"]
mod support;

use std::cell::Cell;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::rc::Rc;
use std::time::Duration;

use leno_io::net::{TcpListener, TcpStream};
use leno_io::process::{Command, Stdio};
use leno_io::time::timeout;
use leno_kernel::{JoinHandle, LocalSystem, sleep, spawn_local};
use rustix::process::{Resource, Rlimit};
use support::{Cpu, LONG, MS, MUCH, alone, descriptors, listener, pair};

/// Runs a body as the first coroutine of a system, and looks what it has left.
fn leaves_nothing(body: impl FnOnce() + 'static) {
    let _alone = alone();
    // Whatever the process makes once is made by now.
    support::run(|| drop(pair()));
    let before = descriptors();
    let system = LocalSystem::new();
    let body = system.spawn(|| support::or_end(body));
    let report = system.run().unwrap();
    body.join().unwrap();
    assert_eq!((report.panicked, report.alive.len()), (0, 0), "{report:?}");
    assert_eq!(report.spawned, report.returned + report.exited, "{report:?}");
    drop(system);
    assert_eq!(descriptors(), before, "descriptors are left");
}

/// Serves each connection by a coroutine, until it is cancelled.
fn server(listener: TcpListener, serve: impl Fn(TcpStream) + Copy + 'static) -> JoinHandle<()> {
    spawn_local(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            drop(spawn_local(move || serve(stream)));
        }
    })
}

fn echo(stream: TcpStream) {
    let _ = std::io::copy(&mut &stream, &mut &stream);
}

/// A line, which must come within the limit as a whole; it is sent back.
fn serve_line(stream: TcpStream) {
    let answer = timeout(50 * MS, || {
        let mut line = Vec::new();
        let mut byte = [0];
        while byte != *b"\n" {
            (&stream).read_exact(&mut byte)?;
            line.push(byte[0]);
        }
        (&stream).write_all(&line)
    });
    match answer {
        Ok(answer) => answer.unwrap(),
        Err(_) => drop(stream.shutdown(Shutdown::Both)),
    }
}

#[test]
fn slow_loris_clients_are_cut_off_and_others_served() {
    leaves_nothing(|| {
        let (listener, address) = listener();
        let server = server(listener, serve_line);
        let slow: Vec<_> = (0..100)
            .map(|_| {
                spawn_local(move || {
                    let mut stream = TcpStream::connect(address).unwrap();
                    let mut sent = 0;
                    // A byte now and then, and never the end: each read succeeds in time.
                    while stream.write_all(b"x").is_ok() {
                        sent += 1;
                        sleep(5 * MS);
                    }
                    sent
                })
            })
            .collect();
        sleep(MS);
        // On a busy machine even a good one may be too slow now and then.
        let is_served = || {
            let mut good = TcpStream::connect(address).unwrap();
            let mut answer = [0; 6];
            let served = good.write_all(b"hello\n").and_then(|()| good.read_exact(&mut answer));
            served.is_ok() && &answer == b"hello\n"
        };
        assert!((0..100).any(|_| is_served()));
        assert!(slow.into_iter().all(|one| one.join().unwrap() > 0));
        server.cancel();
    });
}

#[test]
fn peers_that_say_nothing_and_read_nothing_are_given_up() {
    leaves_nothing(|| {
        let (listener, address) = listener();
        let given_up = Rc::new(Cell::new(0));
        let counts = given_up.clone();
        let acceptor = spawn_local(move || {
            for n in 0..100 {
                let (stream, _) = listener.accept().unwrap();
                let counts = counts.clone();
                drop(spawn_local(move || {
                    stream.set_read_timeout(Some(20 * MS)).unwrap();
                    stream.set_write_timeout(Some(20 * MS)).unwrap();
                    let error = match n % 2 {
                        0 => (&stream).read(&mut [0]).unwrap_err(),
                        _ => loop {
                            if let Err(error) = (&stream).write_all(&MUCH) {
                                break error;
                            }
                        },
                    };
                    assert_eq!(error.kind(), ErrorKind::TimedOut);
                    counts.set(counts.get() + 1);
                }));
            }
        });
        let silent: Vec<_> = (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
        acceptor.join().unwrap();
        while given_up.get() < 100 {
            sleep(MS);
        }
        drop(silent);
    });
}

/// Closes a stream so that its peer sees a reset.
fn reset(stream: TcpStream) {
    stream.set_linger(Some(Duration::ZERO)).unwrap();
}

#[test]
fn resets_in_the_middle_end_one_connection_only() {
    leaves_nothing(|| {
        let (listener, address) = listener();
        let server = server(listener, echo);
        let clients: Vec<_> = (0..100)
            .map(|n| {
                spawn_local(move || {
                    let mut stream = TcpStream::connect(address).unwrap();
                    match n % 4 {
                        // Before a word was said.
                        0 => {}
                        // With something on its way to the server.
                        1 => stream.write_all(&[1; 1000]).unwrap(),
                        // With so much on its way back that the server waits to write.
                        2 => {
                            stream.set_write_timeout(Some(2 * MS)).unwrap();
                            while stream.write_all(&MUCH).is_ok() {}
                        }
                        // After an answer.
                        _ => {
                            stream.write_all(b"ping").unwrap();
                            stream.read_exact(&mut [0; 4]).unwrap();
                        }
                    }
                    reset(stream);
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        // It still serves.
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"ping").unwrap();
        stream.read_exact(&mut [0; 4]).unwrap();
        server.cancel();
    });
}

#[test]
fn a_reset_is_an_error_for_whoever_waits() {
    leaves_nothing(|| {
        for (reads, writes) in [(true, false), (false, true), (true, true)] {
            let (near, far) = pair();
            let near = Rc::new(near);
            let mut waiting = Vec::new();
            if reads {
                let own = near.clone();
                waiting.push(spawn_local(move || (&*own).read(&mut [0; 8]).map(drop)));
            }
            if writes {
                let own = near.clone();
                waiting.push(spawn_local(move || (&*own).write_all(&vec![0; 64 << 20])));
            }
            sleep(2 * MS);
            reset(far);
            for one in waiting {
                let kind = one.join().unwrap().map_err(|error| error.kind());
                // Who comes second is told of the broken pipe, or of the end.
                let expected =
                    [Err(ErrorKind::ConnectionReset), Err(ErrorKind::BrokenPipe), Ok(())];
                assert!(expected.contains(&kind), "{kind:?}");
            }
        }
    });
}

/// The reader takes little at a time from small buffers, so that nearly every write is a partial one.
#[test]
fn partial_writes_lose_nothing() {
    leaves_nothing(|| {
        let (near, far) = pair();
        socket2::SockRef::from(&near).set_send_buffer_size(4096).unwrap();
        let bytes: Rc<Vec<u8>> = Rc::new((0..1_000_003_u32).map(|n| (n % 253) as u8).collect());
        let sent = bytes.clone();
        let writer = spawn_local(move || {
            let (mut rest, mut writes) = (&sent[..], 0);
            while !rest.is_empty() {
                let count = (&near).write(rest).unwrap();
                assert!(count > 0);
                rest = &rest[count..];
                writes += 1;
            }
            writes
        });
        let (mut got, mut buffer) = (Vec::new(), [0; 777]);
        loop {
            match (&far).read(&mut buffer).unwrap() {
                0 => break,
                count => got.extend_from_slice(&buffer[..count]),
            }
        }
        assert!(got == *bytes);
        assert!(writer.join().unwrap() > 1, "no write was a partial one");
    });
}

/// Urgent data splits what is read: a short read, and yet there is more.
#[test]
fn urgent_data_keeps_nothing_back() {
    leaves_nothing(|| {
        let (near, far) = pair();
        let writer = spawn_local(move || {
            for _ in 0..3 {
                sleep(MS);
                (&near).write_all(b"before ").unwrap();
                socket2::SockRef::from(&near).send_out_of_band(b"!").unwrap();
                (&near).write_all(b"behind").unwrap();
                // It is heard, or there would be two urgent ones, the first of which is none any more.
                (&near).read_exact(&mut [0]).unwrap();
            }
        });
        let mut buffer = [0; 64];
        for _ in 0..3 {
            let mut got = Vec::new();
            while got.len() < 13 {
                let count = (&far).read(&mut buffer).unwrap();
                got.extend_from_slice(&buffer[..count]);
            }
            assert_eq!(got, b"before behind");
            (&far).write_all(b".").unwrap();
        }
        writer.join().unwrap();
    });
}

/// Connections that are over, and that nobody has closed here: the peer has closed its half, or all, or was
/// reset; or urgent data came that nobody takes. What they have to tell they have told once: while others
/// wait for them, or for their other direction, nothing spins.
#[test]
fn connections_that_are_over_and_kept_do_not_spin() {
    leaves_nothing(|| {
        let (mut kept, mut peers, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
        for n in 0..40 {
            let (near, far) = pair();
            let near = Rc::new(near);
            // Someone has waited for it, so it is watched.
            let own = near.clone();
            let reads = spawn_local(move || (&*own).read(&mut [0; 8]).map(drop));
            sleep(MS / 10);
            match n % 4 {
                // The other direction stays open: its writer waits, because nobody reads.
                0 => {
                    far.shutdown(Shutdown::Write).unwrap();
                    let own = near.clone();
                    waiting.push(spawn_local(move || while (&*own).write_all(&MUCH).is_ok() {}));
                    peers.push(far);
                }
                1 => drop(far),
                2 => reset(far),
                // The reader gets the byte before it, and waits no more.
                _ => {
                    (&far).write_all(b"x").unwrap();
                    socket2::SockRef::from(&far).send_out_of_band(b"!").unwrap();
                    peers.push(far);
                }
            }
            let _end_or_reset = reads.join().unwrap();
            kept.push(near);
        }
        sleep(5 * MS);
        Cpu::new().idles(300 * MS);
        for writes in waiting {
            assert!(!writes.is_finished());
            writes.cancel();
            assert!(writes.join().is_err());
        }
    });
}

/// How many there are: fewer where each costs a tool much, or where descriptors are few. The clients are in
/// a process of their own, or there would be two descriptors for each.
fn idle_connections() -> usize {
    let wanted = if cfg!(any(leno_asan, leno_tsan, leno_baton)) { 500 } else { 10_000 };
    wanted.min(most_descriptors() - 100)
}

/// How many descriptors the process may have; as many as the system lets it.
fn most_descriptors() -> usize {
    let limits = rustix::process::getrlimit(Resource::Nofile);
    let most = Rlimit { current: limits.maximum, ..limits };
    let _refused = rustix::process::setrlimit(Resource::Nofile, most);
    let limits = rustix::process::getrlimit(Resource::Nofile);
    limits.current.map_or(usize::MAX, |most| most as usize)
}

/// So many that nobody has anything to do, and each is still there when it has.
#[test]
fn many_idle_connections_cost_nothing_and_work() {
    let count = idle_connections();
    leaves_nothing(move || {
        let (listener, address) = listener();
        let served = Rc::new(Cell::new(0));
        let counts = served.clone();
        let server = spawn_local(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                counts.set(counts.get() + 1);
                drop(spawn_local(move || echo(stream)));
            }
        });
        let mut clients = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "idle_clients", "--nocapture"])
            .envs([("LENO_ADDRESS", address.to_string()), ("LENO_COUNT", count.to_string())])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while served.get() < count {
            sleep(MS);
            assert!(clients.try_wait().unwrap().is_none(), "the clients have ended");
        }
        sleep(5 * MS);
        // Nothing happens meanwhile; who spins shows.
        Cpu::new().idles(300 * MS);
        // Now all of them speak, and end when they were answered.
        drop(clients.stdin.take());
        assert!(clients.wait().unwrap().success());
        server.cancel();
    });
}

/// Connects, waits until it is told to, and has each connection echo something.
#[test]
#[ignore = "run by another test, as its clients"]
fn idle_clients() {
    let given = |name: &str| std::env::var(name).unwrap();
    let (address, count) = (given("LENO_ADDRESS"), given("LENO_COUNT").parse().unwrap());
    assert!(most_descriptors() >= count);
    let ask = |mut client: &std::net::TcpStream| {
        client.set_read_timeout(Some(LONG)).unwrap();
        client.write_all(b"ping").unwrap();
        client.read_exact(&mut [0; 4]).unwrap();
    };
    let connect = |n: usize| {
        let client = std::net::TcpStream::connect(&*address).unwrap();
        // Who has been answered has been accepted, and so have those before: the line stays short.
        if n.is_multiple_of(50) {
            ask(&client);
        }
        client
    };
    let clients: Vec<_> = (0..count).map(connect).collect();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    clients.iter().for_each(ask);
}
