//! The two stages, the four modes, and when nodes start.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use leno_graph::{BuildError, Graph, Temperature};

use crate::nodes::{collect, in_all_modes, in_deterministic_modes, in_other_modes, map, range};

#[test]
fn p1_a_graph_is_created_and_then_executed() {
    in_all_modes!(|graph| {
        let ran = Arc::new(AtomicUsize::new(0));
        let (tx, rx) = graph.channel(1);
        let count = ran.clone();
        graph.node("one", tx, move |cx, tx| {
            count.fetch_add(1, SeqCst);
            tx.send(cx, 1);
        });
        let run = graph.build().unwrap();
        assert_eq!(ran.load(SeqCst), 0, "building runs nothing");
        assert_eq!(run.outlet(rx).receive(), Some(1));
        assert_eq!(ran.load(SeqCst), 1);
    });
}

#[test]
fn p2_a_send_or_a_receive_from_outside_starts_execution() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        let (out, seen) = graph.channel(1);
        let node = graph.node("square", (rx, out), map(|i: i32| i * i));
        let run = graph.build().unwrap();
        assert_eq!(run.temperature(node), Temperature::Cold);
        let tx = run.inlet(tx);
        tx.send(3);
        let seen = run.outlet(seen);
        assert_eq!(seen.receive(), Some(9));
        assert_eq!(run.temperature(node), Temperature::Hot);
    });
    in_all_modes!(|graph| {
        // By a send alone: nobody receives from outside.
        let (tx, rx) = graph.channel(1);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let all = seen.clone();
        graph.node("sink", rx, move |cx, rx| {
            rx.iter(cx).for_each(|i: i32| all.lock().unwrap().push(i))
        });
        let run = graph.build().unwrap();
        let tx = run.inlet(tx);
        tx.send(1);
        tx.send(2);
        drop(tx);
        run.finish().unwrap();
        assert_eq!(*seen.lock().unwrap(), [1, 2]);
    });
}

#[test]
fn p3_a_node_has_the_ends_that_it_was_registered_with() {
    // Ends that are not registered cannot be used at all: see the programs that must not compile. Of
    // another graph, they are refused by build.
    in_all_modes!(|graph| {
        let (_tx, rx) = graph.channel::<i32>(1);
        let mut other = graph;
        let mut graph = Graph::nondeterministic().sequential();
        let (mine, _out) = graph.named::<i32>("mine", 1);
        let mut third = Graph::nondeterministic().sequential();
        third.node("thief", mine, |_, _| {});
        let error = third.build().err().unwrap();
        assert_eq!(
            error,
            BuildError::Foreign { channel: "mine".to_owned(), node: "thief".to_owned() }
        );
        other.node("sink", rx, |_, _| {});
        assert!(other.build().is_ok());
    });
}

#[test]
fn p4_a_node_of_which_nothing_is_expected_never_runs() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        graph.node("wanted", tx, range(0, 3));
        let (tx, _untouched) = graph.channel::<i32>(1);
        let lazy = graph.node("untouched", tx, |_, _| panic!("it runs"));
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(rx).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(run.temperature(lazy), Temperature::Cold);
    });
}

#[test]
fn p67_a_cold_node_can_be_started_early() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(2);
        let node = graph.node("range", tx, range(0, 3));
        let run = graph.build().unwrap();
        assert_eq!(run.temperature(node), Temperature::Cold);
        run.start(node);
        run.start(node);
        let rx = run.outlet(rx);
        assert_eq!(rx.collect::<Vec<_>>(), [0, 1, 2]);
        run.finish().unwrap();
        assert_eq!(run.temperature(node), Temperature::Ended);
        run.start(node);
    });
}

#[test]
fn p5_one_program_runs_in_all_modes() {
    let mut seen = Vec::new();
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        graph.node("numbers", tx, range(1, 11));
        let (tx, squares) = graph.channel(1);
        graph.node("square", (rx, tx), map(|i: i32| i * i));
        let (tx, list) = graph.channel(1);
        graph.node("collect", (squares, tx), collect);
        let run = graph.build().unwrap();
        seen.push(run.outlet(list).receive().unwrap().iter().sum::<i32>());
    });
    assert_eq!(seen, [385; 4]);
}

fn squares<S: leno_graph::Schedule>(
    cx: &leno_graph::NodeCx<'_, S>,
    out: leno_graph::Sender<i32, S>,
) {
    (0..5).for_each(|i| _ = out.send(cx, i * i));
}

