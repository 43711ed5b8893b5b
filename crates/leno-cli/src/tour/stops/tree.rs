//! A recursive walk as an iterator.

use leno::{Suspender, scope};

use crate::tour::{Stop, expect, say};

pub(super) const STOP: Stop = Stop {
    name: "tree",
    shows: "It suspends from however deep in calls: a recursive walk as an iterator,\n\
            two of them side by side to compare the leaves of two trees.",
    run: tree,
    read: "leno::scope, example 03_tree_walk",
};

enum Tree {
    Leaf(u32),
    Node(Box<Tree>, Box<Tree>),
}

fn walk(tree: &Tree, co: &Suspender<(), u32>) {
    match tree {
        Tree::Leaf(value) => co.suspend(*value),
        Tree::Node(left, right) => {
            walk(left, co);
            walk(right, co);
        }
    }
}

fn node(left: Tree, right: Tree) -> Tree {
    Tree::Node(Box::new(left), Box::new(right))
}

fn tree() -> Result<String, String> {
    use Tree::Leaf;
    let left = node(node(Leaf(1), Leaf(2)), node(Leaf(3), Leaf(4)));
    let right = node(Leaf(1), node(Leaf(2), node(Leaf(3), Leaf(4))));
    let (same, leaves) = scope(|s| {
        let first = s.coroutine(|co, ()| walk(&left, co));
        let second = s.coroutine(|co, ()| walk(&right, co));
        let pairs: Vec<_> = first.iter().zip(second.iter()).collect();
        (pairs.iter().all(|(a, b)| a == b), pairs.len())
    });
    say!("two trees of different shape, the same {leaves} leaves: {same}");
    expect(&(same, leaves), &(true, 4))?;
    Ok("a recursive walk suspended at every leaf".to_owned())
}
