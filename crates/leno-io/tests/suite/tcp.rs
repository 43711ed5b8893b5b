//! TCP for each kind of caller, and what every stream does.

use std::future::poll_fn;
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;

use crate::support::{LONG, MS, MUCH, kind, listener, on_a_core, pair, run};
use leno_channel::{Select, bounded};
use leno_io::net::{TcpListener, TcpStream, UdpSocket, UnixListener, UnixStream};
use leno_kernel::{LocalSystem, block_on, sleep, spawn_local, yield_now};

/// Sends back what comes, until the end.
fn echo(stream: TcpStream) -> u64 {
    std::io::copy(&mut &stream, &mut &stream).unwrap()
}

#[test]
fn coroutines_of_one_core_talk() {
    let (listener, address) = listener();
    let system = LocalSystem::new();
    drop(system.spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        echo(stream)
    }));
    let text = system.spawn(move || {
        let stream = TcpStream::connect(address).unwrap();
        (&stream).write_all(b"hello").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        std::io::read_to_string(stream).unwrap()
    });
    system.run().unwrap();
    assert_eq!(text.join().unwrap(), "hello");
}

#[test]
fn a_thread_a_coroutine_and_futures_talk() {
    let (listener, address) = listener();
    let listener = Arc::new(listener);
    let own = listener.clone();
    // A thread asks, a coroutine answers.
    let server = on_a_core(move || echo(own.accept().unwrap().0));
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"thread").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(std::io::read_to_string(stream).unwrap(), "thread");
    assert_eq!(server.join().unwrap(), 6);
    // A future that no core polls asks, one that a core polls answers.
    let server = std::thread::spawn(move || {
        let system = LocalSystem::new();
        let count = system.spawn_future(async move {
            let (stream, _) = listener.accept_async().await.unwrap();
            let (mut buffer, mut count) = ([0; 4], 0);
            loop {
                match stream.read_async(&mut buffer).await.unwrap() {
                    0 => return count,
                    more => stream.write_all_async(&buffer[..more]).await.unwrap(),
                }
                count += 1;
            }
        });
        system.run().unwrap();
        count.join().unwrap()
    });
    block_on(async {
        let stream = TcpStream::connect_async(address).await.unwrap();
        stream.write_all_async(b"0123456789").await.unwrap();
        let mut buffer = [0; 10];
        stream.read_exact_async(&mut buffer).await.unwrap();
        assert_eq!(&buffer, b"0123456789");
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(stream.read_async(&mut buffer).await.unwrap(), 0);
        let end = stream.read_exact_async(&mut buffer).await.unwrap_err();
        assert_eq!(end.kind(), ErrorKind::UnexpectedEof);
    });
    assert!(server.join().unwrap() >= 3);
}

#[test]
fn a_future_on_another_executor_talks() {
    let (listener, address) = listener();
    let server = on_a_core(move || echo(listener.accept().unwrap().0));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let text = runtime.block_on(async {
        let stream = TcpStream::connect_async(address).await.unwrap();
        stream.write_all_async(b"hello").await.unwrap();
        let mut buffer = [0; 5];
        stream.read_exact_async(&mut buffer).await.unwrap();
        buffer
    });
    assert_eq!(&text, b"hello");
    assert_eq!(server.join().unwrap(), 5);
}

#[test]
fn a_million_bytes_arrive_in_order() {
    let (mut near, mut far) = pair();
    let system = LocalSystem::new();
    let bytes: Vec<u8> = (0..1_000_003_u32).map(|n| (n % 251) as u8).collect();
    let sent = bytes.clone();
    drop(system.spawn(move || {
        near.write_all(&sent).unwrap();
        near.shutdown(Shutdown::Write).unwrap();
    }));
    let got = system.spawn(move || {
        let mut got = Vec::new();
        far.read_to_end(&mut got).unwrap();
        got
    });
    system.run().unwrap();
    assert!(got.join().unwrap() == bytes);
}

