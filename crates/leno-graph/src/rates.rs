//! Nodes of fixed rates (synchronous data flow, Lee and Messerschmitt 1987): whether they fit together,
//! whether they can go on for ever, and how much room their channels need.
//!
//! Each node fires as often in a *round* as makes every channel end as full as it began. One round is
//! tried, with the channels as full as nodes fill them before they first fire: if someone is left who
//! cannot fire, that is a deadlock under every schedule. The most that was in a channel is the room it
//! needs. Channels one of whose ends is outside, or at a node without fixed rates, count as always ready.

use crate::error::BuildError;
use crate::plan::{Shape, WireAbout};

/// A channel between two nodes of fixed rates.
struct Edge<'a> {
    wire: usize,
    about: &'a WireAbout,
    from: usize,
    gives: u64,
    to: usize,
    takes: u64,
    /// How many are in it before anyone fires.
    first: u64,
}

/// How much room each channel needs, by index, where that is known.
pub(crate) fn room(shape: &Shape) -> Result<Vec<Option<u64>>, BuildError> {
    let edges = edges(shape);
    let rounds = rounds(shape, &edges)?;
    try_round(shape, &edges, rounds)
}

fn edges(shape: &Shape) -> Vec<Edge<'_>> {
    let mut edges = Vec::new();
    for (wire, about) in shape.wires.iter().enumerate() {
        let ([from], [to]) = (&about.producers[..], &about.consumers[..]) else { continue };
        let (sender, receiver) = (&shape.nodes[*from], &shape.nodes[*to]);
        if let (Some((_, outputs)), Some((inputs, _))) = (&sender.rates, &receiver.rates) {
            let count = |ends: &[u64], rates: &[u64]| -> u64 {
                let own = ends.iter().zip(rates).filter(|(end, _)| **end == about.number);
                own.map(|(_, rate)| rate).sum()
            };
            let gives = count(&sender.outputs, outputs);
            let takes = count(&receiver.inputs, inputs);
            let first = sender.first.as_ref().map_or(0, |first| count(&sender.outputs, first));
            edges.push(Edge { wire, about, from: *from, gives, to: *to, takes, first });
        }
    }
    edges
}

fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// How often each node fires in a round; 0 for those without fixed rates.
fn rounds(shape: &Shape, edges: &[Edge<'_>]) -> Result<Vec<u64>, BuildError> {
    // As fractions, relative to the first node of what hangs together.
    let mut fires: Vec<Option<(u64, u64)>> = vec![None; shape.nodes.len()];
    for first in 0..shape.nodes.len() {
        if fires[first].is_some() || shape.nodes[first].rates.is_none() {
            continue;
        }
        let mut members = vec![(first, (1, 1))];
        fires[first] = Some((1, 1));
        let mut at = 0;
        while let Some((node, (n, d))) = members.get(at).copied() {
            at += 1;
            for edge in edges.iter().filter(|edge| edge.from == node || edge.to == node) {
                let (other, n, d) = match edge.from == node {
                    true => (edge.to, n * edge.gives, d * edge.takes),
                    false => (edge.from, n * edge.takes, d * edge.gives),
                };
                let common = divisor(n, d);
                let own = (n / common, d / common);
                match fires[other] {
                    None => {
                        fires[other] = Some(own);
                        members.push((other, own));
                    }
                    Some(known) if known == own => {}
                    Some(_) => {
                        let nodes = shape.names(&[edge.from, edge.to], 0);
                        let channel = edge.about.name.clone();
                        return Err(BuildError::Rates { channel, nodes });
                    }
                }
            }
        }
        // To whole numbers.
        let divisors = members.iter().map(|(_, (_, d))| *d);
        let multiple = divisors.fold(1, |multiple, d| multiple / divisor(multiple, d) * d);
        for (node, (n, d)) in members {
            fires[node] = Some((n * (multiple / d), 1));
        }
    }
    Ok(fires.into_iter().map(|fires| fires.map_or(0, |(n, _)| n)).collect())
}

fn try_round(
    shape: &Shape,
    edges: &[Edge<'_>],
    mut left: Vec<u64>,
) -> Result<Vec<Option<u64>>, BuildError> {
    let mut filled: Vec<u64> = edges.iter().map(|edge| edge.first).collect();
    let mut most = filled.clone();
    loop {
        let can_fire = |node: usize, filled: &[u64]| {
            let mut inputs = edges.iter().zip(filled).filter(|(edge, _)| edge.to == node);
            inputs.all(|(edge, filled)| *filled >= edge.takes)
        };
        // Of those who can, the one with the least in its outputs: channels stay small.
        let behind = |node: usize, filled: &[u64]| -> u64 {
            edges.iter().zip(filled).filter(|(edge, _)| edge.from == node).map(|(_, own)| own).sum()
        };
        let ready = (0..left.len()).filter(|node| left[*node] > 0 && can_fire(*node, &filled));
        let Some(node) = ready.min_by_key(|node| (behind(*node, &filled), *node)) else { break };
        left[node] -= 1;
        for ((edge, filled), most) in edges.iter().zip(&mut filled).zip(&mut most) {
            if edge.to == node {
                *filled -= edge.takes;
            }
            if edge.from == node {
                *filled += edge.gives;
            }
            *most = (*most).max(*filled).max(edge.takes);
        }
    }
    if left.iter().any(|left| *left > 0) {
        let stuck: Vec<usize> = (0..left.len()).filter(|node| left[*node] > 0).collect();
        let dry = edges.iter().zip(&filled).filter(|(edge, filled)| {
            stuck.contains(&edge.to) && stuck.contains(&edge.from) && **filled < edge.takes
        });
        let channels = dry.map(|(edge, _)| edge.about.name.clone()).collect();
        return Err(BuildError::CertainDeadlock { nodes: shape.names(&stuck, 0), channels });
    }
    let mut room = vec![None; shape.wires.len()];
    edges.iter().zip(most).for_each(|(edge, most)| room[edge.wire] = Some(most));
    Ok(room)
}