#[test]
fn p11_a_deterministic_body_runs_in_all_graphs() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        graph.node("squares", tx, squares);
        assert_eq!(graph.build().unwrap().outlet(rx).sum::<i32>(), 30);
    });
    // Also where a body that need not be deterministic calls it.
    in_other_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        graph.free_node("squares", tx, |cx, tx| squares(cx, tx));
        assert_eq!(graph.build().unwrap().outlet(rx).sum::<i32>(), 30);
    });
}

#[test]
fn p12_other_graphs_offer_all_that_deterministic_ones_do() {
    in_all_modes!(|empty| {
        let mut graph = empty.growing();
        let (tx, numbers) = graph.named("numbers", 2);
        let node = graph.node("numbers", tx, range(0, 3));
        graph.rates(node, &[], &[1]);
        let wire = graph.wire("wire", 1);
        let (out, ones) = (graph.output(&wire), graph.input(&wire));
        graph.stackless(
            "ones",
            out,
            |cx, out| async move { while out.send_async(&cx, 1).await {} },
        );
        let pairs = graph.join((numbers, ones));
        assert!(graph.guarantees().unwrap().progress.is_certain());
        let run = graph.build().unwrap();
        run.start(node);
        assert_eq!(run.name(node), "numbers");
        assert_eq!(run.outlet(pairs).collect::<Vec<_>>(), [(0, 1), (1, 1), (2, 1)]);
        run.finish().unwrap();
        assert_eq!(run.temperature(node), Temperature::Ended);
    });
}

#[test]
fn p29_a_sequential_graph_is_on_one_thread_and_takes_what_is_not_send() {
    let here = std::thread::current().id();
    let shared: Rc<RefCell<Vec<i32>>> = Rc::default();
    {
        let mut graph = Graph::deterministic().sequential();
        let (tx, rx) = graph.channel::<Rc<i32>>(1);
        let seen = shared.clone();
        graph.node("one", tx, move |cx, tx| {
            assert_eq!(std::thread::current().id(), here);
            for i in 0..3 {
                seen.borrow_mut().push(i);
                tx.send(cx, Rc::new(i));
            }
        });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(rx).map(|i| *i).sum::<i32>(), 3);
    }
    let mut graph = Graph::nondeterministic().sequential();
    let (tx, rx) = graph.channel::<Rc<i32>>(1);
    for i in 3..6 {
        let seen = shared.clone();
        graph.node("one", tx.clone(), move |cx, tx| {
            assert_eq!(std::thread::current().id(), here);
            seen.borrow_mut().push(i);
            tx.send(cx, Rc::new(i));
        });
    }
    drop(tx);
    let run = graph.build().unwrap();
    assert_eq!(run.outlet(rx).map(|i| *i).sum::<i32>(), 12);
    assert_eq!(*shared.borrow(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn p39_control_flows_as_with_an_iterator_written_by_hand() {
    fn by_hand(log: &Rc<RefCell<Vec<String>>>) {
        let mut next = 0;
        let mut iterator = core::iter::from_fn(|| {
            log.borrow_mut().push(format!("computes {next}"));
            next += 1;
            (next <= 3).then_some(next - 1)
        });
        loop {
            log.borrow_mut().push("asks".to_owned());
            let Some(value) = iterator.next() else { break };
            log.borrow_mut().push(format!("got {value}"));
        }
    }
    let expected = Rc::new(RefCell::new(Vec::new()));
    by_hand(&expected);

    // The client outside.
    let log = Rc::new(RefCell::new(Vec::new()));
    let mut graph = Graph::deterministic().sequential();
    let (tx, rx) = graph.channel(1);
    let own = log.clone();
    graph.node("iterator", tx, move |cx, tx| {
        for i in 0..3 {
            own.borrow_mut().push(format!("computes {i}"));
            tx.send(cx, i);
        }
        own.borrow_mut().push("computes 3".to_owned());
    });
    let run = graph.build().unwrap();
    let rx = run.outlet(rx);
    loop {
        log.borrow_mut().push("asks".to_owned());
        let Some(value) = rx.receive() else { break };
        log.borrow_mut().push(format!("got {value}"));
    }
    assert_eq!(*log.borrow(), *expected.borrow());

    // The client as another node.
    let log = Rc::new(RefCell::new(Vec::new()));
    let mut graph = Graph::deterministic().sequential();
    let (tx, rx) = graph.channel(1);
    let own = log.clone();
    graph.node("iterator", tx, move |cx, tx| {
        for i in 0..3 {
            own.borrow_mut().push(format!("computes {i}"));
            tx.send(cx, i);
        }
        own.borrow_mut().push("computes 3".to_owned());
    });
    let (done, end) = graph.channel(1);
    let own = log.clone();
    graph.node("client", (rx, done), move |cx, (rx, done)| {
        loop {
            own.borrow_mut().push("asks".to_owned());
            let Some(value) = rx.receive(cx) else { break };
            own.borrow_mut().push(format!("got {value}"));
        }
        done.send(cx, ());
    });
    let run = graph.build().unwrap();
    assert_eq!(run.outlet(end).receive(), Some(()));
    assert_eq!(*log.borrow(), *expected.borrow());
}

#[test]
fn p38_a_long_pipeline_passes_messages_of_any_number() {
    // Demand passes through all of them, and back, for each message.
    let mut graph = Graph::deterministic().sequential();
    let (tx, mut rx) = graph.channel(1);
    graph.node("source", tx, range(0, 100));
    for _ in 0..50 {
        let (tx, next) = graph.channel(1);
        graph.node("add", (rx, tx), map(|i: i32| i + 1));
        rx = next;
    }
    let run = graph.build().unwrap();
    assert_eq!(run.outlet(rx).collect::<Vec<_>>(), (50..150).collect::<Vec<_>>());
}

#[test]
fn p54_squares_and_cubes() {
    in_all_modes!(|graph| {
        let (tx, squares) = graph.channel(1);
        graph.node("squares", tx, |cx, tx| (0..5).for_each(|i| _ = tx.send(cx, i * i)));
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(squares).collect::<Vec<i32>>(), [0, 1, 4, 9, 16]);
    });
    in_all_modes!(|graph| {
        let (tx, squares) = graph.channel(1);
        graph.node("squares", tx, |cx, tx| (0..5).for_each(|i| _ = tx.send(cx, i * i)));
        let (tx, cubes) = graph.channel(1);
        graph.node("cubes", tx, |cx, tx| (0..5).for_each(|i| _ = tx.send(cx, i * i * i)));
        let pairs = graph.join((squares, cubes));
        let run = graph.build().unwrap();
        let expected = [(0, 0), (1, 1), (4, 8), (9, 27), (16, 64)];
        assert_eq!(run.outlet(pairs).collect::<Vec<(i32, i32)>>(), expected);
    });
}

#[test]
fn p58_99_senders_and_one_receiver() {
    in_other_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        for i in 1..100 {
            graph.node(format!("sender {i}"), tx.clone(), move |cx, tx| _ = tx.send(cx, i));
        }
        drop(tx);
        let run = graph.build().unwrap();
        let all: Vec<i32> = run.outlet(rx).collect();
        assert_eq!(all.len(), 99);
        assert_eq!(all.into_iter().collect::<HashSet<_>>(), (1..100).collect());
    });
}

