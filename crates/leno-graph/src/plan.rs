//! What a graph is made of, before it is built.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use crate::channel::{Link, Linked};
use crate::ends::Registered;
use crate::error::BuildError;
use crate::mode::Schedule;
use crate::run::NodeId;

/// A description that grows until the graph is built.
pub(crate) struct Plan<S: Schedule> {
    /// The graphs whose ends are known here, this one and those embedded in it, and where their nodes begin.
    pub(crate) ids: Vec<(u64, usize)>,
    pub(crate) nodes: Vec<NodePlan<S>>,
    pub(crate) wires: Vec<S::Any>,
    /// Channels that are joined or selected together, by number.
    pub(crate) groups: Vec<Vec<u64>>,
    pub(crate) errors: Vec<BuildError>,
}

/// A node that is to be.
pub(crate) struct NodePlan<S: Schedule> {
    pub(crate) about: NodeAbout,
    pub(crate) starter: S::Starter,
}

/// What is known of a node before it runs.
#[derive(Clone, Debug)]
pub(crate) struct NodeAbout {
    pub(crate) name: String,
    pub(crate) is_free: bool,
    /// By number of the channel, in the order in which they were given.
    pub(crate) inputs: Vec<u64>,
    pub(crate) outputs: Vec<u64>,
    /// How many messages of each input and of each output one firing takes and gives, if that is fixed.
    pub(crate) rates: Option<(Vec<u64>, Vec<u64>)>,
    /// How many messages it sends to each output before it first fires.
    pub(crate) first: Option<Vec<u64>>,
}

/// What is known of a channel before it is used.
#[derive(Clone, Debug)]
pub(crate) struct WireAbout {
    pub(crate) number: u64,
    pub(crate) name: String,
    pub(crate) capacity: usize,
    /// Nodes by index.
    pub(crate) producers: Vec<usize>,
    pub(crate) consumers: Vec<usize>,
    /// Ends that no node was given.
    pub(crate) outside_senders: usize,
    pub(crate) outside_receivers: usize,
}

/// The shape of a graph, without types.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) nodes: Vec<NodeAbout>,
    pub(crate) wires: Vec<WireAbout>,
}

impl<S: Schedule> Plan<S> {
    pub(crate) fn new(id: u64) -> Plan<S> {
        Plan {
            ids: vec![(id, 0)],
            nodes: Vec::new(),
            wires: Vec::new(),
            groups: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// Adds a node with the ends that it was given.
    pub(crate) fn add_node(
        &mut self,
        name: String,
        is_free: bool,
        ends: Registered,
        starter: S::Starter,
    ) -> NodeId {
        self.check_ends(&name, &ends);
        let Registered { inputs, outputs, .. } = ends;
        let about = NodeAbout { name, is_free, inputs, outputs, rates: None, first: None };
        self.nodes.push(NodePlan { about, starter });
        NodeId { graph: self.ids[0].0, index: self.nodes.len() - 1 }
    }

    /// Whether ends of a graph can be used here.
    pub(crate) fn knows(&self, graph: u64) -> bool {
        self.ids.iter().any(|(own, _)| *own == graph)
    }

    /// What is known of a node.
    #[track_caller]
    pub(crate) fn about(&mut self, node: NodeId) -> &mut NodeAbout {
        &mut self.nodes[node.place(&self.ids)].about
    }

    fn check_ends(&mut self, node: &str, ends: &Registered) {
        let foreign = ends.graphs.iter().filter(|(graph, _)| !self.knows(*graph));
        let found = foreign.map(|(_, channel)| BuildError::Foreign {
            channel: channel.clone(),
            node: node.to_owned(),
        });
        self.errors.extend(found.collect::<Vec<_>>());
    }

    /// Takes over everything of another graph.
    pub(crate) fn embed(&mut self, other: Plan<S>) {
        let first = self.nodes.len();
        self.ids.extend(other.ids.into_iter().map(|(graph, own)| (graph, first + own)));
        self.nodes.extend(other.nodes);
        self.wires.extend(other.wires);
        self.groups.extend(other.groups);
        self.errors.extend(other.errors);
    }

    pub(crate) fn shape(&self) -> Shape {
        let nodes: Vec<NodeAbout> = self.nodes.iter().map(|node| node.about.clone()).collect();
        let with = |ends: fn(&NodeAbout) -> &Vec<u64>, number: u64| -> (Vec<usize>, usize) {
            let mut all = Vec::new();
            let mut count = 0;
            for (index, node) in nodes.iter().enumerate() {
                let here = ends(node).iter().filter(|end| **end == number).count();
                count += here;
                if here > 0 {
                    all.push(index);
                }
            }
            (all, count)
        };
        let wires = self.wires.iter().map(|wire| {
            let number = wire.number();
            let (producers, sending) = with(|node| &node.outputs, number);
            let (consumers, receiving) = with(|node| &node.inputs, number);
            let (senders, receivers) = wire.ends();
            WireAbout {
                number,
                name: wire.name().to_owned(),
                capacity: wire.counters().capacity,
                producers,
                consumers,
                outside_senders: senders.saturating_sub(sending),
                outside_receivers: receivers.saturating_sub(receiving),
            }
        });
        let wires = wires.collect();
        Shape { nodes, wires }
    }

    /// Links all channels to what will run the graph.
    pub(crate) fn link(&self, shape: &Shape, core: &S::Core, is_deterministic: bool) {
        let has_gates = S::IS_PARALLEL && !is_deterministic;
        let gates = if has_gates { self.gates() } else { HashMap::new() };
        for (index, (wire, about)) in self.wires.iter().zip(&shape.wires).enumerate() {
            wire.link(Linked {
                core: core.clone(),
                index,
                producers: about.producers.clone().into(),
                consumers: about.consumers.clone().into(),
                is_chain: is_deterministic && !S::IS_PARALLEL,
                producer: about.producers.first().and_then(|node| S::peer(core, *node)),
                is_awaited: AtomicBool::new(false),
                gate: gates.get(&about.number).cloned(),
            });
        }
    }

    /// One gate for all channels that are joined or selected together, directly or through others.
    fn gates(&self) -> HashMap<u64, Arc<Mutex<()>>> {
        let mut gates: HashMap<u64, Arc<Mutex<()>>> = HashMap::new();
        for group in &self.groups {
            let gate = Arc::new(Mutex::new(()));
            let old: Vec<_> = group.iter().filter_map(|wire| gates.get(wire).cloned()).collect();
            for known in gates.values_mut() {
                if old.iter().any(|other| Arc::ptr_eq(other, known)) {
                    *known = gate.clone();
                }
            }
            gates.extend(group.iter().map(|wire| (*wire, gate.clone())));
        }
        gates
    }
}

impl Shape {
    /// Who sends into a channel, and who receives from it: names.
    pub(crate) fn senders(&self, wire: &WireAbout) -> Vec<String> {
        self.names(&wire.producers, wire.outside_senders)
    }

    pub(crate) fn receivers(&self, wire: &WireAbout) -> Vec<String> {
        self.names(&wire.consumers, wire.outside_receivers)
    }

    pub(crate) fn names(&self, nodes: &[usize], outside: usize) -> Vec<String> {
        let names = nodes.iter().map(|node| self.nodes[*node].name.clone());
        names.chain((0..outside).map(|_| "outside".to_owned())).collect()
    }
}
