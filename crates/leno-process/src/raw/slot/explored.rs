//! Both ends of a slot under every schedule: there is a point before each look at the state and each change
//! of it. With a mistake planted (`LENO_PLANTED=reply`, with `--cfg leno_planted`) these must find it; see
//! `.ci/run`.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use leno_explore::{Explorer, thread};
use leno_kernel::{Object, Reason, Waiter, Wake, park};

use super::{Giver, Taker, slot};

/// Counts how often it was dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

type Ends = (Giver<Counted, Waiter, Counted>, Taker<Counted, Waiter, Counted>);

/// Runs `gives` and `takes` in threads of their own, under every schedule; whatever they do, the header and the
/// value, once it was made, are dropped once.
#[track_caller]
fn explore(
    gives: fn(Giver<Counted, Waiter, Counted>, Counted),
    takes: fn(Taker<Counted, Waiter, Counted>),
) {
    let summary = Explorer::new().exhaustive().most_interruptions(3).run(move || {
        let dropped = Arc::new(AtomicUsize::new(0));
        let (giver, taker): Ends = slot(Counted(dropped.clone()));
        let value = Counted(dropped.clone());
        let other = thread::spawn("gives", move || gives(giver, value));
        takes(taker);
        other.join().unwrap();
        assert_eq!(dropped.load(Relaxed), 2, "the header and the value");
    });
    let summary = summary.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(summary.runs() > 5, "{summary}");
}

fn settles(giver: Giver<Counted, Waiter, Counted>, value: Counted) {
    if let Some(waiter) = giver.settle(value, |_| ()) {
        waiter.wake();
    }
}

fn waits(taker: &mut Taker<Counted, Waiter, Counted>) -> Counted {
    // If the slot is being settled, it is a waiter that was left before who is woken: the same thread.
    drop(taker.leave(Waiter::current()));
    loop {
        if let Some(value) = taker.take() {
            return value;
        }
        assert_eq!(park(Reason::Answer(Object::shared())), Wake::Unparked);
    }
}

#[test]
fn explored_whoever_waits_is_woken() {
    explore(settles, |mut taker| drop(waits(&mut taker)));
}

#[test]
fn explored_who_has_left_another_waiter_before_is_woken() {
    explore(settles, |mut taker| {
        drop(taker.leave(Waiter::current()));
        drop(waits(&mut taker));
    });
}

#[test]
fn explored_who_withdraws_and_waits_again_is_woken() {
    explore(settles, |mut taker| {
        drop(taker.leave(Waiter::current()));
        drop(taker.withdraw());
        drop(waits(&mut taker));
    });
}

#[test]
fn explored_what_is_done_before_is_done_when_the_taker_knows() {
    let summary = Explorer::new().exhaustive().most_interruptions(3).run(|| {
        let (giver, mut taker) = slot::<(), (Waiter, Arc<AtomicUsize>), u8>(());
        let other = thread::spawn("gives", move || {
            if let Some((waiter, _)) = giver.settle(7, |left| left.1.store(1, Relaxed)) {
                waiter.wake();
            }
        });
        let done = Arc::new(AtomicUsize::new(0));
        let is_left = taker.leave((Waiter::current(), done.clone())).is_ok();
        let value = loop {
            match taker.take() {
                Some(value) => break value,
                None => assert_eq!(park(Reason::Answer(Object::shared())), Wake::Unparked),
            }
        };
        assert_eq!((value, done.load(Relaxed) == 1), (7, is_left));
        other.join().unwrap();
    });
    assert!(summary.unwrap_or_else(|failure| panic!("{failure}")).runs() > 5);
}

#[test]
fn explored_a_taker_that_goes_leaves_nothing() {
    explore(settles, drop);
    explore(settles, |mut taker| {
        drop(taker.leave(Waiter::current()));
        drop(taker);
    });
}

#[test]
fn explored_what_is_revoked_is_not_made_and_nothing_is_left() {
    fn serves(giver: Giver<Counted, Waiter, Counted>, value: Counted) {
        if giver.is_revoked() {
            assert!(giver.settle(value, |_| ()).is_none(), "nobody waits for what was revoked");
        } else {
            settles(giver, value);
        }
    }
    explore(serves, Taker::revoke);
    explore(serves, |mut taker| {
        drop(taker.leave(Waiter::current()));
        taker.revoke();
    });
}

#[test]
fn explored_one_who_panics_settles_while_it_unwinds() {
    struct Settles(Option<(Giver<Counted, Waiter, Counted>, Counted)>);
    impl Drop for Settles {
        fn drop(&mut self) {
            let (giver, value) = self.0.take().expect("once");
            settles(giver, value);
        }
    }
    fn panics(giver: Giver<Counted, Waiter, Counted>, value: Counted) {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _settles = Settles(Some((giver, value)));
            resume_unwind(Box::new("planned"));
        }));
        assert!(panicked.is_err());
    }
    explore(panics, |mut taker| drop(waits(&mut taker)));
    explore(panics, drop);
}
