//! Partitions and healing, in virtual time: hours pass in no time.

use std::io::{ErrorKind, Read, Result, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use leno_io::memory::{Host, Link, Listener, Network};
use leno_kernel::{LocalSystem, now, sleep, spawn_local};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

fn run<T: 'static>(f: impl FnOnce() -> T + 'static) -> T {
    let system = LocalSystem::builder().virtual_time().build();
    let result = system.spawn(f);
    system.run().unwrap();
    result.join().unwrap()
}

#[test]
fn what_is_on_its_way_waits_for_healing() {
    run(|| {
        let network = Network::local();
        network.set_link(Link::new().latency(SECOND).capacity(4));
        let (server, client) = (network.host("server"), network.host("client"));
        let listener = server.listen(80).unwrap();
        let near = client.connect("server:80").unwrap();
        let far = listener.accept().unwrap().0;
        (&near).write_all(b"a").unwrap();
        sleep(SECOND);
        (&near).write_all(b"b").unwrap();
        network.partition(&[&server], &[&client]);
        (&near).write_all(b"cd").unwrap();
        let mut buffer = [0; 9];
        assert_eq!((&far).read(&mut buffer).unwrap(), 1, "it had arrived");
        far.set_read_timeout(Some(HOUR)).unwrap();
        assert_eq!((&far).read(&mut buffer).unwrap_err().kind(), ErrorKind::TimedOut);
        near.set_write_timeout(Some(HOUR)).unwrap();
        assert_eq!((&near).write(b"ef").unwrap(), 1, "as much as there is room for");
        assert_eq!((&near).write(b"f").unwrap_err().kind(), ErrorKind::TimedOut);
        network.heal(&[&client], &[&server]);
        let healed = now();
        assert_eq!((&far).read(&mut buffer).unwrap(), 4);
        assert_eq!((&buffer[..4], now() - healed), (&b"bcde"[..], SECOND));
    });
}

#[test]
fn connecting_across_a_partition_times_out_or_is_healed() {
    run(|| {
        let network = Network::local();
        network.set_link(Link::new().latency(SECOND).connect_timeout(2 * MINUTE));
        let (server, client) = (network.host("server"), network.host("client"));
        let _listener = server.listen(80).unwrap();
        network.partition(&[&client], &[&server]);
        let start = now();
        let error = client.connect("server:80").unwrap_err();
        assert_eq!((error.kind(), now() - start), (ErrorKind::TimedOut, 2 * MINUTE));
        assert!(
            error.to_string().contains("from host 'client' 10.0.0.2 to 10.0.0.1:80"),
            "{error}"
        );
        let connects = spawn_local({
            let client = client.clone();
            move || client.connect("server:80").map(|_| now())
        });
        sleep(MINUTE);
        network.heal_all();
        let healed = now();
        assert_eq!(connects.join().unwrap().unwrap() - healed, 2 * SECOND);
    });
}

/// Answers each line with its length.
fn serve(listener: &Listener) {
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        drop(spawn_local(move || -> Result<()> {
            let mut line = Vec::new();
            let mut byte = [0];
            while stream.read(&mut byte)? > 0 {
                if byte[0] != b'\n' {
                    line.push(byte[0]);
                    continue;
                }
                writeln!(stream, "{}", line.len())?;
                line.clear();
            }
            Ok(())
        }));
    }
}

/// Asks until there is an answer, each time later; how often.
fn ask(client: &Host, question: &str) -> (String, u32) {
    let once = || -> Result<String> {
        let mut stream = client.connect_timeout("server:80", 10 * SECOND)?;
        stream.set_read_timeout(Some(10 * SECOND))?;
        writeln!(stream, "{question}")?;
        let mut answer = String::new();
        let mut byte = [0];
        while stream.read(&mut byte)? > 0 && byte[0] != b'\n' {
            answer.push(byte[0] as char);
        }
        Ok(answer)
    };
    let (mut tries, mut pause) = (0, SECOND);
    loop {
        tries += 1;
        match once() {
            Ok(answer) => return (answer, tries),
            Err(error) => assert_eq!(error.kind(), ErrorKind::TimedOut),
        }
        sleep(pause);
        pause = (2 * pause).min(MINUTE);
    }
}

#[test]
fn a_client_that_tries_again_gets_through_when_hosts_are_healed() {
    let system = LocalSystem::builder().virtual_time().build();
    let network = Network::local();
    network.set_link(Link::new().latency(Duration::from_millis(40)));
    let (server, client) = (network.host("server"), network.host("client"));
    let listener = server.listen(80).unwrap();
    let serves = system.spawn(move || serve(&listener));
    let answered = system.spawn(move || {
        assert_eq!(ask(&client, "before"), ("6".to_owned(), 1));
        network.partition(&[&server], &[&client]);
        let healer = spawn_local({
            let network = network.clone();
            move || {
                sleep(5 * HOUR);
                network.heal_all();
            }
        });
        let start = now();
        let (answer, tries) = ask(&client, "meanwhile");
        healer.join().unwrap();
        leno_kernel::cancel(serves.co().unwrap());
        (answer, tries, now() - start)
    });
    system.run().unwrap();
    let (answer, tries, took) = answered.join().unwrap();
    assert_eq!(answer, "9");
    assert!(tries > 200, "{tries} tries");
    assert!(took > 5 * HOUR && took < 5 * HOUR + 2 * MINUTE, "{took:?}");
}

#[test]
fn hosts_of_another_network_are_refused() {
    let (own, other) = (Network::new(), Network::new());
    let (host, stranger) = (own.host("here"), other.host("there"));
    let refused = |f: &dyn Fn()| {
        let panic = catch_unwind(AssertUnwindSafe(f)).unwrap_err();
        let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
        assert_eq!(text, "host 'there' is of another network");
    };
    refused(&|| own.partition(&[&host], &[&stranger]));
    refused(&|| own.heal(&[&stranger], &[&host]));
    refused(&|| own.set_link_between(&host, &stranger, Link::new()));
    refused(&|| assert_eq!(own.sever(&stranger, &host), 0));
    let many = catch_unwind(|| Link::new().latency_steps(u32::MAX)).unwrap_err();
    let text = many.downcast_ref::<String>().cloned().unwrap_or_default();
    assert!(text.contains("among 65536 latencies at most"), "{text}");
}
