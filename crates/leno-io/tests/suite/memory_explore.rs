//! Servers under exploration: right ones pass, planted mistakes are found, told and replayed.

use std::io::{ErrorKind, Read, Result, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leno_explore::{Explorer, Failure, Trouble, thread};
use leno_io::memory::{Host, Link, Listener, Network, Stream};
use leno_kernel::policy::{Recorded, Recording, Replay, SeededRandom};
use leno_kernel::{LocalSystem, System, sleep, spawn_local};

/// Requests and answers are four bytes each.
const SIZE: usize = 4;

/// A server's way to read a request: all of it, or nothing if there is no more.
type ReadRequest = fn(&Stream) -> Result<Option<[u8; SIZE]>>;

fn read_whole(mut stream: &Stream) -> Result<Option<[u8; SIZE]>> {
    let mut request = [0; SIZE];
    let first = stream.read(&mut request)?;
    if first == 0 {
        return Ok(None);
    }
    stream.read_exact(&mut request[first..])?;
    Ok(Some(request))
}

/// The mistake: what one read gives is a request.
fn read_once(mut stream: &Stream) -> Result<Option<[u8; SIZE]>> {
    let mut request = [0; SIZE];
    Ok((stream.read(&mut request)? > 0).then_some(request))
}

/// A server's way to write an answer.
type WriteAnswer = fn(&Stream, &[u8]) -> Result<()>;

fn write_whole(mut stream: &Stream, answer: &[u8]) -> Result<()> {
    stream.write_all(answer)
}

/// The mistake: a write writes everything.
fn write_once(mut stream: &Stream, answer: &[u8]) -> Result<()> {
    stream.write(answer).map(drop)
}

/// Answers requests in capital letters.
fn serve(listener: &Listener, connections: usize, read: ReadRequest, write: WriteAnswer) {
    for stream in listener.incoming().take(connections) {
        let stream = stream.unwrap();
        drop(spawn_local(move || -> Result<()> {
            while let Some(request) = read(&stream)? {
                write(&stream, &request.map(|letter| letter.to_ascii_uppercase()))?;
            }
            Ok(())
        }));
    }
}

fn ask(mut stream: &Stream, request: &[u8; SIZE]) -> Result<[u8; SIZE]> {
    stream.write_all(request)?;
    let mut answer = [0; SIZE];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

/// A server in a system of its own, and two clients that are threads.
fn program(link: Link, read: ReadRequest, write: WriteAnswer) -> impl Fn() + Send + Sync + 'static {
    move || {
        let network = Network::new();
        network.set_link(link.clone());
        let listener = network.host("server").listen(80).unwrap();
        let clients: Vec<_> = [b"abcd", b"wxyz"]
            .into_iter()
            .map(|request| {
                let client = network.host("client");
                thread::spawn("client", move || {
                    let stream = client.connect("server:80").unwrap();
                    assert_eq!(ask(&stream, request).unwrap(), request.to_ascii_uppercase()[..]);
                })
            })
            .collect();
        let system = LocalSystem::new();
        drop(system.spawn(move || serve(&listener, 2, read, write)));
        system.run().unwrap();
        clients.into_iter().for_each(|client| client.join().unwrap());
        assert_eq!(network.connections(), 0);
    }
}

fn partial() -> Link {
    Link::new().partial(2)
}

#[test]
fn a_right_server_passes_random_and_pct() {
    let late = Duration::from_millis(1)..=Duration::from_millis(3);
    for link in [partial(), partial().latency(late).capacity(3)] {
        Explorer::new().random(1).runs(150).check(program(link.clone(), read_whole, write_whole));
        Explorer::new().pct(1, 3).runs(150).check(program(link, read_whole, write_whole));
    }
}

/// One client and one request, so that there are few schedules.
fn small(link: Link, read: ReadRequest, write: WriteAnswer) -> impl Fn() + Send + Sync + 'static {
    move || {
        let network = Network::new();
        network.set_link(link.clone());
        let listener = network.host("server").listen(80).unwrap();
        let client = network.host("client");
        let client = thread::spawn("client", move || {
            let stream = client.connect("server:80").unwrap();
            assert_eq!(&ask(&stream, b"abcd").unwrap(), b"ABCD");
        });
        let (stream, _) = listener.accept().unwrap();
        while let Some(request) = read(&stream).unwrap() {
            write(&stream, &request.map(|letter| letter.to_ascii_uppercase())).unwrap();
        }
        client.join().unwrap();
    }
}

