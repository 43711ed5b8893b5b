//! What is known before a graph runs, and what it looks like.

use leno_graph::{BuildError, Graph, Guarantees, Progress};

use crate::nodes::{in_all_modes, in_deterministic_modes, map, range};

#[test]
fn p56_the_table_says_what_modes_guarantee() {
    let table = Guarantees::of_modes();
    for row in [
        "| deterministic, sequential | yes | decided at build | yes |",
        "| deterministic, parallel | yes | decided at build | yes |",
        "| non-deterministic, sequential | yes | decided at build | no |",
        "| non-deterministic, parallel | yes | decided at build | no |",
    ] {
        assert!(table.contains(row), "{table}");
    }
    let mut shown = Vec::new();
    in_all_modes!(|graph| {
        let (tx, _rx) = graph.channel(1);
        graph.node("range", tx, range(0, 1));
        let run = graph.build().unwrap();
        assert!(run.guarantees().progress.is_certain());
        shown.push(run.guarantees().to_string());
    });
    assert!(
        shown[0].starts_with("deterministic, sequential\n  data races  impossible: one thread")
    );
    assert!(shown[1].contains("Send") && shown[1].contains("the same under every schedule"));
    assert!(shown[3].starts_with("non-deterministic, parallel"));
    assert!(shown[3].contains("may depend on the schedule"));
}

#[test]
fn p59_progress_is_decided_where_it_can_be() {
    // A tree.
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        graph.node("range", tx, range(0, 3));
        let (tx, _out) = graph.channel(1);
        graph.node("square", (rx, tx), map(|i: i32| i * i));
        assert_eq!(graph.guarantees().unwrap().progress, Progress::Trees);
    });
    // Two ways to one node: with bounds it depends, and growing channels make it certain.
    for grows in [false, true] {
        in_deterministic_modes!(|empty| {
            let mut graph = if grows { empty.growing() } else { empty };
            let (a, left) = graph.channel(1);
            let (b, right) = graph.channel(1);
            graph.node("split", (a, b), |cx, (a, b)| {
                (0..3).for_each(|i| _ = a.send(cx, i));
                (0..3).for_each(|i| _ = b.send(cx, i));
            });
            let pairs = graph.join((left, right));
            let (out, sums) = graph.channel(1);
            graph.node("join", (pairs, out), |cx, (pairs, out)| {
                pairs.iter(cx).for_each(|(a, b)| _ = out.send(cx, a + b));
            });
            let progress = graph.guarantees().unwrap().progress;
            let run = graph.build().unwrap();
            let sums = run.outlet(sums);
            if grows {
                assert_eq!(progress, Progress::Growing);
                assert_eq!(sums.collect::<Vec<i32>>(), [0, 2, 4]);
            } else {
                assert_eq!(progress, Progress::Ways(vec!["split".into(), "join".into()]));
                assert!(!progress.is_certain() && progress.to_string().contains("split, join"));
                assert!(sums.checked_receive().is_err(), "and indeed it has none");
            }
        });
    }
    // A cycle.
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel::<i32>(1);
        graph.node("echo", (rx, tx), map(|i: i32| i));
        let progress = graph.guarantees().unwrap().progress;
        assert_eq!(progress, Progress::Cycle(vec!["echo".into()]));
        assert!(progress.to_string().contains("a cycle of echo"));
    });
}

#[test]
fn p59_fixed_rates_are_scheduled_with_bounds() {
    in_all_modes!(|graph| {
        // Two per firing into one that takes three: three firings for two.
        let (tx, rx) = graph.named("pairs", 1);
        let twos = graph.node("twos", tx, |cx, tx| (0..12).for_each(|i| _ = tx.send(cx, i)));
        graph.rates(twos, &[], &[2]);
        let (out, sums) = graph.channel(1);
        let threes = graph.node("threes", (rx, out), |cx, (rx, out)| {
            let all: Vec<i32> = rx.iter(cx).collect();
            all.chunks(3).for_each(|three| _ = out.send(cx, three.iter().sum::<i32>()));
        });
        graph.rates(threes, &[3], &[1]);
        let run = graph.build().unwrap();
        assert_eq!(run.guarantees().progress, Progress::FixedRates);
        assert_eq!(run.outlet(sums).collect::<Vec<_>>(), [3, 12, 21, 30]);
        let room = run.counters()[0].1.capacity;
        assert!((3..=4).contains(&room), "{room}");
    });
}

