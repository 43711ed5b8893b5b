//! Cores and systems outlive destructors that panic, and end though user code is against it.
#![cfg(not(any(loom, leno_baton)))]

use std::cell::Cell;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use crate::support::bounded;
use leno_kernel::layer::bell::Bell;
use leno_kernel::{
    LocalSystem, Options, Outcome, Platform, RealTime, Start, System, Time, sleep, spawn,
    spawn_local, try_spawn, try_spawn_local, yield_now,
};

/// Panics when it is dropped, with a payload that panics when it is dropped.
struct Bomb;

struct Payload;

impl Drop for Payload {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("a payload's drop");
        }
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic_any(Payload);
        }
    }
}

#[test]
fn a_result_whose_drop_panics_is_a_failure_of_its_coroutine() {
    let system = LocalSystem::new();
    let named = Options::new().name("leaves a bomb");
    drop(system.spawn_with(&named, || Bomb));
    drop(system.spawn_future_with(&named, async { Bomb }));
    let report = system.run().unwrap();
    assert_eq!((report.returned, report.failures.len()), (2, 2));
    assert!(report.failures.iter().all(|failure| failure.name.as_str() == Some("leaves a bomb")));
    let five = system.spawn(|| 5);
    assert!(system.run().unwrap().failures.is_empty());
    assert_eq!(five.join().unwrap(), 5);
    report.failures.into_iter().for_each(|failure| std::mem::forget(failure.payload));
}

#[test]
fn a_result_whose_drop_panics_ends_no_core() {
    bounded(|| {
        let system = System::new(2).unwrap();
        // They end when their handles are gone.
        let go = Arc::new(AtomicBool::new(false));
        for _ in 0..8 {
            let (first, second) = (go.clone(), go.clone());
            drop(system.spawn(move || {
                while !first.load(SeqCst) {
                    yield_now();
                }
                Bomb
            }));
            drop(system.spawn_future(async move {
                poll_fn(|context| {
                    context.waker().wake_by_ref();
                    if second.load(SeqCst) { Poll::Ready(()) } else { Poll::Pending }
                })
                .await;
                Bomb
            }));
        }
        go.store(true, SeqCst);
        system.wait().unwrap().failures.into_iter().for_each(|it| std::mem::forget(it.payload));
        for n in 0..20 {
            assert_eq!(system.spawn(move || n).join().unwrap(), n);
        }
    });
}

#[test]
fn an_unstarted_body_whose_drop_panics_is_a_failure() {
    let (system, bomb) = (LocalSystem::new(), Bomb);
    let unstarted = system.spawn(move || drop(bomb));
    unstarted.cancel();
    let report = system.run().unwrap();
    assert_eq!((report.panicked, report.failures.len()), (1, 1));
    assert!(unstarted.join().is_err());
    assert!(system.run().unwrap().failures.is_empty());
    report.failures.into_iter().for_each(|failure| std::mem::forget(failure.payload));
}

#[test]
fn a_result_may_spawn_and_attach_when_it_is_dropped() {
    struct Spawns(Rc<Cell<u32>>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            let count = self.0.clone();
            let eager = Options::new().start(Start::Eager);
            drop(try_spawn_local(&eager, move || count.set(count.get() + 1)).unwrap());
        }
    }
    let (system, count) = (LocalSystem::new(), Rc::new(Cell::new(0)));
    for _ in 0..3 {
        let count = count.clone();
        drop(system.spawn(move || Spawns(count)));
    }
    let report = system.run().unwrap();
    assert_eq!((report.returned, report.failures.len(), count.get()), (6, 0, 3));
}

/// A future that ends at once, or never, and whose drop panics.
struct Never(bool);

impl Future for Never {
    type Output = u32;
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u32> {
        if self.0 { Poll::Ready(7) } else { Poll::Pending }
    }
}

impl Drop for Never {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "a future's drop");
    }
}

#[test]
fn a_future_whose_drop_panics_has_panicked() {
    bounded(|| {
        let local = LocalSystem::new();
        let handle = local.spawn_future(Never(true));
        assert_eq!(local.run().unwrap().panicked, 1);
        assert_eq!(handle.join().unwrap_err().outcome(), Some(Outcome::Panicked));
        let system = System::new(1).unwrap();
        let handle = system.spawn_future(Never(true));
        assert_eq!(handle.join().unwrap_err().outcome(), Some(Outcome::Panicked));
        assert_eq!(system.spawn(|| 5).join().unwrap(), 5);
        let handle = system.spawn_future(Never(false));
        handle.cancel();
        assert!(handle.join().is_err());
        assert_eq!(system.spawn(|| 5).join().unwrap(), 5);
        let handle = system.spawn_future(Never(false));
        drop(system);
        assert!(handle.join().is_err());
    });
}