#[test]
fn vectored_in_one_call_and_with_more_parts_than_the_system_takes() {
    run(|| {
        let (mut near, mut far) = pair();
        let parts = [IoSlice::new(b"one "), IoSlice::new(b"two "), IoSlice::new(b"three")];
        assert_eq!(near.write_vectored(&parts).unwrap(), 13);
        let (mut head, mut tail) = ([0; 4], [0; 64]);
        let count =
            far.read_vectored(&mut [IoSliceMut::new(&mut head), IoSliceMut::new(&mut tail)]);
        assert_eq!((count.unwrap(), &head, &tail[..9]), (13, b"one ", &b"two three"[..]));

        // Less is written than was asked for, and yet there is room: the next write must not wait.
        let many = vec![IoSlice::new(b"x"); 3000];
        let mut sent = 0;
        while sent < many.len() {
            sent += near.write_vectored(&many[sent..]).unwrap();
        }
        let mut bytes = vec![0; 3000];
        far.read_exact(&mut bytes).unwrap();
        assert!(bytes.iter().all(|byte| *byte == b'x'));
        // And reading into more parts than the system fills.
        near.write_all(&bytes).unwrap();
        let mut singles = vec![[0_u8]; 3000];
        let mut got = 0;
        while got < 3000 {
            let mut parts: Vec<_> =
                singles[got..].iter_mut().map(|part| IoSliceMut::new(part)).collect();
            got += far.read_vectored(&mut parts).unwrap();
        }
        assert!(singles.iter().all(|byte| byte[0] == b'x'));
    });
}

#[test]
fn vectored_for_futures() {
    let (near, far) = pair();
    block_on(async {
        let parts = [IoSlice::new(b"one "), IoSlice::new(b"two")];
        assert_eq!(near.write_vectored_async(&parts).await.unwrap(), 7);
        let (mut head, mut tail) = ([0; 4], [0; 3]);
        let mut parts = [IoSliceMut::new(&mut head), IoSliceMut::new(&mut tail)];
        assert_eq!(far.read_vectored_async(&mut parts).await.unwrap(), 7);
        assert_eq!((&head, &tail), (b"one ", b"two"));
    });
}

#[test]
fn futures_read_until_the_end() {
    run(|| {
        let (near, far) = pair();
        let writer = spawn_local(move || {
            for _ in 0..50 {
                (&far).write_all(&[b'x'; 1000]).unwrap();
                yield_now();
            }
            far.shutdown(Shutdown::Write).unwrap();
            far
        });
        let mut bytes = b"> ".to_vec();
        assert_eq!(block_on(near.read_to_end_async(&mut bytes)).unwrap(), 50_000);
        assert!(bytes.len() == 50_002 && bytes.ends_with(b"xxx") && bytes.starts_with(b"> x"));
        drop(writer.join().unwrap());

        let (near, mut far) = pair();
        far.write_all("grüß".as_bytes()).unwrap();
        drop(far);
        let mut text = String::from("> ");
        assert_eq!(block_on(near.read_to_string_async(&mut text)).unwrap(), 6);
        assert_eq!(text, "> grüß");

        let (near, mut far) = pair();
        far.write_all(b"ok \xff").unwrap();
        drop(far);
        let no_text = block_on(near.read_to_string_async(&mut text));
        assert_eq!((kind(no_text), &*text), (ErrorKind::InvalidData, "> grüß"));
        // A limit holds for each wait.
        let (near, _far) = pair();
        near.set_read_timeout(Some(MS)).unwrap();
        assert_eq!(kind(block_on(near.read_to_end_async(&mut bytes))), ErrorKind::TimedOut);
    });
}

#[test]
fn what_was_peeked_is_read_again() {
    run(|| {
        let (mut near, mut far) = pair();
        let writer = spawn_local(move || {
            sleep(MS);
            near.write_all(b"hello").unwrap();
            near
        });
        let mut buffer = [0; 8];
        assert_eq!(far.peek(&mut buffer).unwrap(), 5);
        assert_eq!(block_on(far.peek_async(&mut buffer)).unwrap(), 5);
        assert_eq!(far.read(&mut buffer).unwrap(), 5);
        assert_eq!(&buffer[..5], b"hello");
        drop(writer.join().unwrap());
        assert_eq!(far.peek(&mut buffer).unwrap(), 0);
    });
}

#[test]
fn each_half_closes_by_itself() {
    run(|| {
        let (near, far) = pair();
        let ends = spawn_local(move || {
            let mut text = String::new();
            (&far).read_to_string(&mut text).unwrap();
            // The other half still works.
            (&far).write_all(text.to_uppercase().as_bytes()).unwrap();
        });
        (&near).write_all(b"half").unwrap();
        near.shutdown(Shutdown::Write).unwrap();
        assert_eq!(kind((&near).write(b"more")), ErrorKind::BrokenPipe);
        assert_eq!(std::io::read_to_string(&near).unwrap(), "HALF");
        ends.join().unwrap();
    });
}

