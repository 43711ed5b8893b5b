//! What a graph is made of, before it is built.

use std::sync::atomic::AtomicBool;

use crate::channel::{Link, Linked};
use crate::ends::Registered;
use crate::error::BuildError;
use crate::fate;
use crate::mode::Schedule;
use crate::run::NodeId;

/// What messages call whoever is none of the nodes.
const OUTSIDE: &str = "outside";

/// A description that grows until the graph is built.
pub(crate) struct Plan<S: Schedule> {
    /// The graphs whose ends are known here, this one and those embedded in it, and where their nodes begin.
    pub(crate) ids: Vec<(u64, usize)>,
    pub(crate) nodes: Nodes<S>,
    pub(crate) wires: Vec<S::Any>,
    /// Channels that are joined or selected together.
    pub(crate) groups: Vec<Group>,
    pub(crate) errors: Vec<BuildError>,
}

/// The nodes of a graph that is not built. If it never is, all of them are dropped, also when one panics.
pub(crate) struct Nodes<S: Schedule>(pub(crate) Vec<NodePlan<S>>);

impl<S: Schedule> Drop for Nodes<S> {
    fn drop(&mut self) {
        fate::dispose_all(self.0.drain(..).map(|node| node.starter));
    }
}

/// Channels that are joined or selected together, by number.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) wires: Vec<u64>,
    pub(crate) is_join: bool,
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
    /// Joins and selects that are kept outside; those that have channels in common are one.
    pub(crate) kept: Vec<Kept>,
}

/// A join or select that is kept outside: like a node that takes from several channels.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// Its channels, by index.
    pub(crate) wires: Vec<usize>,
    /// Whether there are only joins in it: then it takes one message of each channel at a time.
    pub(crate) is_join: bool,
}

impl<S: Schedule> Plan<S> {
    pub(crate) fn new(id: u64) -> Plan<S> {
        Plan {
            ids: vec![(id, 0)],
            nodes: Nodes(Vec::new()),
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
        self.nodes.0.push(NodePlan { about, starter });
        NodeId { graph: self.ids[0].0, index: self.nodes.0.len() - 1 }
    }

    /// Whether ends of a graph can be used here.
    pub(crate) fn knows(&self, graph: u64) -> bool {
        self.ids.iter().any(|(own, _)| *own == graph)
    }

    /// What is known of a node.
    #[track_caller]
    pub(crate) fn about(&mut self, node: NodeId) -> &mut NodeAbout {
        &mut self.nodes.0[node.place(&self.ids)].about
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
    pub(crate) fn embed(&mut self, mut other: Plan<S>) {
        let first = self.nodes.0.len();
        self.ids.extend(other.ids.into_iter().map(|(graph, own)| (graph, first + own)));
        self.nodes.0.append(&mut other.nodes.0);
        self.wires.extend(other.wires);
        self.groups.extend(other.groups);
        self.errors.extend(other.errors);
    }

    pub(crate) fn shape(&self) -> Shape {
        let nodes: Vec<NodeAbout> = self.nodes.0.iter().map(|node| node.about.clone()).collect();
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
        let wires: Vec<WireAbout> = wires.collect();
        let kept = self.kept(&wires);
        Shape { nodes, wires, kept }
    }

    /// Joins and selects from which someone outside receives.
    fn kept(&self, wires: &[WireAbout]) -> Vec<Kept> {
        let mut all: Vec<Kept> = Vec::new();
        for group in &self.groups {
            let is_own =
                |wire: &WireAbout| wire.outside_receivers > 0 && group.wires.contains(&wire.number);
            let own = wires.iter().enumerate().filter(|(_, wire)| is_own(wire));
            let mut own = Kept { wires: own.map(|(i, _)| i).collect(), is_join: group.is_join };
            all.retain(|other| {
                let is_one = other.wires.iter().any(|wire| own.wires.contains(wire));
                if is_one {
                    own.wires.extend(&other.wires);
                    own.is_join &= other.is_join;
                }
                !is_one
            });
            own.wires.sort_unstable();
            own.wires.dedup();
            if own.wires.len() > 1 {
                all.push(own);
            }
        }
        all
    }

    /// Links all channels to what will run the graph.
    pub(crate) fn link(&self, shape: &Shape, core: &S::Core, is_deterministic: bool) {
        for (index, (wire, about)) in self.wires.iter().zip(&shape.wires).enumerate() {
            wire.link(Linked {
                core: core.clone(),
                index,
                producers: about.producers.clone().into(),
                consumers: about.consumers.clone().into(),
                is_chain: is_deterministic && !S::IS_PARALLEL,
                producer: about.producers.first().and_then(|node| S::peer(core, *node)),
                is_awaited: AtomicBool::new(false),
            });
        }
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

    /// The same graph, with a node that takes one of each in the place of each join that is kept outside.
    /// `None` if there is a select among those.
    pub(crate) fn with_joins(&self) -> Option<Shape> {
        let mut shape = Shape { kept: Vec::new(), ..self.clone() };
        for kept in &self.kept {
            let node = shape.nodes.len();
            let inputs: Vec<u64> = kept.wires.iter().map(|wire| self.wires[*wire].number).collect();
            let rates = Some((vec![1; inputs.len()], Vec::new()));
            let name = OUTSIDE.to_owned();
            let (outputs, first) = (Vec::new(), None);
            shape.nodes.push(NodeAbout { name, is_free: false, inputs, outputs, rates, first });
            kept.wires.iter().for_each(|wire| shape.wires[*wire].consumers.push(node));
        }
        self.kept.iter().all(|kept| kept.is_join).then_some(shape)
    }

    pub(crate) fn names(&self, nodes: &[usize], outside: usize) -> Vec<String> {
        let names = nodes.iter().map(|node| self.nodes[*node].name.clone());
        names.chain((0..outside).map(|_| OUTSIDE.to_owned())).collect()
    }
}
