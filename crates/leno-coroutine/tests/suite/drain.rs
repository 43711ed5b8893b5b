//! Draining ends every member but the initial one, in the order they would have run, by raising
//! exit in it; cleanup runs, and a member that handles its exit is told again.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use crate::support::{Log, OnDrop, message, plays, rerun};
use leno_coroutine::{Builder, State, ring};

/// Yields once; if that is where exit arrives, writes `text` and carries on as if nothing was.
fn yield_handling_exit(log: &Log, text: &str) {
    if catch_unwind(ring::yield_now).is_err() {
        log.push(text);
    }
}

#[test]
fn s44_scope_drains_in_the_order_they_would_have_run() {
    let log = Log::new();
    ring::scope(|s| {
        let log = &log;
        for name in ["c", "b", "a"] {
            s.spawn(move || {
                let _guard = OnDrop(move || log.push(name));
                loop {
                    ring::yield_now();
                }
            });
        }
        ring::yield_now();
        let new = OnDrop(move || log.push("new "));
        s.spawn(move || drop(new));
        log.push("end: ");
    });
    assert_eq!(log.text(), "end: new abc");
}

#[test]
fn s44_scope_drains_at_the_end_of_a_spawned_thread() {
    let text = std::thread::spawn(|| {
        let log = Log::new();
        ring::scope(|s| {
            s.spawn(|| {
                let _outer = log.on_drop("outer.");
                let _inner = log.on_drop("inner ");
                ring::yield_now();
                log.push("never ");
            });
            ring::yield_now();
            assert_eq!(log.text(), "");
        });
        assert_eq!(ring::members().unwrap().len(), 1, "only the initial one is left");
        log.text()
    });
    assert_eq!(text.join().unwrap(), "inner outer.");
}

#[test]
fn s44_drain_counts_what_it_ended() {
    let drops = Rc::new(Cell::new(0));
    for n in 0..6 {
        let counted = drops.clone();
        let guard = OnDrop(move || counted.set(counted.get() + 1));
        ring::spawn(move || {
            let _guard = guard;
            // Two of them end by themselves.
            (0..n).for_each(|_| ring::yield_now());
        });
    }
    ring::yield_now();
    ring::yield_now();
    assert_eq!(drops.get(), 2);
    let drained = ring::drain().unwrap();
    assert_eq!((drained.ended, drained.leaked), (4, 0));
    assert_eq!(drops.get(), 6);
    assert_eq!(ring::members().unwrap(), [ring::current().unwrap()]);
    ring::spawn(|| ());
    ring::yield_now();
    assert_eq!(ring::drain().unwrap().ended, 0, "the ring is as good as new");
}

/// The scope is lent to destructors until the drain is over, also when code that ran meanwhile
/// has written over whatever was on the stack before.
#[test]
#[cfg_attr(miri, ignore = "spawns a process")]
fn s44_members_spawned_while_the_ring_is_drained_end_too() {
    const TEST: &str =
        concat!(module_path!(), "::s44_members_spawned_while_the_ring_is_drained_end_too");
    if !plays(TEST) {
        rerun(TEST).passed();
        return;
    }
    #[inline(never)]
    fn write_over_the_stack() {
        std::hint::black_box([0xaa_u8; 32 * 1024]);
    }
    let log = Log::new();
    let large_result = ring::scope(|s| {
        let log = &log;
        s.spawn(move || {
            let _guard = OnDrop(move || {
                let late = OnDrop(move || log.push("late"));
                s.spawn(move || drop(late));
                log.push("early ");
            });
            ring::yield_now();
        });
        ring::yield_now();
        let first = OnDrop(write_over_the_stack);
        s.spawn(move || drop(first));
        [7_u8; 8 * 1024]
    });
    assert_eq!(log.text(), "early late");
    assert!(large_result.iter().all(|byte| *byte == 7));
}

#[test]
fn s45_unhandled_exit_ends_the_target() {
    let log = Log::new();
    let member = ring::scope(|s| {
        let member = s.spawn(|| {
            let _guard = log.on_drop("cleanup");
            ring::yield_now();
            log.push("not reached");
        });
        ring::yield_now();
        assert_eq!(member.state(), State::Suspended);
        member
    });
    assert_eq!((log.text().as_str(), member.state()), ("cleanup", State::Finished));
}