#[test]
fn who_waits_to_read_sees_its_own_side_closed() {
    run(|| {
        let (near, _far) = pair();
        let near = Arc::new(near);
        let own = near.clone();
        let reader = spawn_local(move || (&*own).read(&mut [0; 8]).unwrap());
        sleep(MS);
        near.shutdown(Shutdown::Read).unwrap();
        assert_eq!(reader.join().unwrap(), 0);
    });
}

#[test]
fn every_wait_has_its_limit() {
    run(|| {
        let (near, _far) = pair();
        near.set_read_timeout(Some(MS)).unwrap();
        near.set_write_timeout(Some(2 * MS)).unwrap();
        assert_eq!(near.read_timeout().unwrap(), Some(MS));
        let error = (&near).read(&mut [0]).unwrap_err();
        assert_eq!(error.to_string(), "the time is over in which to read");
        assert_eq!(kind(near.peek(&mut [0])), ErrorKind::TimedOut);
        let error = block_on(near.read_async(&mut [0])).unwrap_err();
        assert_eq!(error.to_string(), "the time is over in which to read");
        let full = || -> std::io::Result<()> {
            loop {
                (&near).write_all(&MUCH)?;
            }
        };
        assert_eq!(kind(full()), ErrorKind::TimedOut);
        assert_eq!(kind(block_on(near.write_async(&MUCH))), ErrorKind::TimedOut);
        // A clone has the same limits.
        let clone = near.try_clone().unwrap();
        assert_eq!(clone.write_timeout().unwrap(), Some(2 * MS));
        clone.set_read_timeout(None).unwrap();
        assert_eq!(near.read_timeout().unwrap(), None);
        assert_eq!(kind(near.set_read_timeout(Some(Duration::ZERO))), ErrorKind::InvalidInput);

        let (listener, _) = listener();
        let late = listener.accept_timeout(MS).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        assert_eq!(late.to_string(), "the time is over in which to accept a connection");
    });
    // Threads have them, too.
    let (near, _far) = pair();
    near.set_read_timeout(Some(MS)).unwrap();
    assert_eq!(kind((&near).read(&mut [0])), ErrorKind::TimedOut);
}

/// A listener whose queue is full answers nobody: connecting takes until the limit.
#[test]
fn connecting_has_its_limit_and_can_be_cancelled() {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&"127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap().into()).unwrap();
    socket.listen(0).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let mut held = Vec::new();
    let error = loop {
        match TcpStream::connect_timeout(&address, 50 * MS) {
            Ok(stream) => held.push(stream),
            Err(error) => break error,
        }
        assert!(held.len() < 100, "the queue never is full");
    };
    assert_eq!(error.to_string(), format!("the time is over in which to connect to {address}"));
    run(move || {
        let error = TcpStream::connect_timeout(&address, MS).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        let connects = spawn_local(move || TcpStream::connect(address));
        sleep(MS);
        connects.cancel();
        assert!(connects.join().is_err());
    });
    drop((held, socket));
}

#[test]
fn nobody_listens_and_that_is_said() {
    let (_, address) = listener();
    assert_eq!(kind(TcpStream::connect(address)), ErrorKind::ConnectionRefused);
    run(move || {
        assert_eq!(kind(TcpStream::connect(address)), ErrorKind::ConnectionRefused);
        assert_eq!(kind(TcpStream::connect_timeout(&address, LONG)), ErrorKind::ConnectionRefused);
        let connect = TcpStream::connect_async(address);
        assert_eq!(kind(block_on(connect)), ErrorKind::ConnectionRefused);
        let none: &[std::net::SocketAddr] = &[];
        assert_eq!(kind(TcpStream::connect(none)), ErrorKind::InvalidInput);
        assert_eq!(kind(TcpListener::bind("here")), ErrorKind::InvalidInput);
    });
}

