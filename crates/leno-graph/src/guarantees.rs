//! What is certain of a graph before it runs.
//!
//! Progress is certain where nodes of fixed rates have a schedule, where nodes and channels form trees,
//! and where there are no cycles and channels grow. That there are no cycles is not enough while channels
//! have bounds: a node that sends two messages one way before it sends the other way waits for ever for
//! one who joins both ways, if the first way has room for one. Whether that one is a node or outside makes no
//! difference: a join or select that is kept outside counts as a node.

use core::fmt;

use crate::plan::Shape;
use crate::rates;

/// What is certain of a graph before it runs; printed, it is a table. Of a mode in general:
/// [`Guarantees::of_modes`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Guarantees {
    /// Whether the result cannot depend on the schedule.
    pub is_deterministic: bool,
    /// Whether several cores run it.
    pub is_parallel: bool,
    /// Whether nodes can come to wait for each other for ever.
    pub progress: Progress,
}

/// Whether nodes can come to wait for each other for ever, if whoever is outside does its part: it receives
/// from each of its ends, and sends through each, whenever it can go on there, not only when it has done so at
/// another. A join or select that is kept outside is one end, and counts as a node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Never: nodes and channels form trees.
    Trees,
    /// Never: there are no cycles, and full channels grow.
    Growing,
    /// Never: all rates are fixed, and a schedule was found.
    FixedRates,
    /// It depends on what they do: these nodes send to each other in a circle.
    Cycle(Vec<String>),
    /// It depends on what they do: messages reach the same node by several ways, and channels have bounds.
    Ways(Vec<String>),
}

impl Progress {
    /// Whether it is certain that they never do.
    pub fn is_certain(&self) -> bool {
        matches!(self, Progress::Trees | Progress::Growing | Progress::FixedRates)
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Progress::Trees => write!(f, "certain: no two ways lead to one node or one join"),
            Progress::Growing => write!(f, "certain: no cycles, and full channels grow"),
            Progress::FixedRates => write!(f, "certain: fixed rates with a schedule"),
            Progress::Cycle(nodes) => write!(f, "not decided: a cycle of {}", nodes.join(", ")),
            Progress::Ways(nodes) => {
                write!(f, "not decided: several ways between {}", nodes.join(", "))
            }
        }
    }
}

impl fmt::Display for Guarantees {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, result) = match self.is_deterministic {
            true => ("deterministic", "the same under every schedule"),
            false => ("non-deterministic", "may depend on the schedule"),
        };
        let (schedule, races) = match self.is_parallel {
            true => ("parallel", "impossible: messages and bodies are Send, and moved"),
            false => ("sequential", "impossible: one thread"),
        };
        writeln!(f, "{kind}, {schedule}")?;
        writeln!(f, "  data races  {races}")?;
        writeln!(f, "  progress    {}", self.progress)?;
        write!(f, "  result      {result}")
    }
}

impl Guarantees {
    /// What each mode guarantees, whatever the graph.
    ///
    /// # Examples
    /// ```
    /// let table = leno_graph::Guarantees::of_modes();
    /// assert!(table.contains("| deterministic, parallel | yes | decided at build | yes |"));
    /// ```
    pub fn of_modes() -> String {
        let mut table =
            "| mode | no data races | progress | deterministic |\n| --- | --- | --- | --- |\n"
                .to_owned();
        for kind in ["deterministic", "non-deterministic"] {
            for schedule in ["sequential", "parallel"] {
                let result = if kind == "deterministic" { "yes" } else { "no" };
                table += &format!("| {kind}, {schedule} | yes | decided at build | {result} |\n");
            }
        }
        table
    }
}

/// What is certain of a graph of this shape, whose rates fit.
pub(crate) fn progress(shape: &Shape, grows: bool) -> Progress {
    let has_rates = !shape.nodes.is_empty() && shape.nodes.iter().all(|node| node.rates.is_some());
    if has_rates && has_schedule_outside(shape) {
        return Progress::FixedRates;
    }
    let name = |node: usize| {
        shape.nodes.get(node).map_or("outside", |about| about.name.as_str()).to_owned()
    };
    let names = |nodes: Vec<usize>| nodes.into_iter().map(name);
    if let Some(cycle) = cycle(shape) {
        return Progress::Cycle(names(cycle).collect());
    }
    match several_ways(shape) {
        None => Progress::Trees,
        Some(_) if grows => Progress::Growing,
        Some((one, other)) => Progress::Ways(names(vec![one, other]).collect()),
    }
}

/// Whether there is a schedule for those outside, too, who take one message of each of several channels.
fn has_schedule_outside(shape: &Shape) -> bool {
    shape.kept.is_empty() || shape.with_joins().is_some_and(|shape| rates::room(&shape).is_ok())
}

/// All who receive from `node`.
fn followers(shape: &Shape, node: usize) -> Vec<usize> {
    let own = shape.wires.iter().filter(|wire| wire.producers.contains(&node));
    own.flat_map(|wire| wire.consumers.iter().copied()).collect()
}

/// Nodes that send to each other in a circle.
fn cycle(shape: &Shape) -> Option<Vec<usize>> {
    let count = shape.nodes.len();
    // Those from which no more circle can be reached are taken away, until none is left.
    let mut left: Vec<bool> = vec![true; count];
    loop {
        let leaf = (0..count)
            .find(|node| left[*node] && followers(shape, *node).iter().all(|next| !left[*next]));
        match leaf {
            Some(node) => left[node] = false,
            None => break,
        }
    }
    let mut walk = vec![(0..count).find(|node| left[*node])?];
    loop {
        let next = followers(shape, *walk.last()?).into_iter().find(|next| left[*next])?;
        if let Some(start) = walk.iter().position(|node| *node == next) {
            return Some(walk.split_off(start));
        }
        walk.push(next);
    }
}

/// Two nodes between which there is a channel, and another way. A join or select that is kept outside counts
/// as a node, after the others.
fn several_ways(shape: &Shape) -> Option<(usize, usize)> {
    let count = shape.nodes.len();
    let mut group: Vec<usize> = (0..count + shape.kept.len()).collect();
    for (index, wire) in shape.wires.iter().enumerate() {
        let kept = shape.kept.iter().position(|kept| kept.wires.contains(&index));
        let outside = kept.map(|kept| count + kept);
        for one in &wire.producers {
            for other in wire.consumers.iter().copied().chain(outside) {
                let (a, b) = (group[*one], group[other]);
                if a == b {
                    return Some((*one, other));
                }
                group.iter_mut().filter(|own| **own == b).for_each(|own| *own = a);
            }
        }
    }
    None
}
