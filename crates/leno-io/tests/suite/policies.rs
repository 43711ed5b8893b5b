//! Policies that a network in memory asks, and that are user code: they use the network, panic, suspend, never
//! return. Others go on, and what is asked is what was asked before.
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use leno_io::memory::{Link, Listener, Network, Stream};
use leno_kernel::policy::{Candidate, Choice, ChoiceKind, Policy, Ready};
use leno_kernel::{Co, LocalSystem, sleep, yield_now};

/// First come, first served; answers a network with `answer`, which gets the numbers there are.
struct Asked<F> {
    ready: VecDeque<Co>,
    answer: F,
}

fn asked<F: FnMut(&[u64]) -> usize>(answer: F) -> Asked<F> {
    Asked { ready: VecDeque::new(), answer }
}

impl<F: FnMut(&[u64]) -> usize> Policy for Asked<F> {
    fn ready(&mut self, ready: &Ready<'_>) {
        self.ready.push_back(ready.co);
    }

    fn pick(&mut self) -> Option<Co> {
        self.ready.pop_front()
    }

    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        if choice.kind != ChoiceKind::Network {
            return 0;
        }
        let number = |candidate: &Candidate| match candidate {
            Candidate::Number(number) => *number,
            _ => panic!("a network asks about numbers"),
        };
        let numbers: Vec<_> = choice.candidates.iter().map(number).collect();
        (self.answer)(&numbers)
    }

    fn forget(&mut self, co: Co) {
        self.ready.retain(|other| *other != co);
    }
}

/// A listener, and both sides of a connection.
fn connected(network: &Network) -> (Listener, Stream, Stream) {
    let listener = network.host("server").listen(80).unwrap();
    let near = network.host("client").connect("server:80").unwrap();
    let (far, _) = listener.accept().unwrap();
    (listener, near, far)
}

/// Two latencies to choose from.
fn spread() -> Link {
    Link::new().latency(Duration::from_nanos(1)..=Duration::from_nanos(2))
}

/// Runs a body in a system with this policy, again after a panic of the policy has left it.
fn run<R: 'static>(
    answer: impl FnMut(&[u64]) -> usize + 'static,
    body: impl FnOnce() -> R + 'static,
) -> R {
    let system = LocalSystem::builder().policy(asked(answer)).virtual_time().build();
    let ended = system.spawn(body);
    if catch_unwind(AssertUnwindSafe(|| system.run().map(drop).unwrap())).is_err() {
        system.run().unwrap();
    }
    ended.join().unwrap()
}

#[test]
fn a_policy_may_use_the_network_that_asks_it() {
    let network = Network::new();
    let (own, calls) = (network.clone(), Rc::new(Cell::new(0)));
    let answer = {
        let (own, calls, mut kept) = (own.clone(), calls.clone(), Vec::new());
        move |_: &[u64]| {
            calls.set(calls.get() + 1);
            // Connects, writes, sends, closes an end, and breaks something.
            let near = own.host("policy").connect("server:80").unwrap();
            assert_eq!((&near).write(b"from the policy").unwrap(), 15);
            let socket = own.host("policy").socket(0).unwrap();
            socket.send_to(b"datagram", "server:53").unwrap();
            if kept.is_empty() {
                kept.push(near);
            } else {
                near.sever();
            }
            drop(own.host("policy").listen(1).unwrap());
            1
        }
    };
    run(answer, move || {
        let (listener, near, mut far) = connected(&own);
        // The policy's own host takes no time: it must not wait.
        own.set_link_between(&own.host("client"), &own.host("server"), spread());
        (&near).write_all(b"x").unwrap();
        near.shutdown(Shutdown::Write);
        let mut all = Vec::new();
        far.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"x");
        drop((near, far, listener));
    });
    // The write, the shutdown, and both sides that are closed.
    assert_eq!(calls.get(), 4);
    assert_eq!(network.connections(), 0);
}

#[test]
fn a_question_that_the_policy_has_changed_is_asked_again() {
    let network = Network::new();
    let (own, questions) = (network.clone(), Rc::new(RefCell::new(Vec::new())));
    let shared: Rc<RefCell<Option<Stream>>> = Rc::default();
    let answer = {
        let (questions, shared) = (questions.clone(), shared.clone());
        move |numbers: &[u64]| {
            questions.borrow_mut().push(numbers.to_vec());
            // Takes the half of the room.
            if let Some(near) = shared.take() {
                assert_eq!((&near).write(b"1234").unwrap(), 4);
            }
            1
        }
    };
    run(answer, move || {
        let (_listener, near, mut far) = connected(&own);
        own.set_link(Link::new().capacity(8).partial(1));
        *shared.borrow_mut() = Some(near.clone());
        assert_eq!((&near).write(b"abcdefgh").unwrap(), 2);
        let mut bytes = [0; 8];
        assert_eq!(far.read(&mut bytes).unwrap(), 6);
        assert_eq!(&bytes[..6], b"1234ab");
    });
    assert_eq!(*questions.borrow(), [vec![8, 4, 1], vec![4, 2, 1]]);
}

