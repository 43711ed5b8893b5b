//! A breadth-first walk as a graph, in each of its forms, beside the iterator that one writes by hand.

use std::collections::VecDeque;
use std::rc::Rc;

use leno_graph::Graph;

/// A tree of which no two levels look alike.
struct Node {
    value: u64,
    children: Vec<Rc<Node>>,
}

fn tree(value: u64, depth: u64) -> Rc<Node> {
    let children = if depth == 0 { 0 } else { (value * 7 + depth) % 4 };
    let child = |i| tree(value * 5 + i + 1, depth - 1);
    Rc::new(Node { value, children: (0..children).map(child).collect() })
}

/// The plain version.
struct Plain(VecDeque<Rc<Node>>);

impl Plain {
    fn new(root: &Rc<Node>) -> Plain {
        Plain(VecDeque::from([root.clone()]))
    }
}

impl Iterator for Plain {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let node = self.0.pop_front()?;
        self.0.extend(node.children.iter().cloned());
        Some(node.value)
    }
}

/// Everything that comes out of the graph that `describe` makes around a channel with this room.
macro_rules! walked {
    ($room:expr, |$graph:ident, $tx:ident| $describe:expr) => {{
        let mut $graph = Graph::deterministic().sequential();
        let ($tx, rx) = $graph.channel::<u64>($room);
        $describe;
        let run = $graph.build().unwrap();
        let outlet = run.outlet(rx);
        std::iter::from_fn(|| outlet.receive()).collect::<Vec<u64>>()
    }};
}

#[test]
fn p63_a_breadth_first_walk_equals_the_plain_iterator() {
    for (value, depth) in [(1, 0), (1, 5), (2, 9), (3, 12)] {
        let root = tree(value, depth);
        let plain: Vec<u64> = Plain::new(&root).collect();
        for room in [1, 64] {
            let own = root.clone();
            let on_stack = walked!(room, |graph, tx| graph.node("walk", tx, move |cx, tx| {
                Plain::new(&own).for_each(|value| _ = tx.send(cx, value));
            }));
            assert_eq!(on_stack, plain, "with a stack, room for {room}");
            let own = root.clone();
            let stackless =
                walked!(room, |graph, tx| graph.stackless("walk", tx, |cx, tx| async move {
                    for value in Plain::new(&own) {
                        tx.send_async(&cx, value).await;
                    }
                }));
            assert_eq!(stackless, plain, "without a stack, room for {room}");
            let iterated = walked!(room, |graph, tx| graph.iterate("walk", tx, Plain::new(&root)));
            assert_eq!(iterated, plain, "iterated, room for {room}");
        }
    }
}
