//! Closures that block run on helper threads; the core goes on meanwhile.
#![cfg(not(miri))] // helpers outlive the tests

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use leno_kernel::{LocalSystem, Outcome, blocking, cancel, yield_now};

#[test]
fn others_run_while_a_closure_blocks() {
    let system = LocalSystem::new();
    let go = Arc::new(AtomicBool::new(false));
    let seen = go.clone();
    let blocked = system.spawn(move || {
        blocking(move || {
            while !seen.load(SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::current().name().map(str::to_owned)
        })
    });
    drop(system.spawn(move || {
        (0..10).for_each(|_| yield_now());
        go.store(true, SeqCst);
    }));
    system.run().unwrap();
    assert_eq!(blocked.join().unwrap().as_deref(), Some("leno-helper"));
}

#[test]
fn a_panic_comes_back() {
    let system = LocalSystem::new();
    let bad = system.spawn(|| blocking(|| panic!("as planned")));
    system.run().unwrap();
    assert_eq!(bad.join().unwrap_err().to_string().split(": ").last(), Some("as planned"));
}

#[test]
fn many_at_once_and_on_a_plain_thread() {
    assert_eq!(blocking(|| 3), 3);
    let system = LocalSystem::new();
    let all: Vec<_> = (0..50u64).map(|n| system.spawn(move || blocking(move || n))).collect();
    system.run().unwrap();
    assert_eq!(all.into_iter().map(|one| one.join().unwrap()).sum::<u64>(), 1225);
}

#[test]
fn a_cancelled_caller_waits_for_what_has_begun() {
    let system = LocalSystem::new();
    let (begun, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (own_begun, own_done) = (begun.clone(), done.clone());
    let caller = system.spawn(move || {
        blocking(move || {
            own_begun.store(true, SeqCst);
            std::thread::sleep(Duration::from_millis(30));
            own_done.store(true, SeqCst);
        });
        unreachable!("it exits when the closure has ended");
    });
    let co = caller.co().unwrap();
    drop(system.spawn(move || {
        while !begun.load(SeqCst) {
            yield_now();
        }
        cancel(co);
    }));
    system.run().unwrap();
    assert!(done.load(SeqCst));
    assert_eq!(caller.join().unwrap_err().outcome(), Some(Outcome::Exited));
}
