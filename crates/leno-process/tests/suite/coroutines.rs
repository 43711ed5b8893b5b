//! The coroutines that all of this stands on, as Madsen 2021 uses them.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::rc::Rc;

use crate::support::{Seen, say};
use leno_coroutine::{Coroutine, Step, Suspender};

#[test]
fn m2_any_activation_is_executed_suspends_and_is_executed_again() {
    let seen: Seen = Rc::default();
    // A closure over any object: its activation is the coroutine.
    let list = vec!["a", "b", "c"];
    let inner = seen.clone();
    let activation = Coroutine::new(move |co, ()| {
        for word in &list {
            say(&inner, word);
            co.suspend(());
        }
        list.len()
    });
    for n in 0..3 {
        assert_eq!(activation.resume(()), Step::Suspended(()));
        say(&seen, n);
    }
    assert_eq!(activation.resume(()), Step::Finished(3));
    assert_eq!(seen.take().join(" "), "a 0 b 1 c 2");
}

#[test]
fn m4_a_suspended_activation_is_kept_and_resumed_later() {
    fn bar(foo: &Suspender<(), &'static str>) {
        go(foo);
        foo.suspend("bar");
    }
    fn go(foo: &Suspender<(), &'static str>) {
        // It suspends foo, two calls further out.
        foo.suspend("go");
    }
    let mut kept: Vec<Coroutine<(), &'static str, &'static str>> = Vec::new();
    for _ in 0..2 {
        let foo = Coroutine::new(|foo, ()| {
            bar(foo);
            "foo"
        });
        assert_eq!(foo.resume(()), Step::Suspended("go"));
        kept.push(foo);
    }
    kept.reverse();
    for foo in kept {
        assert_eq!(foo.resume(()), Step::Suspended("bar"));
        assert_eq!(foo.resume(()), Step::Finished("foo"));
    }
}

#[test]
fn m5_a_later_suspend_returns_to_whoever_executed_it_last() {
    let seen: Seen = Rc::default();
    let shared = Rc::new(Coroutine::new(|co, ()| {
        for n in 0.. {
            co.suspend(n);
        }
    }));
    let executors: Vec<_> = ["x", "y"]
        .into_iter()
        .map(|name| {
            let (shared, seen) = (shared.clone(), seen.clone());
            Coroutine::new(move |co, ()| {
                while let Step::Suspended(n) = shared.resume(()) {
                    say(&seen, format!("{name}{n}"));
                    co.suspend(());
                }
            })
        })
        .collect();
    for who in [0, 1, 1, 0] {
        let _ = executors[who].resume(());
    }
    assert_eq!(seen.take().join(" "), "x0 y1 y2 x3");
}

/// Symmetric coroutines from semi-coroutines: whoever gives control away names the next, and suspends
/// to a loop that resumes it.
struct Symmetric {
    bodies: Vec<Coroutine<(), usize>>,
}

impl Symmetric {
    fn run(&self, first: usize) {
        let mut next = first;
        while let Step::Suspended(named) = self.bodies[next].resume(()) {
            next = named;
        }
    }
}

#[test]
fn m49_symmetric_coroutines_by_semi_coroutines() {
    let seen: Seen = Rc::default();
    let bodies = (0..3)
        .map(|own| {
            let seen = seen.clone();
            Coroutine::new(move |co: &Suspender<(), usize>, ()| {
                for round in 0..3 {
                    say(&seen, format!("{own}.{round}"));
                    co.suspend((own + 2) % 3);
                }
            })
        })
        .collect();
    Symmetric { bodies }.run(0);
    assert_eq!(seen.take().join(" "), "0.0 2.0 1.0 0.1 2.1 1.1 0.2 2.2 1.2");
}

/// Iteration by an inner part: the list calls it with each element.
struct List(Vec<u32>);

impl List {
    fn scan(&self, mut inner: impl FnMut(u32)) {
        self.0.iter().for_each(|element| inner(*element));
    }
}

#[test]
fn m53_cycle_restart_leave_and_several_iterations_at_once() {
    // Cycle, restart and leave are `loop`, `continue` and `break` with labels.
    let mut trace = Vec::new();
    let mut tries = 0;
    'cycle: loop {
        tries += 1;
        for step in 0..4 {
            if step == 2 && tries < 3 {
                continue 'cycle;
            }
            if step == 3 {
                break 'cycle;
            }
            trace.push((tries, step));
        }
    }
    assert_eq!(trace, [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]);

    // Two iterations over one list, each a coroutine whose inner part suspends.
    let list = Rc::new(List(vec![1, 2, 3, 4]));
    let over = |list: &Rc<List>| {
        let list = list.clone();
        Coroutine::new(move |co, ()| list.scan(|element| co.suspend(element)))
    };
    let (fast, slow) = (over(&list), over(&list));
    let pairs = RefCell::new(Vec::new());
    for low in slow.iter() {
        let high: Vec<u32> = fast.iter().take(2).collect();
        pairs.borrow_mut().push((low, high));
    }
    assert_eq!(pairs.take(), [(1, vec![1, 2]), (2, vec![3, 4]), (3, vec![]), (4, vec![])]);
}