/// The real system's errors have a number and no name; these say who was meant.
#[test]
fn errors_say_which_address_they_are_about() {
    let (taken, address) = listener();
    let gone = listener().1;
    let path = std::env::temp_dir().join(format!("leno-io-nobody-{}", std::process::id()));
    let refused = format!("connect to {gone}: Connection refused (os error 111)");
    run(move || {
        let text = |error: std::io::Error| error.to_string();
        assert_eq!(TcpStream::connect(gone).map_err(text).unwrap_err(), refused);
        let connect = TcpStream::connect_async(gone);
        assert_eq!(block_on(connect).map_err(text).unwrap_err(), refused);
        let in_use = format!("bind to {address}: Address already in use (os error 98)");
        assert_eq!(TcpListener::bind(address).map_err(text).unwrap_err(), in_use);
        let first = UdpSocket::bind(address).unwrap();
        assert_eq!(UdpSocket::bind(address).map_err(text).unwrap_err(), in_use);
        drop((first, taken));
        let nobody =
            format!("connect to {path:?} (pathname): No such file or directory (os error 2)");
        assert_eq!(UnixStream::connect(&path).map_err(text).unwrap_err(), nobody);
        let connect = UnixStream::connect_async(&path);
        assert_eq!(block_on(connect).map_err(text).unwrap_err(), nobody);
        let nowhere = path.join("below");
        let said = UnixListener::bind(&nowhere).map_err(text).unwrap_err();
        assert!(said.starts_with(&format!("bind to {nowhere:?}: No such file")), "{said}");
        // Such a label is too long for any server to be asked.
        let long = "a".repeat(64);
        let unknown = leno_io::net::resolve((&*long, 80)).map_err(text).unwrap_err();
        assert!(unknown.starts_with(&format!("look up {long:?}: ")), "{unknown}");
    });
}

#[test]
fn of_several_addresses_the_first_that_accepts_is_taken() {
    let (listener, good) = listener();
    let bad = crate::support::listener().1;
    let near = run(move || TcpStream::connect(&[bad, good][..]).unwrap());
    assert_eq!(near.peer_addr().unwrap(), good);
    drop(listener);
}

#[test]
fn who_is_cancelled_waits_no_more_and_takes_nothing() {
    run(|| {
        let (listener, address) = listener();
        let listener = Arc::new(listener);
        let own = listener.clone();
        let accepts = spawn_local(move || drop(own.accept()));
        let (near, mut far) = pair();
        let near = Arc::new(near);
        let own = near.clone();
        let reads = spawn_local(move || drop((&*own).read(&mut [0; 8])));
        let (full, _held) = pair();
        let writes = spawn_local(move || while (&full).write_all(&MUCH).is_ok() {});
        sleep(2 * MS);
        for waits in [accepts, reads, writes] {
            assert!(!waits.is_finished());
            waits.cancel();
            let error = waits.join().unwrap_err();
            assert_eq!(error.outcome(), Some(leno_kernel::Outcome::Exited));
        }
        // What comes now is for others.
        far.write_all(b"!").unwrap();
        assert_eq!((&*near).read(&mut [0; 8]).unwrap(), 1);
        let client = TcpStream::connect(address).unwrap();
        assert_eq!(listener.accept().unwrap().1, client.local_addr().unwrap());
    });
}

#[test]
fn a_future_that_is_dropped_has_taken_nothing() {
    run(|| {
        let (near, mut far) = pair();
        let mut buffer = [0; 8];
        let limit = leno_io::time::timeout_async(MS, near.read_async(&mut buffer));
        assert!(block_on(limit).is_err());
        far.write_all(b"!").unwrap();
        assert_eq!((&near).read(&mut [0; 8]).unwrap(), 1);
    });
}

#[test]
fn the_try_forms_never_wait() {
    run(|| {
        let (listener, address) = listener();
        assert_eq!(kind(listener.try_accept()), ErrorKind::WouldBlock);
        let mut near = TcpStream::connect(address).unwrap();
        block_on(listener.acceptable()).unwrap();
        let far = listener.try_accept().unwrap().0;
        assert_eq!(kind(far.try_read(&mut [0])), ErrorKind::WouldBlock);
        near.write_all(b"!").unwrap();
        block_on(far.readable()).unwrap();
        assert_eq!(far.try_read(&mut [0; 8]).unwrap(), 1);
        let full = std::iter::repeat_with(|| far.try_write(&MUCH)).find(|result| result.is_err());
        assert_eq!(kind(full.unwrap()), ErrorKind::WouldBlock);
        near.read_exact(&mut vec![0; 65536]).unwrap();
    });
}

