//! A mixture of layers under many schedules: one choice point, one log, one clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use leno::channel::shared;
use leno::explore::{Explorer, thread};
use leno::flexible::{Me, System};
use leno::graph::Graph;

/// A thread with fibres, a flexible coroutine that they and another thread call, and a graph that gives
/// them their numbers. With `is_safe` the coroutine keeps the sum; without, everyone reads it, and writes.
fn mixture(is_safe: bool) {
    let sum = Arc::new(AtomicU32::new(0));
    let system = System::new();
    let own = sum.clone();
    let adder = system.create("adder", move |me: &mut Me<u32, ()>| {
        loop {
            let n = me.parameter().unwrap_or(0);
            own.store(own.load(SeqCst) + n, SeqCst);
            me.detach(());
        }
    });
    let add = move |n: u32| {
        if is_safe {
            adder.call(n).expect("it answers");
        } else {
            let before = sum.load(SeqCst);
            thread::yield_now();
            sum.store(before + n, SeqCst);
        }
        sum.load(SeqCst)
    };
    let (tx, rx) = shared::channel();
    let by_fibres = add.clone();
    let fibres = thread::spawn("fibres", move || {
        let ran = leno::run(move |cx| {
            let (out, inp) = leno::fibre::channel();
            cx.spawn(move |cx| numbers().into_iter().for_each(|n| out.write(cx, n)));
            cx.spawn(move |cx| {
                loop {
                    by_fibres(inp.read(cx));
                }
            });
        });
        assert_eq!((ran.report().panicked, ran.zombies().len()), (0, 0));
        tx.send(()).expect("somebody waits");
    });
    let last = thread::spawn("other", move || {
        add(100);
        rx.recv().expect("the fibres say so");
        add(0)
    });
    fibres.join().expect("it does not panic");
    assert_eq!(last.join().ok(), Some(106), "an addition was lost");
}

fn numbers() -> Vec<u32> {
    let mut graph = Graph::deterministic().sequential();
    let (tx, rx) = graph.channel(1);
    graph.node("numbers", tx, |cx, tx| (1..=3).for_each(|n| _ = tx.send(cx, n)));
    graph.build().expect("it is right").outlet(rx).collect()
}

#[test]
fn i09_a_mixture_of_layers_is_explored() {
    let summary = Explorer::new().random(7).runs(60).run(|| mixture(true));
    assert_eq!(summary.unwrap_or_else(|failure| panic!("{failure}")).runs(), 60);
    let summary = Explorer::new().pct(7, 3).runs(60).run(|| mixture(true));
    assert_eq!(summary.unwrap_or_else(|failure| panic!("{failure}")).runs(), 60);
}

#[test]
fn i09_a_mistake_in_a_mixture_is_found_and_replayed() {
    let failure = Explorer::new().random(1).runs(2000).run(|| mixture(false)).unwrap_err();
    assert!(failure.to_string().contains("an addition was lost"), "{failure}");
    let token = failure.shortest().clone();
    for _ in 0..3 {
        let again = Explorer::new().replay(token.clone()).run(|| mixture(false)).unwrap_err();
        assert_eq!(again.trouble(), failure.trouble());
    }
}
