//! A coroutine that takes no input is an iterator of what it suspends with; its result is kept
//! apart.

use crate::support::Log;
use leno_coroutine::{Coroutine, Suspender, scope};

fn counter(end: u32) -> Coroutine<(), u32, &'static str> {
    Coroutine::new(move |co: &Suspender<(), u32>, ()| {
        (0..end).for_each(|n| co.suspend(n));
        "over"
    })
}

#[test]
fn s24_for_loop_over_a_coroutine() {
    let mut seen = Vec::new();
    for n in counter(3) {
        seen.push(n);
    }
    let borrowed = counter(3);
    for n in &borrowed {
        seen.push(n);
    }
    assert_eq!(seen, [0, 1, 2, 0, 1, 2]);
    assert!(borrowed.is_finished());
}

#[test]
fn s24_iteration_can_stop_and_go_on() {
    let counter = counter(6);
    assert_eq!(counter.iter().take(2).collect::<Vec<_>>(), [0, 1]);
    assert!(!counter.is_finished());
    assert_eq!(counter.resume(()).suspended(), Some(2), "calls and iterations mix");
    assert_eq!(counter.iter().collect::<Vec<_>>(), [3, 4, 5]);
    assert_eq!(counter.iter().next(), None, "over for good");
}

#[test]
fn s77_counter_from_0_to_9() {
    let counter = Coroutine::new(|co: &Suspender<(), u32>, ()| {
        let mut n = 0;
        while n < 10 {
            co.suspend(n);
            n += 1;
        }
    });
    assert_eq!(counter.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn e17_final_result_is_kept_apart() {
    let counter_of_two = counter(2);
    let mut iteration = counter_of_two.iter();
    assert_eq!(iteration.by_ref().collect::<Vec<_>>(), [0, 1]);
    assert_eq!(iteration.into_result(), Some("over"));

    let mut owned = counter(1).into_iter();
    assert_eq!(owned.next(), Some(0));
    assert_eq!(owned.next(), None);
    assert_eq!(owned.next(), None, "asking again is no error");
    assert_eq!(owned.into_result(), Some("over"));

    let mut unfinished = counter(2).into_iter();
    assert_eq!(unfinished.next(), Some(0));
    assert_eq!(unfinished.into_result(), None, "it has not got there");
}

#[test]
fn iterators_of_std_take_coroutines() {
    let evens = counter(10).into_iter().filter(|n| n % 2 == 0);
    let letters = Coroutine::new(|co: &Suspender<(), char>, ()| {
        ('a'..='e').for_each(|letter| co.suspend(letter));
    });
    let pairs: Vec<String> = evens.zip(letters).map(|(n, letter)| format!("{n}{letter}")).collect();
    assert_eq!(pairs, ["0a", "2b", "4c", "6d", "8e"]);
}

enum Tree {
    Leaf(u32),
    Fork(Box<Tree>, Box<Tree>),
}

fn fork(left: Tree, right: Tree) -> Tree {
    Tree::Fork(left.into(), right.into())
}

/// Suspends with each leaf, left to right, from inside the recursion.
fn walk(co: &Suspender<(), u32>, tree: &Tree) {
    match tree {
        Tree::Leaf(n) => co.suspend(*n),
        Tree::Fork(left, right) => {
            walk(co, left);
            walk(co, right);
        }
    }
}

/// Two trees have the same fringe if their leaves agree, whatever their shapes.
#[test]
fn same_fringe_of_two_trees_walked_in_step() {
    use Tree::Leaf;
    let leaves = |tree: Tree| Coroutine::new(move |co: &Suspender<(), u32>, ()| walk(co, &tree));
    let left_leaning = || fork(fork(Leaf(1), Leaf(2)), Leaf(3));
    let right_leaning = || fork(Leaf(1), fork(Leaf(2), Leaf(3)));
    let other = || fork(Leaf(1), fork(Leaf(2), Leaf(4)));
    let same = |a: Tree, b: Tree| leaves(a).into_iter().eq(leaves(b));
    assert!(same(left_leaning(), right_leaning()));
    assert!(!same(left_leaning(), other()));
}

#[test]
fn unfinished_iteration_that_is_dropped_unwinds_its_coroutine() {
    let log = Log::new();
    let guard = log.on_drop("unwound");
    let endless = Coroutine::new(move |co: &Suspender<(), u32>, ()| {
        let _guard = guard;
        for n in 0.. {
            co.suspend(n);
        }
    });
    for n in endless {
        if n == 3 {
            break;
        }
        assert_eq!(log.text(), "");
    }
    assert_eq!(log.text(), "unwound");
}

#[test]
fn s24_scoped_coroutine_is_iterated_by_reference_and_by_value() {
    let words = ["one", "two", "three"];
    let lengths = scope(|s| {
        let each = s.coroutine(|co: &Suspender<(), usize>, ()| {
            words.iter().for_each(|word| co.suspend(word.len()));
            words.len()
        });
        let mut seen = Vec::new();
        for length in &each {
            seen.push(length);
            if seen.len() == 2 {
                break;
            }
        }
        let mut rest = each.into_iter();
        seen.extend(&mut rest);
        assert_eq!(rest.into_result(), Some(3));
        seen
    });
    assert_eq!(lengths, [3, 3, 5]);
}

#[test]
#[cfg(not(any(leno_baton, leno_asan)))]
fn s24_shared_coroutines_and_migrants_are_iterated_too() {
    let body = |co: &Suspender<(), u32>, ()| {
        (0..3).for_each(|n| co.suspend(n));
        "over"
    };
    let stacks = leno_coroutine::shared::Stacks::new(1);
    // SAFETY: nothing refers to its frames.
    let shared = unsafe { stacks.coroutine(body) }.unwrap();
    assert_eq!(shared.iter().next(), Some(0));
    assert_eq!((&shared).into_iter().next(), Some(1));
    let mut rest = shared.into_iter();
    assert_eq!(rest.by_ref().collect::<Vec<_>>(), [2]);
    assert_eq!(rest.into_result(), Some("over"));
    // SAFETY: it keeps nothing bound to a thread.
    let migrant = unsafe { leno_coroutine::Builder::new().migratable(body) }.unwrap();
    assert_eq!(migrant.iter().next(), Some(0));
    let seen = std::thread::scope(|s| {
        let thief = || {
            migrant.steal().unwrap();
            migrant.iter().collect::<Vec<_>>()
        };
        s.spawn(thief).join().unwrap()
    });
    assert_eq!(seen, [1, 2]);
    assert_eq!(migrant.into_iter().next(), None);
}
