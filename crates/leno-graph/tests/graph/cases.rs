//! Whole programs: state machines, k-means, two servers, philosophers; the same output under every
//! schedule.

use std::io::{Read, Write};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use leno_explore::Explorer;
use leno_graph::{Graph, NodeCx, Receiver, Schedule, Sender, Side, Source};

use crate::nodes::{in_all_modes, in_other_modes, range};

/// Counts runs of equal letters.
fn run_lengths<X: Source<Item = char>>(
    cx: &NodeCx<'_, X::S>,
    (from, to): (Receiver<X>, Sender<(char, usize), X::S>),
) {
    let mut current = None;
    for letter in from.iter(cx) {
        match &mut current {
            Some((last, count)) if *last == letter => *count += 1,
            _ => {
                if let Some(run) = current.replace((letter, 1)) {
                    to.send(cx, run);
                }
            }
        }
    }
    if let Some(run) = current {
        to.send(cx, run);
    }
}

/// Writes runs down.
fn write_runs<X: Source<Item = (char, usize)>>(
    cx: &NodeCx<'_, X::S>,
    (from, to): (Receiver<X>, Sender<String, X::S>),
) {
    for (letter, count) in from.iter(cx) {
        to.send(cx, format!("{count}{letter}"));
    }
}

fn random(seed: &mut u64, below: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % below
}

#[test]
fn p49_two_state_machines_are_piped() {
    for seed in 0..20 {
        let mut state = seed;
        let input: Vec<char> =
            (0..200).map(|_| char::from(b'a' + random(&mut state, 3) as u8)).collect();
        let expected: String =
            input.chunk_by(|a, b| a == b).map(|run| format!("{}{}", run.len(), run[0])).collect();
        in_all_modes!(|graph| {
            let (tx, letters) = graph.channel(1);
            let (out, runs) = graph.channel(1);
            graph.node("run lengths", (letters, out), run_lengths);
            let (out, words) = graph.channel(1);
            graph.node("write", (runs, out), write_runs);
            let input = input.clone();
            graph.node("input", tx, move |cx, tx| {
                input.into_iter().for_each(|letter| _ = tx.send(cx, letter));
            });
            let run = graph.build().unwrap();
            assert_eq!(run.outlet(words).collect::<String>(), expected);
        });
    }
}

const DIMENSION: usize = 5;
type Point = [f64; DIMENSION];
/// For each cluster: how many points, and their sum.
type Sums = Vec<(usize, Point)>;

fn points(count: usize) -> Vec<Point> {
    let mut seeds: [u64; DIMENSION] = core::array::from_fn(|d| 1 + 2 * d as u64);
    let point = |i: usize, seeds: &mut [u64; DIMENSION]| {
        core::array::from_fn(|d| {
            let u = random(&mut seeds[d], 1 << 20) as f64 / f64::from(1 << 20);
            ((i + 1 + 2 * d) % 5) as f64 / 5.0 + u * 0.5
        })
    };
    (0..count).map(|i| point(i, &mut seeds)).collect()
}

fn sums(points: &[Point], centroids: &[Point]) -> Sums {
    let mut sums = vec![(0, [0.0; DIMENSION]); centroids.len()];
    for point in points {
        let distance = |centroid: &Point| {
            point.iter().zip(centroid).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
        };
        let nearest = (0..centroids.len())
            .min_by(|a, b| distance(&centroids[*a]).total_cmp(&distance(&centroids[*b])))
            .unwrap();
        sums[nearest].0 += 1;
        sums[nearest].1.iter_mut().zip(point).for_each(|(sum, x)| *sum += x);
    }
    sums
}

fn averages(parts: &[Sums], old: &[Point]) -> Vec<Point> {
    let cluster = |c: usize| {
        let count: usize = parts.iter().map(|part| part[c].0).sum();
        let coordinate = |d| parts.iter().map(|part| part[c].1[d]).sum::<f64>() / count as f64;
        if count == 0 { old[c] } else { core::array::from_fn(coordinate) }
    };
    (0..old.len()).map(cluster).collect()
}

