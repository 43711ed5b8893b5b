//! Wakers of others that suspend the code that wakes them at a network in memory, or panic when they are dropped: nothing is
//! lost, and all others are dropped.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use leno_io::memory::{Link, Network, Socket};
use leno_kernel::layer::bell::Bell;
use leno_kernel::{
    LocalSystem, Platform, Reason, Time, VirtualTime, Wake as Woken, now, park, sleep, yield_now,
};

/// Suspends who wakes it.
struct Yields;

impl Wake for Yields {
    fn wake(self: Arc<Self>) {
        (0..3).for_each(|_| yield_now());
    }
}

#[test]
fn a_connection_is_not_lost_if_who_accepts_it_is_cancelled_while_connectors_are_woken() {
    let (system, network) = (LocalSystem::new(), Network::new());
    network.set_link(Link::new().connect_timeout(Duration::from_secs(1000)));
    let (server, client) = (network.host("server"), network.host("client"));
    let listener = server.listen_at((server.address(), 7).into(), 1).unwrap();
    let first = client.connect("server:7").unwrap();
    // It waits for room in the backlog.
    let waker = Waker::from(Arc::new(Yields));
    let mut second = Box::pin(client.connect_async("server:7"));
    assert!(second.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let ears = listener.clone();
    let accepts = system.spawn(move || {
        let (stream, _) = ears.accept().unwrap();
        (&stream).write_all(b"hello").unwrap();
        // It hears of its exit here.
        sleep(Duration::from_secs(3600));
    });
    let cancels = system.spawn(move || accepts.cancel());
    assert_eq!(system.run().unwrap().exited, 1);
    drop((cancels, second));
    let mut heard = [0; 8];
    assert_eq!(first.try_read(&mut heard).unwrap(), 5);
    assert_eq!(first.try_read(&mut heard).unwrap(), 0, "its other side is closed");
    drop(first);
    assert_eq!(network.connections(), 0);
    // The listener goes on.
    let third = client.connect("server:7").unwrap();
    assert_eq!(listener.try_accept().unwrap().1, third.local_addr());
}

#[test]
fn bytes_are_not_lost_if_who_reads_them_is_cancelled_while_writers_are_woken() {
    let (system, network) = (LocalSystem::new(), Network::new());
    network.set_link(Link::new().capacity(8));
    let listener = network.host("server").listen(7).unwrap();
    let writes = network.host("client").connect("server:7").unwrap();
    let (reads, _) = listener.accept().unwrap();
    assert_eq!(writes.try_write(b"abcdefgh").unwrap(), 8);
    // It waits for room.
    let waker = Waker::from(Arc::new(Yields));
    let mut room = Box::pin(writes.writable());
    assert!(room.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let (own, (told, read)) = (reads.clone(), std::sync::mpsc::channel());
    let one = system.spawn(move || {
        let mut bytes = [0; 4];
        (&own).read_exact(&mut bytes).unwrap();
        told.send(bytes).unwrap();
        sleep(Duration::from_secs(3600));
    });
    let two = system.spawn(move || one.cancel());
    assert_eq!(system.run().unwrap().exited, 1);
    drop((two, room));
    assert_eq!(read.try_recv().ok().as_ref(), Some(b"abcd"));
    let mut bytes = [0; 8];
    assert_eq!(reads.try_read(&mut bytes).unwrap(), 4);
    assert_eq!(&bytes[..4], b"efgh");
}

/// Counts its drops, which panic.
struct Bomb(Arc<AtomicUsize>);

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
        panic!("a waker panics");
    }
}

fn socket(network: &Network) -> Socket {
    network.host("server").socket(53).unwrap()
}

#[test]
fn wakers_that_panic_are_dropped_with_their_socket_one_by_one() {
    let (network, drops) = (Network::new(), Arc::new(AtomicUsize::new(0)));
    let socket = socket(&network);
    for _ in 0..3 {
        let mut ready = Box::pin(socket.readable());
        let waker = Waker::from(Arc::new(Bomb(drops.clone())));
        assert!(ready.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        // It stands in line for ever.
        std::mem::forget(ready);
    }
    drop(socket);
    assert_eq!(drops.load(SeqCst), 3);
}

#[test]
fn a_wait_that_unwinds_leaves_although_its_waker_panics() {
    let (network, drops) = (Network::new(), Arc::new(AtomicUsize::new(0)));
    let socket = socket(&network);
    let raised = catch_unwind(AssertUnwindSafe(|| {
        let mut ready = pin!(socket.readable());
        let waker = Waker::from(Arc::new(Bomb(drops.clone())));
        assert!(ready.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(waker);
        panic!("for a reason of its own");
    }));
    let payload = raised.unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"for a reason of its own"));
    assert_eq!(drops.load(SeqCst), 1);
    // A look that finds something has no use for its waker.
    network.host("client").socket(0).unwrap().send_to(b"x", "server:53").unwrap();
    let mut ready = pin!(socket.readable());
    let waker = Waker::from(Arc::new(Bomb(drops.clone())));
    let looked = catch_unwind(AssertUnwindSafe(|| {
        let context = &mut Context::from_waker(&waker);
        ready.as_mut().poll(context).is_ready()
    }));
    assert!(looked.unwrap());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(waker))).is_err());
}

/// A clock that jumps over waits, and has who asks it park, once, the given number of calls later.
struct ParkingClock(VirtualTime, Rc<Cell<u32>>);

impl Platform for ParkingClock {
    fn now(&self) -> Time {
        let left = self.1.get();
        self.1.set(left.saturating_sub(1));
        if left == 1 {
            assert_eq!(park(Reason::Sleeping), Woken::Unparked);
        }
        self.0.now()
    }

    fn idle(&self, bell: &Bell, deadline: Option<Time>) {
        self.0.idle(bell, deadline);
    }
}

#[test]
fn a_wait_at_a_network_ends_although_its_clock_takes_the_wake() {
    let left = Rc::<Cell<u32>>::default();
    let clock = ParkingClock(VirtualTime::new(), left.clone());
    let (system, network) = (LocalSystem::builder().platform(clock).build(), Network::local());
    let listener = network.host("server").listen(7).unwrap();
    let limit = Duration::from_secs(3600);
    let accepts = system.spawn(move || {
        let began = now();
        // It asks when to go on at the latest, once it stands in line.
        left.set(1);
        let accepted = listener.accept_timeout(limit);
        assert_eq!(left.get(), 0);
        (accepted, now().since(began))
    });
    let connects = system.spawn(move || network.host("client").connect("server:7"));
    system.run().unwrap();
    let (accepted, waited) = accepts.join().unwrap();
    assert!(accepted.is_ok() && waited.is_zero(), "it waited for {waited:?}");
    assert!(connects.join().unwrap().is_ok());
}
