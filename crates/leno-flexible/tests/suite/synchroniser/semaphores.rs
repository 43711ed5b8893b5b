use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use leno_explore::thread;
use leno_flexible::System;
use leno_flexible::synchroniser::{BinarySemaphore, Semaphore};

use super::{explore, wait};

#[test]
fn f89_down_waits_for_true_and_up_for_false() {
    for first in [true, false] {
        explore(move || {
            let system = System::new();
            let flag = BinarySemaphore::with_value(&system, "flag", first);
            let (own, may) = (flag.clone(), Arc::new(AtomicBool::new(false)));
            let seen = may.clone();
            // The one that has to wait.
            let waits = thread::spawn("waits", move || {
                if first {
                    own.up().unwrap()
                } else {
                    own.down().unwrap()
                }
                assert!(seen.load(SeqCst), "the flag was {first}");
            });
            wait(1);
            may.store(true, SeqCst);
            if first {
                flag.down().unwrap()
            } else {
                flag.up().unwrap()
            }
            waits.join().unwrap();
            assert_eq!(flag.value(), first);
        });
    }
}

#[test]
fn f89_it_is_true_at_first_unless_told_otherwise() {
    let system = System::new();
    let flag = BinarySemaphore::new(&system, "flag");
    assert!(flag.value());
    flag.down().unwrap();
    assert!(!flag.value());
}

#[test]
fn f89_it_excludes() {
    explore(|| {
        let system = System::new();
        let (flag, inside) = (BinarySemaphore::new(&system, "flag"), Arc::new(AtomicUsize::new(0)));
        let threads = [0; 3].map(|_| {
            let (flag, inside) = (flag.clone(), inside.clone());
            thread::spawn("thread", move || {
                flag.down().unwrap();
                assert_eq!(inside.fetch_add(1, SeqCst), 0);
                thread::yield_now();
                inside.fetch_sub(1, SeqCst);
                flag.up().unwrap();
            })
        });
        threads.into_iter().for_each(|own| own.join().unwrap());
        assert!(flag.value());
    });
}

#[test]
fn e6_up_detaches_and_alternates_with_down() {
    explore(|| {
        let system = System::new();
        let flag = BinarySemaphore::with_value(&system, "flag", false);
        let (own, signals) = (flag.clone(), Arc::new(AtomicUsize::new(0)));
        let sent = signals.clone();
        let ups = thread::spawn("ups", move || {
            for n in 0..4 {
                own.up().unwrap();
                // No signal is lost: the next is not there before the last was taken.
                sent.store(n + 1, SeqCst);
            }
        });
        for n in 0..4 {
            flag.down().unwrap();
            assert!(signals.load(SeqCst) <= n + 2);
        }
        ups.join().unwrap();
        assert!(!flag.value());
    });
}

#[test]
fn f90_down_waits_until_the_count_is_above_zero() {
    for count in 0..3 {
        explore(move || {
            let system = System::new();
            let room = Semaphore::new(&system, "room", count);
            let went = Arc::new(AtomicUsize::new(0));
            let threads = [0; 3].map(|_| {
                let (room, went) = (room.clone(), went.clone());
                thread::spawn("down", move || {
                    room.down().unwrap();
                    went.fetch_add(1, SeqCst);
                })
            });
            wait(1);
            assert_eq!((went.load(SeqCst), room.count()), (count, 0));
            for n in count..3 {
                room.up();
                wait(1);
                assert_eq!(went.load(SeqCst), n + 1);
            }
            threads.into_iter().for_each(|own| own.join().unwrap());
            room.up();
            room.up();
            assert_eq!(room.count(), 2);
        });
    }
}

#[test]
fn f90_at_most_so_many_are_inside_and_none_is_lost() {
    explore(|| {
        let system = System::new();
        let (room, inside) = (Semaphore::new(&system, "room", 2), Arc::new(AtomicUsize::new(0)));
        let threads = [0; 4].map(|_| {
            let (room, inside) = (room.clone(), inside.clone());
            thread::spawn("thread", move || {
                let _held = room.hold().unwrap();
                assert!(inside.fetch_add(1, SeqCst) < 2);
                thread::yield_now();
                inside.fetch_sub(1, SeqCst);
            })
        });
        threads.into_iter().for_each(|own| own.join().unwrap());
        assert_eq!(room.count(), 2);
    });
}

#[test]
fn f90_whoever_waits_longest_goes_first() {
    explore(|| {
        let system = System::new();
        let (room, order) = (Semaphore::new(&system, "room", 0), Arc::new(AtomicUsize::new(0)));
        let threads: Vec<_> = (1..=3)
            .map(|at| {
                let (room, order) = (room.clone(), order.clone());
                thread::spawn("down", move || {
                    wait(at);
                    room.down().unwrap();
                    order
                        .fetch_update(SeqCst, SeqCst, |order| Some(order * 10 + at as usize))
                        .unwrap();
                })
            })
            .collect();
        wait(5);
        for _ in 0..3 {
            room.up();
            wait(1);
        }
        threads.into_iter().for_each(|own| own.join().unwrap());
        assert_eq!(order.load(SeqCst), 123);
    });
}