#[test]
fn a_right_server_passes_every_schedule() {
    let explorer = Explorer::new().exhaustive().most_interruptions(2);
    let summary = explorer.run(small(Link::new().partial(1), read_whole, write_whole)).unwrap();
    assert!(summary.runs() > 10, "{summary}");
    let reduced = Explorer::new().exhaustive().sharing_only_objects();
    let summary = reduced.run(small(Link::new(), read_whole, write_whole)).unwrap();
    assert!(summary.is_complete(), "{summary}");
}

/// A planted mistake is found, told with a token, and found again by it, in the same words.
#[track_caller]
fn found(program: impl Fn() + Send + Sync + 'static, explorer: Explorer, says: &str) -> Failure {
    let program = Arc::new(program);
    let run = |explorer: Explorer| {
        let program = program.clone();
        explorer.run(move || program())
    };
    let failure = run(explorer).expect_err("the mistake must be found");
    let text = failure.to_string();
    assert!(text.contains("LENO_REPLAY="), "{text}");
    assert!(text.contains(says), "{text}");
    let token = failure.shortest().to_string().parse().unwrap();
    let again = run(Explorer::new().replay(token)).expect_err("it must be found again");
    assert!(again.trouble().is_like(failure.trouble()), "{again}");
    assert_eq!(again.log().to_string(), failure.log().to_string(), "the same run, word by word");
    failure
}

#[test]
fn taking_a_read_for_a_message_is_found() {
    found(small(partial(), read_once, write_whole), Explorer::new().random(0), "panicked");
    found(small(partial(), read_once, write_whole), Explorer::new().pct(0, 3), "panicked");
    let exhaustive = Explorer::new().exhaustive().most_interruptions(1);
    let failure = found(small(partial(), read_once, write_whole), exhaustive, "panicked");
    let choices = failure.shortest().iter().filter(|decision| decision.took() > 0).count();
    assert!(choices <= 2, "{failure}");
    // On a network that passes everything on at once, nobody notices.
    Explorer::new().random(0).runs(200).check(small(Link::new(), read_once, write_once));
}

#[test]
fn forgetting_the_rest_of_a_write_is_found() {
    let failure = found(small(partial(), read_whole, write_once), Explorer::new().random(0), "");
    assert!(
        matches!(failure.trouble(), Trouble::Deadlock(_)),
        "the client waits for the rest, and the server for more: {failure}"
    );
}

/// Sends four requests on connections that may break; a client that tries again after a reset has
/// them all counted. The planted mistake: it believes that what was written has arrived.
fn count(believes_writes: bool) -> impl Fn() + Send + Sync + 'static {
    move || {
        let network = Network::new();
        network.set_link(Link::new().broken(1));
        let listener = network.host("server").listen(80).unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = seen.clone();
        let server = thread::spawn("server", move || {
            while let Ok((stream, _)) = listener.accept() {
                while let Ok(Some(request)) = read_whole(&stream) {
                    log.lock().unwrap().push(request);
                    if request == *b"stop" {
                        drop((&stream).write(b"done"));
                        return;
                    }
                    drop((&stream).write(b"done"));
                }
            }
        });
        let client = network.host("client");
        let mut stream = client.connect("server:80").unwrap();
        for request in [b"req1", b"req2", b"stop"] {
            loop {
                let asked = if believes_writes && request != b"stop" {
                    (&stream).write_all(request).map(|()| [0; SIZE])
                } else {
                    ask(&stream, request)
                };
                match asked {
                    Ok(_) => break,
                    // It was the last, and is done.
                    Err(_) if seen.lock().unwrap().contains(b"stop") => break,
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
                        stream = client.connect("server:80").unwrap();
                    }
                }
            }
        }
        drop(stream);
        server.join().unwrap();
        let seen = seen.lock().unwrap();
        for request in [b"req1", b"req2"] {
            assert!(seen.contains(request), "a request is lost");
        }
    }
}

