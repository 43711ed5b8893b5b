//! Connections of a network in memory: what arrives, when, and what is said when it does not.

use std::io::{ErrorKind, Read, Result, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr};
use std::time::Duration;

use leno_io::memory::{Link, Listener, Network, Stream};
use leno_kernel::layer::common_now;
use leno_kernel::{LocalSystem, Time, now, sleep};

fn virtual_system() -> LocalSystem {
    LocalSystem::builder().virtual_time().build()
}

const MS: Duration = Duration::from_millis(1);

/// Runs `f` as the only coroutine at first, in virtual time.
fn run<T: 'static>(f: impl FnOnce() -> T + 'static) -> T {
    let system = virtual_system();
    let result = system.spawn(f);
    system.run().unwrap();
    result.join().unwrap()
}

/// Both sides of a connection from `client` to `server`.
fn pair(network: &Network) -> (Stream, Stream) {
    let listener = network.host("server").listen(0).unwrap();
    let port = listener.local_addr().port();
    let near = network.host("client").connect(("server", port)).unwrap();
    (near, listener.accept().unwrap().0)
}

fn read(stream: &Stream, most: usize) -> Result<Vec<u8>> {
    let mut buffer = vec![0; most];
    let count = (&*stream).read(&mut buffer)?;
    buffer.truncate(count);
    Ok(buffer)
}

#[test]
fn what_is_written_arrives_in_order_after_its_latency() {
    run(|| {
        let network = Network::local();
        network.set_link(Link::new().latency(5 * MS));
        let (near, far) = pair(&network);
        let start = now();
        (&near).write_all(b"one").unwrap();
        sleep(2 * MS);
        (&near).write_all(b"two").unwrap();
        assert_eq!(read(&far, 9).unwrap(), b"one");
        assert_eq!(now() - start, 5 * MS);
        assert_eq!(read(&far, 9).unwrap(), b"two");
        assert_eq!(now() - start, 7 * MS);
    });
}

#[test]
fn connecting_takes_there_and_back() {
    run(|| {
        let network = Network::local();
        network.set_link(Link::new().latency(5 * MS));
        let start = now();
        drop(pair(&network));
        assert_eq!(now() - start, 10 * MS);
        let refused = network.host("client").connect("server:1").unwrap_err();
        assert_eq!((refused.kind(), now() - start), (ErrorKind::ConnectionRefused, 20 * MS));
    });
}

#[test]
fn a_full_pipe_takes_part_and_then_makes_the_writer_wait() {
    let system = virtual_system();
    let network = Network::local();
    network.set_link(Link::new().capacity(4));
    let all = system.spawn(move || {
        let (near, far) = pair(&network);
        assert_eq!((&near).write(b"123456").unwrap(), 4);
        near.set_write_timeout(Some(MS)).unwrap();
        let late = (&near).write(b"56").unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        assert!(late.to_string().contains(&far.local_addr().to_string()), "{late}");
        near.set_write_timeout(None).unwrap();
        let writer = leno_kernel::spawn_local(move || (&near).write_all(b"5678abcd"));
        let mut text = Vec::new();
        (&far).read_to_end(&mut text).unwrap();
        writer.join().unwrap().unwrap();
        text
    });
    system.run().unwrap();
    assert_eq!(all.join().unwrap(), b"12345678abcd");
}

#[test]
fn half_a_close_ends_one_direction() {
    run(|| {
        let (near, far) = pair(&Network::local());
        (&near).write_all(b"question").unwrap();
        near.shutdown(Shutdown::Write);
        assert_eq!((&near).write(b"?").unwrap_err().kind(), ErrorKind::BrokenPipe);
        let mut question = String::new();
        (&far).read_to_string(&mut question).unwrap();
        assert_eq!(question, "question");
        (&far).write_all(b"answer").unwrap();
        assert_eq!(read(&near, 9).unwrap(), b"answer");
        near.shutdown(Shutdown::Read);
        assert_eq!(read(&near, 9).unwrap(), b"");
    });
}