#[test]
fn a_systems_last_handle_may_be_dropped_by_its_own_coroutine() {
    bounded(|| {
        let system = Arc::new(System::new(2).unwrap());
        let own = system.clone();
        let (go, wait) = channel::<()>();
        let last = system.spawn(move || {
            wait.recv().unwrap();
            drop(own);
            5
        });
        drop(system);
        go.send(()).unwrap();
        assert_eq!(last.join().unwrap(), 5);
    });
}

#[test]
fn a_systems_last_handle_may_be_dropped_by_its_own_future() {
    bounded(|| {
        let system = Arc::new(System::new(2).unwrap());
        let own = system.clone();
        let (go, wait) = channel::<()>();
        let other = system.spawn_future(pending::<()>());
        let last = system.spawn_future(async move {
            wait.recv().unwrap();
            drop(own);
            5
        });
        drop(system);
        go.send(()).unwrap();
        assert_eq!(last.join().unwrap(), 5);
        assert_eq!(other.join().unwrap_err().outcome(), Some(Outcome::Exited));
    });
}

#[test]
fn a_systems_last_handle_may_be_dropped_by_a_waker() {
    struct Last(Mutex<Option<System>>);
    impl Wake for Last {
        fn wake(self: Arc<Self>) {
            drop(self.0.lock().unwrap().take());
        }
    }
    bounded(|| {
        let system = System::new(2).unwrap();
        let last = Arc::new(Last(Mutex::new(None)));
        let (go, wait) = channel::<()>();
        let mut ends = system.spawn(move || wait.recv().unwrap());
        let other = system.spawn(|| sleep(Duration::from_secs(3600)));
        let waker = Waker::from(last.clone());
        assert!(Pin::new(&mut ends).poll(&mut Context::from_waker(&waker)).is_pending());
        *last.0.lock().unwrap() = Some(system);
        go.send(()).unwrap();
        ends.join().unwrap();
        assert_eq!(other.join().unwrap_err().outcome(), Some(Outcome::Exited));
    });
}

/// Starts its worker anew when that ends.
struct Restart(fn());