#[test]
fn p66_a_node_may_build_another_graph() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        graph.node("outer", tx, |cx, tx| {
            for n in 1..4 {
                let mut inner = Graph::deterministic().sequential();
                let (out, numbers) = inner.channel(1);
                inner.node("numbers", out, range(0, n));
                let run = inner.build().unwrap();
                tx.send(cx, run.outlet(numbers).sum::<i32>());
            }
        });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(rx).collect::<Vec<_>>(), [0, 1, 3]);
    });
    // A parallel one on the cores of the outer one.
    let mut graph = Graph::deterministic().parallel(2);
    let (tx, rx) = graph.channel(1);
    graph.node("outer", tx, |cx, tx| {
        let mut inner = Graph::deterministic().parallel_here();
        let (out, numbers) = inner.channel(1);
        inner.node("numbers", out, range(0, 5));
        let run = inner.build().unwrap();
        assert_eq!(run.cores(), None);
        tx.send(cx, run.outlet(numbers).sum::<i32>());
    });
    let run = graph.build().unwrap();
    assert_eq!(run.cores(), Some(2));
    assert_eq!(run.outlet(rx).receive(), Some(10));
}

#[test]
fn p64_a_thread_that_waits_outside_is_woken() {
    in_deterministic_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        let (out, doubled) = graph.channel(1);
        graph.node("double", (rx, out), map(|i: i32| 2 * i));
        let run = graph.build().unwrap();
        let (tx, doubled) = (run.inlet(tx), run.outlet(doubled));
        tx.send(4);
        assert_eq!(doubled.receive(), Some(8));
    });
    for deterministic in [true, false] {
        let mut graph = Graph::nondeterministic().parallel(2);
        let (tx, rx) = graph.channel(1);
        let (out, doubled) = graph.channel(1);
        if deterministic {
            graph.node("double", (rx, out), map(|i: i32| 2 * i));
        } else {
            graph
                .free_node("double", (rx, out), |cx, (rx, out)| map(|i: i32| 2 * i)(cx, (rx, out)));
        }
        let run = graph.build().unwrap();
        let (tx, doubled) = (run.inlet(tx), run.outlet(doubled));
        let waits = std::thread::spawn(move || doubled.receive());
        let sends = std::thread::spawn(move || tx.send(21));
        assert!(sends.join().unwrap());
        assert_eq!(waits.join().unwrap(), Some(42));
    }
}

