//! A process that waits without the lock, and those who call it, under every schedule: there is a point before
//! each of the process's looks at the words that they share, and each change of them; and before those of callers that
//! are on its thread. What other callers do they do under the lock, in one step here; `tests/near.rs` has them on threads
//! of their own. With a mistake planted (`LENO_PLANTED=asleep` or `near`, with `--cfg leno_planted`) these must find it;
//! see `.ci/run`.

use core::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use leno_explore::{Explorer, thread};
use leno_kernel::{LocalSystem, Name, spawn_local};

use super::super::group::Group;
use super::{Look, Mailbox, Status};

/// A mailbox in a group, and how many calls its process has served.
fn mailbox() -> (Arc<Mailbox<u32>>, Arc<Group>, Arc<AtomicU32>) {
    let group: Arc<Group> = Arc::default();
    let mailbox = Mailbox::new(Name::NONE, usize::MAX, false, Some(group.clone())).settled();
    let member: std::sync::Weak<Mailbox<u32>> = Arc::downgrade(&mailbox);
    assert!(!group.join(member));
    (mailbox, group, Arc::default())
}

/// What the process does.
fn serve(mailbox: &Mailbox<u32>, served: &AtomicU32) {
    mailbox.begin();
    let calls = RefCell::default();
    while let Look::Calls = mailbox.take(&calls) {
        let taken: VecDeque<u32> = calls.take();
        served.fetch_add(taken.into_iter().sum(), SeqCst);
    }
    assert!(mailbox.terminate().is_none());
}

#[track_caller]
fn explore(program: fn()) {
    let found = Explorer::new().exhaustive().most_interruptions(3).run(program);
    let summary = found.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(summary.runs() > 20, "{summary}");
}

#[test]
fn m14_explored_no_call_and_no_stop_is_missed_by_one_that_falls_asleep() {
    explore(|| {
        let (mailbox, group, served) = mailbox();
        let system = LocalSystem::new();
        let (own, count) = (mailbox.clone(), served.clone());
        drop(system.spawn(move || serve(&own, &count)));
        let own = mailbox.clone();
        let calls = thread::spawn("calls", move || {
            own.post(|| 1).unwrap();
            own.post(|| 2).unwrap();
            own.stop();
        });
        system.run().unwrap();
        calls.join().unwrap();
        assert_eq!((served.load(SeqCst), mailbox.status()), (3, Status::Terminated));
        // Counted in as often as counted out.
        group.wait(false).unwrap();
        group.wait(true).unwrap();
    });
}

#[test]
fn m55_explored_nobody_is_idle_while_there_is_a_call() {
    explore(|| {
        let (mailbox, group, served) = mailbox();
        let (own, count) = (mailbox.clone(), served.clone());
        let runs = thread::spawn("runs", move || {
            let system = LocalSystem::new();
            drop(system.spawn(move || serve(&own, &count)));
            system.run().unwrap();
        });
        // A process, too: busy until it has called.
        group.busy();
        let (own, its) = (mailbox.clone(), group.clone());
        let calls = thread::spawn("calls", move || {
            own.post(|| 1).unwrap();
            if its.idle() {
                its.wake();
            }
        });
        group.wait(false).unwrap();
        assert_eq!(served.load(SeqCst), 1, "all are idle, so the call was served");
        mailbox.stop();
        calls.join().unwrap();
        runs.join().unwrap();
    });
}

/// What the process does, in which order; `begun` is called by it first.
fn serve_in_order(mailbox: &Mailbox<u32>, order: &Mutex<Vec<u32>>, begun: impl FnOnce()) {
    mailbox.begin();
    begun();
    let calls = RefCell::default();
    while let Look::Calls = mailbox.take(&calls) {
        let taken: VecDeque<u32> = calls.take();
        order.lock().unwrap().extend(taken);
    }
    assert!(mailbox.terminate().is_none());
}

#[test]
fn m11_explored_calls_of_the_own_core_and_of_another_keep_their_order() {
    explore(|| {
        let (mailbox, group, _) = mailbox();
        let order: Arc<Mutex<Vec<u32>>> = Arc::default();
        let is_called = Arc::new(AtomicBool::new(false));
        let (own, has_called) = (mailbox.clone(), is_called.clone());
        let far = thread::spawn("far", move || {
            own.post(|| 1).unwrap();
            has_called.store(true, SeqCst);
        });
        let own = mailbox.clone();
        let calls = move || {
            assert!(own.near.is_own(), "calls of its core need no lock");
            let is_later = is_called.load(SeqCst);
            own.post(|| 2).unwrap();
            own.post(|| 3).unwrap();
            far.join().unwrap();
            own.stop();
            is_later
        };
        let system = LocalSystem::new();
        let (own, served) = (mailbox.clone(), order.clone());
        let is_later = system.spawn(move || {
            let mut caller = None;
            serve_in_order(&own, &served, || caller = Some(spawn_local(calls)));
            caller.unwrap().join().unwrap()
        });
        system.run().unwrap();
        let is_later = is_later.join().unwrap();
        let order = std::mem::take(&mut *order.lock().unwrap());
        let place = |call| order.iter().position(|served| *served == call).unwrap();
        assert!(order.len() == 3 && place(2) < place(3), "{order:?}");
        assert!(!is_later || place(1) < place(2), "{order:?}");
        assert_eq!(mailbox.status(), Status::Terminated);
        group.wait(false).unwrap();
        group.wait(true).unwrap();
    });
}