/// A policy that panics when a network asks it, and uses that network when it is dropped.
struct Last(Asked<fn(&[u64]) -> usize>, Network, Rc<Cell<Option<usize>>>);

impl Policy for Last {
    fn ready(&mut self, ready: &Ready<'_>) {
        self.0.ready(ready);
    }

    fn pick(&mut self) -> Option<Co> {
        self.0.pick()
    }

    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        self.0.choose(choice)
    }

    fn forget(&mut self, co: Co) {
        self.0.forget(co);
    }
}

impl Drop for Last {
    fn drop(&mut self) {
        self.2.set(Some(self.1.connections()));
    }
}

#[test]
fn a_policy_that_panics_may_use_the_network_in_its_destructor() {
    let (network, seen) = (Network::new(), Rc::new(Cell::new(None)));
    let policy = Last(asked(|_| panic!("a policy panics")), network.clone(), seen.clone());
    let system = LocalSystem::builder().policy(policy).virtual_time().build();
    let ended = system.spawn(move || {
        let (_listener, near, mut far) = connected(&network);
        network.set_link(spread());
        (&near).write_all(b"x").unwrap();
        drop(near);
        let mut all = Vec::new();
        far.read_to_end(&mut all).unwrap();
        all
    });
    let raised = catch_unwind(AssertUnwindSafe(|| system.run().map(drop)));
    assert_eq!(raised.unwrap_err().downcast_ref(), Some(&"a policy panics"));
    assert_eq!(seen.get(), Some(1), "it has seen the connection, which had not been written to");
    system.run().unwrap();
    assert_eq!(ended.join().unwrap(), b"x");
}

/// Lets all others run, also after the policy that calls this was replaced.
fn yield_often() {
    (0..4).for_each(|_| yield_now());
}

#[test]
fn others_use_a_network_while_a_policy_has_suspended_who_asked_it() {
    let (network, is_asked) = (Network::local(), Rc::new(Cell::new(false)));
    let asks = is_asked.clone();
    let answer = move |_: &[u64]| {
        asks.set(true);
        yield_often();
        1
    };
    let system = LocalSystem::builder().policy(asked(answer)).virtual_time().build();
    let (_listener, near, mut far) = connected(&network);
    network.set_link(spread());
    let writes = near.clone();
    let written = system.spawn(move || (&writes).write(b"x").unwrap());
    let other = system.spawn(move || {
        assert!(is_asked.get(), "the policy has suspended the other one");
        (&near).write_all(b"y").unwrap();
        let mut bytes = [0; 2];
        far.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"yx");
    });
    // It must not do that, and is replaced.
    let raised = catch_unwind(AssertUnwindSafe(|| system.run().map(drop)));
    let raised = *raised.unwrap_err().downcast::<String>().unwrap();
    assert!(raised.contains("a policy answers at once"), "{raised}");
    system.run().unwrap();
    other.join().unwrap();
    assert_eq!(written.join().unwrap(), 1);
}

/// The other one was sent earlier, and its policy has answered later.
#[test]
fn a_datagram_that_was_looked_at_stays_the_first() {
    let network = Network::local();
    let answer = |_: &[u64]| {
        sleep(Duration::from_millis(5));
        0
    };
    let system = LocalSystem::builder().policy(asked(answer)).virtual_time().build();
    let receiver = network.host("server").socket(53).unwrap();
    let sender = network.host("client").socket(0).unwrap();
    network.set_link(spread());
    let early = sender.clone();
    drop(system.spawn(move || early.send_to(b"early", "server:53").unwrap()));
    let received = system.spawn(move || {
        sleep(Duration::from_millis(1));
        sender.send_to(b"late", "server:53").unwrap();
        let mut bytes = [0; 8];
        let (seen, _) = receiver.peek_from(&mut bytes).unwrap();
        assert_eq!(&bytes[..seen], b"late");
        sleep(Duration::from_millis(9));
        let mut next = || receiver.recv_from(&mut bytes).map(|(count, _)| bytes[..count].to_vec());
        [next().unwrap(), next().unwrap()]
    });
    let raised = catch_unwind(AssertUnwindSafe(|| system.run().map(drop)));
    assert!(raised.is_err(), "the policy is replaced");
    system.run().unwrap();
    assert_eq!(received.join().unwrap(), [&b"late"[..], b"early"]);
}

