//! leno in `tree-walk`.

use std::sync::Arc;

use leno::{Coroutine, Suspender};

use crate::bench::tree::{Tree, walks};
use crate::contender::Contender;

pub fn tree_walk(tree: &Arc<Tree>) -> Vec<Contender> {
    let tree = tree.clone();
    vec![Contender::timed("leno", move |n| {
        walks(n, |visitor| {
            let tree = tree.clone();
            let co: Coroutine<(), u64, ()> =
                Coroutine::new(move |co: &Suspender<(), u64>, ()| walk(&tree, co));
            for value in co.iter() {
                visitor.visit(value);
            }
        })
    })]
}

fn walk(tree: &Tree, co: &Suspender<(), u64>) {
    if let Some(left) = &tree.left {
        walk(left, co);
    }
    co.suspend(tree.value);
    if let Some(right) = &tree.right {
        walk(right, co);
    }
}