fn k_means_plain(points: &[Point], start: &[Point], iterations: usize) -> Vec<Point> {
    let step = |centroids: Vec<Point>| averages(&[sums(points, &centroids)], &centroids);
    (0..iterations).fold(start.to_vec(), |centroids, _| step(centroids))
}

#[test]
fn p50_k_means_equals_the_plain_version() {
    const WORKERS: usize = 4;
    let points = Arc::new(points(500));
    let start: Vec<Point> = points[..5].to_vec();
    let expected = k_means_plain(&points, &start, 50);
    in_all_modes!(|graph| {
        let (mut tasks, mut results) = (Vec::new(), Vec::new());
        for worker in 0..WORKERS {
            let (task, work) = graph.channel::<Arc<Vec<Point>>>(1);
            let (done, result) = graph.channel::<Sums>(1);
            let points = points.clone();
            graph.node(format!("worker {worker}"), (work, done), move |cx, (work, done)| {
                let (size, rest) = (points.len() / WORKERS, points.len() % WORKERS);
                let from = worker * size + worker.min(rest);
                let own = &points[from..from + size + usize::from(worker < rest)];
                for centroids in work.iter(cx) {
                    done.send(cx, sums(own, &centroids));
                }
            });
            tasks.push(task);
            results.push(result);
        }
        let parts = graph.join(results);
        let (out, centroids) = graph.channel(1);
        let start = start.clone();
        graph.node("averages", (tasks, parts, out), move |cx, (tasks, parts, out)| {
            let mut centroids = start;
            for _ in 0..50 {
                let shared = Arc::new(centroids.clone());
                tasks.iter().for_each(|task| _ = task.send(cx, shared.clone()));
                centroids = averages(&parts.receive(cx).unwrap(), &centroids);
            }
            out.send(cx, centroids);
        });
        let run = graph.build().unwrap();
        let centroids = run.outlet(centroids).receive().unwrap();
        for (own, plain) in centroids.iter().flatten().zip(expected.iter().flatten()) {
            assert!((own - plain).abs() < 1e-6, "{own} {plain}");
        }
    });
}

/// When a server may answer.
type Gate = Arc<(Mutex<bool>, Condvar)>;

/// A server on loopback that answers two requests, when it may.
fn server(answer: &'static str, gate: Gate) -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(2) {
            let (mut stream, gate) = (stream.unwrap(), gate.clone());
            std::thread::spawn(move || {
                let mut request = [0; 3];
                if stream.read_exact(&mut request).is_ok() {
                    let closed = gate.0.lock().unwrap();
                    drop(gate.1.wait_while(closed, |is_open| !*is_open).unwrap());
                    // Whoever asked may have gone.
                    let _ = stream.write_all(answer.as_bytes());
                }
            });
        }
    });
    address
}

