//! Misuse of a ring is an error that names the member and changes nothing; a member that fails
//! ends alone.

use std::cell::Cell;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::mpsc;

use crate::support::{Log, OnDrop, message};
use leno_coroutine::ring::{self, RingError, SpawnError};
use leno_coroutine::{Builder, Coroutine, State, Step, Suspender, scope};

fn quoted(name: &str) -> String {
    format!("'{name}'")
}

#[test]
fn s6_members_are_added_to_the_current_thread_only() {
    let here = ring::spawn(|| ());
    let there = std::thread::spawn(|| {
        let before = ring::members().unwrap();
        let member = ring::spawn(|| ());
        assert_eq!(ring::members().unwrap(), [before[0].clone(), member.clone()]);
        ring::yield_now();
        member
    });
    assert!(there.join().unwrap().is_finished());
    assert_eq!(here.state(), State::New, "the other thread's ring is not this one's");
    ring::yield_now();
    assert!(here.is_finished());
}

#[test]
fn s10_yield_to_a_member_of_another_thread() {
    let (give, take) = mpsc::channel();
    let (done, wait) = mpsc::channel::<()>();
    let owner = std::thread::spawn(move || {
        let member = Builder::new().name("theirs").spawn(|| ()).unwrap();
        give.send(member.clone()).unwrap();
        wait.recv().unwrap_err();
        assert_eq!(member.state(), State::New, "nobody but its own thread runs it");
        ring::yield_now();
        assert!(member.is_finished());
    });
    let theirs = take.recv().unwrap();
    let error = ring::yield_to(&theirs).expect_err("not of this thread");
    assert!(matches!(error, RingError::OtherThread { .. }));
    assert_eq!(error.to_string(), "member 'theirs' belongs to another thread");
    drop(done);
    owner.join().unwrap();
    let finished = ring::yield_to(&theirs);
    assert!(matches!(finished, Err(RingError::OtherThread { .. })), "also when it is finished");
}

#[test]
fn s12_member_is_finished_after_the_end_a_return_and_a_failure() {
    let spawned = [
        ring::spawn(|| ()),
        ring::spawn(|| {
            if black_box(true) {
                return;
            }
            ring::yield_now();
        }),
        ring::spawn(|| panic!("on purpose")),
    ];
    assert!(spawned.iter().all(|member| member.state() == State::New));
    ring::yield_now();
    assert!(spawned.iter().all(|member| member.is_finished()));
    assert_eq!(ring::failures().unwrap().len(), 1);
}

#[test]
fn s14_failing_members_unwind_and_the_others_go_on() {
    let log = Log::new();
    ring::scope(|s| {
        let log = &log;
        let spawn = |(name, fails): (&'static str, bool)| {
            let body = move || {
                let _guard = OnDrop(|| log.push("!"));
                (0..3).for_each(|_| {
                    log.push(name);
                    ring::yield_now();
                    assert!(!fails, "{name} fails");
                });
            };
            s.spawn_with(Builder::new().name(name), body).unwrap()
        };
        let all = [("a", false), ("b", true), ("c", false), ("d", true)];
        let [_, b, _, d] = all.map(spawn);
        (0..4).for_each(|_| ring::yield_now());
        let failures = ring::failures().unwrap();
        let shown = failures.iter().map(|f| (&f.member, f.member.name(), message(&*f.payload)));
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [(&d, Some("d"), "d fails"), (&b, Some("b"), "b fails")]
        );
        assert!(ring::failures().unwrap().is_empty(), "they are handed over once");
    });
    assert_eq!(log.text(), "dcba!c!aca!!", "nobody else is touched");
}

#[test]
fn an_exit_of_another_coroutine_that_a_member_raises_is_its_failure() {
    let caught = Rc::new(Cell::new(None));
    let keeps = caught.clone();
    let generator = Coroutine::new(move |co: &Suspender<(), ()>, ()| {
        keeps.set(catch_unwind(AssertUnwindSafe(|| co.suspend(()))).err());
    });
    generator.resume(());
    drop(generator);
    let exit = caught.take().expect("it was unwound");
    let after = ring::scope(|s| {
        s.spawn(move || resume_unwind(exit));
        ring::yield_now();
        (ring::failures().unwrap().len(), "the scope goes on")
    });
    assert_eq!(after, (1, "the scope goes on"));
}

#[test]
fn s21_yield_inside_an_asymmetric_coroutine() {
    let inside = || [ring::try_yield_now(), ring::current().map(drop), ring::drain().map(drop)];
    let coroutine = Builder::new().name("inner");
    let coroutine = coroutine.coroutine(move |_: &Suspender<(), ()>, ()| inside()).unwrap();
    let errors = coroutine.resume(()).finished().unwrap();
    let expected = Err(RingError::InsideAsymmetric { coroutine: quoted("inner") });
    assert!(errors.iter().all(|error| *error == expected), "{errors:?}");
    assert_eq!(
        errors[0].as_ref().unwrap_err().to_string(),
        "asymmetric coroutine 'inner' has no ring: its control goes back to its resumer only \
         (ring::scope enters a ring inside it)"
    );
}

