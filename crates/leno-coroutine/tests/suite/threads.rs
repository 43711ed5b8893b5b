//! Coroutines and threads: a body that has not started may move, a status may be read from
//! anywhere, threads do not wait for one another, and what is left at a thread's end is leaked and
//! reported, never unwound.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Barrier, mpsc};
use std::thread;

use crate::support::{OnDrop, times};
use leno_coroutine::{Builder, Coroutine, Local, State, Status, Step, Suspender, ring, scope};

#[test]
fn s6_unstarted_body_runs_on_the_thread_that_starts_it() {
    let unstarted = Builder::new().name("traveller").unstarted(|co: &Suspender<u8, u8>, n| {
        co.suspend(n + 1);
        thread::current().name().map(str::to_owned)
    });
    let there = thread::Builder::new().name("there".into()).spawn(move || {
        let coroutine = unstarted.start().expect("there is memory");
        assert_eq!(coroutine.name(), Some("traveller"));
        assert_eq!(coroutine.resume(1), Step::Suspended(2));
        coroutine.resume(0).finished().flatten()
    });
    let name = there.expect("a thread").join().unwrap();
    if cfg!(not(leno_baton)) {
        assert_eq!(name.as_deref(), Some("there"));
    }
}

#[test]
fn s27_status_is_read_from_another_thread() {
    let (ask, asked) = mpsc::channel::<Status>();
    let (answer, answered) = mpsc::channel();
    let reader = thread::spawn(move || {
        asked
            .iter()
            .for_each(|status| answer.send((status.state(), status.is_finished())).unwrap());
    });
    let read = |status| {
        ask.send(status).unwrap();
        answered.recv().unwrap()
    };
    scope(|s| {
        let read = &read;
        let coroutine = s.coroutine(move |co: &Suspender<(), ()>, ()| {
            assert_eq!(read(co.status()), (State::Running, false));
            co.suspend(());
        });
        let status = coroutine.status();
        assert_eq!(read(status), (State::New, false));
        coroutine.resume(());
        assert_eq!(read(status), (State::Suspended, false));
        coroutine.resume(());
        assert_eq!(read(status), (State::Finished, true));
    });
    ring::scope(|s| {
        let member = s.spawn(ring::yield_now);
        assert_eq!(read(member.status()), (State::New, false));
        ring::yield_now();
        assert_eq!(read(member.status()), (State::Suspended, false));
        ring::yield_now();
        assert_eq!(read(member.status()), (State::Finished, true));
    });
    drop(ask);
    reader.join().unwrap();
}

#[test]
fn s27_status_stays_readable_while_stacks_are_used_again() {
    let rounds = times(2000, 20);
    let (give, take) = mpsc::sync_channel::<Status>(4);
    let reader = thread::spawn(move || {
        let mut seen = Vec::new();
        for status in take {
            seen.push(status);
            // Whatever its owner does meanwhile, a state once finished stays so.
            let finished: Vec<bool> = seen.iter().map(Status::is_finished).collect();
            assert!(seen.iter().zip(finished).all(|(s, was)| !was || s.is_finished()));
            seen.drain(..seen.len().saturating_sub(8));
        }
        seen.into_iter().all(|status| status.is_finished())
    });
    for _ in 0..rounds {
        let coroutine = Coroutine::new(|co: &Suspender<(), ()>, ()| co.suspend(()));
        give.send(coroutine.status()).unwrap();
        coroutine.resume(());
    }
    drop(give);
    assert!(reader.join().unwrap());
}

/// One thread stands still inside code that leno runs for it; another one does all that leno
/// offers, which it could not if the first one held a lock.
#[test]
fn s28_thread_that_stands_still_stops_no_other() {
    static SLOW: Local<()> = Local::new(stand_still);
    static HERE: Barrier = Barrier::new(2);
    static ON: Barrier = Barrier::new(2);
    fn stand_still() {
        HERE.wait();
        ON.wait();
    }
    fn exercise() {
        for n in 0..times(1000, 5) {
            let coroutine = Coroutine::new(|co: &Suspender<usize, usize>, n| co.suspend(n));
            assert_eq!(coroutine.resume(n), Step::Suspended(n));
        }
        ring::scope(|s| {
            let body = || (0..times(100, 3)).for_each(|_| ring::yield_now());
            let members: Vec<_> = (0..5).map(|_| s.spawn(body)).collect();
            ring::wait_until(|| members.iter().all(|member| member.is_finished()));
        });
        leno_coroutine::list::coroutines();
        leno_coroutine::stack_figures();
    }
    let slow = thread::spawn(|| {
        let body = |co: &Suspender<(), ()>, ()| {
            let _last = OnDrop(stand_still);
            stand_still();
            SLOW.with(|()| co.suspend(()));
        };
        let coroutine = Coroutine::new(body);
        coroutine.resume(());
        drop(coroutine);
        let never_run = OnDrop(stand_still);
        drop(Coroutine::new(move |_: &Suspender<(), ()>, ()| drop(never_run)));
        ring::spawn(stand_still);
        ring::yield_now();
    });
    // In a body, in a local's making, in an unwinding, in the drop of a body, in a member.
    for _ in 0..5 {
        HERE.wait();
        exercise();
        ON.wait();
    }
    slow.join().unwrap();
}

/// The forgotten coroutine's frames are lent to a thread, so they must stay as they are.
#[test]
#[cfg_attr(miri, ignore = "leaves a coroutine and its memory behind, as it should")]
fn forgotten_coroutine_keeps_what_it_has_lent_to_a_thread() {
    static STOP: AtomicBool = AtomicBool::new(false);
    static ROUNDS: AtomicU64 = AtomicU64::new(0);
    let (done, wait) = mpsc::channel();
    let coroutine = Coroutine::new(move |co: &Suspender<(), ()>, ()| {
        let lent = [0x5eed_u64; 64];
        thread::scope(|s| {
            s.spawn(|| {
                let mut intact = true;
                while !STOP.load(SeqCst) {
                    intact &= std::hint::black_box(&lent).iter().all(|word| *word == 0x5eed);
                    ROUNDS.fetch_add(1, SeqCst);
                    thread::yield_now();
                }
                done.send(intact).unwrap();
            });
            co.suspend(());
        });
    });
    coroutine.resume(());
    std::mem::forget(coroutine);
    let start = ROUNDS.load(SeqCst);
    for n in 0..times(2000, 20) {
        let other = Coroutine::new(move |co: &Suspender<(), u64>, ()| {
            let filled = std::hint::black_box([n as u64; 512]);
            co.suspend(filled[n % 512]);
        });
        assert_eq!(other.resume(()), Step::Suspended(n as u64));
    }
    while ROUNDS.load(SeqCst) < start + 10 {
        thread::yield_now();
    }
    STOP.store(true, SeqCst);
    assert!(wait.recv().unwrap(), "nothing was used again");
}
