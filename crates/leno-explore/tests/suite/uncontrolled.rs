//! What leno does not decide: it is called by its name, and never taken for a mistake of the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use leno_channel::shared;
use leno_explore::{Explorer, Trouble, thread};
use leno_kernel::{LocalSystem, System};

/// A thread that the exploration does not see. It leaves time to whoever waits for it to begin with that.
fn outside(f: impl FnOnce() + Send + 'static) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(10));
        f();
    })
}

#[test]
fn a_thread_from_outside_that_wakes_someone_is_no_deadlock() {
    for place in 0..3 {
        let failure = Explorer::new().random(1).runs(100).run(move || {
            let (tx, rx) = shared::channel();
            let waits = move || rx.recv() == Ok(1);
            let thread = outside(move || drop(tx.send(1)));
            let seen = match place {
                0 => waits(),
                1 => {
                    let system = LocalSystem::new();
                    let waits = system.spawn(waits);
                    system.run().is_ok() && waits.join().unwrap()
                }
                _ => System::new(2).unwrap().spawn(waits).join().unwrap(),
            };
            assert!(seen);
            thread.join().unwrap();
        });
        let failure = failure.unwrap_err();
        let text = failure.to_string();
        assert!(matches!(failure.trouble(), Trouble::NotControlled(_)), "{place}: {text}");
        assert!(text.contains("a thread that was not made by explore::thread"), "{place}: {text}");
        assert!(text.contains("use explore::thread::spawn"), "{place}: {text}");
    }
}

#[test]
fn a_deadlock_says_that_other_threads_are_not_seen() {
    let failure = Explorer::new()
        .exhaustive()
        .run(|| {
            let (_tx, rx) = shared::channel::<u32>();
            assert_eq!(rx.recv(), Ok(1));
        })
        .unwrap_err();
    assert!(matches!(failure.trouble(), Trouble::Deadlock(_)), "{failure}");
    assert!(failure.to_string().contains("use explore::thread::spawn"), "{failure}");
}

#[test]
fn a_run_that_does_not_fail_again_is_not_controlled() {
    let runs = AtomicU32::new(0);
    let failure = Explorer::new()
        .run(move || assert_ne!(runs.fetch_add(1, SeqCst), 50, "the fiftieth"))
        .unwrap_err();
    let text = failure.to_string();
    let expected = "not controlled: the same schedule did not fail again
  the first time: thread 'main' panicked: assertion `left != right` failed: the fiftieth";
    assert!(text.starts_with(expected), "{text}");
    assert!(
        text.contains("\n  the second time: nothing failed\n  neither run had a choice"),
        "{text}"
    );
    assert!(text.contains("tests/suite/uncontrolled.rs:"), "{text}");
    assert!(text.contains("found in run 51 ("), "{text}");
    assert!(text.contains("what happened the second time:"), "{text}");
}

#[test]
fn what_differed_is_said() {
    let runs = Arc::new(AtomicU32::new(0));
    let failure = Explorer::new()
        .random(3)
        .run(move || {
            let run = runs.fetch_add(1, SeqCst);
            let threads = if run == 0 { 2 } else { 3 };
            let others: Vec<_> =
                (0..threads).map(|_| thread::spawn("other", thread::yield_now)).collect();
            others.into_iter().for_each(|other| other.join().unwrap());
            match run {
                0 => panic!("first"),
                _ => panic!("later"),
            }
        })
        .unwrap_err();
    let text = failure.to_string();
    assert!(text.contains("the first time: thread 'main' panicked: first"), "{text}");
    assert!(text.contains("the second time: thread 'main' panicked: later"), "{text}");
    assert!(text.contains("the first time, and a pick among"), "{text}");
}

#[test]
fn a_panic_at_the_same_place_is_the_same_whatever_it_says() {
    let runs = AtomicU32::new(0);
    let failure = Explorer::new()
        .run(move || panic!("it is {}", if runs.fetch_add(1, SeqCst) == 0 { "a" } else { "b" }))
        .unwrap_err();
    assert!(matches!(failure.trouble(), Trouble::Panicked { .. }), "{failure}");
}
