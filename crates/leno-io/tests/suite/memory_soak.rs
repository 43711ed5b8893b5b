//! Networks under chance: whatever happens on the way, bytes arrive in order, none twice, and none is
//! missing before one that has arrived; nothing is left at the end.

use std::cell::RefCell;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::rc::Rc;
use std::time::Duration;

use leno_io::memory::{Link, Network};
use leno_kernel::policy::SeededRandom;
use leno_kernel::{LocalSystem, sleep, spawn_local};

const MS: Duration = Duration::from_millis(1);
const CLIENTS: u8 = 3;

/// Numbers that follow from a seed.
struct Lots(u64);

impl Lots {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// What a client sends: its own number, and counting.
fn sent(client: u8) -> Vec<u8> {
    (0..120).map(|n| if n == 0 { client } else { n }).collect()
}

/// What each connection has brought to the server, and how often it was severed.
fn run(seed: u64, severs: bool) -> (Vec<Vec<u8>>, usize) {
    let system = LocalSystem::builder().virtual_time().policy(SeededRandom::new(seed)).build();
    let network = Network::local();
    let capacity = 1 + seed as usize % 13;
    network.set_link(
        Link::new().partial(u32::MAX).latency(MS..=9 * MS).latency_steps(3).capacity(capacity),
    );
    let (server, client) = (network.host("server"), network.host("client"));
    let listener = server.listen(80).unwrap();
    let received: Rc<RefCell<Vec<Vec<u8>>>> = Rc::default();
    let all = received.clone();
    drop(system.spawn(move || {
        for stream in listener.incoming().take(CLIENTS.into()) {
            let (mut stream, all) = (stream.unwrap(), all.clone());
            drop(spawn_local(move || {
                let mut bytes = Vec::new();
                let end = stream.read_to_end(&mut bytes);
                assert!(end.is_ok() || end.unwrap_err().kind() == ErrorKind::ConnectionReset);
                all.borrow_mut().push(bytes);
            }));
        }
    }));
    for number in 0..CLIENTS {
        let client = client.clone();
        drop(system.spawn(move || {
            // A backlog that is not accepted from in time is no concern here.
            let mut stream = client.connect("server:80").unwrap();
            for part in sent(number).chunks(7) {
                if let Err(error) = stream.write_all(part) {
                    return assert_eq!(error.kind(), ErrorKind::ConnectionReset);
                }
                sleep(MS);
            }
            stream.shutdown(Shutdown::Write);
            // Until the other side has read everything, or the connection is lost.
            let end = stream.read(&mut [0]);
            assert!(end.is_ok_and(|count| count == 0) || severs);
        }));
    }
    let severed = Rc::new(RefCell::new(0));
    let count = severed.clone();
    let net = network.clone();
    drop(system.spawn(move || {
        let mut lots = Lots(seed);
        for _ in 0..20 {
            sleep(MS * lots.below(10) as u32);
            match lots.below(3) {
                0 => net.partition(&[&server], &[&client]),
                1 => net.heal_all(),
                _ if severs => *count.borrow_mut() += net.sever(&server, &client),
                _ => {}
            }
        }
        net.heal_all();
    }));
    system.run().unwrap();
    assert_eq!(network.connections(), 0, "with seed {seed}");
    let received = received.take();
    assert_eq!(received.len(), CLIENTS.into());
    (received, severed.take())
}

#[test]
fn partitions_hold_everything_up_and_lose_nothing() {
    for seed in 0..100 {
        let (mut received, _) = run(seed, false);
        received.sort();
        assert_eq!(received, [sent(0), sent(1), sent(2)], "with seed {seed}");
    }
}

#[test]
fn what_a_lost_connection_has_brought_is_a_beginning() {
    let mut lost = 0;
    for seed in 0..100 {
        let (received, severed) = run(seed, true);
        for bytes in received {
            let whole = sent(bytes.first().copied().unwrap_or_default());
            assert!(whole.starts_with(&bytes), "with seed {seed}: {bytes:?}");
            lost += usize::from(bytes.len() < whole.len());
        }
        assert!(severed <= CLIENTS.into(), "with seed {seed}");
    }
    assert!(lost > 20, "some were lost: {lost}");
}
