//! Graphs of nodes: an iterator as a graph, k-means as one, a pipeline on two cores.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use corosensei::{Coroutine, CoroutineResult};
use rayon::prelude::*;

use super::{Bench, Case, Chart, Load, Scale};
use crate::contender::{Contender, Turn};
use crate::subject;

pub const BFS: Bench = Bench {
    name: "graph-bfs",
    unit: "ns",
    about: "one node of a breadth-first walk through a balanced tree, handed out one at a time",
    parameter: "nodes",
    chart: Chart::Curve,
    cases: |scale| {
        let sizes = scale.pick(vec![1 << 14], vec![1 << 14, 1 << 16, 1 << 18]);
        sizes.into_iter().map(bfs).collect()
    },
    judge: |outcome| {
        let size = Some(1 << 18);
        let busy = [1 << 14, 1 << 16, 1 << 18].map(|size| {
            ["leno busy", "leno busy room 64"]
                .map(|own| outcome.at_most(Some(size), own, "iterator busy", 1.01))
        });
        let busy = busy.into_iter().flatten();
        let verdicts = [
            outcome.at_most(size, "leno", "iterator", 1.6),
            outcome.at_most(size, "leno room 64", "iterator", 1.6),
            outcome.at_most(size, "leno stackless", "iterator", 1.15),
            outcome.at_most(size, "leno iterate", "iterator", 1.15),
        ];
        verdicts.into_iter().chain(busy).flatten().collect()
    },
};

/// A node of a binary tree.
pub struct Node {
    pub value: u64,
    pub children: [Option<Box<Node>>; 2],
}

/// A tree whose nodes are numbered in the order of a breadth-first walk.
fn numbered(value: u64, count: u64) -> Option<Box<Node>> {
    (value < count).then(|| {
        let children = [2 * value + 1, 2 * value + 2].map(|child| numbered(child, count));
        Box::new(Node { value, children })
    })
}

fn bfs(count: u64) -> Case {
    let tree: Arc<Node> = numbered(0, count).expect("it has nodes").into();
    let mut contenders = subject::bfs(&tree, count);
    let by_hand = [by_hand(tree.clone(), count, false), by_hand(tree.clone(), count, true)];
    contenders.extend(by_hand.into_iter().chain([by_corosensei(tree, count)]));
    let load = Load::Filling { granule: count };
    Case { parameter: Some(count), load, isolated: false, rounds: None, contenders }
}

/// Checks that a walk hands out every node, in order, as often as `nodes` asks for.
pub fn walks<I: Iterator<Item = u64>>(nodes: u64, count: u64, mut walk: impl FnMut() -> I) {
    for _ in 0..nodes / count {
        let mut expected = 0;
        for value in walk() {
            assert_eq!(value, expected, "the walk is in order");
            expected += 1;
        }
        assert_eq!(expected, count, "the walk is complete");
    }
}

/// About a microsecond of work, as Porsev 2023 has for each node.
pub fn work(value: u64) -> u64 {
    (0..700).fold(black_box(value), |sum, i| sum.wrapping_mul(6_364_136_223_846_793_005) ^ i)
}

/// Does that work for each node that is handed out.
pub fn busy(walk: impl Iterator<Item = u64>) -> impl Iterator<Item = u64> {
    walk.inspect(|value| _ = black_box(work(*value)))
}

/// The walk written as an iterator.
pub struct ByHand<'t> {
    queue: VecDeque<&'t Node>,
}

impl<'t> ByHand<'t> {
    pub fn new(tree: &'t Node) -> Self {
        ByHand { queue: VecDeque::from([tree]) }
    }
}

impl Iterator for ByHand<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let node = self.queue.pop_front()?;
        self.queue.extend(node.children.iter().flatten().map(|child| &**child));
        Some(node.value)
    }
}

/// The walk written as a loop, for those who hand values out by other means.
pub fn each(tree: &Node, mut hand_out: impl FnMut(u64)) {
    let mut queue = VecDeque::from([tree]);
    while let Some(node) = queue.pop_front() {
        queue.extend(node.children.iter().flatten().map(|child| &**child));
        hand_out(node.value);
    }
}

fn by_hand(tree: Arc<Node>, count: u64, is_busy: bool) -> Contender {
    match is_busy {
        true => Contender::timed("iterator busy", move |n| {
            walks(n, count, || busy(ByHand::new(black_box(&tree))));
        }),
        false => Contender::timed("iterator", move |n| {
            walks(n, count, || ByHand::new(black_box(&tree)));
        }),
    }
}

fn by_corosensei(tree: Arc<Node>, count: u64) -> Contender {
    Contender::timed("corosensei", move |n| {
        walks(n, count, || {
            let tree = tree.clone();
            let mut co =
                Coroutine::<(), u64, ()>::new(move |co, ()| each(&tree, |value| co.suspend(value)));
            std::iter::from_fn(move || match co.resume(()) {
                CoroutineResult::Yield(value) => Some(value),
                CoroutineResult::Return(()) => None,
            })
        })
    })
}

pub const DIMENSION: usize = 5;
pub const CLUSTERS: usize = 5;
pub type Point = [f64; DIMENSION];
/// For each cluster: how many points, and their sum.
pub type Sums = [(usize, Point); CLUSTERS];

pub const K_MEANS: Bench = Bench {
    name: "graph-k-means",
    unit: "ns",
    about: "one point of one iteration of k-means (5 clusters in 5 dimensions), on two cores",
    parameter: "points",
    chart: Chart::Curve,
    cases: |scale: Scale| {
        scale.pick(vec![25_000], vec![25_000, 50_000, 75_000]).into_iter().map(k_means).collect()
    },
    judge: |outcome| {
        let verdicts = [
            outcome.at_most(Some(75_000), "leno", "rayon", 1.05),
            outcome.at_most(Some(25_000), "leno", "thread", 1.125),
            outcome.at_most(Some(50_000), "leno", "thread", 1.122),
            outcome.at_most(Some(75_000), "leno", "thread", 1.089),
        ];
        verdicts.into_iter().flatten().collect()
    },
};

