//! Wakers and policies that misbehave: others are woken and served, and nothing is called under a lock.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use leno_io::memory::{Link, Network};
use leno_io::net::resolve_async;
use leno_kernel::layer::bell::Bell;
use leno_kernel::policy::{Choice, ChoiceKind, Policy, Ready};
use leno_kernel::{Co, LocalSystem, Platform, RealTime, Time, block_on};

/// A payload whose `Drop` panics.
struct Payload;

impl Drop for Payload {
    fn drop(&mut self) {
        panic!("a payload panics");
    }
}

/// A waker that counts how often it is woken, and panics.
struct Loud(AtomicUsize);

impl Wake for Loud {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
        panic_any(Payload);
    }
}

#[test]
fn wakers_that_panic_take_no_helper_of_the_resolver() {
    // More than there are helpers.
    for _ in 0..10 {
        let loud = Arc::new(Loud(AtomicUsize::new(0)));
        let waker = Waker::from(loud.clone());
        let mut asks = pin!(resolve_async("localhost:80"));
        if asks.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            while loud.0.load(SeqCst) == 0 {
                std::thread::yield_now();
            }
            assert!(block_on(asks).is_ok());
        }
    }
    assert!(block_on(resolve_async("localhost:80")).is_ok());
}

#[test]
fn all_who_wait_at_a_network_are_woken_though_wakers_panic() {
    let network = Network::new();
    let (server, client) = (network.host("server"), network.host("client"));
    let listener = server.listen(80).unwrap();
    let mut near = client.connect("server:80").unwrap();
    let (mut far, _) = listener.accept().unwrap();
    let louds = [(); 3].map(|()| Arc::new(Loud(AtomicUsize::new(0))));
    let mut waits = louds.clone().map(|loud| {
        let mut ready = Box::pin(far.readable());
        let waker = Waker::from(loud);
        assert!(ready.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        ready
    });
    // Their panics go to the failure hook.
    assert_eq!(near.write(b"x").unwrap(), 1);
    assert_eq!(louds.map(|loud| loud.0.load(SeqCst)), [1; 3]);
    for ready in &mut waits {
        assert!(ready.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
    }
    drop(waits);
    let mut byte = [0];
    assert_eq!((far.read(&mut byte).unwrap(), &byte), (1, b"x"));
}

/// Wakes nobody, and uses the network when it is woken or dropped.
struct Nosy(Network);

impl Wake for Nosy {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Nosy {
    fn drop(&mut self) {
        assert!(self.0.connections() < 10);
    }
}

#[test]
fn wakers_that_use_the_network_are_dropped_without_its_lock() {
    let network = Network::new();
    let listener = network.host("server").listen(80).unwrap();
    let client = network.host("client").connect("server:80").unwrap();
    let (far, _) = listener.accept().unwrap();
    let waker = || Waker::from(Arc::new(Nosy(network.clone())));
    let mut ready = pin!(far.readable());
    // Drops the one before it, the one of a look that finds something, and the last.
    for _ in 0..2 {
        assert!(ready.as_mut().poll(&mut Context::from_waker(&waker())).is_pending());
    }
    (&client).write_all(b"x").unwrap();
    assert!(ready.as_mut().poll(&mut Context::from_waker(&waker())).is_ready());
}

/// First come, first served; what it does when a network asks it.
struct Asked<F>(VecDeque<Co>, F);

impl<F: FnMut() -> usize> Policy for Asked<F> {
    fn ready(&mut self, ready: &Ready<'_>) {
        self.0.push_back(ready.co);
    }

    fn pick(&mut self) -> Option<Co> {
        self.0.pop_front()
    }

    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        if choice.kind == ChoiceKind::Network { (self.1)() } else { 0 }
    }

    fn forget(&mut self, co: Co) {
        self.0.retain(|other| *other != co);
    }
}

/// What a policy raises that is asked while a coroutine writes into a connection whose link has a choice. The
/// system goes on without it.
fn writes(policy: impl FnMut(&Network) -> usize + 'static) -> Result<(), String> {
    let network = Network::new();
    let (asked, mut policy) = (network.clone(), policy);
    let policy = Asked(VecDeque::new(), move || policy(&asked));
    let system = LocalSystem::builder().policy(policy).virtual_time().build();
    let ended = system.spawn(move || {
        let listener = network.host("server").listen(80).unwrap();
        let near = network.host("client").connect("server:80").unwrap();
        let (far, _) = listener.accept().unwrap();
        let spread = Duration::from_millis(1)..=Duration::from_millis(2);
        network.set_link(Link::new().latency(spread));
        (&near).write_all(b"x").unwrap();
        // Its lock is free, and nothing is half done.
        network.set_link(Link::new());
        assert_eq!(network.connections(), 1);
        (&near).write_all(b"y").unwrap();
        let mut bytes = [0; 2];
        (&far).read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"xy");
    });
    let raised = catch_unwind(AssertUnwindSafe(|| system.run().map(drop).unwrap()));
    if raised.is_err() {
        system.run().unwrap();
    }
    ended.join().unwrap();
    raised.map_err(|payload| match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&str>().unwrap()).to_owned(),
    })
}

#[test]
fn a_policy_may_look_at_the_network_that_asks_it() {
    assert_eq!(writes(|network| network.connections()), Ok(()));
}

#[test]
fn a_policy_that_panics_leaves_a_network_as_it_was() {
    assert_eq!(writes(|_| panic!("a policy panics")), Err("a policy panics".to_owned()));
    assert_eq!(writes(|_| 1), Ok(()));
}

/// A clock that panics when it is asked while this is set.
struct Clock(RealTime, Rc<Cell<bool>>);

impl Platform for Clock {
    fn now(&self) -> Time {
        assert!(!self.1.get(), "the clock fails");
        self.0.now()
    }

    fn idle(&self, bell: &Bell, deadline: Option<Time>) {
        self.0.idle(bell, deadline);
    }

    fn is_virtual(&self) -> bool {
        true
    }
}

#[test]
fn a_peer_learns_of_the_end_although_the_clock_panics() {
    let fails = Rc::new(Cell::new(false));
    let system = LocalSystem::builder().platform(Clock(RealTime::new(), fails.clone())).build();
    let ended = system.spawn(move || {
        let network = Network::new();
        let listener = network.host("server").listen(80).unwrap();
        let near = network.host("client").connect("server:80").unwrap();
        let (mut far, _) = listener.accept().unwrap();
        (&near).write_all(b"x").unwrap();
        let drops = |dropped: &mut dyn FnMut()| {
            fails.set(true);
            assert!(catch_unwind(AssertUnwindSafe(dropped)).is_err(), "what it raises goes on");
            fails.set(false);
        };
        let (mut near, mut listener) = (Some(near), Some(listener));
        drops(&mut || drop(near.take()));
        drops(&mut || drop(listener.take()));
        let mut all = Vec::new();
        far.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"x");
        assert!(network.host("server").listen(80).is_ok(), "the port is free");
    });
    system.run().unwrap();
    ended.join().unwrap();
}
