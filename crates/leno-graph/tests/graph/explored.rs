//! Parallel graphs under many schedules, or all: what comes out of them, and that the schedules differ. With a mistake
//! planted in their code (`LENO_PLANTED=graph-..`, with `--cfg leno_planted`), these must find it; see `.ci/run`.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::io::{Read as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use leno_channel::shared::bounded;
use leno_explore::{Explorer, thread};
use leno_graph::{Graph, Halt, NonDeterministic, Parallel, Side};
use leno_io::net::{TcpListener, TcpStream};

use crate::nodes::map;

/// All that a program comes to, whichever way it runs.
#[track_caller]
fn outcomes<T: Ord + Debug + Send + 'static>(
    explorer: Explorer,
    program: impl Fn() -> T + Send + Sync + 'static,
) -> BTreeSet<T> {
    let seen: Arc<Mutex<BTreeSet<T>>> = Arc::default();
    let own = seen.clone();
    let explored = explorer.run(move || {
        let outcome = program();
        own.lock().unwrap().insert(outcome);
    });
    let summary = explored.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(summary.runs() > 20, "{summary}");
    core::mem::take(&mut seen.lock().unwrap())
}

/// Every schedule with so many interruptions at most.
fn all(interruptions: usize) -> Explorer {
    Explorer::new().exhaustive().most_interruptions(interruptions).must_complete()
}

/// The order in which nodes come to a place.
#[derive(Clone, Default)]
struct Order(Arc<Mutex<Vec<usize>>>);

impl Order {
    fn comes(&self, node: usize) {
        self.0.lock().unwrap().push(node);
    }

    fn take(&self) -> Vec<usize> {
        core::mem::take(&mut self.0.lock().unwrap())
    }
}

#[test]
fn p16_explored_a_channel_each_and_a_join_give_one_answer() {
    let seen = outcomes(all(2), || {
        let order = Order::default();
        let mut graph = Graph::deterministic().parallel(2);
        let doubled = [1, 8].into_iter().enumerate().map(|(node, element)| {
            let (tx, rx) = graph.channel(1);
            let order = order.clone();
            graph.node(format!("Twice {element}"), tx, move |cx, tx| {
                order.comes(node);
                tx.send(cx, 2 * element);
            });
            rx
        });
        let doubled: Vec<_> = doubled.collect();
        let queue = graph.join(doubled);
        let (tx, result) = graph.channel(1);
        graph.node("Aggregator", (queue, tx), |cx, (queue, tx)| {
            tx.send(cx, queue.iter(cx).flatten().collect::<Vec<i32>>());
        });
        let run = graph.build().unwrap();
        let result = run.outlet(result).receive();
        (order.take(), result)
    });
    let answer = Some(vec![2, 16]);
    assert_eq!(seen, [(vec![0, 1], answer.clone()), (vec![1, 0], answer)].into());
}

#[test]
fn p22_explored_both_senders_of_a_join_produce_in_parallel() {
    let seen = outcomes(all(2), || {
        let order = Order::default();
        let mut graph = Graph::deterministic().parallel(2);
        let (to_b, from_a) = bounded(1);
        let (to_a, from_b) = bounded(1);
        let hands = [(to_b, from_b), (to_a, from_a)];
        let [a, b] = [0, 1].map(|node| {
            let (tx, rx) = graph.channel(1);
            let (order, (to, from)) = (order.clone(), hands[node].clone());
            graph.node(["a", "b"][node], tx, move |cx, tx| {
                order.comes(node);
                // Neither sends before the other one runs, too.
                to.send(()).unwrap();
                from.recv().unwrap();
                tx.send(cx, node);
            });
            rx
        });
        let pairs = graph.join((a, b));
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(pairs).receive(), Some((0, 1)));
        order.take()
    });
    assert_eq!(seen, [vec![0, 1], vec![1, 0]].into());
}

#[test]
fn p24_explored_nobody_overtakes_an_attempt_that_is_rolled_back() {
    let seen = outcomes(all(3), || {
        let mut graph = Graph::nondeterministic().parallel(1);
        let (a, left) = graph.channel(2);
        let (b, right) = graph.channel::<u8>(1);
        let pairs = graph.join((left.clone(), right));
        let run = graph.build().unwrap();
        let (a, b) = (run.inlet(a), run.inlet(b));
        assert!(a.send(0) && a.send(1));
        drop(a);
        let (pairs, alone) = (run.outlet(pairs), run.outlet(left));
        // There is nothing at the right: what was taken at the left goes back, or is gone before.
        let order = Order::default();
        let (one, other) = (order.clone(), order.clone());
        let joins = thread::spawn("joins", move || {
            one.comes(0);
            pairs.receive()
        });
        let takes = thread::spawn("takes", move || {
            other.comes(1);
            [alone.receive(), alone.receive()]
        });
        assert_eq!(takes.join().unwrap(), [Some(0), Some(1)]);
        drop(b);
        assert_eq!(joins.join().unwrap(), None);
        order.take()
    });
    assert_eq!(seen, [vec![0, 1], vec![1, 0]].into());
}

