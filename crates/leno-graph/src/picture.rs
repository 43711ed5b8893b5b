//! A graph as a picture: its nodes, its channels, and what has gone through them.

use core::fmt::Write;

use leno_picture::flow::{Edge, Flow, Node, Shade};

use crate::channel::Link as _;
use crate::mode::{Determinism, Schedule};
use crate::plan::Shape;
use crate::run::{Run, Temperature};
use crate::state::Counters;

impl<D: Determinism, S: Schedule> Run<D, S> {
    /// The graph in the language of Graphviz, with what has gone through each channel so far.
    ///
    /// # Examples
    /// ```
    /// let mut graph = leno_graph::Graph::deterministic().sequential();
    /// let (tx, rx) = graph.named("numbers", 1);
    /// graph.node("count", tx, |cx, tx| (0..3).for_each(|i| { tx.send(cx, i); }));
    /// let run = graph.build()?;
    /// assert_eq!(run.outlet(rx).count(), 3);
    /// assert!(run.dot().contains(r#""count" -> "outside" [label="numbers: 3 sent"#));
    /// # Ok::<(), leno_graph::BuildError>(())
    /// ```
    pub fn dot(&self) -> String {
        let mut text = "digraph graph {\n    rankdir=LR;\n    node [shape=box];\n".to_owned();
        let flow = self.flow();
        for node in &flow.nodes {
            let style = if node.shade == Shade::Outside { ", style=dashed" } else { "" };
            let below = quoted(&node.below);
            let _ = writeln!(
                text,
                "    \"{}\" [label=\"{}\\n{below}\"{style}];",
                quoted(&node.id),
                quoted(&node.name)
            );
        }
        for edge in &flow.edges {
            let (from, to) = (&flow.nodes[edge.from].id, &flow.nodes[edge.to].id);
            let label = quoted(&edge.label);
            let _ = writeln!(
                text,
                "    \"{}\" -> \"{}\" [label=\"{label}\"];",
                quoted(from),
                quoted(to)
            );
        }
        text + "}\n"
    }

    /// The graph as an SVG, with what has gone through each channel so far.
    pub fn svg(&self) -> String {
        leno_picture::flow::draw(&self.flow())
    }

    fn flow(&self) -> Flow {
        let states: Vec<Temperature> =
            (0..self.shape.nodes.len()).map(|node| S::temperature(&self.core, node)).collect();
        let counters: Vec<Counters> = self.wires.iter().map(|wire| wire.counters()).collect();
        flow(&self.shape, &states, &counters)
    }
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

fn flow(shape: &Shape, states: &[Temperature], counters: &[Counters]) -> Flow {
    let mut flow = Flow::default();
    for (index, (node, state)) in shape.nodes.iter().zip(states).enumerate() {
        let is_double = shape.nodes.iter().filter(|other| other.name == node.name).count() > 1;
        let id = if is_double { format!("{} {index}", node.name) } else { node.name.clone() };
        let kind = if node.is_free { "free, " } else { "" };
        let (below, shade) = match state {
            Temperature::Cold => (format!("{kind}cold"), Shade::Cold),
            Temperature::Hot => (format!("{kind}hot"), Shade::Hot),
            Temperature::Ended => (format!("{kind}ended"), Shade::Ended),
        };
        flow.nodes.push(Node { id, name: node.name.clone(), below, shade });
    }
    let outside = flow.nodes.len();
    let mut is_outside = false;
    for (wire, counters) in shape.wires.iter().zip(counters) {
        let (senders, receivers) = (&wire.producers, &wire.consumers);
        let label = format!(
            "{}: {} sent, {} of {} waiting",
            wire.name, counters.sent, counters.waiting, counters.capacity
        );
        let senders = if senders.is_empty() { &vec![outside] } else { senders };
        let receivers = if receivers.is_empty() { &vec![outside] } else { receivers };
        for from in senders {
            for to in receivers {
                is_outside |= *from == outside || *to == outside;
                flow.edges.push(Edge { from: *from, to: *to, label: label.clone() });
            }
        }
    }
    if is_outside {
        let name = "outside".to_owned();
        flow.nodes.push(Node {
            id: name.clone(),
            name,
            below: String::new(),
            shade: Shade::Outside,
        });
    }
    flow
}
