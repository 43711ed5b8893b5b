use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use super::slot;

#[test]
fn a_value_is_taken_once() {
    let (giver, mut taker) = slot::<_, (), _>("header");
    assert_eq!((*giver.header(), *taker.header()), ("header", "header"));
    assert_eq!(taker.take(), None);
    assert_eq!(giver.settle(3, |_| ()), None);
    assert_eq!((taker.take(), taker.take()), (Some(3), None));
}

#[test]
fn whoever_settles_gets_the_last_waiter_left() {
    let (giver, mut taker) = slot(());
    taker.leave(1).unwrap();
    taker.leave(2).unwrap();
    assert_eq!(giver.settle('x', |_| ()), Some(2));
    assert_eq!((taker.leave(3), taker.withdraw(), taker.take()), (Err(3), None, Some('x')));
}

#[test]
fn a_waiter_that_was_withdrawn_is_not_given() {
    let (giver, mut taker) = slot(());
    taker.leave(1).unwrap();
    assert_eq!((taker.withdraw(), taker.withdraw()), (Some(1), None));
    assert_eq!(giver.settle('x', |_| ()), None);
}

#[test]
fn a_taker_may_revoke_what_is_not_settled() {
    let all = Rc::new(());
    for is_waited in [false, true] {
        let (giver, mut taker) = slot(all.clone());
        if is_waited {
            taker.leave(all.clone()).unwrap();
        }
        assert!(!giver.is_revoked());
        taker.revoke();
        assert!(giver.is_revoked());
        assert_eq!(giver.settle(all.clone(), |_| ()), None);
        assert_eq!(Rc::strong_count(&all), 1);
    }
    let (giver, taker) = slot::<_, (), _>(all.clone());
    assert_eq!(giver.settle(all.clone(), |_| ()), None);
    taker.revoke();
    assert_eq!(Rc::strong_count(&all), 1);
}

#[test]
fn all_is_dropped_whoever_goes_first() {
    let all = Rc::new(());
    for order in 0..4 {
        let (giver, mut taker) = slot(all.clone());
        if order % 2 == 1 {
            taker.leave(all.clone()).unwrap();
        }
        if order < 2 {
            drop(taker);
            assert!(giver.settle(all.clone(), |_| ()).is_none());
        } else {
            drop(giver.settle(all.clone(), |_| ()));
            drop(taker);
        }
        assert_eq!(Rc::strong_count(&all), 1, "{order}");
    }
}

/// Both ends on threads of their own, in all orders that come up: no value and no waiter is lost, and all is
/// dropped once.
#[test]
fn two_threads_lose_nothing() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let rounds = if cfg!(miri) { 60 } else { 20_000 };
    let (dropped, woken) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    for round in 0..rounds {
        let (giver, mut taker) = slot(Counted(dropped.clone()));
        let (value, waiter) = (Counted(dropped.clone()), Counted(dropped.clone()));
        let (was_woken, before) = (woken.clone(), woken.load(Relaxed));
        let settles = thread::spawn(move || {
            if let Some(waiter) = giver.settle(value, |_| ()) {
                drop(waiter);
                was_woken.fetch_add(1, Relaxed);
            }
        });
        match round % 4 {
            0 => {
                if taker.leave(waiter).is_ok() {
                    while !taker.is_settled() {
                        thread::yield_now();
                    }
                }
                assert!(taker.take().is_some());
                drop(taker);
                settles.join().unwrap();
            }
            1 => {
                let left = taker.leave(waiter).is_ok();
                let back = taker.withdraw();
                settles.join().unwrap();
                let was_given = left && back.is_none();
                assert_eq!(woken.load(Relaxed) - before, usize::from(was_given));
                drop((taker, back));
            }
            2 => {
                let _ = taker.leave(waiter);
                drop(taker);
                settles.join().unwrap();
            }
            _ => {
                drop((taker, waiter));
                settles.join().unwrap();
            }
        }
        assert_eq!(dropped.swap(0, Relaxed), 3, "header, value and waiter, in round {round}");
    }
}