#[test]
fn p2_a_fibre_or_a_future_starts_a_graph_too() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        graph.node("range", tx, range(0, 4));
        let run = graph.build().unwrap();
        let sum = Rc::new(Cell::new(0));
        let (own, rx) = (sum.clone(), run.outlet(rx));
        let system = leno_kernel::LocalSystem::new();
        drop(system.spawn(move || own.set(rx.sum())));
        system.run().unwrap();
        assert_eq!(sum.get(), 6);
    });
}

#[test]
fn a_panic_of_a_sequential_node_reaches_whoever_waits() {
    let mut graph = Graph::deterministic().sequential();
    let (tx, rx) = graph.channel::<i32>(1);
    graph.node("panics", tx, |_, _| panic!("on purpose"));
    let run = graph.build().unwrap();
    let rx = run.outlet(rx);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rx.receive()));
    assert!(caught.is_err());
    let halt = rx.checked_receive().unwrap_err().to_string();
    assert_eq!(halt, "node 'panics' has panicked: on purpose");
}

#[test]
fn a_panic_leaves_the_nodes_that_ran_the_one_that_panicked() {
    let mut graph = Graph::deterministic().sequential();
    let (tx, first) = graph.channel(1);
    graph.node("first", tx, |cx, tx| {
        (0..3).for_each(|i| _ = tx.send(cx, i));
        panic!("the first has had enough");
    });
    let (tx, second) = graph.channel(1);
    graph.node("second", (first, tx), |cx, (rx, tx)| {
        rx.iter(cx).for_each(|i| _ = tx.send(cx, i));
        tx.send(cx, 100);
    });
    let (tx, third) = graph.channel(4);
    graph.stackless("third", (second, tx), |cx, (rx, tx)| async move {
        while let Some(i) = rx.receive_async(&cx).await {
            tx.send_async(&cx, i + 1).await;
        }
    });
    let run = graph.build().unwrap();
    let last = run.outlet(third);
    // Nothing is lost, and nobody takes what there was for all: 101 never comes.
    assert_eq!([last.receive(), last.receive(), last.receive()], [1, 2, 3].map(Some));
    let one_more = std::panic::AssertUnwindSafe(|| last.receive());
    let payload = std::panic::catch_unwind(one_more).unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"the first has had enough"));
    let finish = std::panic::AssertUnwindSafe(|| run.finish());
    let payload = std::panic::catch_unwind(finish).unwrap_err();
    let text = "node 'first' has panicked: the first has had enough";
    assert_eq!(payload.downcast_ref::<String>().map(String::as_str), Some(text));
}

#[test]
fn a_run_that_is_dropped_ends_its_nodes() {
    struct Says(Arc<AtomicUsize>);
    impl Drop for Says {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    in_all_modes!(|graph| {
        let ended = Arc::new(AtomicUsize::new(0));
        let (tx, rx) = graph.channel(1);
        let says = Says(ended.clone());
        graph.node("endless", tx, move |cx, tx| {
            let _says = says;
            while tx.send(cx, 1) {}
        });
        let (tx, _cold) = graph.channel::<i32>(1);
        let says = Says(ended.clone());
        graph.node("cold", tx, move |_, _| drop(says));
        let run = graph.build().unwrap();
        let rx = run.outlet(rx);
        assert_eq!(rx.receive(), Some(1));
        drop(run);
        assert_eq!(ended.load(SeqCst), 2);
        // What was sent is still there, but it is not all.
        let received: Vec<_> = std::iter::from_fn(|| rx.checked_receive().ok().flatten()).collect();
        assert!(received.len() <= 1);
        assert_eq!(rx.checked_receive(), Err(leno_graph::Halt::Dropped));
    });
}