fn ask(address: std::net::SocketAddr) -> String {
    let mut stream = leno_io::net::TcpStream::connect(address).unwrap();
    stream.write_all(b"GET").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn p51_of_two_servers_the_first_answer_counts() {
    let (fast_gate, slow_gate) = (Gate::default(), Gate::default());
    let (slow, fast) = (server("slow", slow_gate.clone()), server("fast", fast_gate.clone()));
    let set = |gate: &Gate, is_open| {
        *gate.0.lock().unwrap() = is_open;
        gate.1.notify_all();
    };
    set(&fast_gate, true);
    in_other_modes!(|graph| {
        let mut fetch = |address: std::net::SocketAddr| {
            let (tx, rx) = graph.channel(1);
            graph.free_node(format!("fetch {address}"), tx, move |cx, tx| {
                let answer = cx.io(move || ask(address));
                tx.send(cx, answer);
            });
            rx
        };
        let (left, right) = (fetch(slow), fetch(fast));
        let either = graph.select(left, right);
        let run = graph.build().unwrap();
        let either = run.outlet(either);
        assert_eq!(either.receive(), Some(Side::Right("fast".to_owned())));
        // The other one is cancelled: whatever it sends is refused.
        assert!(either.cancel());
        set(&slow_gate, true);
        run.finish().unwrap();
        assert_eq!(run.counters()[0].1.sent, 0);
        set(&slow_gate, false);
    });
}

/// A philosopher takes both forks at once, or none.
fn dine<X: Source<Item = (u32, u32)>>(
    rounds: u32,
    seat: usize,
    meals: Arc<Mutex<Vec<usize>>>,
) -> impl FnOnce(
    &NodeCx<'_, X::S>,
    (Receiver<X>, Sender<u32, X::S>, Sender<u32, X::S>, Sender<usize, X::S>),
) {
    move |cx, (forks, left, right, exits)| {
        for _ in 0..rounds {
            let (one, other) = forks.receive(cx).expect("forks are given back");
            meals.lock().unwrap().push(seat);
            left.send(cx, one);
            right.send(cx, other);
        }
        exits.send(cx, seat);
    }
}

macro_rules! philosophers {
    ($graph:ident, $count:expr, $rounds:expr) => {{
        let meals = Arc::new(Mutex::new(Vec::new()));
        let (exits, all) = $graph.channel($count);
        let forks: Vec<_> = (0..$count).map(|_| $graph.channel::<u32>(1)).collect();
        for seat in 0..$count {
            let (left, right) = (&forks[seat], &forks[(seat + 1) % $count]);
            let both = $graph.join((left.1.clone(), right.1.clone()));
            let ends = (both, left.0.clone(), right.0.clone(), exits.clone());
            let body = dine($rounds, seat, meals.clone());
            $graph.node(format!("philosopher {seat}"), ends, body);
        }
        let table: Vec<_> = forks.into_iter().map(|(tx, _)| tx).collect();
        $graph.node("table", table, |cx, table| {
            table.iter().zip(0..).for_each(|(fork, number)| _ = fork.send(cx, number));
        });
        drop(exits);
        let run = $graph.build().unwrap();
        let mut seats: Vec<usize> = run.outlet(all).take($count).collect();
        seats.sort_unstable();
        assert_eq!(seats, (0..$count).collect::<Vec<_>>());
        let meals = meals.lock().unwrap();
        assert!(
            (0..$count).all(|seat| meals.iter().filter(|own| **own == seat).count() == $rounds)
        );
    }};
}

#[test]
fn p52_philosophers_dine() {
    in_other_modes!(|graph| {
        philosophers!(graph, 5, 2);
    });
    in_other_modes!(|graph| {
        philosophers!(graph, 5, 40);
    });
}

#[test]
fn p25_philosophers_never_starve_or_deadlock_under_many_schedules() {
    Explorer::new().runs(200).check(|| {
        let mut graph = Graph::nondeterministic().parallel(2);
        philosophers!(graph, 3, 2);
    });
}

/// A graph with a fork, a join and a feedback of state, and what comes out of it.
macro_rules! network {
    ($graph:ident) => {{
        let (tx, numbers) = $graph.channel(1);
        $graph.node("numbers", tx, range(0, 5));
        let (even, evens) = $graph.channel(1);
        let (odd, odds) = $graph.channel(2);
        $graph.node("split", (numbers, even, odd), |cx, (numbers, even, odd)| {
            for i in numbers.iter(cx) {
                even.send(cx, 2 * i);
                odd.send(cx, 2 * i + 1);
            }
        });
        let (back, state) = $graph.channel::<i32>(1);
        let pairs = $graph.join((odds, evens));
        let (out, sums) = $graph.channel(1);
        $graph.node("sum", (pairs, state, back, out), |cx, (pairs, state, back, out)| {
            back.send(cx, 0);
            for (odd, even) in pairs.iter(cx) {
                let sum = state.receive(cx).unwrap() + odd * even;
                back.send(cx, sum);
                out.send(cx, sum);
            }
        });
        let run = $graph.build().unwrap();
        let sums: Vec<i32> = run.outlet(sums).collect();
        assert_eq!(sums, [0, 6, 26, 68, 140]);
    }};
}

#[test]
fn p13_the_output_is_the_same_in_all_modes_under_1000_schedules() {
    in_all_modes!(|graph| { network!(graph) });
    Explorer::new().runs(1000).check(|| {
        let mut graph = Graph::deterministic().parallel(2);
        network!(graph);
    });
    Explorer::new().runs(1000).check(|| {
        let mut graph = Graph::nondeterministic().parallel(2);
        network!(graph);
    });
}

#[test]
fn p14_both_orders_are_seen() {
    let seen: Arc<Mutex<std::collections::BTreeSet<Vec<i32>>>> = Arc::default();
    let own = seen.clone();
    Explorer::new().runs(200).check(move || {
        let mut graph = Graph::nondeterministic().parallel(2);
        let (tx, queue) = graph.channel(1);
        for element in [1, 8] {
            graph.node("Twice", tx.clone(), move |cx, tx| _ = tx.send(cx, 2 * element));
        }
        drop(tx);
        let run = graph.build().unwrap();
        own.lock().unwrap().insert(run.outlet(queue).collect());
    });
    assert_eq!(*seen.lock().unwrap(), [vec![2, 16], vec![16, 2]].into());
}

#[test]
fn p53_a_deterministic_graph_in_another_one() {
    macro_rules! embedded {
        ($inner:expr, $outer:expr) => {{
            let mut inner = $inner;
            let (tx, squares) = inner.channel(1);
            inner.node("squares", tx, |cx, tx| (0..5).for_each(|i| _ = tx.send(cx, i * i)));
            let mut graph = $outer;
            graph.embed(inner).unwrap();
            let (tx, lines) = graph.channel(1);
            graph.free_node("lines", tx, |cx, tx| {
                let text = cx.io(|| "line0\nline1\nline2\nline3\nline4".to_owned());
                text.lines().for_each(|line| _ = tx.send(cx, line.to_owned()));
            });
            let pairs = graph.join((squares, lines));
            let run = graph.build().unwrap();
            let shown: Vec<String> =
                run.outlet(pairs).map(|(square, line)| format!("({square},{line})")).collect();
            assert_eq!(shown.join(" "), "(0,line0) (1,line1) (4,line2) (9,line3) (16,line4)");
        }};
    }
    embedded!(Graph::deterministic().sequential(), Graph::nondeterministic().sequential());
    embedded!(Graph::deterministic().parallel(2), Graph::nondeterministic().parallel(2));
}

#[test]
fn p55_a_deterministic_end_can_be_freed() {
    let mut inner = Graph::deterministic().sequential();
    let (tx, numbers) = inner.channel(1);
    inner.node("numbers", tx, range(0, 10));
    let mut graph = Graph::nondeterministic().sequential();
    graph.embed(inner).unwrap();
    // Now it can have two receivers.
    let numbers = numbers.freed();
    let either = graph.select(numbers.clone(), numbers);
    let run = graph.build().unwrap();
    assert_eq!(run.outlet(either).map(Side::into_inner).sum::<i32>(), 45);
}

fn twice<S: Schedule>(cx: &NodeCx<'_, S>, tx: Sender<i32, S>) {
    assert!(tx.send(cx, 1) && tx.send(cx, 2));
}

#[test]
fn p65_any_node_may_send_into_a_deterministic_channel() {
    macro_rules! sends {
        ($inner:expr, $outer:expr) => {{
            let mut inner = $inner;
            let (tx, rx) = inner.channel(1);
            let (out, doubled) = inner.channel(1);
            inner.node("double", (rx, out), |cx, (rx, out)| {
                rx.iter(cx).for_each(|i: i32| _ = out.send(cx, 2 * i));
            });
            let mut graph = $outer;
            graph.embed(inner).unwrap();
            graph.free_node("any", tx, |cx, tx| {
                cx.sleep(Duration::from_millis(1));
                twice(cx, tx);
            });
            let run = graph.build().unwrap();
            assert_eq!(run.outlet(doubled).collect::<Vec<_>>(), [2, 4]);
        }};
    }
    sends!(Graph::deterministic().sequential(), Graph::nondeterministic().sequential());
    sends!(Graph::deterministic().parallel(2), Graph::nondeterministic().parallel(2));
}