fn points(count: u64) -> Arc<Vec<Point>> {
    let mut seed = 1_u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as f64 / f64::from(1_u32 << 31)
    };
    let mut point = |i: u64| {
        core::array::from_fn(|d| ((i + 1 + 2 * d as u64) % 5) as f64 / 5.0 + random() * 0.5)
    };
    Arc::new((0..count).map(&mut point).collect())
}

pub fn sums(points: &[Point], centroids: &[Point; CLUSTERS]) -> Sums {
    let mut sums = [(0, [0.0; DIMENSION]); CLUSTERS];
    for point in points {
        let (mut nearest, mut least) = (0, f64::MAX);
        for (index, centroid) in centroids.iter().enumerate() {
            let distance: f64 = point.iter().zip(centroid).map(|(a, b)| (a - b) * (a - b)).sum();
            if distance < least {
                (nearest, least) = (index, distance);
            }
        }
        sums[nearest].0 += 1;
        sums[nearest].1.iter_mut().zip(point).for_each(|(sum, x)| *sum += x);
    }
    sums
}

pub fn both(mut a: Sums, b: Sums) -> Sums {
    for (a, b) in a.iter_mut().zip(b) {
        a.0 += b.0;
        a.1.iter_mut().zip(b.1).for_each(|(sum, x)| *sum += x);
    }
    a
}

pub fn averages(sums: &Sums, old: &[Point; CLUSTERS]) -> [Point; CLUSTERS] {
    core::array::from_fn(|c| match sums[c].0 {
        0 => old[c],
        count => sums[c].1.map(|sum| sum / count as f64),
    })
}

pub fn start(points: &[Point]) -> [Point; CLUSTERS] {
    core::array::from_fn(|c| points[c])
}

/// How many iterations a run has.
pub const ITERATIONS: u64 = 50;

/// What everyone's centroids must be, up to rounding.
fn plain(points: &[Point]) -> [Point; CLUSTERS] {
    (0..ITERATIONS).fold(start(points), |own, _| averages(&sums(points, &own), &own))
}

pub fn check(own: &[Point; CLUSTERS], expected: &[Point; CLUSTERS]) {
    for (own, expected) in own.iter().flatten().zip(expected.iter().flatten()) {
        assert!((own - expected).abs() < 1e-6, "the plain version has another result");
    }
}

fn k_means(count: u64) -> Case {
    let points = points(count);
    let expected = plain(&points);
    let mut contenders = subject::k_means(&points, expected);
    contenders.extend([by_rayon(points.clone(), expected), by_threads(points, expected)]);
    let load = Load::Fixed(count * ITERATIONS);
    Case { parameter: Some(count), load, isolated: false, rounds: None, contenders }
}

fn by_rayon(points: Arc<Vec<Point>>, expected: [Point; CLUSTERS]) -> Contender {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("two threads");
    Contender::timed("rayon", move |_| {
        let own = pool.install(|| {
            (0..ITERATIONS).fold(start(&points), |own, _| {
                let parts = points.par_chunks(points.len().div_ceil(8));
                let zero = [(0, [0.0; DIMENSION]); CLUSTERS];
                averages(&parts.map(|part| sums(part, &own)).reduce(|| zero, both), &own)
            })
        });
        check(&own, &expected);
    })
}

/// Forks two threads for each iteration, and joins them.
fn by_threads(points: Arc<Vec<Point>>, expected: [Point; CLUSTERS]) -> Contender {
    Contender::timed("thread", move |_| {
        let (left, right) = points.split_at(points.len() / 2);
        let own = (0..ITERATIONS).fold(start(&points), |own, _| {
            let all = std::thread::scope(|scope| {
                let other = scope.spawn(|| sums(right, &own));
                both(sums(left, &own), other.join().expect("it computes"))
            });
            averages(&all, &own)
        });
        check(&own, &expected);
    })
}

pub const STREAM: Bench = Bench {
    name: "graph-stream",
    unit: "ns",
    about: "one message through two adders, with room for 64, on two cores",
    parameter: "",
    chart: Chart::Dots,
    cases: |_| {
        let mut contenders = subject::graph_stream();
        contenders.extend([by_channels()]);
        Case::only(contenders)
    },
    judge: |outcome| outcome.at_most(None, "leno", "thread", 1.0).into_iter().collect(),
};

/// What `n` messages sum up to.
pub fn expected(n: u64) -> u64 {
    2 * n + n * (n + 1) / 2
}

/// Threads with the channels of `std`.
fn by_channels() -> Contender {
    Contender::measured("thread", |n| {
        let begin = Instant::now();
        let sum: u64 = std::thread::scope(|scope| {
            let (first, numbers) = std::sync::mpsc::sync_channel(64);
            let (second, more) = std::sync::mpsc::sync_channel(64);
            let (last, sums) = std::sync::mpsc::sync_channel(64);
            scope.spawn(move || (1..=n).for_each(|i| first.send(black_box(i)).expect("received")));
            scope.spawn(move || numbers.iter().for_each(|i| second.send(i + 1).expect("received")));
            scope.spawn(move || more.iter().for_each(|i| last.send(i + 1).expect("received")));
            sums.iter().sum()
        });
        assert_eq!(sum, expected(n));
        Ok(Turn::ns(begin.elapsed(), n))
    })
}
