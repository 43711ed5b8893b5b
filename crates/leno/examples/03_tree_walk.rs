//! A recursive walk over a tree as a generator: each call of `walk` has a frame of its own, and
//! the innermost one suspends them all. An iterator written by hand would need a stack.

use leno::{Coroutine, Suspender};

/// A search tree: smaller keys left, larger ones right.
struct Node {
    key: &'static str,
    left: Option<Box<Node>>,
    right: Option<Box<Node>>,
}

fn insert(place: &mut Option<Box<Node>>, key: &'static str) {
    match place {
        None => *place = Some(Box::new(Node { key, left: None, right: None })),
        Some(node) if key < node.key => insert(&mut node.left, key),
        Some(node) => insert(&mut node.right, key),
    }
}

/// Suspends with every key below `place`, in order.
fn walk(co: &Suspender<(), &'static str>, place: Option<&Node>) {
    if let Some(node) = place {
        walk(co, node.left.as_deref());
        co.suspend(node.key);
        walk(co, node.right.as_deref());
    }
}

fn main() {
    let mut root = None;
    for key in ["shuttle", "heddle", "warp", "bobbin", "loom", "selvage", "weft"] {
        insert(&mut root, key);
    }
    let keys = Coroutine::new(move |co, ()| walk(co, root.as_deref()));
    println!("the first three: {:?}", keys.iter().take(3).collect::<Vec<_>>());
    println!("the rest: {:?}", keys.iter().collect::<Vec<_>>());
}
