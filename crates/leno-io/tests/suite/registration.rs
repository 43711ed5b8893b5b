//! How sockets are watched: by what the system itself says of them. A socket is registered once, with one
//! reactor, edge-triggered and for both directions, so no wait needs a call to arm it again.

use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use crate::support::{on_a_core, pair, run};
use leno_kernel::{spawn_local, yield_now};

const EPOLLIN: u32 = 0x1;
const EPOLLOUT: u32 = 0x4;
const EPOLLONESHOT: u32 = 1 << 30;
const EPOLLET: u32 = 1 << 31;

/// What the system says of a descriptor that some reactor of this process watches: with what events, and
/// under which number, which each registration has for itself.
fn watched(descriptor: impl AsFd) -> Vec<(u32, u64)> {
    let wanted = descriptor.as_fd().as_raw_fd();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd").unwrap().flatten() {
        // Other tests of this process open and close theirs meanwhile.
        let Ok(target) = std::fs::read_link(entry.path()) else { continue };
        if target.to_str() != Some("anon_inode:[eventpoll]") {
            continue;
        }
        let about = format!("/proc/self/fdinfo/{}", entry.file_name().to_str().unwrap());
        for line in std::fs::read_to_string(about).unwrap_or_default().lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let ["tfd:", number, "events:", events, "data:", data, ..] = words[..]
                && number.parse() == Ok(wanted)
            {
                let hex = |digits| u64::from_str_radix(digits, 16).unwrap();
                found.push((hex(events) as u32, hex(data)));
            }
        }
    }
    found
}

/// Many waits for both directions, in coroutines of one core.
fn talk(near: &Arc<leno_io::net::TcpStream>, far: &Arc<leno_io::net::TcpStream>) {
    let (own, other) = (near.clone(), far.clone());
    let echo = spawn_local(move || {
        for _ in 0..100 {
            let mut byte = [0];
            (&*other).read_exact(&mut byte).unwrap();
            yield_now();
            (&*other).write_all(&byte).unwrap();
        }
    });
    for n in 0..100 {
        (&*own).write_all(&[n]).unwrap();
        let mut byte = [0];
        (&*own).read_exact(&mut byte).unwrap();
        assert_eq!(byte, [n]);
    }
    echo.join().unwrap();
}

#[test]
fn a_socket_is_registered_once_edge_triggered_both_ways() {
    run(|| {
        let (near, far) = pair();
        let (near, far) = (Arc::new(near), Arc::new(far));
        talk(&near, &far);
        let first = watched(&*near);
        let [(events, _)] = first[..] else { panic!("registered {} times", first.len()) };
        let wanted = EPOLLIN | EPOLLOUT | EPOLLET;
        assert_eq!(events & (wanted | EPOLLONESHOT), wanted, "{events:#x}");
        // The same registration serves all that follows.
        talk(&near, &far);
        assert_eq!(watched(&*near), first);
    });
}

/// The core that watches is asked to wake the other one; when it has ended, the other one watches.
#[test]
fn a_socket_of_several_cores_is_registered_once_at_a_time() {
    let (near, far) = pair();
    let (near, far) = (Arc::new(near), Arc::new(far));
    let (own, other) = (near.clone(), far.clone());
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let (ready, is_ready) = std::sync::mpsc::channel();
    let first = on_a_core(move || {
        talk(&own, &other);
        ready.send(watched(&*own)).unwrap();
        // It stays until the other one has used the socket as well.
        leno_kernel::blocking(move || is_done.recv()).unwrap_err();
    });
    let by_first = is_ready.recv().unwrap();
    assert_eq!(by_first.len(), 1);
    for _ in 0..2 {
        let (own, other) = (near.clone(), far.clone());
        let by_second = on_a_core(move || {
            talk(&own, &other);
            watched(&*own)
        });
        assert_eq!(by_second.join().unwrap(), by_first);
    }
    drop(done);
    first.join().unwrap();
    let (own, other) = (near.clone(), far);
    let by_third = on_a_core(move || {
        talk(&own, &other);
        watched(&*own)
    });
    assert_eq!(by_third.join().unwrap().len(), 1);
}
