//! What is needed after each suspension: liveness, backwards through sequences, to a fixed point in loops.

use crate::resumable::ir::{Facts, Jump, Line, Node, Seq, Set, VarId};

/// Where `break` and `continue` lead, and what is live there.
struct Target {
    label: Option<String>,
    is_loop: bool,
    on_break: Set,
    on_continue: Set,
}

#[derive(Default)]
pub(crate) struct Live {
    targets: Vec<Target>,
}

impl Live {
    pub(crate) fn seq(&mut self, seq: &mut Seq, out: &Set) -> Set {
        seq.out = out.clone();
        let mut live = match &mut seq.tail {
            Some(tail) => self.node(tail, out),
            None => out.clone(),
        };
        for line in seq.lines.iter_mut().rev() {
            live = match line {
                Line::Opaque { code, defs, .. } => self.facts(code, &without(&live, defs)),
                Line::Let(binding) => {
                    binding.live_out = live.clone();
                    self.node(&mut binding.init, &without(&live, &binding.defs))
                }
                Line::Do { node, live_out } => {
                    *live_out = live.clone();
                    self.node(node, &live)
                }
            };
        }
        seq.live_in = live.clone();
        live
    }

    fn facts(&self, facts: &Facts, out: &Set) -> Set {
        let mut live = if facts.diverges { Set::new() } else { out.clone() };
        if let Some(id) = facts.kill {
            live.remove(&id);
        }
        live.extend(&facts.uses);
        for jump in &facts.jumps {
            if let Some(target) = self.target(jump) {
                live.extend(if jump.is_continue { &target.on_continue } else { &target.on_break });
            }
        }
        live
    }

    fn target(&self, jump: &Jump) -> Option<&Target> {
        self.targets.iter().rev().find(|target| match &jump.label {
            Some(label) => target.label.as_ref() == Some(label),
            None => target.is_loop,
        })
    }

    fn node(&mut self, node: &mut Node, out: &Set) -> Set {
        let live = match node {
            Node::Plain { code, .. } => self.facts(code, out),
            Node::Point(point) => {
                point.live = out.clone();
                self.facts(&point.code, out)
            }
            Node::If(node) => {
                let mut live = without(&self.seq(&mut node.then, out), &node.defs);
                match &mut node.els {
                    Some(els) => live.extend(&self.seq(els, out)),
                    None => live.extend(out),
                }
                live.extend(&node.code.uses);
                live
            }
            Node::Match(node) => {
                let mut live = Set::new();
                for arm in &mut node.arms {
                    let mut inside = self.seq(&mut arm.body, out);
                    inside.extend(&arm.guard_code.uses);
                    live.extend(&without(&inside, &arm.defs));
                }
                live.extend(&node.code.uses);
                live
            }
            Node::Loop { label, body, at } => {
                let mut head = Set::new();
                loop {
                    self.targets.push(Target {
                        label: label.as_ref().map(|label| label.ident.to_string()),
                        is_loop: true,
                        on_break: out.clone(),
                        on_continue: head.clone(),
                    });
                    let live = self.seq(body, &head);
                    self.targets.pop();
                    if live.is_subset(&head) {
                        break;
                    }
                    head.extend(&live);
                }
                at.head = head.clone();
                head
            }
            Node::Block { label: Some(label), seq, .. } => {
                self.targets.push(Target {
                    label: Some(label.ident.to_string()),
                    is_loop: false,
                    on_break: out.clone(),
                    on_continue: Set::new(),
                });
                let live = self.seq(seq, out);
                self.targets.pop();
                live
            }
            Node::Block { label: None, seq, .. } => self.seq(seq, out),
        };
        let mut inside = Inside::default();
        inside.node(node);
        if let Some(at) = node.extent_mut() {
            (at.live_in, at.live_out) = (live.clone(), out.clone());
            (at.points, at.mentions) = (inside.points, inside.mentions);
        }
        live
    }
}

fn without(set: &Set, ids: &[VarId]) -> Set {
    set.iter().filter(|id| !ids.contains(id)).copied().collect()
}

/// What is live at each suspension inside some code, and which variables it names.
#[derive(Default)]
pub(crate) struct Inside {
    pub points: Vec<Set>,
    pub mentions: Set,
}

impl Inside {
    pub(crate) fn seq(&mut self, seq: &Seq) {
        seq.lines.iter().for_each(|line| self.line(line));
        seq.tail.iter().for_each(|tail| self.node(tail));
    }

    pub(crate) fn line(&mut self, line: &Line) {
        match line {
            Line::Opaque { code, .. } => self.mentions.extend(&code.mentions),
            Line::Let(binding) => self.node(&binding.init),
            Line::Do { node, .. } => self.node(node),
        }
    }

    pub(crate) fn node(&mut self, node: &Node) {
        match node {
            Node::Plain { code, .. } => self.mentions.extend(&code.mentions),
            Node::Point(point) => {
                self.points.push(point.live.clone());
                self.mentions.extend(&point.code.mentions);
            }
            Node::If(node) => {
                self.mentions.extend(&node.code.mentions);
                self.seq(&node.then);
                node.els.iter().for_each(|els| self.seq(els));
            }
            Node::Match(node) => {
                self.mentions.extend(&node.code.mentions);
                for arm in &node.arms {
                    self.mentions.extend(&arm.guard_code.mentions);
                    self.seq(&arm.body);
                }
            }
            Node::Loop { body: seq, .. } | Node::Block { seq, .. } => self.seq(seq),
        }
    }
}
