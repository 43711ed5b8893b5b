//! The traces that Stadler 2011 and its tests give for symmetric coroutines, letter by letter.

use std::cell::Cell;
use std::hint::black_box;

use crate::support::{Log, message, times};
use leno_coroutine::ring;

#[test]
fn s13_start_1_middle_2_end() {
    let log = Log::new();
    let (first, last) = (log.clone(), log.clone());
    ring::spawn(move || {
        first.push("1 ");
        ring::yield_now();
        last.push("2 ");
    });
    log.push("start ");
    ring::yield_now();
    log.push("middle ");
    ring::yield_now();
    log.push("end");
    assert_eq!(log.text(), "start 1 middle 2 end");
}

#[test]
fn s7_sym_sequence_abcdededefg() {
    let log = Log::new();
    ring::scope(|s| {
        log.push("a");
        let member = s.spawn(|| {
            log.push("c");
            (0..3).for_each(|_| {
                ring::yield_now();
                log.push("e");
            });
        });
        log.push("b");
        assert!(!member.is_finished());
        ring::yield_now();
        (0..3).for_each(|_| {
            log.push("d");
            ring::yield_now();
        });
        log.push("f");
        assert!(member.is_finished());
        ring::yield_now();
        log.push("g");
    });
    assert_eq!(log.text(), "abcdededefg");
}

#[test]
fn s7_sym_multi_sequence() {
    let log = Log::new();
    ring::scope(|s| {
        log.push("a");
        let members: Vec<_> = (0..10)
            .map(|_| {
                s.spawn(|| {
                    log.push("c");
                    ring::yield_now();
                    log.push("e");
                })
            })
            .collect();
        log.push("b");
        ring::yield_now();
        log.push("d");
        assert!(members.iter().all(|member| !member.is_finished()));
        ring::yield_now();
        log.push("f");
        assert!(members.iter().all(|member| member.is_finished()));
        ring::yield_now();
        log.push("g");
    });
    assert_eq!(log.text(), "abccccccccccdeeeeeeeeeefg");
}

#[test]
fn s14_exception_test_abcdf() {
    let log = Log::new();
    let failed = ring::scope(|s| {
        log.push("a");
        let member = s.spawn(|| {
            log.push("c");
            let zero = black_box(0);
            log.push((1 / zero).to_string());
            log.push("e");
        });
        log.push("b");
        assert!(!member.is_finished());
        ring::yield_now();
        log.push("d");
        assert!(member.is_finished());
        ring::yield_now();
        log.push("f");
        ring::failures().unwrap()
    });
    assert_eq!(log.text(), "abcdf");
    assert_eq!(message(&*failed[0].payload), "attempt to divide by zero");
}

#[test]
fn f1_large_stack_frame_200190() {
    let log = Log::new();
    ring::scope(|s| {
        log.push("a");
        s.spawn(|| {
            let locals: [u32; 20] = std::array::from_fn(|n| black_box(10_000 + n as u32));
            log.push("c");
            ring::yield_now();
            log.push(format!("e{}", black_box(&locals).iter().sum::<u32>()));
        });
        log.push("b");
        ring::yield_now();
        log.push("d");
        ring::yield_now();
        log.push("f");
    });
    assert_eq!(log.text(), "abcde200190f");
}

#[test]
fn f1_gc_test_locals_survive_while_memory_is_churned() {
    let log = Log::new();
    ring::scope(|s| {
        log.push("a");
        s.spawn(|| {
            let (one, other) = (black_box(1), black_box(Box::new(14_555_668)));
            log.push("c");
            ring::yield_now();
            log.push(format!("e({one},{other})"));
        });
        log.push("b");
        ring::yield_now();
        log.push("d");
        // Memory and stacks are taken, written over and given back.
        for n in 0..times(200, 3) {
            ring::scope(|inner| {
                inner.spawn(|| drop(black_box(vec![n; 1000])));
                ring::yield_now();
            });
        }
        ring::yield_now();
        log.push("f");
        ring::yield_now();
        log.push("g");
    });
    assert_eq!(log.text(), "abcde(1,14555668)fg");
}

#[test]
fn s75_wait_until_a_predicate_holds() {
    let (level, opened) = (Cell::new(0), Cell::new(None));
    ring::scope(|s| {
        s.spawn(|| {
            ring::wait_until(|| level.get() >= 3);
            opened.set(Some(level.get()));
        });
        while opened.get().is_none() {
            level.set(level.get() + 1);
            ring::yield_now();
        }
        s.spawn(|| (0..5).for_each(|_| ring::yield_now()));
        let mut asked = 0;
        ring::wait_until(|| {
            asked += 1;
            asked == 4
        });
        assert_eq!(asked, 4, "once a turn, and not again");
    });
    assert_eq!((level.get(), opened.get()), (3, Some(3)));
}
