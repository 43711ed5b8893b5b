//! Datagrams of a network in memory.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leno_explore::Explorer;
use leno_io::memory::{Link, Network, Socket};
use leno_kernel::LocalSystem;

const MS: Duration = Duration::from_millis(1);

fn pair(network: &Network) -> (Socket, Socket) {
    let server = network.host("server").socket(53).unwrap();
    let client = network.host("client").socket(0).unwrap();
    client.connect("server:53").unwrap();
    server.set_read_timeout(Some(MS)).unwrap();
    (client, server)
}

/// Everything that arrives, a letter each.
fn all(socket: &Socket) -> String {
    let mut text = String::new();
    let mut byte = [0];
    while socket.recv_from(&mut byte).is_ok() {
        text.push(byte[0] as char);
    }
    text
}

#[test]
fn without_a_policy_they_arrive_once_and_in_order() {
    let system = LocalSystem::builder().virtual_time().build();
    let text = system.spawn(|| {
        let network = Network::local();
        network.set_link(Link::new().lost(9).doubled(9).reordered(9).latency(MS / 4..=MS / 2));
        let (client, server) = pair(&network);
        for letter in ["a", "b", "c"] {
            client.send(letter.as_bytes()).unwrap();
        }
        all(&server)
    });
    system.run().unwrap();
    assert_eq!(text.join().unwrap(), "abc");
}

/// All that may be received when two are sent.
fn outcomes(link: Link) -> BTreeSet<String> {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let found = seen.clone();
    let summary = Explorer::new().exhaustive().run(move || {
        let network = Network::new();
        network.set_link(link.clone());
        let (client, server) = pair(&network);
        client.send(b"a").unwrap();
        client.send(b"b").unwrap();
        seen.lock().unwrap().insert(all(&server));
    });
    assert!(summary.unwrap().is_complete());
    found.lock().unwrap().clone()
}

fn set(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

#[test]
fn losses_copies_and_disorder_are_choices_each_so_often_at_most() {
    assert_eq!(outcomes(Link::new()), set(&["ab"]));
    assert_eq!(outcomes(Link::new().lost(1)), set(&["ab", "a", "b"]));
    assert_eq!(outcomes(Link::new().lost(2)), set(&["ab", "a", "b", ""]));
    assert_eq!(outcomes(Link::new().doubled(1)), set(&["ab", "aab", "abb"]));
    assert_eq!(outcomes(Link::new().reordered(1)), set(&["ab", "ba"]));
    assert_eq!(outcomes(Link::new().latency(MS / 4..=MS / 2)), set(&["ab", "ba"]));
}

#[test]
fn what_was_looked_at_is_received_next() {
    Explorer::new().exhaustive().check(|| {
        let network = Network::new();
        network.set_link(Link::new().reordered(2));
        let (client, server) = pair(&network);
        client.send(b"a").unwrap();
        client.send(b"b").unwrap();
        let (mut seen, mut received) = ([0], [0]);
        server.peek_from(&mut seen).unwrap();
        server.recv_from(&mut received).unwrap();
        assert_eq!(seen, received);
        assert_eq!(all(&server).len(), 1);
    });
}

#[test]
fn across_a_partition_they_are_lost() {
    let network = Network::new();
    let (client, server) = pair(&network);
    network.partition(&[&network.host("client")], &[&network.host("server")]);
    client.send(b"x").unwrap();
    network.heal_all();
    client.send(b"y").unwrap();
    assert_eq!(all(&server), "y");
}

#[test]
fn what_nobody_waits_for_is_lost_and_what_is_too_long_is_cut_off() {
    let network = Network::new();
    let (client, server) = pair(&network);
    client.send_to(b"nobody", "server:54").unwrap();
    client.send(b"long").unwrap();
    let mut buffer = [0; 2];
    let (count, from) = server.peek_from(&mut buffer).unwrap();
    assert_eq!(&buffer[..count], b"lo");
    assert_eq!(from, server.recv_from(&mut buffer).unwrap().1, "it was still there");
    let stranger = network.host("stranger").socket(0).unwrap();
    let address = ("client", client.local_addr().port());
    stranger.send_to(b"?", address).unwrap();
    server.send_to(b"!", address).unwrap();
    let (count, from) = client.recv_from(&mut buffer).unwrap();
    assert_eq!(
        (&buffer[..count], from.port()),
        (&b"!"[..], 53),
        "not from whom it does not speak to"
    );
    assert!(client.send(&[0; 70_000]).is_err());
    let received = leno_kernel::block_on(async {
        client.send(b"later").unwrap();
        server.recv_from_async(&mut buffer).await.unwrap().0
    });
    assert_eq!(received, 2);
}

#[test]
fn datagrams_without_bytes_are_lost_when_too_many_wait() {
    let network = Network::new();
    let (client, server) = pair(&network);
    for _ in 0..2_000 {
        client.send(b"").unwrap();
    }
    let mut buffer = [0; 4];
    let waiting = || server.try_recv_from(&mut buffer).is_ok();
    let count = std::iter::repeat_with(waiting).take_while(|received| *received).count();
    assert_eq!(count, (65_536 + 128) / 128);
    // There is room again, also for the longest, and after one that was only looked at.
    client.send(&[7; 65_507]).unwrap();
    assert_eq!(server.try_peek_from(&mut buffer).unwrap().0, 4);
    client.send(b"x").unwrap();
    assert_eq!(server.try_recv_from(&mut buffer).unwrap().0, 4);
    assert!(server.try_recv_from(&mut buffer).is_err(), "it was lost");
    // Those of others are dropped, and take no room.
    let address = ("client", client.local_addr().port());
    let stranger = network.host("stranger").socket(0).unwrap();
    for _ in 0..2_000 {
        stranger.send_to(b"", address).unwrap();
    }
    assert!(client.try_recv_from(&mut buffer).is_err());
    server.send_to(&[7; 65_507], address).unwrap();
    assert_eq!(client.try_recv_from(&mut buffer).unwrap().0, 4);
}
