//! What is called certain is certain: also of joins and selects that are kept outside.

use std::thread;

use leno_graph::{Graph, Halt, NodeCx, Outlet, Progress, Receiver, Schedule, Sender, Source, Tap};

use crate::nodes::{in_all_modes, in_deterministic_modes, in_other_modes, range};

/// Sends what it gets both ways.
fn fan<S: Schedule>(
    cx: &NodeCx<'_, S>,
    (from, left, right): (Receiver<Tap<i32, S>>, Sender<i32, S>, Sender<i32, S>),
) {
    from.iter(cx).for_each(|n| _ = left.send(cx, n) && right.send(cx, n));
}

/// Sends the sum of every `k`.
fn sums<S: Schedule>(
    k: usize,
) -> impl FnOnce(&NodeCx<'_, S>, (Receiver<Tap<i32, S>>, Sender<i32, S>)) {
    move |cx, (from, to)| {
        loop {
            let taken: Vec<i32> = from.iter(cx).take(k).collect();
            if taken.len() < k || !to.send(cx, taken.iter().sum()) {
                return;
            }
        }
    }
}

/// Whether everything comes; else it ends in a deadlock.
fn all_come<X: Source>(outlet: &Outlet<X>) -> bool {
    loop {
        match outlet.checked_receive() {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(halt) => {
                assert!(matches!(halt, Halt::Deadlock(_)), "{halt}");
                return false;
            }
        }
    }
}

#[test]
fn p59_a_join_that_is_kept_outside_counts_as_a_node() {
    for grows in [false, true] {
        for is_inside in [false, true] {
            in_deterministic_modes!(|empty| {
                let mut graph = if grows { empty.growing() } else { empty };
                let (tx, raw) = graph.channel(1);
                graph.node("numbers", tx, range(0, 30));
                let (a, left) = graph.channel(1);
                let (b, right) = graph.channel(1);
                graph.node("fan", (raw, a, b), fan);
                let (out, pairs) = graph.channel(1);
                graph.node("many to one", (right, out), sums(2));
                let both = graph.join((left, pairs));
                let expected = match (grows, is_inside) {
                    (true, _) => Progress::Growing,
                    (_, true) => Progress::Ways(vec!["many to one".into(), "copy".into()]),
                    (_, false) => Progress::Ways(vec!["many to one".into(), "outside".into()]),
                };
                if is_inside {
                    let (out, copies) = graph.channel(1);
                    graph.node("copy", (both, out), |cx, (both, out)| {
                        both.iter(cx).for_each(|pair| _ = out.send(cx, pair));
                    });
                    assert_eq!(graph.guarantees().unwrap().progress, expected);
                    assert_eq!(all_come(&graph.build().unwrap().outlet(copies)), grows);
                } else {
                    assert_eq!(graph.guarantees().unwrap().progress, expected);
                    assert_eq!(all_come(&graph.build().unwrap().outlet(both)), grows);
                }
            });
        }
    }
}

#[test]
fn p59_a_select_that_is_kept_outside_counts_as_a_node() {
    in_other_modes!(|graph| {
        let (tx, raw) = graph.channel(1);
        graph.node("numbers", tx, range(0, 30));
        let (a, left) = graph.channel(1);
        let (b, right) = graph.channel(1);
        graph.node("fan", (raw, a, b), fan);
        let both = graph.select(left, right);
        let progress = graph.guarantees().unwrap().progress;
        assert_eq!(progress, Progress::Ways(vec!["fan".into(), "outside".into()]));
        assert_eq!(graph.build().unwrap().outlet(both).count(), 60);
    });
}

#[test]
fn p59_trees_stay_trees_whatever_is_joined_outside() {
    in_all_modes!(|graph| {
        let (tx, left) = graph.channel(1);
        graph.node("left", tx, range(0, 3));
        let (tx, right) = graph.channel(1);
        graph.node("right", tx, range(3, 6));
        let (tx, third) = graph.channel(1);
        graph.node("third", tx, range(6, 9));
        let pairs = graph.join((left, right));
        let all = graph.join((pairs, third));
        assert_eq!(graph.guarantees().unwrap().progress, Progress::Trees);
        assert_eq!(graph.build().unwrap().outlet(all).count(), 3);
    });
}

#[test]
fn p59_fixed_rates_are_certain_with_a_join_outside_only_if_that_fits() {
    for k in [1, 2] {
        in_deterministic_modes!(|graph| {
            let (tx, raw) = graph.channel(1);
            let numbers = graph.node("numbers", tx, range(0, 30));
            graph.rates(numbers, &[], &[1]);
            let (a, left) = graph.channel(1);
            let (b, right) = graph.channel(1);
            let node = graph.node("fan", (raw, a, b), fan);
            graph.rates(node, &[1], &[1, 1]);
            let (out, pairs) = graph.channel(1);
            let node = graph.node("many to one", (right, out), sums(k));
            graph.rates(node, &[k as u64], &[1]);
            let both = graph.join((left, pairs));
            let run = graph.build().unwrap();
            let progress = run.guarantees().progress.clone();
            let both = run.outlet(both);
            match k {
                1 => {
                    assert_eq!(progress, Progress::FixedRates);
                    assert_eq!(both.count(), 30);
                }
                _ => {
                    assert!(matches!(progress, Progress::Ways(_)), "{progress}");
                    assert!(!all_come(&both));
                }
            }
        });
    }
}

