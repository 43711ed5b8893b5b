//! What Dovland 2006 asks of coroutines before threads enter: they keep their state, transfer
//! control symmetrically and asymmetrically, are values, and have stacks of their own. There
//! symmetric transfer is `resume` (here `ring::yield_to`), the asymmetric pair `call` and `detach`
//! (here `Coroutine::resume` and `Suspender::suspend`).

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use crate::support::Log;
use leno_coroutine::ring::{self, Member};
use leno_coroutine::{Builder, Coroutine, State, Step, Suspender};

#[test]
fn f1_local_counter_over_three_activations() {
    let coroutine = Coroutine::new(|co: &Suspender<u32, u32>, first| {
        let mut total = first;
        total += co.suspend(total);
        let doubled = total * 2;
        total += co.suspend(doubled);
        total
    });
    assert_eq!(coroutine.resume(1), Step::Suspended(1));
    assert_eq!(coroutine.resume(10), Step::Suspended(22));
    assert_eq!(coroutine.resume(100), Step::Finished(111));
}

/// Members by name, so that they can name one another.
#[derive(Default)]
struct Names(RefCell<BTreeMap<&'static str, Member>>);

impl Names {
    fn add(&self, name: &'static str, member: Member) {
        self.0.borrow_mut().insert(name, member);
    }

    /// Transfers control to the member of that name.
    fn resume(&self, name: &str) {
        let member = self.0.borrow()[name].clone();
        ring::yield_to(&member).expect("it is in the ring and not finished");
    }
}

#[test]
fn f2_resume_among_main_m_and_n() {
    let (log, names) = (Log::new(), Names::default());
    ring::scope(|s| {
        let (log, names) = (&log, &names);
        names.add("main", ring::current().expect("in a ring"));
        let body = |own: &'static str, next: &'static str| {
            move || {
                for n in 1..=3 {
                    log.push(format!("{own}{n} "));
                    names.resume(next);
                }
            }
        };
        names.add("m", s.spawn(body("m", "main")));
        names.add("n", s.spawn(body("n", "m")));
        for n in 1..=3 {
            log.push(format!("main{n} "));
            names.resume("n");
        }
    });
    assert_eq!(log.text(), "main1 n1 m1 main2 n2 m2 main3 n3 m3 ", "each where it left off");
}

#[test]
fn f3_m_calls_n_calls_k_and_each_detaches_to_its_caller() {
    let log = Log::new();
    let detaching = |name: &'static str, inner: Option<Rc<Coroutine<(), ()>>>| {
        let log = log.clone();
        let body = move |co: &Suspender<(), ()>, ()| {
            loop {
                log.push(format!("{name}("));
                if let Some(inner) = &inner {
                    inner.resume(());
                }
                log.push(format!("){name}"));
                co.suspend(());
            }
        };
        Rc::new(Builder::new().name(name).coroutine(body).expect("there is memory"))
    };
    let k = detaching("k", None);
    let n = detaching("n", Some(k.clone()));
    let m = detaching("m", Some(n.clone()));
    m.resume(());
    assert_eq!(log.take(), "m(n(k()k)n)m");
    // Called by another one, it detaches to that one.
    n.resume(());
    k.resume(());
    assert_eq!(log.take(), "n(k()k)nk()k");
}

#[test]
fn f3_caller_cannot_be_called_while_it_waits_for_its_callee() {
    let seen = Rc::new(RefCell::new(None));
    let shared = seen.clone();
    let m = Rc::new_cyclic(|m: &std::rc::Weak<Coroutine<(), ()>>| {
        let m = m.clone();
        Coroutine::new(move |_: &Suspender<(), ()>, ()| {
            let n = Coroutine::new(move |_: &Suspender<(), ()>, ()| {
                let m = m.upgrade().expect("it is calling");
                (m.state(), m.try_resume(()).is_err())
            });
            *shared.borrow_mut() = n.resume(()).finished();
        })
    });
    m.resume(());
    assert_eq!(seen.take(), Some((State::Running, true)));
}

/// a, c and e are members, b and d are called; b is called by a and later by c.
#[test]
fn f4_five_coroutines_in_changing_hierarchies() {
    let (log, names) = (Log::new(), Names::default());
    let called = |name: &'static str| {
        let log = log.clone();
        Coroutine::new(move |co: &Suspender<&'static str, ()>, mut caller: &'static str| {
            for n in 1.. {
                log.push(format!("{caller}>{name}{n} "));
                caller = co.suspend(());
            }
        })
    };
    let b = called("b");
    ring::scope(|s| {
        let (log, names, b) = (&log, &names, &b);
        names.add("main", ring::current().expect("in a ring"));
        names.add(
            "a",
            s.spawn(|| {
                log.push("a1 ");
                b.resume("a");
                names.resume("c");
                log.push("a2 ");
                b.resume("a");
                names.resume("e");
            }),
        );
        names.add(
            "c",
            s.spawn(move || {
                log.push("c1 ");
                b.resume("c");
                let d = called("d");
                d.resume("c");
                names.resume("e");
                log.push("c2 ");
                d.resume("c");
                names.resume("main");
            }),
        );
        names.add(
            "e",
            s.spawn(|| {
                log.push("e1 ");
                names.resume("a");
                log.push("e2 ");
                names.resume("c");
            }),
        );
        names.resume("a");
    });
    assert_eq!(log.text(), "a1 a>b1 c1 c>b2 c>d1 e1 a2 a>b3 e2 c2 c>d2 ");
}

