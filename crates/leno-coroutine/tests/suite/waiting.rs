//! Waiting in a ring: for all members, for one, for a condition; and what is refused because it
//! would never end.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::{Log, message};
use leno_coroutine::ring::{self, RingError};
use leno_coroutine::{Builder, Coroutine, Suspender};

/// Yields so many times and writes its name each time.
fn turns(log: &Log, name: &'static str, times: usize) {
    for _ in 0..times {
        log.push(name);
        ring::yield_now();
    }
}

#[test]
fn run_lets_all_others_finish() {
    let log = Log::new();
    ring::scope(|s| {
        s.spawn(|| turns(&log, "b", 3));
        s.spawn(|| {
            turns(&log, "a", 1);
            s.spawn(|| turns(&log, "c", 2));
        });
        ring::run();
        assert_eq!(ring::members().unwrap().len(), 1);
        log.push(".");
        ring::run();
    });
    assert_eq!(log.text(), "abcbcb.");
}

#[test]
fn run_works_in_the_ring_of_a_thread_and_without_one() {
    ring::run();
    let member = ring::spawn(ring::yield_now);
    ring::run();
    assert!(member.is_finished());
}

#[test]
fn run_is_for_the_initial_member() {
    let panic = catch_unwind(|| {
        ring::scope(|s| {
            s.spawn_with(Builder::new().name("inner"), ring::run).unwrap();
            ring::run();
        });
    });
    let text = "only the initial member can run or drain its ring, not 'inner'";
    assert_eq!(message(&*panic.expect_err("it is refused")), text);
}

#[test]
fn join_waits_for_one_and_leaves_the_others() {
    let log = Log::new();
    ring::scope(|s| {
        s.spawn(|| turns(&log, "b", 9));
        let short = s.spawn(|| turns(&log, "a", 3));
        assert_eq!(short.join(), Ok(()));
        assert!(short.is_finished());
        assert_eq!(short.join(), Ok(()), "it has finished");
    });
    assert_eq!(log.text(), "abababb");
}

#[test]
fn members_wait_for_one_another() {
    let log = Log::new();
    ring::scope(|s| {
        let log = &log;
        let first = s.spawn(|| turns(log, "a", 2));
        s.spawn(move || {
            first.join().unwrap();
            log.push("b");
        });
        ring::run();
    });
    assert_eq!(log.text(), "aab");
}

#[test]
fn join_leaves_a_failure_where_it_is() {
    ring::scope(|s| {
        let fails = s.spawn(|| panic!("on purpose"));
        assert_eq!(fails.join(), Ok(()));
        let failures = ring::failures().unwrap();
        assert_eq!((&failures[0].member, failures[0].message()), (&fails, Some("on purpose")));
    });
}

#[test]
fn join_refuses_what_would_never_end() {
    let outer = Builder::new().name("outer").spawn(|| ()).unwrap();
    let initial = ring::current().unwrap();
    ring::scope(|s| {
        assert_eq!(outer.join(), Err(RingError::OtherRing { member: "'outer'".to_owned() }));
        let own = ring::current().unwrap();
        assert_eq!(own.join(), Err(RingError::Itself { member: own.to_string() }));
        s.spawn(move || {
            assert_eq!(own.join(), Err(RingError::Initial { member: own.to_string() }))
        });
        ring::run();
    });
    let foreign = outer.clone();
    let error = std::thread::spawn(move || foreign.join()).join().unwrap();
    assert_eq!(error, Err(RingError::OtherThread { member: "'outer'".to_owned() }));
    let inside = Coroutine::new({
        let outer = outer.clone();
        move |_: &Suspender<(), ()>, ()| outer.join()
    });
    let error = inside.resume(()).finished().unwrap();
    assert!(matches!(error, Err(RingError::InsideAsymmetric { .. })), "{error:?}");
    assert_eq!(initial.join(), Err(RingError::Itself { member: initial.to_string() }));
    assert_eq!(outer.join(), Ok(()), "nothing has changed");
}

#[test]
#[cfg_attr(miri, ignore = "leaves a coroutine and its memory behind, as it should")]
fn join_of_a_member_that_refused_to_end_is_refused() {
    let stubborn = ring::spawn(|| {
        loop {
            let _ = catch_unwind(ring::yield_now);
        }
    });
    ring::yield_now();
    assert_eq!(ring::drain().unwrap().leaked, 1);
    assert_eq!(stubborn.join(), Err(RingError::GivenUp { member: stubborn.to_string() }));
    ring::run();
}

#[test]
#[cfg(not(any(leno_baton, leno_asan)))]
fn join_of_a_stolen_member_is_refused() {
    // SAFETY: it keeps nothing across its suspensions.
    let migrant = unsafe { Builder::new().name("nomad").spawn_migratable(ring::yield_now) };
    let migrant = migrant.unwrap();
    let member = migrant.member();
    ring::yield_now();
    std::thread::scope(|s| {
        s.spawn(|| ring::scope(|_| assert_eq!(migrant.steal(), Ok(true))));
    });
    assert!(member.is_finished(), "the thief's ring has ended it");
    // SAFETY: as above.
    let migrant = unsafe { Builder::new().name("nomad").spawn_migratable(ring::yield_now) };
    let migrant = migrant.unwrap();
    let member = migrant.member();
    ring::yield_now();
    std::thread::scope(|s| {
        s.spawn(|| {
            ring::scope(|_| {
                assert_eq!(migrant.steal(), Ok(true));
                let victim = std::thread::scope(|s| s.spawn(|| member.join()).join().unwrap());
                assert_eq!(victim, Err(RingError::OtherThread { member: "'nomad'".to_owned() }));
                assert_eq!(migrant.member().join(), Ok(()));
            })
        });
    });
}

#[test]
fn s75_wait_until_panics_when_nobody_is_left_to_wait_for() {
    let counter = Cell::new(0);
    let panic = catch_unwind(AssertUnwindSafe(|| {
        ring::scope(|s| {
            s.spawn(|| {
                (0..3).for_each(|_| {
                    counter.set(counter.get() + 1);
                    ring::yield_now()
                })
            });
            ring::wait_until(|| counter.get() == 4);
        });
    }));
    let text = "no other member is left in the ring that could change what is waited for";
    assert_eq!(message(&*panic.expect_err("it would wait for ever")), text);
    assert_eq!(counter.get(), 3);
    let panic = std::thread::spawn(|| ring::wait_until(|| false)).join();
    assert_eq!(message(&*panic.expect_err("there is not even a ring")), text);
}

#[test]
fn s75_wait_until_tests_first() {
    ring::wait_until(|| true);
    let tested = Cell::new(0);
    ring::scope(|s| {
        s.spawn(ring::yield_now);
        let condition = || tested.replace(tested.get() + 1) == 1;
        ring::wait_until(condition);
    });
    assert_eq!(tested.get(), 2);
}
