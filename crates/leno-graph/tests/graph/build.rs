//! What build checks, and what it says.

use leno_graph::{BuildError, Graph};

use crate::nodes::{in_all_modes, in_deterministic_modes, in_other_modes, range};

#[test]
fn p6_two_senders_are_refused() {
    in_deterministic_modes!(|graph| {
        let wire = graph.wire::<i32>("queue", 1);
        for name in ["one", "two"] {
            let out = graph.output(&wire);
            graph.node(name, out, range(0, 1));
        }
        let _rx = graph.input(&wire);
        let nodes = vec!["one".to_owned(), "two".to_owned()];
        let channel = "queue".to_owned();
        assert_eq!(graph.build().err(), Some(BuildError::ManySenders { channel, nodes }));
    });
}

#[test]
fn p7_two_receivers_are_refused() {
    in_deterministic_modes!(|graph| {
        let wire = graph.wire::<i32>("queue", 1);
        let _tx = graph.output(&wire);
        let rx = graph.input(&wire);
        graph.node("one", rx, |_, _| {});
        let _outside = graph.input(&wire);
        let nodes = vec!["one".to_owned(), "outside".to_owned()];
        let channel = "queue".to_owned();
        assert_eq!(graph.build().err(), Some(BuildError::ManyReceivers { channel, nodes }));
    });
}

#[test]
fn p10_errors_come_before_anything_runs_and_name_channel_and_nodes() {
    in_deterministic_modes!(|graph| {
        let wire = graph.wire::<i32>("queue", 1);
        for _ in 0..2 {
            let out = graph.output(&wire);
            graph.node("Twice", out, |_, _| panic!("it runs"));
        }
        let rx = graph.input(&wire);
        let (tx, _result) = graph.channel::<i32>(1);
        graph.node("Aggregator", (rx, tx), |_, _| panic!("it runs"));
        let text = graph.build().err().unwrap().to_string();
        assert_eq!(
            text,
            "channel 'queue' has multiple senders: 'Twice' and 'Twice'; in a deterministic graph the \
             order of their messages would depend on the schedule"
        );
    });
}

/// Doubles each number of a list, all into one channel.
macro_rules! fan_in {
    ($graph:ident, $data:expr) => {{
        let queue = $graph.wire::<i32>("queue", 1);
        for element in $data {
            let out = $graph.output(&queue);
            $graph.node("Twice", out, move |cx, out| _ = out.send(cx, 2 * element));
        }
        $graph.input(&queue)
    }};
}

#[test]
fn p14_in_other_graphs_the_order_is_free() {
    in_other_modes!(|graph| {
        let all = fan_in!(graph, [1, 8]);
        let run = graph.build().unwrap();
        let mut all: Vec<i32> = run.outlet(all).collect();
        all.sort_unstable();
        assert_eq!(all, [2, 16]);
    });
}

#[test]
fn p15_the_same_program_is_refused_if_deterministic() {
    in_deterministic_modes!(|graph| {
        let _all = fan_in!(graph, [1, 8]);
        assert!(matches!(graph.build(), Err(BuildError::ManySenders { .. })));
    });
}

#[test]
fn e25_the_error_names_the_real_senders() {
    let mut graph = Graph::deterministic().sequential();
    let _all = fan_in!(graph, [1, 8]);
    let text = graph.build().err().unwrap().to_string();
    assert!(text.contains("'Twice' and 'Twice'") && !text.contains("Aggregator"), "{text}");
}

#[test]
fn p16_a_channel_each_and_a_join_give_one_answer() {
    in_all_modes!(|graph| {
        let mut channels = Vec::new();
        for element in [1, 6] {
            let (tx, rx) = graph.channel(1);
            graph.node("Twice", tx, move |cx, tx| _ = tx.send(cx, 2 * element));
            channels.push(rx);
        }
        let queue = graph.join(channels);
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(queue).receive(), Some(vec![2, 12]));
    });
}

