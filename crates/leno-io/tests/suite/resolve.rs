//! Looking up the addresses of hosts, without a network.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::time::Duration;

use crate::support::{LONG, kind, listener, run};
use leno_io::net::{
    Endpoint, TcpListener, TcpStream, ToSocketAddrs, UdpSocket, resolve, resolve_async,
    resolve_timeout,
};
use leno_kernel::{LocalSystem, block_on, spawn_local, yield_now};

fn is_local(addresses: &[SocketAddr]) -> bool {
    !addresses.is_empty() && addresses.iter().all(|one| one.ip().is_loopback() && one.port() == 80)
}

#[test]
fn each_kind_of_caller_looks_up_a_host() {
    assert!(is_local(&resolve("localhost:80").unwrap()));
    assert!(is_local(&resolve_timeout("localhost:80", LONG).unwrap()));
    assert!(is_local(&block_on(resolve_async("localhost:80")).unwrap()));
    run(|| {
        assert!(is_local(&resolve(("localhost", 80)).unwrap()));
        assert!(is_local(&resolve_timeout("localhost:80", LONG).unwrap()));
    });
    let system = LocalSystem::new();
    let future = system.spawn_future(async { resolve_async("localhost:80").await.unwrap() });
    system.run().unwrap();
    assert!(is_local(&future.join().unwrap()));
}

/// More than are looked up at a time, some of which give up.
#[test]
fn many_ask_and_some_give_up() {
    run(|| {
        let asking: Vec<_> = (0..40)
            .map(|n| {
                spawn_local(move || match n % 4 {
                    0 => block_on(resolve_async("localhost:80")),
                    _ => resolve("localhost:80"),
                })
            })
            .collect();
        yield_now();
        for (n, one) in asking.into_iter().enumerate() {
            if n % 5 == 0 {
                one.cancel();
                drop(one.join());
            } else {
                assert!(is_local(&one.join().unwrap().unwrap()));
            }
        }
    });
}

/// The answer comes from another thread, so a limit of nothing is over before; or, now and then, not.
#[test]
fn looking_up_has_its_limit() {
    let is_late = |_| resolve_timeout("localhost:80", Duration::ZERO).err();
    let by_thread = (0..1000).find_map(is_late).unwrap();
    let by_coroutine = run(move || (0..1000).find_map(is_late).unwrap());
    for late in [by_thread, by_coroutine] {
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        assert_eq!(late.to_string(), "the time is over in which to look up \"localhost\"");
    }
    // What need not be looked up is never late.
    assert!(resolve_timeout("127.0.0.1:80", Duration::ZERO).is_ok());
}

#[test]
fn a_stream_connects_to_a_name() {
    let (listener, address) = listener();
    let stream = run(move || {
        let stream = TcpStream::connect(("localhost", address.port())).unwrap();
        drop(listener.accept().unwrap());
        stream
    });
    assert_eq!(stream.peer_addr().unwrap(), address);
}

#[test]
fn futures_bind_to_a_name() {
    let system = LocalSystem::new();
    let bound = system.spawn_future(async {
        let listener = TcpListener::bind_async("localhost:0").await.unwrap();
        let socket = UdpSocket::bind_async("localhost:0").await.unwrap();
        [listener.local_addr().unwrap(), socket.local_addr().unwrap()]
    });
    system.run().unwrap();
    assert!(bound.join().unwrap().iter().all(|address| address.ip().is_loopback()));
}

#[test]
fn what_is_an_address_and_what_is_not() {
    let (v4, v6) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
    let one = |endpoint: &dyn ToSocketAddrs| match endpoint.endpoint().unwrap() {
        Endpoint::One(address) => address.to_string(),
        other => panic!("{other:?}"),
    };
    let same: [&dyn ToSocketAddrs; 8] = [
        &"127.0.0.1:80",
        &"127.0.0.1:80".to_owned(),
        &("127.0.0.1", 80),
        &("127.0.0.1".to_owned(), 80),
        &(v4, 80),
        &(IpAddr::from(v4), 80),
        &SocketAddrV4::new(v4, 80),
        &SocketAddr::from((v4, 80)),
    ];
    assert!(same.into_iter().all(|endpoint| one(endpoint) == "127.0.0.1:80"));
    let same: [&dyn ToSocketAddrs; 4] =
        [&"[::1]:80", &("::1", 80), &(v6, 80), &SocketAddrV6::new(v6, 80, 0, 0)];
    assert!(same.into_iter().all(|endpoint| one(endpoint) == "[::1]:80"));
    let error = "somewhere".endpoint().unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"somewhere\" is no address of a socket, such as \"host:80\": it has no port"
    );
    assert_eq!(kind("somewhere:99999".endpoint()), ErrorKind::InvalidInput);
}
