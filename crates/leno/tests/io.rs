//! Sockets and limits inside the other kinds of coroutine: waiting parks the whole chain.
#![forbid(unsafe_code)]

use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use leno::Coroutine;
use leno::io::net::UnixStream;
use leno::io::time::{sleep, timeout};
use leno::kernel::{LocalSystem, spawn_local};

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_generator_reads_from_a_socket() {
    let system = LocalSystem::new();
    let lines = system.spawn(|| {
        let (near, mut far) = UnixStream::pair().unwrap();
        drop(spawn_local(move || {
            for line in ["one\n", "two\n", "three\n"] {
                sleep(MS);
                far.write_all(line.as_bytes()).unwrap();
            }
        }));
        let lines = Coroutine::new(|co, ()| {
            for line in BufReader::new(&near).lines() {
                co.suspend(line.unwrap());
            }
            near
        });
        lines.iter().collect::<Vec<_>>()
    });
    system.run().unwrap();
    assert_eq!(lines.join().unwrap(), ["one", "two", "three"]);
}

#[test]
fn limits_inside_and_around_a_generator() {
    let system = LocalSystem::builder().virtual_time().build();
    let seen = system.spawn(|| {
        let beats = Coroutine::new(|co, ()| {
            for n in 1_u32.. {
                let slept = timeout(5 * MS, || sleep(n * MS));
                co.suspend(slept.is_ok());
            }
        });
        let first: Vec<bool> = beats.iter().take(7).collect();
        // What is resumed inside a limit is unwound with it.
        let endless = timeout(10 * MS, || {
            let waits = Coroutine::new(|_: &leno::Suspender<(), ()>, ()| sleep(1000 * MS));
            waits.iter().count()
        });
        (first, endless.is_err())
    });
    system.run().unwrap();
    assert_eq!(seen.join().unwrap(), (vec![true, true, true, true, true, false, false], true));
}
