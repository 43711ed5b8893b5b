//! Datagrams over UDP.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};

use crate::support::{MS, kind, on_a_core, run};
use leno_channel::{Select, never};
use leno_io::net::UdpSocket;
use leno_kernel::{block_on, sleep, spawn_local};

fn socket() -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

#[test]
fn datagrams_arrive_whole_or_cut() {
    run(|| {
        let ((near, to), (far, from)) = (socket(), socket());
        let sends = spawn_local(move || {
            sleep(MS);
            for text in ["one", "", "three", "four"] {
                assert_eq!(far.send_to(text.as_bytes(), to).unwrap(), text.len());
            }
        });
        let mut buffer = [0; 4];
        assert_eq!(near.peek_from(&mut buffer).unwrap(), (3, from));
        assert_eq!(near.recv_from(&mut buffer).unwrap(), (3, from));
        assert_eq!(&buffer[..3], b"one");
        // A short one says nothing about the next.
        assert_eq!(near.recv_from(&mut buffer).unwrap(), (0, from));
        assert_eq!(near.recv(&mut buffer).unwrap(), 4);
        assert_eq!(&buffer, b"thre");
        assert_eq!(near.recv(&mut buffer).unwrap(), 4);
        assert_eq!(&buffer, b"four");
        sends.join().unwrap();
    });
}

#[test]
fn who_is_connected_hears_one_peer_only() {
    run(|| {
        let ((near, to), (far, from), (other, _)) = (socket(), socket(), socket());
        near.connect(from).unwrap();
        far.connect(to).unwrap();
        assert_eq!(near.peer_addr().unwrap(), from);
        other.send_to(b"other", to).unwrap();
        far.send(b"far").unwrap();
        let mut buffer = [0; 8];
        assert_eq!(near.peek(&mut buffer).unwrap(), 3);
        assert_eq!(near.recv(&mut buffer).unwrap(), 3);
        assert_eq!(kind(near.try_recv(&mut buffer)), ErrorKind::WouldBlock);
        assert_eq!(near.try_send(b"back").unwrap(), 4);
        assert_eq!(far.recv(&mut buffer).unwrap(), 4);
    });
}

#[test]
fn futures_threads_and_cores() {
    let ((near, to), (far, from)) = (socket(), socket());
    let core = on_a_core(move || {
        let mut buffer = [0; 8];
        for _ in 0..10 {
            let (count, from) = near.recv_from(&mut buffer).unwrap();
            near.send_to(&buffer[..count], from).unwrap();
        }
    });
    let mut buffer = [0; 8];
    for n in 0..5 {
        far.send_to(&[n], to).unwrap();
        assert_eq!(far.recv_from(&mut buffer).unwrap(), (1, to));
    }
    block_on(async {
        far.connect_async(to).await.unwrap();
        for n in 0..5 {
            match n % 2 {
                0 => far.send_async(&[n]).await.unwrap(),
                _ => far.send_to_async(&[n], to).await.unwrap(),
            };
            assert_eq!(far.peek_async(&mut buffer).await.unwrap(), 1);
            assert_eq!(far.peek_from_async(&mut buffer).await.unwrap(), (1, to));
            assert_eq!(far.recv_from_async(&mut buffer).await.unwrap(), (1, to));
            assert_eq!(buffer[0], n);
        }
    });
    core.join().unwrap();
    assert_eq!(far.local_addr().unwrap(), from);
}

#[test]
fn limits_options_and_selects() {
    run(|| {
        let (near, to) = socket();
        near.set_read_timeout(Some(MS)).unwrap();
        near.set_write_timeout(Some(MS)).unwrap();
        assert_eq!(
            (near.read_timeout().unwrap(), near.write_timeout().unwrap()),
            (Some(MS), Some(MS))
        );
        assert_eq!(kind(near.recv(&mut [0])), ErrorKind::TimedOut);
        assert_eq!(kind(block_on(near.recv_async(&mut [0]))), ErrorKind::TimedOut);
        let clone = near.try_clone().unwrap();
        clone.set_broadcast(true).unwrap();
        assert!(near.broadcast().unwrap());
        near.set_ttl(9).unwrap();
        assert_eq!(near.ttl().unwrap(), 9);
        let (group, any) = (Ipv4Addr::new(224, 0, 0, 251), Ipv4Addr::UNSPECIFIED);
        // Where there is no such network, both fail alike.
        let joined = near.join_multicast_v4(&group, &any).is_ok();
        assert_eq!(near.leave_multicast_v4(&group, &any).is_ok(), joined);
        near.set_multicast_loop_v4(false).unwrap();
        near.set_multicast_ttl_v4(3).unwrap();
        let about_groups = (near.multicast_loop_v4().unwrap(), near.multicast_ttl_v4().unwrap());
        assert_eq!(about_groups, (false, 3));
        assert!(near.take_error().unwrap().is_none());
        near.try_send_to(b"!", to).unwrap();
        let count = Select::new()
            .recv(&never(), |_| 0)
            .source(near.readable(), |ready| {
                ready.unwrap();
                near.try_recv_from(&mut [0; 8]).unwrap().0
            })
            .wait();
        assert_eq!(count, Ok(1));
        block_on(near.writable()).unwrap();
        drop(near);
        assert!(UdpSocket::from_std(clone.into_std().unwrap()).is_ok());
    });
}

/// That nobody is there is said once, and whoever comes later is heard.
#[test]
fn a_refusal_is_told_and_passes() {
    run(|| {
        let (near, to) = socket();
        let (far, from) = socket();
        drop(far);
        near.connect(from).unwrap();
        let reader = near.try_clone().unwrap();
        let refused = spawn_local(move || kind(reader.recv(&mut [0])));
        sleep(MS);
        near.send(b"?").unwrap();
        assert_eq!(refused.join().unwrap(), ErrorKind::ConnectionRefused);
        let far = UdpSocket::bind(from).unwrap();
        near.set_read_timeout(Some(MS)).unwrap();
        assert_eq!(kind(near.recv(&mut [0])), ErrorKind::TimedOut);
        near.set_read_timeout(None).unwrap();
        far.send_to(b"!", to).unwrap();
        assert_eq!(near.recv(&mut [0]).unwrap(), 1);
    });
}
