//! Unix sockets: streams, listeners, datagrams.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use crate::support::{LONG, MS, kind, on_a_core, run};
use leno_io::net::{UnixDatagram, UnixListener, UnixStream};
use leno_kernel::{block_on, sleep, spawn_local};

/// A path that nobody else has, removed when it is dropped.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, SeqCst));
        Place(std::env::temp_dir().join(format!("leno-io-{process}-{count}")))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn coroutines_threads_and_futures_meet_at_a_path() {
    let place = Place::new();
    let listener = UnixListener::bind(&place.0).unwrap();
    let server = on_a_core(move || {
        for stream in listener.incoming().take(3) {
            let mut stream = stream.unwrap();
            let text = std::io::read_to_string(&stream).unwrap();
            stream.write_all(text.to_uppercase().as_bytes()).unwrap();
        }
    });
    let mut thread = UnixStream::connect(&place.0).unwrap();
    thread.write_all(b"thread").unwrap();
    thread.shutdown(Shutdown::Write).unwrap();
    assert_eq!(std::io::read_to_string(thread).unwrap(), "THREAD");
    let path = place.0.clone();
    let text = run(move || {
        let stream = UnixStream::connect(path).unwrap();
        (&stream).write_all(b"coroutine").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        std::io::read_to_string(&stream).unwrap()
    });
    assert_eq!(text, "COROUTINE");
    block_on(async {
        let stream = UnixStream::connect_async(&place.0).await.unwrap();
        stream.write_all_async(b"future").await.unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut buffer = [0; 6];
        stream.read_exact_async(&mut buffer).await.unwrap();
        assert_eq!(&buffer, b"FUTURE");
    });
    server.join().unwrap();
}

#[test]
fn a_name_without_a_path() {
    run(|| {
        let name = format!("leno-io-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(name.as_bytes()).unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        let mut near = UnixStream::connect_addr(&address).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        near.write_all(b"!").unwrap();
        assert_eq!(far.read(&mut [0; 8]).unwrap(), 1);
        assert_eq!(near.peer_addr().unwrap().as_abstract_name(), Some(name.as_bytes()));
        assert_eq!(kind(listener.accept_timeout(MS)), ErrorKind::TimedOut);
        assert_eq!(kind(listener.try_accept()), ErrorKind::WouldBlock);
        drop(listener);
        assert_eq!(kind(UnixStream::connect_addr(&address)), ErrorKind::ConnectionRefused);
        assert_eq!(kind(UnixStream::connect("/nowhere/at/all")), ErrorKind::NotFound);
        let unnamed = near.local_addr().unwrap();
        assert_eq!(kind(UnixStream::connect_addr(&unnamed)), ErrorKind::InvalidInput);
    });
}

/// The system lets nobody wait for a full queue of connections; it is tried again.
#[test]
fn connecting_to_a_full_queue_waits_for_room() {
    let place = Place::new();
    let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None).unwrap();
    socket.bind(&socket2::SockAddr::unix(&place.0).unwrap()).unwrap();
    socket.listen(0).unwrap();
    let listener = UnixListener::from_std(socket.into()).unwrap();
    let address = SocketAddr::from_pathname(&place.0).unwrap();
    run(move || {
        let mut held = Vec::new();
        let error = loop {
            match UnixStream::connect_timeout(&address, 2 * MS) {
                Ok(stream) => held.push(stream),
                Err(error) => break error,
            }
        };
        assert_eq!(error.to_string(), "the time is over in which to connect");
        let other = address.clone();
        let connects = [
            spawn_local(move || UnixStream::connect_timeout(&address, LONG)),
            spawn_local(move || block_on(UnixStream::connect_addr_async(&other))),
        ];
        sleep(MS);
        let accepted: Vec<_> = (0..held.len() + 2).map(|_| listener.accept().unwrap()).collect();
        for connect in connects {
            connect.join().unwrap().unwrap();
        }
        drop(accepted);
    });
}

#[test]
fn pairs_limits_and_back_to_std() {
    run(|| {
        let (near, mut far) = UnixStream::pair().unwrap();
        near.set_read_timeout(Some(MS)).unwrap();
        assert_eq!(kind((&near).read(&mut [0])), ErrorKind::TimedOut);
        far.write_all(b"!").unwrap();
        assert_eq!(near.try_read(&mut [0; 8]).unwrap(), 1);
        assert!(near.take_error().unwrap().is_none());
        let clone = near.try_clone().unwrap();
        assert!(near.into_std().is_ok());
        let mut near = UnixStream::from_std(clone.into_std().unwrap()).unwrap();
        drop(far);
        assert_eq!(near.read(&mut [0]).unwrap(), 0);
        assert_eq!(kind(near.write(&[0])), ErrorKind::BrokenPipe);
    });
}

#[test]
fn datagrams_wait_while_the_receiver_is_full() {
    let place = Place::new();
    let path = place.0.clone();
    run(move || {
        let receiver = UnixDatagram::bind(&path).unwrap();
        let connected = UnixDatagram::unbound().unwrap();
        connected.connect(&path).unwrap();
        let free = UnixDatagram::unbound().unwrap();
        let mut count = 0;
        while connected.try_send(b"x").is_ok() {
            count += 1;
        }
        for socket in [&connected, &free] {
            socket.set_write_timeout(Some(MS)).unwrap();
        }
        assert_eq!(kind(connected.send(b"x")), ErrorKind::TimedOut);
        assert_eq!(kind(free.send_to(b"x", &path)), ErrorKind::TimedOut);
        assert_eq!(kind(block_on(free.send_to_async(b"x", &path))), ErrorKind::TimedOut);
        for socket in [&connected, &free] {
            socket.set_write_timeout(None).unwrap();
        }
        let senders = [
            spawn_local(move || connected.send(b"last").unwrap()),
            spawn_local(move || free.send_to(b"last", &path).unwrap()),
        ];
        sleep(MS);
        let mut buffer = [0; 8];
        let mut longer = 0;
        for _ in 0..count + 2 {
            longer += u32::from(receiver.recv(&mut buffer).unwrap() == 4);
        }
        assert_eq!(longer, 2);
        assert_eq!(kind(receiver.try_recv(&mut buffer)), ErrorKind::WouldBlock);
        assert!(senders.into_iter().all(|sender| sender.join().unwrap() == 4));
    });
}

#[test]
fn datagrams_for_futures() {
    let (near, far) = UnixDatagram::pair().unwrap();
    block_on(async {
        near.writable().await.unwrap();
        near.send_async(b"one").await.unwrap();
        far.readable().await.unwrap();
        let mut buffer = [0; 8];
        assert_eq!(far.recv_async(&mut buffer).await.unwrap(), 3);
        near.send(b"four").unwrap();
        assert_eq!(far.recv_from_async(&mut buffer).await.unwrap().0, 4);
        far.set_read_timeout(Some(MS)).unwrap();
        assert_eq!(kind(far.recv_async(&mut buffer).await), ErrorKind::TimedOut);
    });
    near.shutdown(Shutdown::Both).unwrap();
    assert!(near.peer_addr().is_ok() && far.take_error().unwrap().is_none());
    assert!(UnixDatagram::from_std(near.try_clone().unwrap().into_std().unwrap()).is_ok());
}