#[test]
fn s21_yield_inside_an_asymmetric_coroutine_panics_and_a_member_stays_usable() {
    let log = Log::new();
    ring::scope(|s| {
        s.spawn(|| log.push("other "));
        s.spawn(|| {
            let generator = Coroutine::new(|_: &Suspender<(), ()>, ()| ring::yield_now());
            let panic = catch_unwind(AssertUnwindSafe(|| generator.resume(())));
            let payload = panic.expect_err("the yield is refused");
            assert!(message(&*payload).contains(" has no ring: "));
            log.push("refused ");
            ring::yield_now();
            log.push("back");
        });
        ring::yield_now();
        assert!(ring::failures().unwrap().is_empty());
        ring::yield_now();
    });
    assert_eq!(log.text(), "refused other back");
}

#[test]
fn spawn_inside_an_asymmetric_coroutine_needs_a_ring_of_its_own() {
    let coroutine = Coroutine::new(|_: &Suspender<(), ()>, ()| {
        let refused = Builder::new().spawn(|| ()).expect_err("there is no ring here");
        assert!(matches!(refused, SpawnError::Ring(RingError::InsideAsymmetric { .. })));
        let log = Log::new();
        ring::scope(|s| {
            s.spawn(|| log.push("in a scope it works"));
            ring::yield_now();
        });
        log.text()
    });
    assert_eq!(coroutine.resume(()), Step::Finished("in a scope it works".to_owned()));
}

#[test]
fn e15_yield_to_a_finished_member() {
    let finished = Builder::new().name("gone").spawn(|| ()).unwrap();
    ring::yield_now();
    let error = ring::yield_to(&finished).expect_err("it is finished");
    assert_eq!(error, RingError::Finished { member: quoted("gone") });
    assert_eq!(error.to_string(), "member 'gone' is finished");
    // Another member may have its stack by now; the handle still means the first one.
    let other = ring::spawn(|| ());
    assert!(matches!(ring::yield_to(&finished), Err(RingError::Finished { .. })));
    assert_eq!((other.state(), finished.state()), (State::New, State::Finished));
    ring::drain().unwrap();
}

#[test]
fn yield_to_a_member_of_another_ring() {
    let outside = Builder::new().name("outside").spawn(|| ()).unwrap();
    ring::scope(|s| {
        let error = ring::yield_to(&outside).expect_err("not in this ring");
        assert_eq!(error, RingError::OtherRing { member: quoted("outside") });
        assert_eq!(error.to_string(), "member 'outside' belongs to another ring");
        let inside = s.spawn(|| ());
        ring::yield_to(&inside).unwrap();
    });
    ring::yield_to(&outside).unwrap();
    assert!(outside.is_finished());
}

#[test]
fn only_the_initial_member_drains() {
    let seen = std::cell::RefCell::new(None);
    ring::scope(|s| {
        let body = || *seen.borrow_mut() = ring::drain().err();
        s.spawn_with(Builder::new().name("keen"), body).unwrap();
        ring::yield_now();
    });
    let error = seen.into_inner().expect("refused");
    assert_eq!(error, RingError::NotInitial { member: quoted("keen") });
    assert_eq!(error.to_string(), "only the initial member can run or drain its ring, not 'keen'");
}

#[test]
fn member_cannot_leave_while_its_own_stack_unwinds() {
    let seen = std::cell::RefCell::new(Vec::new());
    ring::scope(|s| {
        let initial = ring::current().unwrap();
        let seen = &seen;
        let body = move || {
            let _guard = OnDrop(move || {
                ring::yield_now();
                seen.borrow_mut().push(ring::yield_to(&initial));
            });
            panic!("on purpose");
        };
        s.spawn_with(Builder::new().name("failing"), body).unwrap();
        ring::yield_now();
        assert_eq!(ring::failures().unwrap().len(), 1);
    });
    let error = seen.into_inner().pop().expect("the destructor ran").expect_err("refused");
    assert_eq!(error, RingError::Exiting { from: quoted("failing") });
    assert_eq!(
        error.to_string(),
        "member 'failing' cannot give control away while its own stack unwinds"
    );
}

#[test]
fn scoped_coroutine_between_ring_and_caller_is_asymmetric_too() {
    ring::scope(|s| {
        s.spawn(|| {
            scope(|inner| {
                let child = inner.coroutine(|_: &Suspender<(), ()>, ()| ring::try_yield_now());
                let refused = child.resume(()).finished().expect("it ends");
                assert!(matches!(refused, Err(RingError::InsideAsymmetric { .. })));
            });
        });
        ring::yield_now();
        assert!(ring::failures().unwrap().is_empty());
    });
}
