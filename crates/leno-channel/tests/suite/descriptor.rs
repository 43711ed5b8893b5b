//! A file descriptor as an alternative of a select, for all three kinds of caller.
#![cfg(not(loom))]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use leno_channel::{Select, SelectError, bounded, shared};
use leno_kernel::io::{Descriptor, Interest};
use leno_kernel::{LocalSystem, block_on, sleep};

const MS: Duration = Duration::from_millis(1);

fn pair() -> (Descriptor<UnixStream>, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    (Descriptor::new(near).unwrap(), far)
}

#[test]
fn a_coroutine_selects_between_a_socket_and_a_channel() {
    let system = LocalSystem::new();
    let (near, mut far) = pair();
    let (work, jobs) = bounded(1);
    let log = system.spawn(move || {
        let mut log = String::new();
        loop {
            let what = Select::new()
                .priority()
                .recv(&jobs, |job| job.unwrap_or('.'))
                .source(near.wait_async(Interest::READ), |ready| {
                    let mut byte = [0];
                    assert!(ready.unwrap().is_readable());
                    match near.try_io(Interest::READ, |mut stream| stream.read(&mut byte)) {
                        Ok(_) => char::from(byte[0]),
                        Err(_) => ' ',
                    }
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
    assert_eq!(log.join().unwrap(), "abcdef");
}

#[test]
fn a_thread_and_a_future_select_a_socket() {
    let (_stop, stopped) = shared::channel::<()>();
    let (near, mut far) = pair();
    let select = || {
        Select::new()
            .recv(&stopped, |_| false)
            .source(near.wait_async(Interest::READ), |ready| ready.unwrap().is_readable())
    };
    assert_eq!(select().try_wait(), Err(SelectError::NotReady));
    assert_eq!(select().after(MS, || true).wait(), Ok(true));
    let mut other = far.try_clone().unwrap();
    let writer = std::thread::spawn(move || {
        std::thread::sleep(5 * MS);
        other.write_all(b"!").unwrap();
    });
    assert_eq!(select().wait(), Ok(true));
    writer.join().unwrap();
    while near.try_io(Interest::READ, |mut stream| stream.read(&mut [0])).is_ok() {}
    let writer = std::thread::spawn(move || {
        std::thread::sleep(5 * MS);
        far.write_all(b"!").unwrap();
    });
    assert_eq!(block_on(select().wait_async()), Ok(true));
    writer.join().unwrap();
}

#[test]
fn a_refusal_is_what_the_alternative_gives() {
    let (near, _far) = pair();
    let system = LocalSystem::builder().virtual_time().build();
    let error = system
        .spawn(move || Select::new().source(near.wait_async(Interest::READ), |ready| ready).wait());
    system.run().unwrap();
    let error = error.join().unwrap().unwrap().unwrap_err();
    assert!(error.to_string().starts_with("real I/O in virtual time: "), "{error}");
}