impl Drop for Restart {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn a_guard_that_restarts_its_worker_does_not_keep_a_system() {
    fn restart() {
        drop(try_spawn(&Options::new(), worker));
    }
    fn worker() {
        let _restart = Restart(restart);
        sleep(Duration::from_secs(3600));
    }
    bounded(|| {
        let system = System::new(2).unwrap();
        let started = system.spawn(|| drop(spawn(worker)));
        started.join().unwrap();
        drop(system);
    });
}

#[test]
fn a_guard_that_restarts_its_worker_locally_does_not_keep_a_system() {
    fn restart() {
        drop(try_spawn_local(&Options::new(), worker));
        let eager = Options::new().start(Start::Eager);
        drop(try_spawn_local(&eager, worker));
    }
    fn worker() {
        let _restart = Restart(restart);
        yield_now();
        sleep(Duration::from_secs(3600));
    }
    bounded(|| {
        let system = System::new(1).unwrap();
        system.spawn(|| drop(spawn_local(worker))).join().unwrap();
        drop(system);
        let system = LocalSystem::builder().virtual_time().build();
        drop(system.spawn(worker));
        assert!(system.drain().exited > 0);
        // It can be used again.
        let five = system.spawn(|| 5);
        system.run().unwrap();
        assert_eq!(five.join().unwrap(), 5);
        drop(system.spawn(worker));
    });
}

#[test]
fn failures_whose_payloads_panic_are_dropped_with_their_system() {
    bounded(|| {
        let system = LocalSystem::new();
        for _ in 0..3 {
            drop(system.spawn(|| panic_any(Payload)));
        }
        drop(system.spawn(|| std::future::ready(())));
        // Not even run: they exit.
        drop(system);
        let system = LocalSystem::new();
        drop(system.spawn(|| {
            for _ in 0..3 {
                drop(spawn_local(|| panic_any(Payload)));
            }
            yield_now();
            yield_now();
            loop {
                sleep(Duration::from_secs(3600));
            }
        }));
        drop(system.spawn(|| panic_any(Payload)));
        let run = catch_unwind(AssertUnwindSafe(|| system.spawn(|| Bomb)));
        drop(run.unwrap());
        drop(system);
        let system = System::new(2).unwrap();
        let all: Vec<_> =
            (0..8).map(|_| system.spawn(|| drop(spawn(|| panic_any(Payload))))).collect();
        all.into_iter().for_each(|one| one.join().unwrap());
        drop(system);
    });
}

#[test]
fn a_clock_that_panics_leaves_run_and_not_drop() {
    /// Panics from some time on.
    struct Breaks(RealTime, Rc<Cell<u32>>);
    impl Platform for Breaks {
        fn now(&self) -> Time {
            assert!(self.1.get() > 0, "a clock breaks");
            self.1.set(self.1.get() - 1);
            self.0.now()
        }
        fn idle(&self, bell: &Bell, deadline: Option<Time>) {
            self.0.idle(bell, deadline);
        }
    }
    bounded(|| {
        for works in [3, 20, 1_000] {
            let left = Rc::new(Cell::new(works));
            let system = LocalSystem::builder().platform(Breaks(RealTime::new(), left.clone()));
            let system = system.build();
            drop(system.spawn(|| {
                loop {
                    yield_now();
                }
            }));
            assert!(catch_unwind(AssertUnwindSafe(|| system.run().map(|_| ()))).is_err());
            left.set(if works == 20 { 20 } else { 0 });
            drop(system);
        }
    });
}

#[test]
fn a_movable_future_may_spawn_eagerly() {
    bounded(|| {
        let system = System::new(1).unwrap();
        let eager = Options::new().start(Start::Eager);
        let spawned = system.spawn_future(async move { try_spawn(&eager, || 5).unwrap().await });
        assert_eq!(spawned.join().unwrap().unwrap(), 5);
    });
}

#[test]
fn nobody_waits_for_a_stack_that_can_never_be_had() {
    bounded(|| {
        let system = LocalSystem::new();
        let sleeps = system.spawn(|| sleep(Duration::from_millis(1)));
        let huge = Options::new().stack_size(usize::MAX);
        match system.spawn_with(&huge, || 5) {
            Ok(never) => {
                system.run().unwrap();
                assert!(never.join().is_err());
            }
            Err(error) => assert!(error.to_string().contains("the largest has"), "{error}"),
        }
        system.run().unwrap();
        sleeps.join().unwrap();
    });
}

/// In a process of its own, whose address space is limited.
#[cfg(not(any(leno_baton, leno_asan, leno_tsan)))]
#[test]
fn a_coroutine_that_gets_no_stack_waits_for_one_and_not_for_ever() {
    const NAME: &str =
        concat!(module_path!(), "::a_coroutine_that_gets_no_stack_waits_for_one_and_not_for_ever");
    const CHILD: &str = "LENO_KERNEL_NO_STACK";
    if std::env::var_os(CHILD).is_none() {
        let mut child = std::process::Command::new("sh");
        child.args(["-c", "ulimit -v 900000; exec \"$0\" \"$1\" --exact --nocapture"]);
        let (_crate, name) = NAME.split_once("::").unwrap();
        child.arg(std::env::current_exe().unwrap()).arg(name).env(CHILD, "1");
        let output = child.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "no test has run");
        assert!(said.contains("cannot start"), "{said}");
        return;
    }
    bounded(|| {
        let large = Options::new().stack_size(1 << 29);
        // The first has the room that the second needs, and ends.
        let system = LocalSystem::new();
        let first = system.spawn_with(&large, || sleep(Duration::from_millis(5))).unwrap();
        let second = system.spawn_with(&large, || 2).unwrap();
        system.run().unwrap();
        assert_eq!((first.join().unwrap(), second.join().unwrap()), ((), 2));
        // The first waits for the second, for which there is none meanwhile: that ends, and says so.
        let system = LocalSystem::new();
        let own = large.clone();
        let waits =
            system.spawn_with(&large, move || try_spawn_local(&own, || 2).unwrap().join().is_err());
        system.run().unwrap();
        assert!(waits.unwrap().join().unwrap());
        // The longer there is none, the less often it tries; meanwhile it says what it waits for.
        let system = LocalSystem::builder().virtual_time().log(10_000).build();
        let first = system.spawn_with(&large, || sleep(Duration::from_secs(10))).unwrap();
        let second = system.spawn_with(&large, || 2).unwrap();
        let co = second.co().unwrap();
        let _looks = system.spawn(move || {
            sleep(Duration::from_secs(5));
            let dump = leno_kernel::dump_all(leno_kernel::dump::Depth::States).to_string();
            assert!(dump.contains("waiting for a stack"), "{dump}");
        });
        assert_eq!(system.run().unwrap().returned, 3);
        assert_eq!((first.join().unwrap(), second.join().unwrap()), ((), 2));
        let runs = |event: &&leno_kernel::log::Event| {
            event.by == Some(co) && event.what == leno_kernel::log::What::Runs
        };
        let tries = system.log().events().iter().filter(runs).count();
        assert!((100..120).contains(&tries), "{tries} tries in ten seconds");
        // More than there is room for at once: all of them run.
        let system = LocalSystem::new();
        let (count, small) = (4_000, Options::new().stack_size(256 << 10));
        let sleeps = || sleep(Duration::from_millis(1));
        let all: Vec<_> = (0..count).map(|_| system.spawn_with(&small, sleeps).unwrap()).collect();
        assert_eq!(system.run().unwrap().alive.len(), 0);
        all.into_iter().for_each(|one| one.join().unwrap());
    });
}