/// Numbers below `below`.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

/// Takes from, and sends to, its ends as it pleases, for so many rounds.
fn whim<S: Schedule>(
    mut random: Random,
) -> impl FnOnce(&NodeCx<'_, S>, (Vec<Receiver<Tap<i32, S>>>, Vec<Sender<i32, S>>)) {
    move |cx, (inputs, outputs)| {
        for round in 0..12 {
            for _ in 0..random.next(4) {
                if !inputs.is_empty() && inputs[random.next(inputs.len())].receive(cx).is_none() {
                    return;
                }
            }
            for _ in 0..random.next(4) {
                if !outputs.is_empty() {
                    outputs[random.next(outputs.len())].send(cx, round);
                }
            }
        }
    }
}

/// A random graph without cycles: nodes, and their channels, some of which are kept outside, some of those
/// joined in twos and threes.
macro_rules! random_graph {
    ($graph:ident, $random:ident) => {{
        let count = 2 + $random.next(4);
        let mut free = Vec::new();
        for node in 0..count {
            let mut inputs = Vec::new();
            for _ in 0..$random.next(3).min(free.len()) {
                inputs.push(free.swap_remove($random.next(free.len())));
            }
            let mut outputs = Vec::new();
            for _ in 0..1 + $random.next(2) {
                let (tx, rx) = $graph.channel::<i32>(1 + $random.next(2));
                outputs.push(tx);
                free.push(rx);
            }
            let own = Random($random.next(1 << 30) as u64);
            $graph.node(format!("{node}"), (inputs, outputs), whim(own));
        }
        let mut joined = Vec::new();
        while free.len() > 1 && $random.next(3) > 0 {
            let parts = (2 + $random.next(2)).min(free.len());
            let parts: Vec<_> =
                (0..parts).map(|_| free.swap_remove($random.next(free.len()))).collect();
            joined.push($graph.join(parts));
        }
        (free, joined)
    }};
}

/// Asks once. Whether it could go on.
fn ask<X: Source>(outlet: &Outlet<X>, is_over: &mut bool) -> bool {
    match outlet.checked_receive() {
        Ok(item) => {
            *is_over = item.is_none();
            true
        }
        Err(Halt::Deadlock(_)) => false,
        Err(halt) => panic!("{halt}"),
    }
}

#[test]
fn p59_what_is_certain_never_waits_for_ever() {
    let mut certain = [0, 0];
    let mut with_joins = 0;
    let mut deadlocks = 0;
    for seed in 0..400 {
        let mut random = Random(seed);
        let mut graph = Graph::deterministic().sequential();
        let (single, joined) = random_graph!(graph, random);
        let run = graph.build().unwrap();
        let is_certain = run.guarantees().progress.is_certain();
        certain[usize::from(is_certain)] += 1;
        with_joins += usize::from(is_certain && !joined.is_empty());
        // Who is outside asks all its ends in turn: a deadlock is where none of them can go on.
        let single: Vec<_> = single.into_iter().map(|end| run.outlet(end)).collect();
        let joined: Vec<_> = joined.into_iter().map(|end| run.outlet(end)).collect();
        let mut over = vec![false; single.len() + joined.len()];
        while over.iter().any(|is_over| !is_over) {
            let mut goes_on = false;
            for (index, is_over) in over.iter_mut().enumerate().filter(|(_, over)| !**over) {
                goes_on |= match index < single.len() {
                    true => ask(&single[index], is_over),
                    false => ask(&joined[index - single.len()], is_over),
                };
            }
            if !goes_on {
                assert!(!is_certain, "{seed} is certain, and stuck");
                deadlocks += 1;
                break;
            }
        }
    }
    assert!(certain.iter().all(|count| *count > 50) && with_joins > 20, "{certain:?} {with_joins}");
    assert!(deadlocks > 20, "{deadlocks}");
}

#[test]
fn p59_what_is_certain_never_waits_for_ever_in_parallel() {
    let mut certain = 0;
    for seed in 0..60 {
        let mut random = Random(seed);
        let mut graph = Graph::deterministic().parallel(2);
        let (single, joined) = random_graph!(graph, random);
        let run = graph.build().unwrap();
        if !run.guarantees().progress.is_certain() {
            continue;
        }
        certain += 1;
        // Each end has someone who waits there.
        thread::scope(|scope| {
            for end in single {
                let outlet = run.outlet(end);
                scope.spawn(move || while outlet.checked_receive().unwrap().is_some() {});
            }
            for end in joined {
                let outlet = run.outlet(end);
                scope.spawn(move || while outlet.checked_receive().unwrap().is_some() {});
            }
        });
        run.finish().unwrap();
    }
    assert!(certain > 5, "{certain}");
}