#[test]
fn p24_explored_of_joins_that_meet_one_succeeds() {
    let seen = outcomes(all(2), || {
        let mut graph = Graph::nondeterministic().parallel(1);
        let ends = [0, 1, 2].map(|_| graph.channel::<u8>(1));
        let [a, b, c] = [0, 1, 2].map(|channel| ends[channel].1.clone());
        let low = graph.join((a, b.clone()));
        let high = graph.join((b, c));
        let tokens = ends.map(|(tx, _)| tx);
        let run = graph.build().unwrap();
        tokens.into_iter().zip(0..).for_each(|(tx, n)| assert!(run.inlet(tx).send(n)));
        let joins = [("low", low), ("high", high)].map(|(name, join)| {
            let outlet = run.outlet(join);
            thread::spawn(name, move || outlet.receive())
        });
        joins.map(|join| join.join().unwrap())
    });
    assert_eq!(seen, [[Some((0, 1)), None], [None, Some((1, 2))]].into());
}

#[test]
fn p26_explored_a_select_takes_whichever_comes_first_and_says_which() {
    let seen = outcomes(all(2), || {
        let mut graph = Graph::nondeterministic().parallel(2);
        let (a, left) = graph.channel(1);
        graph.node("left", a, |cx, tx| _ = tx.send(cx, 'l'));
        let (b, right) = graph.channel(1);
        graph.node("right", b, |cx, tx| _ = tx.send(cx, 2));
        let either = graph.select(left, right);
        let run = graph.build().unwrap();
        run.outlet(either).collect::<Vec<Side<char, i32>>>()
    });
    let (left, right) = (Side::Left('l'), Side::Right(2));
    assert_eq!(seen, [vec![left, right], vec![right, left]].into());
}

#[test]
fn p51_explored_the_first_answer_of_two_servers_counts_and_the_other_node_is_cancelled() {
    let seen = outcomes(Explorer::new().runs(200), || {
        let mut graph = Graph::nondeterministic().parallel(2);
        let mut fetch = |name: &'static str| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let server = thread::spawn(name, move || {
                listener.accept().unwrap().0.write_all(name.as_bytes()).unwrap();
            });
            drop(server);
            let (tx, rx) = graph.channel(1);
            graph.free_node(format!("fetch {name}"), tx, move |cx, tx| {
                let mut answer = String::new();
                TcpStream::connect(address).unwrap().read_to_string(&mut answer).unwrap();
                // Until it is cancelled.
                while tx.send(cx, answer.clone()) {}
            });
            rx
        };
        let (left, right) = (fetch("left"), fetch("right"));
        let either = graph.select(left, right);
        let run = graph.build().unwrap();
        let either = run.outlet(either);
        let first = match either.receive().unwrap() {
            Side::Left(answer) => ("left", answer),
            Side::Right(answer) => ("right", answer),
        };
        assert_eq!(first.0, first.1);
        assert!(either.cancel());
        run.finish().unwrap();
        let sent: Vec<u64> = run.counters().iter().map(|(_, counters)| counters.sent).collect();
        let other = sent[usize::from(first.0 == "left")];
        assert!(other <= 1, "{sent:?}");
        (first.0, other)
    });
    // One has come first, and the other one was refused, or what it had sent was dropped.
    let expected = [("left", 0), ("left", 1), ("right", 0), ("right", 1)];
    assert!(expected.iter().filter(|outcome| seen.contains(outcome)).count() >= 3, "{seen:?}");
    assert!(seen.iter().any(|(first, _)| *first == "left"), "{seen:?}");
    assert!(seen.iter().any(|(first, _)| *first == "right"), "{seen:?}");
}