#[test]
fn s45_handled_exit_lets_the_drain_go_on() {
    let log = Log::new();
    ring::scope(|s| {
        s.spawn(|| {
            let _guard = log.on_drop("b ends");
            ring::yield_now();
        });
        s.spawn(|| {
            let _guard = log.on_drop("a ends, ");
            yield_handling_exit(&log, "a catches, ");
            ring::yield_now();
            log.push("not reached");
        });
        ring::yield_now();
    });
    assert_eq!(log.text(), "a catches, a ends, b ends", "one at a time");
}

#[test]
fn s45_body_that_returns_after_handling_its_exit_has_ended() {
    let log = Log::new();
    ring::scope(|s| {
        s.spawn(|| {
            yield_handling_exit(&log, "caught, ");
            log.push("returned");
        });
        ring::yield_now();
    });
    assert_eq!(log.text(), "caught, returned");
}

#[test]
fn s45_exit_caught_seven_times_is_fine() {
    let log = Log::new();
    ring::scope(|s| {
        s.spawn(|| {
            let _guard = log.on_drop("!");
            (1..=7).for_each(|n| yield_handling_exit(&log, &n.to_string()));
            ring::yield_now();
        });
        ring::yield_now();
    });
    assert_eq!(log.text(), "1234567!");
}

#[test]
fn s45_exit_is_no_failure_but_a_panic_instead_of_it_is() {
    for name in ["exits", "panics"] {
        let body = move || {
            let exit = catch_unwind(ring::yield_now).expect_err("it is drained here");
            if name == "panics" {
                panic!("instead");
            }
            resume_unwind(exit);
        };
        Builder::new().name(name).spawn(body).unwrap();
    }
    ring::yield_now();
    assert_eq!(ring::drain().unwrap().ended, 2);
    let failures = ring::failures().unwrap();
    let shown: Vec<_> = failures.iter().map(|f| (f.member.name(), message(&*f.payload))).collect();
    assert_eq!(shown, [(Some("panics"), "instead")]);
}

#[test]
fn s46_finishing_member_leaves_for_good_to_the_next_one() {
    let log = Log::new();
    let states = RefCell::new(Vec::new());
    ring::scope(|s| {
        s.spawn(|| log.push("c"));
        s.spawn(|| {
            states.borrow_mut().push(ring::members().unwrap().len());
            log.push("b");
        });
        let first = s.spawn(|| {
            let _last = log.on_drop("a");
            states.borrow_mut().push(ring::members().unwrap().len());
        });
        ring::yield_now();
        assert_eq!(log.text(), "abc", "each goes to the one that has waited longest");
        assert!(first.is_finished());
        assert_eq!(ring::members().unwrap().len(), 1);
    });
    assert_eq!(states.into_inner(), [4, 3], "what has ended is out of the ring");
}

#[test]
fn panic_of_the_scope_drains_first_and_then_goes_on() {
    let log = Log::new();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        ring::scope(|s| {
            s.spawn(|| {
                let _guard = log.on_drop("unwound");
                ring::yield_now();
            });
            ring::yield_now();
            panic!("of the closure");
        })
    }));
    assert_eq!(message(&*panic.expect_err("it goes on")), "of the closure");
    assert_eq!(log.text(), "unwound");
}

/// What one member captured panics when it is dropped; the others must end all the same, since
/// they may borrow what the scope's caller is about to leave.
#[test]
fn panic_of_a_captured_value_does_not_stop_the_drain() {
    let log = Log::new();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        ring::scope(|s| {
            s.spawn(|| {
                let _guard = log.on_drop("unwound");
                ring::yield_now();
            });
            ring::yield_now();
            let explosive = OnDrop(|| panic!("of a captured value"));
            s.spawn(move || drop(explosive));
        })
    }));
    assert_eq!(log.text(), "unwound");
    assert_eq!(message(&*panic.expect_err("it goes on")), "of a captured value");
    assert_eq!(ring::try_yield_now(), Ok(()), "the ring around it is in use again");
}
