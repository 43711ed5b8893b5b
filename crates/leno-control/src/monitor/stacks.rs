//! Where a fibre stands in a grammar: all stacks of rules that its events so far may have led to.
//!
//! The stacks may be very many, but they have much in common, so they are kept as a graph: a node stands for
//! all that comes after the rule which is followed now, and its edges are where one comes back to. All
//! stacks that call the same rule after the same event share a node. So a step takes a time that grows with
//! the grammar and with how much it leaves open, and for most grammars not with the number of events; nodes
//! that no stack needs any more are swept out.
//!
//! Invariant: edges are added to a node only in the step that has made it. A node that was left in that step
//! already is left again by each edge that it gets later.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::event::Event;
use crate::grammar::{At, Compiled, Grammar, Next};

/// The node of the bottom, where the first rule came from.
const BOTTOM: usize = 0;

/// The top of a stack, and the node of what is below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Top {
    at: At,
    below: usize,
}

/// All stacks.
#[derive(Clone, Debug)]
pub(crate) struct Stacks {
    grammar: Arc<Compiled>,
    /// By node: where one comes back to.
    nodes: Vec<Vec<Top>>,
    /// How many nodes there may be before it is worth to sweep.
    enough: usize,
    /// The tops after the last event.
    tops: BTreeSet<Top>,
    /// The tops after each event that is allowed next.
    ready: BTreeMap<Event, BTreeSet<Top>>,
    may_end: bool,
}

impl Stacks {
    /// Before the first event.
    pub(crate) fn new(grammar: &Grammar) -> Self {
        let grammar = grammar.compiled().clone();
        let tops = BTreeSet::from([Top { at: grammar.start(), below: BOTTOM }]);
        let mut new = Self {
            grammar,
            nodes: vec![Vec::new()],
            enough: 64,
            tops,
            ready: BTreeMap::new(),
            may_end: false,
        };
        new.look_ahead();
        new
    }

    /// Goes on by an event, if that is allowed.
    pub(crate) fn step(&mut self, event: &Event) -> bool {
        let Some(tops) = self.ready.remove(event) else { return false };
        self.tops = tops;
        if self.nodes.len() > self.enough {
            self.sweep();
            self.enough = 64.max(2 * self.nodes.len());
        }
        self.look_ahead();
        true
    }

    pub(crate) fn may_end(&self) -> bool {
        self.may_end
    }

    /// The events that are allowed, each with the columns where it stands.
    pub(crate) fn allowed(&self) -> BTreeMap<&Event, Vec<usize>> {
        self.ready.iter().map(|(event, tops)| (event, self.columns(tops))).collect()
    }

    /// The columns of the events that may have been the last.
    pub(crate) fn behind(&self) -> Vec<usize> {
        self.columns(&self.tops)
    }

    fn columns(&self, tops: &BTreeSet<Top>) -> Vec<usize> {
        let columns: BTreeSet<usize> =
            tops.iter().filter_map(|top| self.grammar.column(top.at)).collect();
        columns.into_iter().collect()
    }

    /// Finds out what can come next: calls rules and comes back from them until only events are left.
    fn look_ahead(&mut self) {
        self.ready.clear();
        self.may_end = false;
        let grammar = self.grammar.clone();
        let mut called: BTreeMap<usize, usize> = BTreeMap::new();
        let mut left: BTreeSet<usize> = BTreeSet::new();
        let mut seen = self.tops.clone();
        let mut waiting: Vec<Top> = self.tops.iter().copied().collect();
        while let Some(Top { at, below }) = waiting.pop() {
            let mut found = Vec::new();
            if grammar.is_complete(at) {
                left.insert(below);
                self.may_end |= below == BOTTOM;
                found.extend_from_slice(&self.nodes[below]);
            }
            for (what, then) in grammar.next(at) {
                match what {
                    Next::Event(event) => {
                        let tops = self.ready.entry(event.clone()).or_default();
                        tops.insert(Top { at: then, below });
                    }
                    Next::Call { routine, last: true } => {
                        found.push(Top { at: At { routine, position: 0 }, below });
                    }
                    Next::Call { routine, last: false } => {
                        let node = *called.entry(routine).or_insert_with(|| {
                            self.nodes.push(Vec::new());
                            self.nodes.len() - 1
                        });
                        let back = Top { at: then, below };
                        if !self.nodes[node].contains(&back) {
                            self.nodes[node].push(back);
                        }
                        if left.contains(&node) {
                            found.push(back);
                        }
                        found.push(Top { at: At { routine, position: 0 }, below: node });
                    }
                }
            }
            waiting.extend(found.into_iter().filter(|&top| seen.insert(top)));
        }
    }

    /// Keeps only the nodes that some stack needs.
    fn sweep(&mut self) {
        let mut kept = BTreeMap::from([(BOTTOM, 0)]);
        let mut order = vec![BOTTOM];
        let mut waiting: Vec<usize> = self.tops.iter().map(|top| top.below).collect();
        while let Some(node) = waiting.pop() {
            kept.entry(node).or_insert_with(|| {
                waiting.extend(self.nodes[node].iter().map(|top| top.below));
                order.push(node);
                order.len() - 1
            });
        }
        let moved = |top: &Top| Top { at: top.at, below: kept[&top.below] };
        self.nodes = order.iter().map(|&old| self.nodes[old].iter().map(moved).collect()).collect();
        self.tops = self.tops.iter().map(moved).collect();
    }
}