#[test]
fn p59_rates_that_do_not_fit_are_refused() {
    in_all_modes!(|graph| {
        let (a, left) = graph.named::<i32>("left", 1);
        let (b, right) = graph.named::<i32>("right", 1);
        let one = graph.node("one", (a, b), |_, _| {});
        graph.rates(one, &[], &[1, 1]);
        let other = graph.node("other", (left, right), |_, _| {});
        graph.rates(other, &[1, 2], &[]);
        let error = graph.build().err().unwrap();
        let nodes = vec!["one".to_owned(), "other".to_owned()];
        assert_eq!(error, BuildError::Rates { channel: "right".to_owned(), nodes });
        assert!(error.to_string().contains("do not fit at channel 'right'"), "{error}");
    });
}

#[test]
fn p59_a_certain_deadlock_is_refused_unless_the_cycle_is_primed() {
    for is_primed in [false, true] {
        in_all_modes!(|graph| {
            let (there, ping) = graph.named::<i32>("there", 1);
            let (back, pong) = graph.named::<i32>("back", 1);
            let (out, end) = graph.channel::<i32>(1);
            let one = graph.node("one", (pong, there, out), |cx, (pong, there, out)| {
                there.send(cx, 1);
                let last = (0..5).filter_map(|_| {
                    let got = pong.receive(cx)?;
                    there.send(cx, got);
                    Some(got)
                });
                let last = last.last().unwrap_or(0);
                out.send(cx, last);
            });
            graph.rates(one, &[1], &[1, 1]);
            let other = graph.node("other", (ping, back), map(|i: i32| i + 1));
            graph.rates(other, &[1], &[1]);
            if is_primed {
                graph.primes(one, &[1, 0]);
                let run = graph.build().unwrap();
                assert_eq!(run.guarantees().progress, Progress::FixedRates);
                assert_eq!(run.outlet(end).receive(), Some(6));
            } else {
                let error = graph.build().err().unwrap();
                assert_eq!(
                    error.to_string(),
                    "certain deadlock: 'one' and 'other' wait for each other through 'there' and 'back'"
                );
            }
        });
    }
}

#[test]
fn a_run_can_be_looked_at() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.named("numbers", 2);
        graph.node("say \"hi\"", tx, range(0, 3));
        let (out, end) = graph.named("end", 1);
        graph.node("collect", (rx, out), crate::nodes::collect);
        let (other, _kept) = graph.named("other", 1);
        graph.node("cold <one>", other, range(0, 1));
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(end).receive(), Some(vec![0, 1, 2]));
        let dot = run.dot();
        assert!(
            dot.contains(r#""say \"hi\"" -> "collect" [label="numbers: 3 sent, 0 of 2 waiting"]"#)
        );
        assert!(dot.contains(r#""cold <one>" [label="cold <one>\ncold"]"#), "{dot}");
        assert!(dot.contains(r#""collect" -> "outside" [label="end: 1 sent"#), "{dot}");
        let svg = run.svg();
        assert!(svg.contains("cold &lt;one&gt;") && svg.contains("numbers: 3 sent"), "{svg}");
    });
}

#[test]
fn ends_of_another_graph_are_not_opened() {
    let mut graph = Graph::deterministic().sequential();
    let (tx, rx) = graph.channel::<i32>(1);
    let other = Graph::deterministic().sequential().build().unwrap();
    let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| other.outlet(rx)));
    assert!(opened.is_err());
    let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| other.inlet(tx)));
    assert!(opened.is_err());
}