#[test]
fn the_end_in_the_middle_of_a_message_is_unexpected() {
    run(|| {
        let (near, far) = pair(&Network::local());
        (&near).write_all(b"hal").unwrap();
        drop(near);
        let error = (&far).read_exact(&mut [0; 4]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    });
}

#[test]
fn severing_resets_both_sides_and_loses_what_is_on_its_way() {
    run(|| {
        let network = Network::local();
        network.set_link(Link::new().latency(5 * MS));
        let (near, far) = pair(&network);
        (&near).write_all(b"arrives").unwrap();
        sleep(6 * MS);
        (&near).write_all(b"does not").unwrap();
        assert_eq!(network.sever(&network.host("client"), &network.host("server")), 1);
        assert_eq!(read(&far, 99).unwrap(), b"arrives");
        for (own, peer) in [(&near, &far), (&far, &near)] {
            let (mut reads, mut writes) = (own, own);
            for error in [reads.read(&mut [0]).unwrap_err(), writes.write(b"x").unwrap_err()] {
                assert_eq!(error.kind(), ErrorKind::ConnectionReset);
                let text = error.to_string();
                assert!(text.contains(&own.local_addr().to_string()), "{text}");
                assert!(text.contains(&peer.local_addr().to_string()), "{text}");
            }
        }
    });
}

#[test]
fn who_closes_without_reading_everything_resets() {
    run(|| {
        let (near, far) = pair(&Network::local());
        (&near).write_all(b"never read").unwrap();
        (&far).write_all(b"read").unwrap();
        drop(far);
        assert_eq!(read(&near, 9).unwrap(), b"read");
        assert_eq!(read(&near, 9).unwrap_err().kind(), ErrorKind::ConnectionReset);
        assert_eq!((&near).write(b"x").unwrap_err().kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn who_writes_to_one_that_has_closed_learns_it_late() {
    run(|| {
        let network = Network::local();
        let (near, far) = pair(&network);
        drop(far);
        assert_eq!((&near).write(b"lost").unwrap(), 4);
        assert_eq!((&near).write(b"told").unwrap_err().kind(), ErrorKind::BrokenPipe);
        assert_eq!(read(&near, 9).unwrap(), b"");
        assert_eq!(network.connections(), 1);
        drop(near);
        assert_eq!(network.connections(), 0);
    });
}

#[test]
fn a_writer_that_waits_for_room_learns_that_nobody_reads() {
    run(|| {
        let network = Network::local();
        network.set_link(Link::new().capacity(1).latency(MS));
        let (near, far) = pair(&network);
        let writer = leno_kernel::spawn_local(move || (&near).write_all(b"more than one"));
        sleep(10 * MS);
        drop(far);
        let error = writer.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn a_full_backlog_makes_others_wait_or_refuses_them() {
    run(|| {
        let network = Network::local();
        let (server, client) = (network.host("server"), network.host("client"));
        let any = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 80);
        let listener = server.listen_at(any, 1).unwrap();
        let first = client.connect((&server, 80)).unwrap();
        let late = client.connect_timeout((&server, 80), MS).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        let waits = leno_kernel::spawn_local({
            let (client, server) = (client.clone(), server.clone());
            move || client.connect((&server, 80)).map(|stream| stream.local_addr())
        });
        sleep(MS);
        let accept = |listener: &Listener| listener.accept().unwrap().1;
        assert_eq!(accept(&listener), first.local_addr());
        assert_eq!(accept(&listener), waits.join().unwrap().unwrap());
        network.set_link(Link::new().refuse_when_full());
        let _waiting = client.connect((&server, 80)).unwrap();
        let refused = client.connect((&server, 80)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn who_is_not_accepted_when_listening_ends_is_reset() {
    run(|| {
        let network = Network::local();
        let listener = network.host("server").listen(80).unwrap();
        let stream = network.host("client").connect("server:80").unwrap();
        drop(listener);
        assert_eq!(read(&stream, 1).unwrap_err().kind(), ErrorKind::ConnectionReset);
        let refused = network.host("client").connect("server:80").unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn addresses_are_each_used_once_and_found_by_name() {
    let network = Network::new();
    let server = network.host("server");
    let listener = server.listen(80).unwrap();
    assert_eq!(server.listen(80).unwrap_err().kind(), ErrorKind::AddrInUse);
    let foreign = "10.9.9.9:80".parse().unwrap();
    assert_eq!(server.listen_at(foreign, 1).unwrap_err().kind(), ErrorKind::AddrNotAvailable);
    let client = network.host("client");
    assert_eq!(client.connect("nobody:80").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(client.connect("server").unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(client.connect(foreign).unwrap_err().kind(), ErrorKind::HostUnreachable);
    assert_eq!(client.connect("localhost:80").unwrap_err().kind(), ErrorKind::ConnectionRefused);
    let within = server.connect("localhost:80").unwrap();
    assert!(within.local_addr().ip().is_loopback());
    let near = client.connect((server.address(), 80)).unwrap();
    assert_ne!(near.local_addr(), client.connect("server:80").unwrap().local_addr());
    assert_eq!(listener.accept().unwrap().1, within.local_addr());
    assert_eq!(listener.accept().unwrap().1, near.local_addr());
    let only_here = server.listen_at("127.0.0.1:81".parse().unwrap(), 1).unwrap();
    assert_eq!(client.connect("server:81").unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert!(server.connect(only_here.local_addr()).is_ok());
}

#[test]
fn time_outs_end_every_wait() {
    run(|| {
        let network = Network::local();
        let (near, _far) = pair(&network);
        near.set_read_timeout(Some(3 * MS)).unwrap();
        let start = now();
        assert_eq!(read(&near, 1).unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(now() - start, 3 * MS);
        assert_eq!(
            near.set_read_timeout(Some(Duration::ZERO)).unwrap_err().kind(),
            ErrorKind::InvalidInput
        );
        let listener = network.host("server").listen(1).unwrap();
        assert_eq!(listener.accept_timeout(MS).unwrap_err().kind(), ErrorKind::TimedOut);
        let socket = network.host("server").socket(1).unwrap();
        socket.set_read_timeout(Some(MS)).unwrap();
        assert_eq!(socket.recv_from(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
    });
}

#[test]
fn who_is_cancelled_while_it_waits_leaves() {
    run(|| {
        let network = Network::local();
        let (near, far) = pair(&network);
        let waits = leno_kernel::spawn_local({
            let far = far.clone();
            move || read(&far, 9)
        });
        let connects = leno_kernel::spawn_local({
            let network = network.clone();
            move || {
                let (client, server) = (network.host("client"), network.host("server"));
                network.partition(&[&client], &[&server]);
                client.connect("server:1")
            }
        });
        sleep(MS);
        for co in [waits.co(), connects.co()] {
            leno_kernel::cancel(co.unwrap());
        }
        assert!(waits.join().is_err());
        assert!(connects.join().is_err());
        network.heal_all();
        (&near).write_all(b"for others").unwrap();
        assert_eq!(read(&far, 99).unwrap(), b"for others");
    });
}

#[test]
fn peeking_takes_nothing() {
    run(|| {
        let (near, far) = pair(&Network::local());
        (&near).write_all(b"twice").unwrap();
        let mut buffer = [0; 3];
        assert_eq!(far.peek(&mut buffer).unwrap(), 3);
        assert_eq!(&buffer, b"twi");
        assert_eq!(read(&far, 9).unwrap(), b"twice");
    });
}

#[test]
fn a_local_network_is_refused_to_other_threads_and_to_threads_that_wait() {
    let network = Network::local();
    let listener = network.host("server").listen(80).unwrap();
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::Deadlock);
    let other = std::thread::spawn(move || listener.accept().unwrap_err().kind());
    assert_eq!(other.join().unwrap(), ErrorKind::Unsupported);
}

#[test]
fn everyone_who_waits_for_everyone_is_a_deadlock_that_says_so() {
    let system = virtual_system();
    let network = Network::local();
    drop(system.spawn(move || {
        let (near, far) = pair(&network);
        let other = leno_kernel::spawn_local(move || read(&far, 1));
        drop(read(&near, 1));
        other.join().unwrap()
    }));
    let deadlock = system.run().unwrap_err();
    let text = system.dump(leno_kernel::dump::Depth::States).to_string();
    assert_eq!(deadlock.report.alive.len(), 2);
    assert!(text.contains("-> 10.0.0."), "{text}");
    assert_eq!(system.now(), Time::START);
}

#[test]
fn threads_meet_coroutines_in_real_time() {
    let network = Network::new();
    network.set_link(Link::new().latency(MS).capacity(1_000));
    let system = leno_kernel::System::new(2).unwrap();
    let listener = network.host("server").listen(7).unwrap();
    let accepts = system.spawn(move || {
        for stream in listener.incoming().take(4) {
            let stream = stream.unwrap();
            drop(leno_kernel::spawn(move || std::io::copy(&mut &stream, &mut &stream)));
        }
    });
    let client = |number: u8| {
        let network = network.clone();
        std::thread::spawn(move || {
            let stream = network.host("client").connect("server:7").unwrap();
            let sent = vec![number; 10_000];
            let writer = {
                let (stream, sent) = (stream.clone(), sent.clone());
                std::thread::spawn(move || {
                    (&stream).write_all(&sent).unwrap();
                    stream.shutdown(Shutdown::Write);
                })
            };
            let mut back = Vec::new();
            (&stream).read_to_end(&mut back).unwrap();
            writer.join().unwrap();
            assert_eq!(back, sent);
        })
    };
    let clients: Vec<_> = (0..4).map(client).collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
    accepts.join().unwrap();
    system.wait().unwrap();
    assert_eq!(network.connections(), 0);
}

#[test]
fn futures_do_the_same_on_any_executor() {
    async fn talk(network: Network) -> Result<Vec<u8>> {
        let start = common_now();
        let listener = network.host("server").listen(0)?;
        let port = listener.local_addr().port();
        let near = network.host("client").connect_async(("server", port)).await?;
        let (far, _) = listener.accept_async().await?;
        near.write_all_async(b"hello").await?;
        let mut buffer = vec![0; 9];
        assert_eq!(far.peek_async(&mut buffer).await?, 5);
        let count = far.read_async(&mut buffer).await?;
        buffer.truncate(count);
        far.set_read_timeout(Some(MS))?;
        let late = far.read_async(&mut [0]).await.unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        assert!(common_now() - start >= 4 * MS);
        far.set_read_timeout(None)?;
        near.write_all_async(b"to the end").await?;
        near.shutdown(Shutdown::Write);
        let (mut first, mut rest) = ([0; 3], Vec::new());
        far.read_exact_async(&mut first).await?;
        assert_eq!(far.read_to_end_async(&mut rest).await?, 7);
        assert_eq!((&first, &*rest), (b"to ", &b"the end"[..]));
        let ended = far.read_exact_async(&mut first).await.unwrap_err();
        assert_eq!(ended.kind(), ErrorKind::UnexpectedEof);
        Ok(buffer)
    }
    let slow = |network: Network| {
        network.set_link(Link::new().latency(MS));
        network
    };
    let system = virtual_system();
    let local = system.spawn_future(talk(slow(Network::local())));
    system.run().unwrap();
    assert_eq!(local.join().unwrap().unwrap(), b"hello");
    let system = leno_kernel::System::new(2).unwrap();
    let shared = system.spawn_future(talk(slow(Network::new())));
    assert_eq!(shared.join().unwrap().unwrap(), b"hello");
    let other = leno_kernel::block_on(talk(slow(Network::new())));
    assert_eq!(other.unwrap(), b"hello");
}

#[test]
fn who_gives_up_connecting_too_late_resets_what_was_made() {
    run(|| {
        let network = Network::local();
        network.set_link(Link::new().latency(5 * MS));
        let listener = network.host("server").listen(80).unwrap();
        let client = network.host("client");
        let late = client.connect_timeout("server:80", 7 * MS).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut, "it has arrived, the answer has not");
        let (stream, _) = listener.accept().unwrap();
        assert_eq!(read(&stream, 1).unwrap_err().kind(), ErrorKind::ConnectionReset);
        drop(stream);
        assert_eq!(network.connections(), 0);
    });
}

#[test]
fn many_who_accept_and_read_together_get_everything_once() {
    let network = Network::new();
    let system = leno_kernel::System::new(2).unwrap();
    let listener = network.host("server").listen(80).unwrap();
    let serve = |listener: Listener| {
        move || {
            let (stream, _) = listener.accept().unwrap();
            read(&stream, 1).unwrap()[0]
        }
    };
    let servers: Vec<_> = (0..20).map(|_| system.spawn(serve(listener.clone()))).collect();
    let clients: Vec<_> = (0..20_u8)
        .map(|n| {
            let client = network.host("client");
            system.spawn(move || {
                let mut stream = client.connect("server:80").unwrap();
                stream.write_all(&[n]).unwrap();
                // Until it was read: closing earlier is a reset only for who has not read.
                assert_eq!(stream.read(&mut [0]).unwrap(), 0);
            })
        })
        .collect();
    let mut seen: Vec<_> = servers.into_iter().map(|server| server.join().unwrap()).collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
    seen.sort_unstable();
    assert_eq!(seen, (0..20).collect::<Vec<_>>());
    system.wait().unwrap();
}
