//! Servers written over `net` run unchanged on a network in memory: entered, or in an exploration.

use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Result, Write};
use std::net::Shutdown;
use std::time::Duration;

use leno_channel::Select;
use leno_explore::{Explorer, explore, thread};
use leno_io::memory::{Host, Link, Network};
use leno_io::net::{TcpListener, TcpStream, UdpSocket, UnixStream, resolve};
use leno_kernel::{LocalSystem, System, block_on, now, spawn, spawn_local};

const MS: Duration = Duration::from_millis(1);

/// Echoes what `connections` clients send. It knows nothing of networks in memory.
fn serve(listener: &TcpListener, connections: usize) {
    for stream in listener.incoming().take(connections) {
        let stream = stream.unwrap();
        drop(spawn_local(move || std::io::copy(&mut &stream, &mut &stream)));
    }
}

fn ask(address: &str, question: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.write_all(question.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn a_server_runs_on_hosts_that_its_coroutines_inherit() {
    let system = LocalSystem::builder().virtual_time().build();
    let network = Network::local();
    network.set_link(Link::new().latency(5 * MS));
    let (server, client) = (network.host("server"), network.host("client"));
    let serves = server.enter(|| {
        system.spawn(|| {
            let listener = TcpListener::bind("0.0.0.0:80").unwrap();
            serve(&listener, 2);
        })
    });
    let answers = client.enter(|| {
        system.spawn(|| {
            let other = spawn_local(|| ask("server:80", "second").unwrap());
            [ask("server:80", "first").unwrap(), other.join().unwrap()]
        })
    });
    system.run().unwrap();
    serves.join().unwrap();
    assert_eq!(answers.join().unwrap(), ["first", "second"]);
    assert_eq!(network.connections(), 0);
    assert!(system.now().as_nanos() >= 15_000_000, "there and back, and there and back again");
    assert!(Host::current().is_none(), "outside, sockets are the machine's");
}

#[test]
fn so_on_several_cores_with_threads_in_real_time() {
    let network = Network::new();
    let system = System::new(2).unwrap();
    let (address, listens) = std::sync::mpsc::channel();
    let server = network.enter(|| {
        system.spawn(move || {
            let listener = TcpListener::bind("localhost:0").unwrap();
            address.send(listener.local_addr().unwrap()).unwrap();
            for stream in listener.incoming().take(8) {
                let stream = stream.unwrap();
                drop(spawn(move || std::io::copy(&mut &stream, &mut &stream)));
            }
        })
    });
    let address = listens.recv().unwrap().to_string();
    let clients = (0..8).map(|n| {
        let (network, address) = (network.clone(), address.clone());
        std::thread::spawn(move || {
            let text = format!("client {n}");
            assert_eq!(network.enter(|| ask(&address, &text)).unwrap(), text);
        })
    });
    clients.collect::<Vec<_>>().into_iter().for_each(|client| client.join().unwrap());
    server.join().unwrap();
    system.wait().unwrap();
    assert_eq!(network.connections(), 0);
}

#[test]
fn an_explored_program_has_a_network_of_its_own() {
    explore(|| {
        let listener = TcpListener::bind("127.0.0.1:7").unwrap();
        let client =
            thread::spawn("client", || assert_eq!(ask("localhost:7", "hi").unwrap(), "hi"));
        let system = LocalSystem::new();
        drop(system.spawn(move || serve(&listener, 1)));
        system.run().unwrap();
        client.join().unwrap();
    });
}

#[test]
fn a_mistake_of_a_server_is_found_there_and_replayed() {
    /// Takes what one read gives for the whole question.
    fn hasty(listener: &TcpListener) -> Result<()> {
        let (mut stream, _) = listener.accept()?;
        let mut question = [0; 16];
        let count = stream.read(&mut question)?;
        stream.write_all(&question[..count])
    }
    let program = || {
        let here = Host::current().expect("in an exploration there is one");
        here.network().set_link(Link::new().partial(1));
        let listener = TcpListener::bind(("127.0.0.1", 7)).unwrap();
        let client =
            thread::spawn("client", || assert_eq!(ask("localhost:7", "hello").unwrap(), "hello"));
        hasty(&listener).unwrap();
        client.join().unwrap();
    };
    let failure = Explorer::new().random(0).run(program).expect_err("it must be found");
    let text = failure.to_string();
    assert!(text.contains("LENO_REPLAY=") && text.contains("reads"), "{text}");
    let again = Explorer::new().replay(failure.shortest().clone()).run(program);
    assert!(again.expect_err("again").trouble().is_like(failure.trouble()));
}

#[test]
fn futures_and_selects_and_hand_written_futures() {
    async fn echo(listener: TcpListener) -> Result<()> {
        let (stream, _) = listener.accept_async().await?;
        let mut buffer = [0; 3];
        loop {
            let count = stream.read_async(&mut buffer).await?;
            if count == 0 {
                return Ok(());
            }
            stream.write_all_async(&buffer[..count]).await?;
        }
    }
    async fn talk() -> Result<Vec<u8>> {
        let stream = TcpStream::connect_async("localhost:7").await?;
        stream.writable().await?;
        stream.write_all_async(b"hello").await?;
        stream.shutdown(Shutdown::Write)?;
        let mut all = Vec::new();
        loop {
            let mut buffer = [0; 2];
            let read = std::future::poll_fn(|context| stream.poll_read(context, &mut buffer));
            match read.await? {
                0 => return Ok(all),
                count => all.extend(&buffer[..count]),
            }
        }
    }
    let system = LocalSystem::builder().virtual_time().build();
    let network = Network::local();
    network.set_link(Link::new().latency(MS).capacity(4));
    let heard = network.enter(|| {
        let listener = TcpListener::bind("127.0.0.1:7").unwrap();
        drop(system.spawn_future(echo(listener)));
        system.spawn_future(talk())
    });
    system.run().unwrap();
    assert_eq!(heard.join().unwrap().unwrap(), b"hello");
    let selected = network.enter(|| {
        system.spawn(|| {
            let listener = TcpListener::bind("127.0.0.1:7").unwrap();
            let near = TcpStream::connect("127.0.0.1:7").unwrap();
            let far = listener.accept().unwrap().0;
            (&near).write_all(b"x").unwrap();
            let (start, mut buffer) = (now(), [0; 4]);
            let count = Select::new()
                .source(near.readable(), |_| 99)
                .source(far.readable(), |_| far.try_read(&mut buffer).unwrap())
                .wait();
            (count.unwrap(), now() - start)
        })
    });
    system.run().unwrap();
    assert_eq!(selected.join().unwrap(), (1, MS), "woken by nobody but the time of arrival");
    let outside = Network::new();
    let heard = block_on(outside.enter_async(async {
        let listener = TcpListener::bind("127.0.0.1:7").unwrap();
        let thread = std::thread::spawn(move || block_on(echo(listener)));
        let heard = talk().await;
        thread.join().unwrap().unwrap();
        heard
    }));
    assert_eq!(heard.unwrap(), b"hello");
}

#[test]
fn limits_options_parts_and_what_is_not_there() {
    let system = LocalSystem::builder().virtual_time().build();
    let done = system.spawn(|| {
        let network = Network::local();
        network.enter(|| {
            let listener = TcpListener::bind("0.0.0.0:80").unwrap();
            assert_eq!(TcpListener::bind("0.0.0.0:80").unwrap_err().kind(), ErrorKind::AddrInUse);
            assert_eq!(listener.accept_timeout(MS).unwrap_err().kind(), ErrorKind::TimedOut);
            let start = now();
            let mut near = TcpStream::connect("127.0.0.1:80").unwrap();
            let (mut far, from) = listener.accept().unwrap();
            assert_eq!(
                (from, near.peer_addr().unwrap()),
                (near.local_addr().unwrap(), far.local_addr().unwrap())
            );
            near.set_read_timeout(Some(7 * MS)).unwrap();
            let late = near.read(&mut [0]).unwrap_err();
            assert_eq!((late.kind(), now() - start), (ErrorKind::TimedOut, 7 * MS));
            assert!(late.to_string().contains("127.0.0.1:80"), "{late}");
            let parts = [IoSlice::new(b"he"), IoSlice::new(b"llo")];
            assert_eq!(near.write_vectored(&parts).unwrap(), 5);
            let (mut first, mut second) = ([0; 3], [0; 3]);
            let mut buffers = [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
            assert_eq!(far.read_vectored(&mut buffers).unwrap(), 5);
            assert_eq!((&first, &second[..2]), (b"hel", &b"lo"[..]));
            near.set_ttl(3).unwrap();
            assert_eq!((near.ttl().unwrap(), near.nodelay().unwrap()), (3, false));
            near.set_linger(Some(Duration::ZERO)).unwrap();
            assert_eq!(near.linger().unwrap(), Some(Duration::ZERO));
            assert_eq!(far.try_read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
            drop(near);
            assert_eq!(far.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
            assert_eq!(far.into_std().unwrap_err().kind(), ErrorKind::Unsupported);
            assert_eq!(resolve("nobody:1").unwrap_err().kind(), ErrorKind::NotFound);
            assert_eq!(UnixStream::pair().unwrap_err().kind(), ErrorKind::Unsupported);
        });
    });
    system.run().unwrap();
    done.join().unwrap();
}

#[test]
fn datagrams_of_net() {
    let network = Network::new();
    network.enter(|| {
        let server = UdpSocket::bind("0.0.0.0:53").unwrap();
        let client = UdpSocket::bind("0.0.0.0:0").unwrap();
        client.connect("localhost:53").unwrap();
        client.send(b"who?").unwrap();
        let mut buffer = [0; 8];
        let (count, from) = server.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..count], b"who?");
        server.send_to(b"me", from).unwrap();
        assert_eq!(client.peek(&mut buffer).unwrap(), 2);
        assert_eq!(block_on(client.recv_async(&mut buffer)).unwrap(), 2);
        client.set_read_timeout(Some(MS)).unwrap();
        assert_eq!(client.recv(&mut buffer).unwrap_err().kind(), ErrorKind::TimedOut);
        client.set_broadcast(true).unwrap();
        assert!(client.broadcast().unwrap());
    });
}

#[test]
fn code_whose_network_is_gone_is_told_so() {
    let system = LocalSystem::new();
    let late =
        Network::local().enter(|| system.spawn(|| TcpListener::bind("127.0.0.1:0").map(drop)));
    system.run().unwrap();
    assert_eq!(late.join().unwrap().unwrap_err().kind(), ErrorKind::NotConnected);
}

#[test]
fn futures_that_threads_of_an_exploration_block_on() {
    Explorer::new().runs(60).check(|| {
        let network = Network::new();
        network.set_link(Link::new().partial(1).latency(MS..=2 * MS));
        let listener = network.enter(|| TcpListener::bind("127.0.0.1:7").unwrap());
        let echo = thread::spawn("echo", move || {
            block_on(async {
                let (stream, _) = listener.accept_async().await?;
                let mut buffer = [0; 8];
                loop {
                    match stream.read_async(&mut buffer).await? {
                        0 => return Result::Ok(()),
                        count => stream.write_all_async(&buffer[..count]).await?,
                    }
                }
            })
        });
        let heard = block_on(network.enter_async(async {
            let stream = TcpStream::connect_async("127.0.0.1:7").await?;
            stream.write_all_async(b"hello").await?;
            stream.shutdown(Shutdown::Write)?;
            let mut answer = [0; 5];
            stream.read_exact_async(&mut answer).await?;
            Result::Ok(answer)
        }));
        assert_eq!(&heard.unwrap(), b"hello");
        echo.join().unwrap().unwrap();
    });
}