#[test]
fn p57_explored_all_who_wait_outside_are_told_of_a_deadlock() {
    let seen = outcomes(all(2), || {
        let mut graph = Graph::deterministic().parallel(1);
        let wires = [0, 1].map(|_| graph.channel::<u8>(1));
        let [(to_b, from_a), (to_a, from_b)] = wires;
        let order = Order::default();
        let outlets = [(0, from_b, to_b), (1, from_a, to_a)].map(|(node, from, to)| {
            let (out, seen) = graph.channel::<u8>(1);
            let order = order.clone();
            graph.node(["a", "b"][node], (from, to, out), move |cx, (from, to, _out)| {
                order.comes(node);
                // Each sends only what the other one has sent.
                from.iter(cx).for_each(|n| _ = to.send(cx, n));
            });
            seen
        });
        let run = graph.build().unwrap();
        let threads = outlets.map(|outlet| {
            let outlet = run.outlet(outlet);
            thread::spawn("waits", move || outlet.checked_receive())
        });
        for told in threads.map(|thread| thread.join().unwrap()) {
            assert!(matches!(told, Err(Halt::Deadlock(_))), "{told:?}");
        }
        order.take()
    });
    assert_eq!(seen, [vec![0, 1], vec![1, 0]].into());
}

/// So many nodes send their numbers into one channel.
fn senders(mut graph: Graph<NonDeterministic, Parallel>, count: usize) -> Vec<usize> {
    let (tx, rx) = graph.channel(1);
    for i in 1..=count {
        graph.node(format!("sender {i}"), tx.clone(), move |cx, tx| _ = tx.send(cx, i));
    }
    drop(tx);
    let run = graph.build().unwrap();
    let received: Vec<usize> = run.outlet(rx).collect();
    let mut sorted = received.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (1..=count).collect::<Vec<_>>());
    received
}

#[test]
fn p58_explored_99_senders_and_one_receiver_give_some_permutation() {
    let count = |explorer: Explorer, senders_in: usize| {
        outcomes(explorer, move || senders(Graph::nondeterministic().parallel(2), senders_in)).len()
    };
    assert_eq!(count(Explorer::new().random(1).runs(300), 3), 6);
    let permutations = count(Explorer::new().runs(24), 99);
    assert!(permutations > 12, "{permutations}");
}

#[test]
fn p64_explored_a_thread_that_waits_outside_is_woken() {
    let seen = outcomes(all(2), || {
        let mut graph = Graph::nondeterministic().parallel(1);
        let (tx, rx) = graph.channel(1);
        let (out, doubled) = graph.channel(1);
        graph.node("double", (rx, out), map(|i: i32| 2 * i));
        let run = graph.build().unwrap();
        let (tx, doubled) = (run.inlet(tx), run.outlet(doubled));
        let is_sent = Arc::new(AtomicBool::new(false));
        let sent = is_sent.clone();
        let waits = thread::spawn("waits", move || {
            let was_sent = sent.load(SeqCst);
            (was_sent, doubled.receive())
        });
        assert!(tx.send(21));
        is_sent.store(true, SeqCst);
        waits.join().unwrap()
    });
    // It has asked before there was anything, or after.
    assert_eq!(seen, [(false, Some(42)), (true, Some(42))].into());
}

#[test]
fn p57_explored_two_who_wait_at_one_end_are_told_nothing_while_another_end_is_in_use() {
    let seen = outcomes(Explorer::new().random(1).runs(400), || {
        let mut graph = Graph::nondeterministic().parallel(1);
        let (tx, rx) = graph.channel(1);
        let (out, doubled) = graph.channel(1);
        graph.node("double", (rx, out), map(|i: i32| 2 * i));
        let run = graph.build().unwrap();
        let (tx, doubled) = (run.inlet(tx), Arc::new(run.outlet(doubled)));
        let waits = ["one", "other"].map(|name| {
            let doubled = doubled.clone();
            thread::spawn(name, move || doubled.checked_receive().expect("one may still send"))
        });
        assert!(tx.send(1) && tx.send(2));
        waits.map(|waits| waits.join().unwrap())
    });
    assert_eq!(seen, [[Some(2), Some(4)], [Some(4), Some(2)]].into());
}

#[test]
fn p57_explored_who_waits_for_the_end_has_nobody_told_while_an_end_is_in_use() {
    let seen = outcomes(Explorer::new().random(1).runs(400), || {
        let mut graph = Graph::nondeterministic().parallel(1);
        let (tx, rx) = graph.channel(1);
        let (out, doubled) = graph.channel(1);
        graph.node("double", (rx, out), map(|i: i32| 2 * i));
        let run = Arc::new(graph.build().unwrap());
        let (tx, doubled) = (run.inlet(tx), run.outlet(doubled));
        let waits =
            thread::spawn("waits", move || doubled.checked_receive().expect("one may still send"));
        let own = run.clone();
        let ends = thread::spawn("ends", move || own.finish().is_ok());
        assert!(tx.send(21));
        drop(tx);
        (waits.join().unwrap(), ends.join().unwrap())
    });
    // The end is waited for before the node has what it needs, or after.
    assert_eq!(seen, [(Some(42), false), (Some(42), true)].into());
}