#[test]
fn f5_coroutines_are_values() {
    type Counter = Coroutine<(), u32>;
    fn counter(from: u32) -> Counter {
        Coroutine::new(move |co: &Suspender<(), u32>, ()| {
            for n in from.. {
                co.suspend(n);
            }
        })
    }
    fn next(counter: &Counter) -> u32 {
        counter.resume(()).suspended().expect("it is endless")
    }
    let mut queue: VecDeque<Counter> = (0..3).map(|n| counter(n * 10)).collect();
    let mut order = Vec::new();
    for _ in 0..6 {
        let first = queue.pop_front().expect("three of them");
        order.push(next(&first));
        queue.push_back(first);
    }
    assert_eq!(order, [0, 10, 20, 1, 11, 21], "held in a collection, moved in and out");
    let by_name = BTreeMap::from([("left", counter(5)), ("right", counter(7))]);
    assert_eq!((next(&by_name["right"]), next(&by_name["left"])), (7, 5));
    // Made by a coroutine while it runs, handed out as its value, and in again as its input.
    let factory = Coroutine::new(|co: &Suspender<Option<Counter>, Counter>, _| {
        let given = co.suspend(counter(100)).expect("it is handed back");
        next(&given)
    });
    let Step::Suspended(made) = factory.resume(None) else { panic!("it suspends") };
    assert_eq!(next(&made), 100);
    assert_eq!(factory.resume(Some(made)).finished(), Some(101));
}

#[test]
fn f6_suspends_from_a_recursive_tree_walk() {
    struct Node(u32, Option<Box<Node>>, Option<Box<Node>>);
    fn grow(low: u32, high: u32) -> Option<Box<Node>> {
        let middle = low + (high - low) / 2;
        (low < high).then(|| Box::new(Node(middle, grow(low, middle), grow(middle + 1, high))))
    }
    fn walk(co: &Suspender<(), (u32, u32)>, node: Option<&Node>, depth: u32) {
        let Some(Node(key, left, right)) = node else { return };
        walk(co, left.as_deref(), depth + 1);
        co.suspend((*key, depth));
        walk(co, right.as_deref(), depth + 1);
    }
    let tree = grow(0, 63);
    let keys =
        Coroutine::new(move |co: &Suspender<(), (u32, u32)>, ()| walk(co, tree.as_deref(), 0));
    let (keys, depths): (Vec<u32>, Vec<u32>) = keys.into_iter().unzip();
    assert!(keys.iter().copied().eq(0..63), "in order: {keys:?}");
    assert_eq!(depths.iter().max(), Some(&5), "suspended from six calls deep");
}

#[test]
fn f8_created_coroutine_is_idle_or_runs_to_its_first_detach() {
    let log = Log::new();
    let make = || {
        let log = log.clone();
        Coroutine::new(move |co: &Suspender<(), ()>, ()| {
            log.push("set up, ");
            co.suspend(());
            log.push("work");
        })
    };
    let idle = make();
    assert_eq!((idle.state(), log.take().as_str()), (State::New, ""), "nothing has run");
    /// As in Simula: attached to its creator until it first detaches.
    fn run_to_first_detach(made: Coroutine<(), ()>) -> Coroutine<(), ()> {
        made.resume(());
        made
    }
    let simula = run_to_first_detach(make());
    assert_eq!((simula.state(), log.take().as_str()), (State::Suspended, "set up, "));
    simula.resume(());
    assert_eq!((simula.state(), log.take().as_str()), (State::Finished, "work"));
    let member = ring::spawn(|| ());
    assert_eq!(member.state(), State::New, "also one of a ring");
    ring::drain().expect("by the initial member");
}

#[test]
fn f9_generator_of_2_4_6_8_10() {
    let generator = Coroutine::new(|co: &Suspender<(), u32>, ()| {
        let mut n = 0;
        while n < 10 {
            n += 2;
            co.suspend(n);
        }
    });
    assert_eq!(generator.into_iter().collect::<Vec<_>>(), [2, 4, 6, 8, 10]);
}
