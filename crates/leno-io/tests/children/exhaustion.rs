//! No descriptors left, and signals in the middle of system calls: each in a process of its own, which
//! this test runs again.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;

use crate::support::{Cpu, MS, descriptors, listener, run};
use leno_channel::{channel, select, unbounded};
use leno_io::net::{Exhausted, Resource, TcpListener, TcpStream, UnixListener, UnixStream};
use leno_kernel::{LocalSystem, block_on, now, sleep, spawn_local, spawn_local_future};

/// Runs an ignored test of this file in a process of its own, after a word for its shell.
fn child(first: &str, test: &str) -> Child {
    let (_crate, module) = module_path!().split_once("::").unwrap();
    let script = format!("{first} exec \"$0\" --ignored --exact {module}::{test} --nocapture");
    Command::new("sh")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn succeeds(child: Child) {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn accepting_without_descriptors_backs_off_says_so_and_recovers() {
    succeeds(child("ulimit -n 64;", "few_descriptors"));
}

#[test]
fn futures_back_off_too() {
    succeeds(child("ulimit -n 64;", "few_descriptors_for_futures"));
}

#[test]
fn selects_back_off_too() {
    succeeds(child("ulimit -n 64;", "few_descriptors_for_selects"));
}

#[test]
fn whoever_only_tries_again_does_not_spin() {
    succeeds(child("ulimit -n 64;", "few_descriptors_for_loops"));
}

/// Takes all descriptors that are left.
fn take_all() -> Vec<File> {
    let mut all = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        all.push(file);
        assert!(all.len() < 1000, "there is no limit");
    }
    all
}

#[test]
#[ignore = "run by another test, in a process with few descriptors"]
fn few_descriptors() {
    run(|| {
        let (listener, address) = listener();
        // Whatever the process makes once is made by now.
        drop(TcpStream::connect(address).unwrap());
        drop(listener.accept().unwrap());
        let cpu = Cpu::new();
        let before = descriptors();
        let said = Rc::new(RefCell::new(Vec::new()));
        let log = said.clone();
        let served = Rc::new(Cell::new(0));
        let counts = served.clone();
        let server = spawn_local(move || {
            for stream in listener.incoming() {
                match stream {
                    Ok(mut stream) => {
                        stream.write_all(b"!").unwrap();
                        counts.set(counts.get() + 1);
                    }
                    Err(error) => log.borrow_mut().push(error),
                }
            }
        });
        for round in 1..=2 {
            // Their connections are made by the system, and wait to be accepted: nobody else runs
            // meanwhile.
            let clients: Vec<_> =
                (0..3).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
            let clients: Vec<_> =
                clients.into_iter().map(|client| TcpStream::from_std(client).unwrap()).collect();
            let held = take_all();
            let error = TcpStream::connect(address).unwrap_err();
            assert_eq!(Exhausted::of(&error).unwrap().what(), Resource::Descriptors);
            while said.borrow().len() < round {
                sleep(MS);
            }
            cpu.idles(200 * MS);
            assert_eq!((said.borrow().len(), served.get()), (round, 3 * (round - 1)));
            drop(held);
            for mut client in clients {
                client.read_exact(&mut [0]).unwrap();
            }
        }
        let first = &said.borrow()[0];
        let exhausted = Exhausted::of(first).unwrap();
        assert_eq!(exhausted.what(), Resource::Descriptors);
        assert_eq!(exhausted.raw_os_error(), Some(libc::EMFILE));
        assert_eq!(
            first.to_string(),
            "there are no more file descriptors of the process (RLIMIT_NOFILE): Too many open files \
             (os error 24)"
        );
        server.cancel();
        drop(server.join());
        // The listener is gone, too.
        assert_eq!(descriptors(), before - 1);
    });
}

#[test]
#[ignore = "run by another test, in a process with few descriptors"]
fn few_descriptors_for_futures() {
    run(|| {
        let path = std::env::temp_dir().join(format!("leno-io-few-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        let client = UnixStream::connect(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let held = take_all();
        let error = listener.accept().unwrap_err();
        assert_eq!(Exhausted::of(&error).unwrap().what(), Resource::Descriptors);
        assert!(UnixStream::pair().is_err() && TcpListener::bind("127.0.0.1:0").is_err());
        let frees = spawn_local(move || {
            sleep(30 * MS);
            drop(held);
        });
        block_on(async {
            let mut incoming = listener.incoming();
            let error = incoming.next_async().await.unwrap_err();
            assert!(Exhausted::of(&error).is_some());
            drop(incoming.next_async().await.unwrap());
        });
        frees.join().unwrap();
        assert_eq!((&client).read(&mut [0]).unwrap(), 0);
    });
}

/// A connection that waits to be accepted when there are no more descriptors, which are given back.
fn waiting(address: SocketAddr) -> (TcpStream, Vec<File>) {
    let client = std::net::TcpStream::connect(address).unwrap();
    (TcpStream::from_std(client).unwrap(), take_all())
}

#[test]
#[ignore = "run by another test, in a process with few descriptors"]
fn few_descriptors_for_selects() {
    run(|| {
        let (listener, address) = listener();
        let (order, stopped) = channel::<()>();
        let (told, failures) = unbounded();
        let cpu = Cpu::new();
        let (mut client, held) = waiting(address);
        let server = spawn_local(move || {
            let (mut tries, stopped) = (0, &stopped);
            loop {
                select! {
                    recv(stopped) -> _ => return tries,
                    source(listener.acceptable()) -> ready => {
                        tries += 1;
                        match ready.and_then(|()| listener.try_accept()) {
                            Ok((mut stream, _)) => stream.write_all(b"!").unwrap(),
                            Err(error) => told.send(Exhausted::of(&error).is_some()).unwrap(),
                        }
                    }
                }
                .unwrap();
            }
        });
        assert_eq!(failures.recv(), Ok(true));
        cpu.idles(200 * MS);
        drop(held);
        client.read_exact(&mut [0]).unwrap();
        // The pause is over for all.
        TcpStream::connect(address).unwrap().read_exact(&mut [0]).unwrap();
        order.send(()).unwrap();
        let tries = server.join().unwrap();
        assert!(tries < 20, "{tries} tries");
    });
}

/// Loops that only report errors: by a coroutine, by a future, and by one that polls by hand.
#[test]
#[ignore = "run by another test, in a process with few descriptors"]
fn few_descriptors_for_loops() {
    run(|| {
        let (listener, address) = listener();
        let cpu = Cpu::new();
        let (mut client, held) = waiting(address);
        let listener = Rc::new(listener);
        let tries = Rc::new(Cell::new(0));
        let attempt = |accepted: std::io::Result<_>, tries: &Cell<i32>| {
            tries.set(tries.get() + 1);
            accepted.is_ok_and(|(mut stream, _): (TcpStream, _)| stream.write_all(b"!").is_ok())
        };
        let (door, count) = (listener.clone(), tries.clone());
        let by_coroutine = spawn_local(move || while !attempt(door.accept(), &count) {});
        let (door, count) = (listener.clone(), tries.clone());
        let by_future =
            spawn_local_future(async move { while !attempt(door.accept_async().await, &count) {} });
        let (door, count) = (listener.clone(), tries.clone());
        let by_hand = spawn_local_future(async move {
            while !attempt(poll_fn(|context| door.poll_accept(context)).await, &count) {}
        });
        let (door, count) = (listener.clone(), tries.clone());
        let when_ready = spawn_local_future(async move {
            while !attempt(door.acceptable().await.and_then(|()| door.try_accept()), &count) {}
        });
        while tries.get() < 4 {
            sleep(MS);
        }
        cpu.idles(200 * MS);
        assert!(tries.get() < 80, "{} tries", tries.get());
        drop(held);
        client.read_exact(&mut [0]).unwrap();
        for _ in 1..4 {
            TcpStream::connect(address).unwrap().read_exact(&mut [0]).unwrap();
        }
        for ends in [by_coroutine, by_future, by_hand, when_ready] {
            ends.join().unwrap();
        }
        let late = listener.accept_timeout(20 * MS);
        assert_eq!(late.unwrap_err().kind(), std::io::ErrorKind::TimedOut);
    });
}

/// A deadline that comes before the pause is over ends the wait.
#[test]
fn a_pause_ends_with_the_limit_and_with_the_coroutine() {
    succeeds(child("ulimit -n 64;", "a_pause_among_few_descriptors"));
}

#[test]
#[ignore = "run by another test, in a process with few descriptors"]
fn a_pause_among_few_descriptors() {
    run(|| {
        let (listener, address) = listener();
        let (_client, held) = waiting(address);
        // The pauses grow until they are long.
        for _ in 0..9 {
            assert!(Exhausted::of(&listener.try_accept().unwrap_err()).is_some());
        }
        let start = now();
        assert!(Exhausted::of(&listener.accept_timeout(MS).unwrap_err()).is_some());
        assert!(now().since(start) >= MS);
        /// Accepts while its coroutine's stack unwinds.
        struct AtTheEnd(Rc<TcpListener>, Rc<Cell<usize>>);
        impl Drop for AtTheEnd {
            fn drop(&mut self) {
                self.1.set(1 + self.0.incoming().count());
            }
        }
        let counted = Rc::new(Cell::new(0));
        let (listener, counts) = (Rc::new(listener), counted.clone());
        let ends = spawn_local(move || {
            let at_the_end = AtTheEnd(listener, counts);
            drop(at_the_end.0.accept());
        });
        sleep(MS);
        ends.cancel();
        assert!(ends.join().is_err());
        assert_eq!(counted.get(), 1, "nothing more is accepted, nor told");
        drop(held);
    });
}

/// A process that is stopped and goes on has its waits interrupted, as by a signal; a handled signal
/// comes in between.
#[test]
fn interrupted_system_calls_are_repeated() {
    let child = child("", "echoes_for_a_while");
    let storm = "n=0; while kill -0 $0 && [ $n -lt 300 ]; do kill -STOP $0; kill -CONT $0; \
                 [ $((n % 20)) != 7 ] || kill -WINCH $0; n=$((n + 1)); done";
    let storm = Command::new("sh")
        .args(["-c", storm, &child.id().to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    storm.unwrap();
    succeeds(child);
}

#[test]
#[ignore = "run by another test, which interrupts it"]
fn echoes_for_a_while() {
    /// Ignored unless someone handles it.
    const SIGWINCH: i32 = libc::SIGWINCH;
    leno_kernel::dump_on_signal(SIGWINCH).unwrap();
    let (listener, address) = listener();
    // A thread accepts, answers and waits; coroutines ask; some time passes between.
    let server = std::thread::spawn(move || {
        for stream in listener.incoming().take(4) {
            let stream = stream.unwrap();
            std::io::copy(&mut &stream, &mut &stream).unwrap();
        }
    });
    let system = LocalSystem::new();
    let client = system.spawn(move || {
        for _ in 0..4 {
            let mut stream = TcpStream::connect(address).unwrap();
            for n in 0..100_u8 {
                stream.write_all(&[n]).unwrap();
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                assert_eq!(byte, [n]);
                sleep(MS);
            }
        }
    });
    system.run().unwrap();
    client.join().unwrap();
    server.join().unwrap();
}