#[test]
fn hand_written_futures_poll() {
    let (listener, address) = listener();
    let system = LocalSystem::new();
    let heard = system.spawn_future(async move {
        let (stream, _) = poll_fn(|context| listener.poll_accept(context)).await.unwrap();
        let mut buffer = [0; 8];
        let count = poll_fn(|context| stream.poll_read(context, &mut buffer)).await.unwrap();
        let parts = [IoSlice::new(&buffer[..count]), IoSlice::new(b"!")];
        poll_fn(|context| stream.poll_write_vectored(context, &parts)).await.unwrap()
    });
    let answer = system.spawn(move || {
        let stream = TcpStream::connect(address).unwrap();
        sleep(MS);
        block_on(poll_fn(|context| stream.poll_write(context, b"hello"))).unwrap();
        std::io::read_to_string(stream).unwrap()
    });
    system.run().unwrap();
    assert_eq!((heard.join().unwrap(), answer.join().unwrap()), (6, "hello!".to_owned()));
}

#[test]
fn a_select_waits_for_a_stream_and_a_channel() {
    let (near, mut far) = pair();
    let system = LocalSystem::new();
    let (work, jobs) = bounded(1);
    let log = system.spawn(move || {
        let mut log = String::new();
        loop {
            let what = Select::new()
                .recv(&jobs, |job| job.unwrap_or('.'))
                .source(near.readable(), |ready| {
                    let mut byte = [0];
                    ready.unwrap();
                    near.try_read(&mut byte).map_or(' ', |_| char::from(byte[0]))
                })
                .wait()
                .unwrap();
            match what {
                '.' => return log,
                ' ' => {}
                other => log.push(other),
            }
        }
    });
    drop(system.spawn(move || {
        for (n, letter) in "abcdef".chars().enumerate() {
            match n % 2 {
                0 => work.send(letter).unwrap(),
                _ => far.write_all(&[letter as u8]).unwrap(),
            }
            sleep(2 * MS);
        }
    }));
    system.run().unwrap();
    let mut letters: Vec<char> = log.join().unwrap().chars().collect();
    letters.sort_unstable();
    assert_eq!(String::from_iter(letters), "abcdef");
}

#[test]
fn options_are_those_of_the_system() {
    let (near, _far) = pair();
    near.set_nodelay(true).unwrap();
    assert!(near.nodelay().unwrap());
    near.set_ttl(42).unwrap();
    assert_eq!(near.ttl().unwrap(), 42);
    assert_eq!(near.linger().unwrap(), None);
    assert_eq!(kind(near.set_linger(Some(MS))), ErrorKind::InvalidInput);
    near.set_linger(Some(Duration::ZERO)).unwrap();
    assert_eq!(near.linger().unwrap(), Some(Duration::ZERO));
    assert!(near.take_error().unwrap().is_none());
    assert!(format!("{near:?}").starts_with("TcpStream { local: 127.0.0.1:"));
}

#[test]
fn to_std_and_back() {
    run(|| {
        let (near, far) = pair();
        let clone = near.try_clone().unwrap();
        // One of two handles gets a descriptor of its own, the last one the original.
        let second = near.into_std().unwrap();
        let first = clone.into_std().unwrap();
        let near = TcpStream::from_std(first).unwrap();
        let mut far = TcpStream::from_std(far.into_std().unwrap()).unwrap();
        far.write_all(b"hello").unwrap();
        let mut buffer = [0; 5];
        (&near).read_exact(&mut buffer).unwrap();
        drop(near);
        (&second).write_all(&buffer).unwrap();
        far.read_exact(&mut buffer).unwrap();
        assert_eq!(&buffer, b"hello");
        let listener = crate::support::listener().0.into_std().unwrap();
        assert_eq!(kind(listener.accept()), ErrorKind::WouldBlock);
        assert!(TcpListener::from_std(listener).is_ok());
    });
}

#[test]
fn virtual_time_refuses_real_sockets() {
    let system = LocalSystem::builder().virtual_time().build();
    let (listener, address) = listener();
    let errors = system.spawn(move || {
        let bind = TcpListener::bind("127.0.0.1:0").unwrap_err();
        let connect = TcpStream::connect(address).unwrap_err();
        let accept = listener.accept().unwrap_err();
        let resolve = leno_io::net::resolve("localhost:80").unwrap_err();
        [bind, connect, accept, resolve].map(|error| error.to_string())
    });
    system.run().unwrap();
    for error in errors.join().unwrap() {
        assert!(error.starts_with("real I/O in virtual time: "), "{error}");
    }
}
