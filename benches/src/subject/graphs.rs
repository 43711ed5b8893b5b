//! Graphs.

use std::hint::black_box;
use std::sync::Arc;

use leno::graph::Graph;

use crate::bench::graphs::{
    ByHand, CLUSTERS, ITERATIONS, Node, Point, Sums, averages, both, busy, check, each, expected,
    start, sums, walks,
};
use crate::contender::Contender;

pub fn bfs(tree: &Arc<Node>, count: u64) -> Vec<Contender> {
    /// The walk as a node with a stack.
    fn walk(tree: Arc<Node>, room: usize) -> impl Iterator<Item = u64> {
        let mut graph = Graph::deterministic().sequential();
        let (tx, rx) = graph.channel(room);
        graph.node("walk", tx, move |cx, tx| each(&tree, |value| _ = tx.send(cx, value)));
        let run = graph.build().expect("it is right");
        let outlet = run.outlet(rx);
        std::iter::from_fn(move || keep(&run, outlet.receive()))
    }
    let on_stack = |name, room: usize| {
        let tree = tree.clone();
        Contender::timed(name, move |n| walks(n, count, || walk(tree.clone(), room)))
    };
    let is_busy = |name, room: usize| {
        let tree = tree.clone();
        Contender::timed(name, move |n| walks(n, count, || busy(walk(tree.clone(), room))))
    };
    let busies = [is_busy("leno busy", 1), is_busy("leno busy room 64", 64)];
    // For ever, as a node may live for ever.
    let forever: &'static Arc<Node> = Box::leak(Box::new(tree.clone()));
    let iterate = Contender::timed("leno iterate", move |n| {
        walks(n, count, || {
            let mut graph = Graph::deterministic().sequential();
            let (tx, rx) = graph.channel(1);
            graph.iterate("walk", tx, ByHand::new(black_box(forever)));
            let run = graph.build().expect("it is right");
            let outlet = run.outlet(rx);
            std::iter::from_fn(move || keep(&run, outlet.receive()))
        })
    });
    let tree = tree.clone();
    let stackless = Contender::timed("leno stackless", move |n| {
        walks(n, count, || {
            let mut graph = Graph::deterministic().sequential();
            let (tx, rx) = graph.channel(1);
            let tree = tree.clone();
            graph.stackless("walk", tx, |cx, tx| async move {
                let mut queue = std::collections::VecDeque::from([&*tree]);
                while let Some(node) = queue.pop_front() {
                    queue.extend(node.children.iter().flatten().map(|child| &**child));
                    tx.send_async(&cx, node.value).await;
                }
            });
            let run = graph.build().expect("it is right");
            let outlet = run.outlet(rx);
            std::iter::from_fn(move || keep(&run, outlet.receive()))
        })
    });
    let quick = [on_stack("leno", 1), on_stack("leno room 64", 64), stackless, iterate];
    quick.into_iter().chain(busies).collect()
}

/// Has a closure keep `run`, which ends its nodes when it is dropped.
#[inline(always)]
fn keep<R, T>(_run: &R, value: T) -> T {
    value
}

pub fn k_means(points: &Arc<Vec<Point>>, result: [Point; CLUSTERS]) -> Vec<Contender> {
    const WORKERS: usize = 2;
    let points = points.clone();
    vec![Contender::timed("leno", move |_| {
        let mut graph = Graph::deterministic().parallel(WORKERS);
        let (mut tasks, mut results) = (Vec::new(), Vec::new());
        for worker in 0..WORKERS {
            let (task, work) = graph.channel::<[Point; CLUSTERS]>(1);
            let (done, sum) = graph.channel::<Sums>(1);
            let points = points.clone();
            graph.node(format!("worker {worker}"), (work, done), move |cx, (work, done)| {
                let size = points.len().div_ceil(WORKERS);
                let own = points.chunks(size).nth(worker).unwrap_or_default();
                while let Some(centroids) = work.receive(cx) {
                    done.send(cx, sums(own, &centroids));
                }
            });
            tasks.push(task);
            results.push(sum);
        }
        let parts = graph.join(results);
        let (out, centroids) = graph.channel(1);
        let first = start(&points);
        graph.node("averages", (tasks, parts, out), move |cx, (tasks, parts, out)| {
            let own = (0..ITERATIONS).fold(first, |own, _| {
                tasks.iter().for_each(|task| _ = task.send(cx, own));
                let parts = parts.receive(cx).expect("workers go on");
                averages(&parts.into_iter().reduce(both).expect("there are workers"), &own)
            });
            out.send(cx, own);
        });
        let run = graph.build().expect("it is right");
        check(&run.outlet(centroids).receive().expect("a result"), &result);
    })]
}

pub fn graph_stream() -> Vec<Contender> {
    let add = |name| {
        Contender::timed(name, move |n| {
            let mut graph = Graph::deterministic().parallel(2);
            let (first, numbers) = graph.channel(64);
            let (second, more) = graph.channel(64);
            let (last, sums) = graph.channel(64);
            graph.node("numbers", first, move |cx, tx| {
                (1..=n).for_each(|i| _ = tx.send(cx, black_box(i)));
            });
            graph.node("add", (numbers, second), |cx, (rx, tx)| {
                rx.iter(cx).for_each(|i| _ = tx.send(cx, i + 1));
            });
            graph.node("add too", (more, last), |cx, (rx, tx)| {
                rx.iter(cx).for_each(|i| _ = tx.send(cx, i + 1));
            });
            let run = graph.build().expect("it is right");
            assert_eq!(run.outlet(sums).sum::<u64>(), expected(n));
        })
    };
    let sequential = Contender::timed("leno sequential", |n| {
        let mut graph = Graph::deterministic().sequential();
        let (first, numbers) = graph.channel(64);
        let (second, more) = graph.channel(64);
        let (last, sums) = graph.channel(64);
        graph.node("numbers", first, move |cx, tx| {
            (1..=n).for_each(|i| _ = tx.send(cx, black_box(i)));
        });
        graph.node("add", (numbers, second), |cx, (rx, tx)| {
            rx.iter(cx).for_each(|i| _ = tx.send(cx, i + 1));
        });
        graph.node("add too", (more, last), |cx, (rx, tx)| {
            rx.iter(cx).for_each(|i| _ = tx.send(cx, i + 1));
        });
        let run = graph.build().expect("it is right");
        assert_eq!(run.outlet(sums).sum::<u64>(), expected(n));
    });
    vec![add("leno"), sequential]
}