#[test]
fn losing_a_request_on_a_reset_is_found() {
    Explorer::new().runs(300).check(count(false));
    found(count(true), Explorer::new().random(3), "a request is lost");
}

/// Latency is a choice, so a partition comes at any moment. It holds a question or its answer up for a minute;
/// the client gives up after ten seconds and asks again. The planted mistake: what is asked again is done again.
fn pay(knows_keys: bool) -> impl Fn() + Send + Sync + 'static {
    const SECOND: Duration = Duration::from_secs(1);
    move || {
        let network = Network::new();
        network.set_link(Link::new().latency(SECOND / 10..=SECOND));
        let (server, client) = (network.host("server"), network.host("client"));
        let listener = server.listen(80).unwrap();
        let system = LocalSystem::new();
        let paid = Arc::new(Mutex::new(Vec::new()));
        let log = paid.clone();
        let serves = system.spawn(move || {
            for stream in listener.incoming() {
                let (stream, log) = (stream.unwrap(), log.clone());
                drop(spawn_local(move || {
                    while let Ok(Some(key)) = read_whole(&stream) {
                        let mut log = log.lock().unwrap();
                        if !knows_keys || !log.contains(&key) {
                            log.push(key);
                        }
                        drop(log);
                        let _gone = (&stream).write_all(b"paid");
                    }
                }));
            }
        });
        let (one, other, net) = (server.clone(), client.clone(), network.clone());
        let parts = system.spawn(move || {
            for _ in 0..3 {
                sleep(SECOND);
                net.partition(&[&one], &[&other]);
                sleep(60 * SECOND);
                net.heal_all();
            }
        });
        let asks = system.spawn(move || {
            let once = |key: &[u8; SIZE]| -> Result<[u8; SIZE]> {
                let stream = client.connect_timeout("server:80", 10 * SECOND)?;
                stream.set_read_timeout(Some(10 * SECOND))?;
                ask(&stream, key)
            };
            for key in [b"key1", b"key2", b"key3"] {
                while once(key).is_err() {}
            }
            parts.join().unwrap();
            serves.cancel();
        });
        system.run().unwrap();
        asks.join().unwrap();
        assert_eq!(*paid.lock().unwrap(), [*b"key1", *b"key2", *b"key3"], "each is paid once");
    }
}

#[test]
fn paying_twice_because_of_a_partition_is_found() {
    Explorer::new().random(1).runs(100).check(pay(true));
    found(pay(false), Explorer::new().random(1), "each is paid once");
}

