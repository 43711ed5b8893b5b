//! Trees that users hold, of any depth: all that `std` does with them works on a small stack, and as a derive would do it.
#![forbid(unsafe_code)]

use std::cmp::Ordering;
use std::collections::HashSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::mem::take;
use std::process::Command;
use std::thread;

use leno_control::{Event, Expr};

/// The smallest that a thread can have.
const STACK: usize = 16 << 10;

const LEVELS: usize = 30_000;

fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    thread::Builder::new().stack_size(STACK).spawn(run).unwrap().join().unwrap();
}

/// Runs a test of this file in a process of its own, which an overflow would end.
#[track_caller]
fn survives(name: &str) {
    let program = std::env::current_exe().unwrap();
    let arguments = [name, "--exact", "--ignored", "--nocapture", "--test-threads=1"];
    let output = Command::new(program).args(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {told}", output.status);
}

fn deep(levels: usize, leaf: Expr) -> Expr {
    (0..levels).fold(leaf, |inner, level| match level % 5 {
        0 => Expr::Maybe(Box::new(inner)),
        1 => Expr::Plus(Box::new(inner)),
        2 => Expr::Star(Box::new(inner)),
        3 => Expr::Seq(vec![Expr::Rule("first".to_owned()), inner, Expr::Nothing]),
        _ => Expr::Either(vec![inner]),
    })
}

fn spawn() -> Expr {
    Expr::Event(Event::Spawn)
}

#[test]
#[ignore = "it is the process of another"]
fn drops() {
    on_a_small_stack(|| {
        drop(deep(LEVELS, spawn()));
        drop(vec![deep(LEVELS, spawn()), deep(LEVELS, Expr::Nothing)]);
        drop(deep(LEVELS, spawn()).normal());
    });
}

#[test]
fn a_deep_tree_is_dropped_on_a_small_stack() {
    survives("drops");
}

#[test]
#[ignore = "it is the process of another"]
fn compares() {
    on_a_small_stack(|| {
        let (one, other) = (deep(LEVELS, Expr::Nothing), deep(LEVELS, spawn()));
        assert_eq!(one.cmp(&other), Ordering::Less);
        assert_eq!(other.partial_cmp(&one), Some(Ordering::Greater));
        assert_eq!(one.cmp(&one.clone()), Ordering::Equal);
        let all = HashSet::from([one.clone(), other, one]);
        assert_eq!(all.len(), 2);
    });
}

#[test]
fn deep_trees_are_compared_and_hashed_on_a_small_stack() {
    survives("compares");
}

#[test]
#[ignore = "it is the process of another"]
fn prints() {
    on_a_small_stack(|| {
        let text = format!("{:?}", deep(LEVELS, spawn()));
        assert!(text.contains("Event(S)"));
        let text = format!("{:#?}", deep(LEVELS / 20, spawn()));
        assert!(text.contains("Event("));
    });
}

#[test]
fn a_deep_tree_is_printed_on_a_small_stack() {
    survives("prints");
}

/// A tree whose traits are derived.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Mirror {
    Nothing,
    Event(Event),
    Rule(String),
    Seq(Vec<Mirror>),
    Either(Vec<Mirror>),
    Plus(Box<Mirror>),
    Star(Box<Mirror>),
    Maybe(Box<Mirror>),
}

fn mirrored(expr: &Expr) -> Mirror {
    let all = |items: &[Expr]| items.iter().map(mirrored).collect();
    match expr {
        Expr::Nothing => Mirror::Nothing,
        Expr::Event(event) => Mirror::Event(event.clone()),
        Expr::Rule(name) => Mirror::Rule(name.clone()),
        Expr::Seq(items) => Mirror::Seq(all(items)),
        Expr::Either(items) => Mirror::Either(all(items)),
        Expr::Plus(inner) => Mirror::Plus(Box::new(mirrored(inner))),
        Expr::Star(inner) => Mirror::Star(Box::new(mirrored(inner))),
        Expr::Maybe(inner) => Mirror::Maybe(Box::new(mirrored(inner))),
    }
}

/// Trees of up to two levels over a few leaves.
fn trees() -> Vec<Expr> {
    let leaves = [
        Expr::Nothing,
        Expr::Event(Event::read("1")),
        spawn(),
        Expr::Rule("a\n\"b\"".to_owned()),
        Expr::Seq(Vec::new()),
    ];
    let around = |below: &[Expr]| {
        let mut all = below.to_vec();
        for one in below {
            let boxed = || Box::new(one.clone());
            all.extend([Expr::Plus(boxed()), Expr::Star(boxed()), Expr::Maybe(boxed())]);
            all.push(Expr::Either(vec![one.clone()]));
            all.extend(below.iter().map(|other| Expr::Seq(vec![one.clone(), other.clone()])));
        }
        all
    };
    let small = around(&leaves);
    let mut all = around(&small[..12]);
    all.extend(small);
    all
}

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn trees_are_compared_hashed_and_printed_as_a_derive_would() {
    let trees = trees();
    for one in &trees {
        let mirror = mirrored(one);
        assert_eq!(format!("{one:?}"), format!("{mirror:?}"));
        assert_eq!(format!("{:#?}", Some(one)), format!("{:#?}", Some(&mirror)));
        assert_eq!(&one.clone(), one);
        for other in &trees {
            let order = mirror.cmp(&mirrored(other));
            assert_eq!(one.cmp(other), order, "{one:?} {other:?}");
            assert_eq!(one == other, order == Ordering::Equal);
            assert_eq!(hash(one) == hash(other), order == Ordering::Equal);
        }
    }
}

#[test]
fn members_are_taken_out_of_a_tree() {
    let mut tree = Expr::Seq(vec![spawn(), Expr::Nothing]);
    let Expr::Seq(members) = &mut tree else { panic!("it is a sequence") };
    assert_eq!(take(members), [spawn(), Expr::Nothing]);
    assert_eq!(tree, Expr::Seq(Vec::new()));
}