#[test]
fn an_end_is_closed_although_its_coroutine_exits_while_the_policy_is_asked() {
    for is_abrupt in [false, true] {
        let network = Network::local();
        let answer = |_: &[u64]| {
            yield_often();
            1
        };
        let system = LocalSystem::builder().policy(asked(answer)).virtual_time().build();
        let (listener, near, mut far) = connected(&network);
        near.set_abrupt(is_abrupt);
        network.set_link(spread());
        let closes = system.spawn(move || {
            drop(near);
            // Where it exits.
            yield_now();
        });
        // When the policy has suspended it.
        let co = closes.co().unwrap();
        drop(system.spawn(move || leno_kernel::cancel(co)));
        let raised = catch_unwind(AssertUnwindSafe(|| system.run().map(drop)));
        assert!(raised.is_err(), "the policy is replaced");
        system.run().unwrap();
        assert!(closes.join().is_err(), "it was cancelled");
        let end = system.spawn(move || far.read(&mut [0]));
        system.run().unwrap();
        match is_abrupt {
            true => {
                let error = end.join().unwrap().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::ConnectionReset);
            }
            false => assert_eq!(end.join().unwrap().unwrap(), 0),
        }
        drop(listener);
        assert_eq!(network.connections(), 0);
    }
}

/// Far longer than it takes; a test that fails is over then.
const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn threads_use_a_network_while_a_policy_does_not_return() {
    let network = Network::new();
    let (listener, near, mut far) = connected(&network);
    let ((entered, is_entered), (release, released)) = (mpsc::channel(), mpsc::channel::<()>());
    let asks = thread::spawn({
        let network = network.clone();
        move || {
            let answer = move |_: &[u64]| {
                entered.send(()).unwrap();
                released.recv().unwrap();
                1
            };
            run(answer, move || {
                network.set_link(spread());
                (&near).write_all(b"x").unwrap();
                near
            })
        }
    });
    is_entered.recv().unwrap();
    let (done, is_done) = mpsc::channel();
    let uses = thread::spawn({
        let network = network.clone();
        move || {
            assert_eq!(network.connections(), 1);
            let mut other = network.host("other").connect("server:80").unwrap();
            let (mut accepted, _) = listener.accept().unwrap();
            other.write_all(b"y").unwrap();
            accepted.read_exact(&mut [0]).unwrap();
            done.send((other, accepted)).unwrap();
        }
    });
    // It panics rather than wait for a thread that waits for the lock.
    drop(is_done.recv_timeout(LIMIT).expect("others go on"));
    uses.join().unwrap();
    release.send(()).unwrap();
    drop(asks.join().unwrap());
    let mut all = Vec::new();
    far.read_to_end(&mut all).unwrap();
    assert_eq!(all, b"x");
}

/// What is asked, and in which order, is part of what replay tokens mean.
#[test]
fn each_question_is_asked_once_and_in_the_same_order() {
    let questions: Rc<RefCell<Vec<Vec<u64>>>> = Rc::default();
    let asks = questions.clone();
    let answer = move |numbers: &[u64]| {
        asks.borrow_mut().push(numbers.to_vec());
        // Nothing goes wrong, but that a datagram is doubled.
        usize::from(*asks.borrow() == [[0, 1], [0, 1]])
    };
    let asked = questions.clone();
    let since = move || std::mem::take(&mut *asked.borrow_mut());
    run(answer, move || {
        let network = Network::local();
        network.set_link(spread().partial(1).broken(1).lost(1).doubled(1).reordered(1));
        let listener = network.host("server").listen(80).unwrap();
        let near = network.host("client").connect("server:80").unwrap();
        let (latencies, whether) = (vec![1, 2], vec![0, 1]);
        // There, and back.
        assert_eq!(since(), [&latencies[..], &latencies]);
        let (mut far, _) = listener.accept().unwrap();
        assert!(since().is_empty());
        assert_eq!((&near).write(b"abcd").unwrap(), 4);
        assert_eq!(since(), [&[4, 2, 1][..], &whether, &latencies]);
        let mut bytes = [0; 4];
        assert_eq!(far.read(&mut bytes).unwrap(), 4);
        assert_eq!(since(), [[4, 2, 1]]);
        let (one, other) = (network.host("server"), network.host("client"));
        let (one, other) = (one.socket(53).unwrap(), other.socket(0).unwrap());
        other.send_to(b"who?", "server:53").unwrap();
        assert_eq!(since(), [&whether[..], &whether, &latencies, &latencies]);
        one.recv_from(&mut bytes).unwrap();
        assert_eq!(since(), [[0, 1]]);
        near.shutdown(Shutdown::Write);
        assert_eq!(since(), [&latencies[..]]);
        near.set_abrupt(true);
        drop(near);
        assert_eq!(since(), [&latencies[..], &latencies]);
        drop(far);
        assert_eq!(since(), [&latencies[..]]);
    });
}

#[test]
fn a_listener_closes_without_asking() {
    let calls = Rc::new(Cell::new(0));
    let asks = calls.clone();
    let answer = move |_: &[u64]| {
        asks.set(asks.get() + 1);
        0
    };
    run(answer, move || {
        let network = Network::local();
        let listener = network.host("server").listen(80).unwrap();
        let mut near = network.host("client").connect("server:80").unwrap();
        network.set_link(spread());
        drop(listener);
        assert_eq!(calls.get(), 0);
        assert_eq!(near.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    });
}