#[test]
fn the_same_seed_gives_the_same_log_byte_by_byte() {
    let run = |seed: u64| {
        let system = LocalSystem::builder()
            .virtual_time()
            .policy(SeededRandom::new(seed))
            .log(10_000)
            .build();
        let network = Network::local();
        let ms = Duration::from_millis;
        network.set_link(Link::new().partial(20).latency(ms(1)..=ms(9)).latency_steps(5));
        let listener = network.host("server").listen(80).unwrap();
        drop(system.spawn(move || serve(&listener, 3, read_whole, write_whole)));
        let client: Host = network.host("client");
        for _ in 0..3 {
            let client = client.clone();
            drop(system.spawn(move || {
                let stream = client.connect("server:80").unwrap();
                for request in [b"abcd", b"efgh"] {
                    assert_eq!(ask(&stream, request).unwrap(), request.to_ascii_uppercase()[..]);
                }
            }));
        }
        system.run().unwrap();
        system.log().to_string()
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn a_deadlock_across_the_network_is_told() {
    let failure = Explorer::new().runs(10).run(|| {
        let network = Network::new();
        network.set_link(Link::new().capacity(8));
        let listener = network.host("server").listen(80).unwrap();
        let client = network.host("client");
        // Both write more than fits before they read.
        let client = thread::spawn("client", move || {
            let stream = client.connect("server:80").unwrap();
            (&stream).write_all(&[0; 20]).unwrap();
            (&stream).read_exact(&mut [0; 20]).unwrap();
        });
        let system = LocalSystem::builder().name("service").build();
        drop(system.spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            (&stream).write_all(&[0; 20]).unwrap();
            (&stream).read_exact(&mut [0; 20]).unwrap();
        }));
        system.run().unwrap();
        client.join().unwrap();
    });
    let failure = failure.expect_err("nobody reads");
    assert!(matches!(failure.trouble(), Trouble::Deadlock(_)), "{failure}");
    let text = failure.to_string();
    let waits = |line: &str| line.contains("waiting to send") && line.contains("10.0.0.1:80");
    assert!(text.lines().any(|line| line.contains("'client' is") && waits(line)), "{text}");
    assert!(text.lines().any(|line| line.contains("of system 'service'") && waits(line)), "{text}");
}

/// The same server on the cores of a system, which are threads of the exploration.
#[test]
fn a_system_of_several_cores_is_explored_with_its_network() {
    Explorer::new().runs(100).check(|| {
        let network = Network::new();
        network.set_link(Link::new().partial(1).latency(Duration::ZERO..=Duration::from_millis(1)));
        let listener = network.host("server").listen(80).unwrap();
        let system = System::new(2).unwrap();
        let server = system.spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let request = read_whole(&stream).unwrap().unwrap();
            write_whole(&stream, &request.map(|letter| letter.to_ascii_uppercase())).unwrap();
        });
        let client = network.host("client");
        let client = system.spawn_future(async move {
            let stream = client.connect_async("server:80").await?;
            stream.write_all_async(b"abcd").await?;
            let mut answer: Vec<u8> = Vec::new();
            while answer.len() < SIZE {
                let mut part = [0; SIZE];
                let count = stream.read_async(&mut part).await?;
                assert!(count > 0, "the server has closed too early");
                answer.extend(&part[..count]);
            }
            Result::Ok(answer)
        });
        assert_eq!(client.join().unwrap().unwrap(), b"ABCD");
        server.join().unwrap();
        system.wait().unwrap();
    });
}

/// Outside an exploration, too: what a policy chose is a token, and another system follows it.
#[test]
fn choices_of_a_network_are_recorded_and_replayed() {
    fn run(policy: impl leno_kernel::policy::Policy + 'static) -> String {
        let system = LocalSystem::builder().virtual_time().policy(policy).log(1_000).build();
        let network = Network::local();
        let ms = Duration::from_millis;
        network.set_link(Link::new().partial(9).broken(1).latency(ms(1)..=ms(2)));
        let listener = network.host("server").listen(80).unwrap();
        drop(system.spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            while let Ok(Some(request)) = read_whole(&stream) {
                drop(write_whole(&stream, &request));
            }
        }));
        drop(system.spawn(move || {
            let stream = network.host("client").connect("server:80").unwrap();
            for _ in 0..3 {
                drop(ask(&stream, b"abcd"));
            }
        }));
        system.run().unwrap();
        system.log().to_string()
    }
    for seed in 0..20 {
        let recording = Recording::new();
        let first = run(Recorded::new(SeededRandom::new(seed), &recording));
        let token = recording.log().to_string();
        assert!(token.contains('N'), "{token}");
        assert_eq!(run(Replay::new(token.parse().unwrap())), first);
    }
}
