//! What a body is turned into before code is made of it: sequences of lines, in which every
//! suspension stands alone.
//!
//! Invariant, once [`crate::resumable::normal`] is done: a suspension is a whole line, the whole value of a `let`, or
//! the tail of a sequence. Control flow that suspends, or that assigns variables, is a [`Node`]; all
//! other code is opaque and only its [`Facts`] are known. [`crate::resumable::resolve`] fills in variables and
//! numbers, [`crate::resumable::live`] what is needed after each suspension.

use std::collections::BTreeSet;

use proc_macro2::Span;
use syn::{Attribute, Expr, Lifetime, Pat, Stmt, Type};

/// One variable of the source; two that share a name have different numbers.
pub(crate) type VarId = u16;
pub(crate) type Set = BTreeSet<VarId>;

/// A `break` or `continue` that leaves opaque code.
#[derive(Clone, Debug)]
pub(crate) struct Jump {
    pub label: Option<String>,
    pub is_continue: bool,
}

/// What is known of code that contains no suspension.
#[derive(Clone, Default, Debug)]
pub(crate) struct Facts {
    pub uses: Set,
    /// The variable whose old value ends here, because it is assigned.
    pub kill: Option<VarId>,
    pub jumps: Vec<Jump>,
    pub diverges: bool,
    /// All variables named, whether used or assigned.
    pub mentions: Set,
}

/// A block.
#[derive(Debug)]
pub(crate) struct Seq {
    pub lines: Vec<Line>,
    pub tail: Option<Box<Node>>,
    pub items: Vec<Stmt>,
    /// Needed after the normal end of the block.
    pub out: Set,
    pub live_in: Set,
}

#[derive(Debug)]
pub(crate) enum Line {
    Opaque { stmt: Box<Stmt>, code: Facts, defs: Vec<VarId> },
    Let(Box<Binding>),
    Do { node: Node, live_out: Set },
}

/// `let` of a value that suspends.
#[derive(Debug)]
pub(crate) struct Binding {
    pub attrs: Vec<Attribute>,
    pub pat: Pat,
    pub ty: Option<Type>,
    pub init: Node,
    pub defs: Vec<VarId>,
    pub live_out: Set,
}

#[derive(Debug)]
pub(crate) enum Node {
    Plain { expr: Expr, code: Facts },
    Point(Box<Point>),
    If(Box<If>),
    Match(Box<Match>),
    Loop { label: Option<Lifetime>, body: Seq, at: Extent },
    Block { label: Option<Lifetime>, seq: Seq, at: Extent },
}

#[derive(Debug)]
pub(crate) struct If {
    pub cond: Expr,
    pub code: Facts,
    /// Bound by the `let`s of the condition.
    pub defs: Vec<VarId>,
    pub then: Seq,
    pub els: Option<Seq>,
    pub at: Extent,
}

#[derive(Debug)]
pub(crate) struct Match {
    pub scrutinee: Expr,
    pub code: Facts,
    pub arms: Vec<Branch>,
    pub at: Extent,
}

#[derive(Debug)]
pub(crate) struct Branch {
    pub attrs: Vec<Attribute>,
    pub pat: Pat,
    pub defs: Vec<VarId>,
    pub guard: Option<Expr>,
    pub guard_code: Facts,
    pub body: Seq,
}

/// A suspension.
#[derive(Debug)]
pub(crate) struct Point {
    /// From 1 on, in the order of the source.
    pub id: u32,
    pub operand: Expr,
    pub code: Facts,
    pub label: String,
    pub span: Span,
    /// Needed after the suspension: what its frame holds.
    pub live: Set,
    /// The variables visible at the suspension, by name.
    pub env: Vec<(String, VarId)>,
}

impl Point {
    /// A suspension of which nothing else is known yet.
    pub(crate) fn new(operand: Expr, label: String, span: Span) -> Self {
        let (code, live, env) = (Facts::default(), Set::new(), Vec::new());
        Point { id: 0, operand, code, label, span, live, env }
    }
}

/// Which suspensions are inside a node, and what is live around it.
#[derive(Default, Debug, Clone)]
pub(crate) struct Extent {
    pub lo: u32,
    pub hi: u32,
    pub live_in: Set,
    pub live_out: Set,
    /// Of a loop: live where it starts anew.
    pub head: Set,
    /// For each suspension inside, what is live there.
    pub points: Vec<Set>,
    pub mentions: Set,
}

impl Extent {
    pub(crate) fn is_empty(&self) -> bool {
        self.lo > self.hi
    }
}

impl Node {
    pub(crate) fn plain(expr: Expr) -> Node {
        Node::Plain { expr, code: Facts::default() }
    }

    /// Of control flow, where its suspensions are.
    pub(crate) fn extent(&self) -> Option<&Extent> {
        match self {
            Node::Plain { .. } | Node::Point(_) => None,
            Node::If(node) => Some(&node.at),
            Node::Match(node) => Some(&node.at),
            Node::Loop { at, .. } | Node::Block { at, .. } => Some(at),
        }
    }

    pub(crate) fn extent_mut(&mut self) -> Option<&mut Extent> {
        match self {
            Node::Plain { .. } | Node::Point(_) => None,
            Node::If(node) => Some(&mut node.at),
            Node::Match(node) => Some(&mut node.at),
            Node::Loop { at, .. } | Node::Block { at, .. } => Some(at),
        }
    }

    /// The first and the last suspension inside.
    fn range(&self) -> Option<(u32, u32)> {
        match self {
            Node::Point(point) => Some((point.id, point.id)),
            node => node.extent().filter(|at| !at.is_empty()).map(|at| (at.lo, at.hi)),
        }
    }
}

impl Line {
    pub(crate) fn opaque(stmt: Stmt) -> Line {
        Line::Opaque { stmt: Box::new(stmt), code: Facts::default(), defs: Vec::new() }
    }

    pub(crate) fn doing(node: Node) -> Line {
        Line::Do { node, live_out: Set::new() }
    }

    pub(crate) fn node(&self) -> Option<&Node> {
        match self {
            Line::Opaque { .. } => None,
            Line::Let(binding) => Some(&binding.init),
            Line::Do { node, .. } => Some(node),
        }
    }
}

impl Seq {
    pub(crate) fn new(lines: Vec<Line>, tail: Option<Node>) -> Seq {
        let tail = tail.map(Box::new);
        Seq { lines, tail, items: Vec::new(), out: Set::new(), live_in: Set::new() }
    }

    fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.lines.iter().filter_map(Line::node).chain(self.tail.as_deref())
    }

    /// The first and the last suspension inside.
    pub(crate) fn range(&self) -> Option<(u32, u32)> {
        self.nodes().filter_map(Node::range).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }
}
