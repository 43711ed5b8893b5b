//! Symmetric coroutines do what Stadler 2011 asks of them: a thread's own context and what it
//! spawns form a ring, and control goes round it, first come first served.

use std::cell::Cell;
use std::rc::Rc;

use crate::support::{Log, times};
use leno_coroutine::{Builder, State, ring};
#[cfg(not(leno_baton))]
use leno_coroutine::{Coroutine, Suspender};

#[test]
fn s1_closure_and_type_with_a_body_behave_alike() {
    /// A member as a type of its own.
    struct Example {
        log: Log,
    }
    impl Example {
        fn run(self) {
            self.log.push("running 1, ");
            ring::yield_now();
            self.log.push("running 2, ");
        }
    }
    fn main_program(log: &Log) -> String {
        log.push("start, ");
        ring::yield_now();
        log.push("middle, ");
        ring::yield_now();
        log.push("end");
        log.text()
    }
    let by_type = Log::new();
    let example = Example { log: by_type.clone() };
    let first = ring::scope(|s| {
        s.spawn(|| example.run());
        main_program(&by_type)
    });
    let by_closure = Log::new();
    let second = ring::scope(|s| {
        s.spawn(|| {
            by_closure.push("running 1, ");
            ring::yield_now();
            by_closure.push("running 2, ");
        });
        main_program(&by_closure)
    });
    assert_eq!(first, "start, running 1, middle, running 2, end");
    assert_eq!(first, second);
}

#[test]
fn s2_closure_function_name_and_stack_size() {
    let runs = Rc::new(Cell::new(0));
    let body = || {
        let runs = runs.clone();
        move || runs.set(runs.get() + 1)
    };
    let plain = ring::spawn(body());
    let built = Builder::new().spawn(body()).unwrap();
    let small = Builder::new().stack_size(1).spawn(body()).unwrap();
    let large = Builder::new().name("large").stack_size(1 << 20).spawn(body()).unwrap();
    assert_eq!(large.name(), Some("large"));
    assert_eq!(plain.name(), None);
    ring::yield_now();
    assert_eq!(runs.get(), 4);
    assert!([plain, built, small, large].iter().all(|member| member.is_finished()));
    ring::scope(|s| {
        s.spawn(body());
        s.spawn_with(Builder::new().name("scoped").stack_size(32 * 1024), body()).unwrap();
        ring::yield_now();
    });
    assert_eq!(runs.get(), 6);
}

#[test]
fn s4_the_context_a_thread_starts_with_is_a_member() {
    std::thread::spawn(|| {
        let initial = ring::current().unwrap();
        assert_eq!(initial.state(), State::Running);
        assert_eq!(ring::members().unwrap(), std::slice::from_ref(&initial));
        let seen = Rc::new(Cell::new(None));
        let (inside, back) = (seen.clone(), initial.clone());
        let member = ring::spawn(move || {
            assert_eq!(back.state(), State::Suspended, "it waits in the ring as others do");
            inside.set(ring::current().ok());
            ring::yield_to(&back).unwrap();
        });
        assert_eq!(ring::members().unwrap(), [initial.clone(), member.clone()]);
        ring::yield_now();
        assert_eq!((seen.take(), ring::current()), (Some(member), Ok(initial.clone())));
        ring::yield_now();
        assert_eq!(ring::members().unwrap(), [initial]);
    })
    .join()
    .unwrap();
}

#[test]
fn s5_new_member_runs_next_without_registration() {
    let log = Log::new();
    ring::scope(|s| {
        let log = &log;
        for name in ["a", "b", "c"] {
            s.spawn(move || log.push(name));
        }
        log.push("main ");
        ring::yield_now();
    });
    assert_eq!(log.text(), "main cba", "each stands right behind the current one");
    let log = Log::new();
    ring::scope(|s| {
        s.spawn(|| {
            log.push("1");
            s.spawn(|| log.push("2"));
            ring::yield_now();
            log.push("4");
        });
        ring::yield_now();
        log.push("3");
        ring::yield_now();
    });
    assert_eq!(log.text(), "1234", "also one that a member has made");
}

#[test]
fn s7_strict_rotation() {
    let (members, rounds) = (times(50, 5), times(20, 3));
    let order = std::cell::RefCell::new(Vec::new());
    ring::scope(|s| {
        for n in (1..=members).rev() {
            let order = &order;
            s.spawn(move || {
                (0..rounds).for_each(|_| {
                    order.borrow_mut().push(n);
                    ring::yield_now();
                });
            });
        }
        (0..rounds).for_each(|_| {
            order.borrow_mut().push(0);
            ring::yield_now();
        });
    });
    let expected: Vec<usize> = (0..rounds).flat_map(|_| 0..=members).collect();
    assert_eq!(order.into_inner(), expected);
}

#[test]
fn s8_yield_returns_at_once_when_alone() {
    std::thread::spawn(|| {
        ring::yield_now();
        ring::spawn(|| ());
        ring::yield_now();
        assert_eq!(ring::members().unwrap().len(), 1);
        (0..3).for_each(|_| ring::yield_now());
    })
    .join()
    .unwrap();
    ring::scope(|_| (0..3).for_each(|_| ring::yield_now()));
}

#[test]
fn s9_yield_to_goes_straight_there_and_later_yields_are_fair() {
    let log = Log::new();
    ring::scope(|s| {
        let log = &log;
        let member = |name: &'static str| {
            s.spawn(move || {
                loop {
                    log.push(name);
                    ring::yield_now();
                }
            })
        };
        let [d, ..] = ["d", "c", "b", "a"].map(member);
        ring::yield_now();
        assert_eq!(log.text(), "abcd");
        log.push(" ");
        ring::yield_to(&d).unwrap();
        assert_eq!(log.text(), "abcd dabc", "d first, the others in the order they waited");
        log.push(" ");
        (0..2).for_each(|_| ring::yield_now());
    });
    assert_eq!(log.text(), "abcd dabc dabcdabc", "nobody is passed over or preferred");
}

#[test]
fn s9_yield_to_oneself_returns_at_once() {
    let log = Log::new();
    ring::scope(|s| {
        s.spawn(|| log.push("other"));
        ring::yield_to(&ring::current().unwrap()).unwrap();
        assert_eq!(log.text(), "");
    });
}

#[test]
fn s11_operations_act_on_the_ring_of_the_calling_thread() {
    let names = |prefix: &str| {
        let log = Log::new();
        for n in 0..3 {
            let (log, text) = (log.clone(), format!("{prefix}{n}"));
            ring::spawn(move || log.push(text));
        }
        assert_eq!(ring::members().unwrap().len(), 4);
        ring::yield_now();
        log.text()
    };
    let both = std::thread::scope(|s| {
        [s.spawn(|| names("x")), s.spawn(|| names("y"))].map(|thread| thread.join().unwrap())
    });
    assert_eq!(both, ["x2x1x0", "y2y1y0"]);
}

#[test]
#[cfg(not(leno_baton))]
fn s22_current_member_is_found_from_inside_a_chain_of_five() {
    fn deep(level: u32) -> ring::Member {
        if level == 0 {
            return ring::current().expect("a member runs, however far out");
        }
        let next = Coroutine::new(move |_: &Suspender<(), ()>, ()| deep(level - 1));
        next.resume(()).finished().expect("it ends")
    }
    let found = std::cell::Cell::new(None);
    ring::scope(|s| {
        let member = s.spawn(|| found.set(Some(deep(5))));
        ring::yield_now();
        assert_eq!(found.take(), Some(member));
        assert_eq!(deep(5), ring::current().unwrap(), "the initial one");
    });
}