#[test]
fn e28_one_and_six_doubled_are_two_and_twelve() {
    let mut graph = Graph::deterministic().sequential();
    let channels = [1, 6].map(|element| {
        let (tx, rx) = graph.channel(1);
        graph.node("Twice", tx, move |cx, tx| _ = tx.send(cx, 2 * element));
        rx
    });
    let queue = graph.join(Vec::from(channels));
    assert_eq!(graph.build().unwrap().outlet(queue).receive(), Some(vec![2, 12]));
}

#[test]
fn p32_many_ends_are_for_other_graphs() {
    in_other_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        graph.node("one", tx.clone(), range(0, 50));
        graph.node("two", tx, range(50, 100));
        let mut totals = Vec::new();
        for name in ["first", "second"] {
            let (out, total) = graph.channel(1);
            graph.node(name, (rx.clone(), out), |cx, (rx, out)| {
                out.send(cx, rx.iter(cx).map(i64::from).sum::<i64>());
            });
            totals.push(total);
        }
        drop(rx);
        let totals = graph.join(totals);
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(totals).receive().unwrap().iter().sum::<i64>(), 4950);
    });
    in_deterministic_modes!(|graph| {
        let wire = graph.wire::<i32>("one to one", 1);
        let tx = graph.output(&wire);
        graph.node("one", tx, range(0, 3));
        let rx = graph.input(&wire);
        assert_eq!(graph.build().unwrap().outlet(rx).count(), 3);
    });
}

#[test]
fn ends_that_nobody_has_are_refused() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.named::<i32>("orders", 1);
        drop(tx);
        graph.node("cook", rx, |_, _| {});
        let error = graph.build().err().unwrap();
        assert!(matches!(&error, BuildError::NoSender { channel, .. } if channel == "orders"));
        assert!(error.to_string().starts_with("nobody can send into channel 'orders'"), "{error}");
    });
    in_all_modes!(|graph| {
        let (tx, rx) = graph.named::<i32>("dishes", 1);
        drop(rx);
        graph.node("cook", tx, |_, _| {});
        let error = graph.build().err().unwrap();
        assert!(matches!(&error, BuildError::NoReceiver { nodes, .. } if nodes == &["cook"]));
        assert!(error.to_string().contains("nobody can receive from channel 'dishes'"), "{error}");
    });
}

#[test]
fn a_channel_has_room_for_one_at_least() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.named::<i32>("none", 0);
        graph.node("one", tx, range(0, 1));
        graph.node("other", rx, |_, _| {});
        let error = graph.build().err().unwrap();
        assert!(error.to_string().contains("'none' has room for no message"), "{error}");
    });
}

#[test]
fn p57_a_node_that_sends_what_only_it_receives_is_reported() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.named::<i32>("loop", 1);
        let (out, end) = graph.named::<i32>("end", 1);
        graph.node("snake", (tx, rx, out), |cx, (tx, rx, out)| {
            tx.send(cx, 1);
            tx.send(cx, 2);
            out.send(cx, rx.receive(cx).unwrap_or(0));
        });
        let run = graph.build().unwrap();
        let end = run.outlet(end);
        let deadlock = end.checked_receive().unwrap_err();
        assert_eq!(
            deadlock.to_string(),
            "deadlock: 'outside' waits to receive from channel 'end', 'snake' waits to send into \
             channel 'loop'"
        );
    });
}

#[test]
fn a_full_channel_grows_if_the_graph_says_so() {
    in_all_modes!(|empty| {
        let mut graph = empty.growing();
        let (tx, rx) = graph.named::<i32>("loop", 1);
        let (out, end) = graph.channel::<i32>(1);
        graph.node("snake", (tx, rx, out), |cx, (tx, rx, out)| {
            (1..=5).for_each(|i| _ = tx.send(cx, i));
            out.send(cx, (0..5).filter_map(|_| rx.receive(cx)).sum());
        });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(end).receive(), Some(15));
        assert_eq!(run.counters()[0].1.capacity, 8);
    });
}
