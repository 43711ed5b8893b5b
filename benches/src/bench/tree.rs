//! A recursive walk through a tree that hands out one node at a time: the case stackful coroutines
//! exist for, because the recursion suspends in the middle. Every node is a suspend at another
//! depth, so frames are returned through between suspends.

use std::hint::black_box;
use std::sync::Arc;

use corosensei::{Coroutine, CoroutineResult, Yielder};
use generator::{Gn, Scope};

use super::{Bench, Case, Chart, Load};
use crate::contender::Contender;
use crate::subject;

const NODES: u64 = 1 << 16;

pub const TREE_WALK: Bench = Bench {
    name: "tree-walk",
    unit: "ns",
    about: "one node of an in-order recursive walk through a balanced tree of 65,536",
    parameter: "",
    chart: Chart::Dots,
    cases: |_| {
        let tree = Arc::new(Tree::balanced(0, NODES).expect("it has nodes"));
        let mut contenders = subject::tree_walk(&tree);
        contenders.extend([corosensei(tree.clone()), generator(tree.clone()), callback(tree)]);
        let load = Load::Filling { granule: NODES };
        vec![Case { parameter: None, load, isolated: false, rounds: None, contenders }]
    },
    judge: |outcome| outcome.at_most(None, "leno", "corosensei", 0.5).into_iter().collect(),
};

/// A binary search tree.
pub struct Tree {
    pub value: u64,
    pub left: Option<Box<Tree>>,
    pub right: Option<Box<Tree>>,
}

impl Tree {
    /// The balanced tree of the numbers `from..to`.
    fn balanced(from: u64, to: u64) -> Option<Self> {
        (from < to).then(|| {
            let value = from + (to - from) / 2;
            let half = |from, to| Self::balanced(from, to).map(Box::new);
            Self { value, left: half(from, value), right: half(value + 1, to) }
        })
    }
}

/// Checks that a walk handed out every node, in order; used by every contender, so that all do
/// the same with what they get.
#[derive(Default)]
pub struct Visitor {
    expected: u64,
}

impl Visitor {
    #[inline(always)]
    pub fn visit(&mut self, value: u64) {
        assert_eq!(value, self.expected, "the walk is in order");
        self.expected += 1;
    }

    pub fn end(self) {
        assert_eq!(self.expected, NODES, "the walk is complete");
    }
}

/// Walks as often as `nodes` asks for.
pub fn walks(nodes: u64, mut walk: impl FnMut(&mut Visitor)) {
    for _ in 0..nodes / NODES {
        let mut visitor = Visitor::default();
        walk(&mut visitor);
        visitor.end();
    }
}

fn corosensei(tree: Arc<Tree>) -> Contender {
    fn walk(tree: &Tree, co: &Yielder<(), u64>) {
        if let Some(left) = &tree.left {
            walk(left, co);
        }
        co.suspend(tree.value);
        if let Some(right) = &tree.right {
            walk(right, co);
        }
    }
    Contender::timed("corosensei", move |n| {
        walks(n, |visitor| {
            let tree = tree.clone();
            let mut co = Coroutine::<(), u64, ()>::new(move |co, ()| walk(&tree, co));
            while let CoroutineResult::Yield(value) = co.resume(()) {
                visitor.visit(value);
            }
        })
    })
}

fn generator(tree: Arc<Tree>) -> Contender {
    type Co<'s, 'a> = Scope<'s, 'a, (), Option<u64>>;
    fn walk(tree: &Tree, co: &mut Co) {
        if let Some(left) = &tree.left {
            walk(left, co);
        }
        co.yield_with(Some(tree.value));
        if let Some(right) = &tree.right {
            walk(right, co);
        }
    }
    Contender::timed("generator", move |n| {
        walks(n, |visitor| {
            let tree = tree.clone();
            let co = Gn::<()>::new_scoped(move |mut co| {
                walk(&tree, &mut co);
                None
            });
            co.map_while(|node| node).for_each(|value| visitor.visit(value));
        })
    })
}

/// The same walk without handing control back: what the recursion alone costs.
fn callback(tree: Arc<Tree>) -> Contender {
    fn walk(tree: &Tree, each: &mut dyn FnMut(u64)) {
        if let Some(left) = &tree.left {
            walk(left, each);
        }
        each(tree.value);
        if let Some(right) = &tree.right {
            walk(right, each);
        }
    }
    Contender::timed("callback", move |n| {
        walks(n, |visitor| walk(black_box(&tree), &mut |value| visitor.visit(value)))
    })
}
