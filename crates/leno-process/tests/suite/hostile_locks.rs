//! User code that misbehaves around locks, rendezvous, watchdogs and bound coroutines.
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use crate::support::hostile::{Bomb, Payload, apart};
use leno_kernel::{cancel, yield_now};
use leno_process::{
    Bound, Budget, LocalSystem, Monitor, Options, Plan, Semaphore, Sink, Task, Watchdog, process,
};

#[test]
fn an_answer_that_its_caller_cannot_take_may_panic_when_it_is_dropped() {
    apart!("an_answer_that_its_caller_cannot_take_may_panic_when_it_is_dropped", || {
        let dropped = Arc::new(AtomicUsize::new(0));
        let system = LocalSystem::new();
        let mut task = Task::new();
        let (caller, entry) = task.entry::<(), Bomb>("bombs");
        let callers: Vec<_> = (0..3).map(|_| caller.clone()).collect();
        drop(caller);
        let waits = callers.into_iter().map(|caller| {
            system.spawn(move || {
                let answer = caller.call(());
                answer.map(std::mem::forget).is_ok()
            })
        });
        let waits: Vec<_> = waits.collect();
        let cos: Vec<_> = waits.iter().map(|waits| waits.co().unwrap()).collect();
        let own = dropped.clone();
        let accepts = system.spawn(move || {
            yield_now();
            // One that goes before there is an answer, and one that goes before it takes it.
            let first = entry.accept(|()| {
                cancel(cos[0]);
                yield_now();
                Bomb(own.clone())
            });
            let second = entry.accept(|()| Bomb(own.clone()));
            cancel(cos[1]);
            let third = entry.accept(|()| Bomb(own.clone()));
            (first, second, third, entry.accept(|()| unreachable!()).is_err())
        });
        system.run().unwrap();
        assert_eq!(accepts.join().unwrap(), (Ok(()), Ok(()), Ok(()), true));
        let ends: Vec<_> = waits.into_iter().map(|waits| waits.join().ok()).collect();
        assert_eq!(ends, [None, None, Some(true)]);
        assert_eq!(dropped.load(SeqCst), 2);
    });
}

struct Clerk;

#[process]
impl Clerk {
    #[entry]
    fn note(&mut self, _number: u32) {}
}

#[test]
fn a_panic_hook_may_use_what_refuses_to_wait() {
    apart!("a_panic_hook_may_use_what_refuses_to_wait", || {
        static EMPTY: std::sync::LazyLock<Semaphore> =
            std::sync::LazyLock::new(|| Semaphore::new(0));
        static TURNS: std::sync::LazyLock<Monitor<u32>> =
            std::sync::LazyLock::new(|| Monitor::new(0));
        let (clerk, body) = Plan::new().mailbox(1).prepare(Clerk);
        clerk.note(1).unwrap();
        let own = clerk.clone();
        std::panic::set_hook(Box::new(move |_| {
            assert!(!EMPTY.try_wait());
            assert_eq!(EMPTY.waiting(), 0);
            assert!(own.status() != leno_process::Status::Terminated);
        }));
        let system = LocalSystem::new();
        let polled = system.spawn_future(async move {
            let waits = catch_unwind(|| EMPTY.wait()).is_err();
            let calls = catch_unwind(AssertUnwindSafe(|| clerk.note(2))).is_err();
            let serves = catch_unwind(AssertUnwindSafe(|| body.run())).is_err();
            (waits, calls, serves, TURNS.enter(|turns| **turns))
        });
        system.run().unwrap();
        assert_eq!(polled.join().unwrap(), (true, true, true, Ok(0)));
    });
}

#[test]
fn permits_are_counted_up_to_the_last() {
    let semaphore = Semaphore::new(usize::MAX);
    semaphore.signal();
    assert!(semaphore.try_wait() && semaphore.wait().is_ok());
}

#[test]
fn laps_are_counted_whatever_they_are() {
    use leno_process::laps::Laps;
    let mut laps = Laps::new(0);
    assert!(laps.room() > 0);
    for count in [0, 1, usize::MAX, 1 << 63, (1 << 63) - 1] {
        laps.lap();
        laps.add(count);
        assert_eq!(laps.room(), 1);
    }
}

/// Whether a thread with this name has not ended; elsewhere than on Linux nobody knows.
fn is_there(name: &str) -> bool {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return false };
    let names =
        threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
    names.into_iter().any(|own| own.trim() == name)
}

/// Misses its slices until so many were reported.
fn hog(reported: &Arc<AtomicUsize>, reports: usize) {
    while reported.load(SeqCst) < reports {
        let system = LocalSystem::builder().preemptive().build();
        drop(system.spawn(|| {
            let sink = Sink::new();
            let hog = || std::thread::sleep(Duration::from_millis(20));
            drop(sink.spawn(&Options::new(), hog));
            while let Some(co) = sink.next() {
                co.attach(Budget::time(Duration::from_micros(10))).unwrap();
            }
        }));
        system.run().unwrap();
    }
}

#[cfg_attr(miri, ignore = "time")]
#[test]
fn a_watchdog_outlives_its_reports_and_may_be_dropped_by_one() {
    apart!("a_watchdog_outlives_its_reports_and_may_be_dropped_by_one", || {
        let (reports, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (own, bomb) = (reports.clone(), Bomb(dropped.clone()));
        let watchdog = Watchdog::start(Duration::from_millis(1), move |_| {
            let _ = &bomb;
            own.fetch_add(1, SeqCst);
            panic_any(Payload);
        });
        hog(&reports, 3);
        drop(watchdog.unwrap());
        assert_eq!(dropped.load(SeqCst), 1);
        // One that ends itself.
        let place = Arc::new(std::sync::Mutex::new(None));
        let (own, ended) = (place.clone(), Arc::new(AtomicUsize::new(0)));
        let (told, bomb) = (ended.clone(), Bomb(dropped.clone()));
        let watchdog = Watchdog::start(Duration::from_millis(1), move |_| {
            let _ = &bomb;
            let itself: Option<Watchdog> = own.lock().unwrap().take();
            if itself.is_some() {
                drop(itself);
                told.fetch_add(1, SeqCst);
            }
        });
        *place.lock().unwrap() = Some(watchdog.unwrap());
        hog(&ended, 1);
        while is_there("leno-watchdog") {
            std::thread::yield_now();
        }
        assert_eq!(dropped.load(SeqCst), 2);
    });
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[cfg_attr(miri, ignore = "no signals")]
#[test]
fn a_result_that_nobody_takes_may_panic_when_it_is_dropped() {
    apart!("a_result_that_nobody_takes_may_panic_when_it_is_dropped", || {
        let dropped = Arc::new(AtomicUsize::new(0));
        let held = Bomb(dropped.clone());
        let Ok(mut bound) = Bound::spawn("holds", move || {
            Bound::suspend();
            held
        }) else {
            return;
        };
        bound.attach(Budget::Unlimited).unwrap();
        // It runs to its end by itself, where its result is dropped.
        drop(bound);
        while is_there("holds") {
            std::thread::yield_now();
        }
        assert_eq!(dropped.load(SeqCst), 1);
    });
}

/// Calls `f` for each piece of text that it is given.
struct Writes<F>(F);

impl<F: FnMut()> std::fmt::Write for Writes<F> {
    fn write_str(&mut self, _: &str) -> std::fmt::Result {
        (self.0)();
        Ok(())
    }
}

/// What is shown by code that would wait for what it shows.
struct Enters(Arc<std::sync::OnceLock<Monitor<Enters>>>);

impl std::fmt::Debug for Enters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let entered = self.0.get().map(|monitor| monitor.enter(|_| ()));
        write!(f, "{entered:?}")
    }
}

#[test]
fn a_monitor_may_be_entered_while_it_is_shown() {
    apart!("a_monitor_may_be_entered_while_it_is_shown", || {
        use std::fmt::Write as _;
        let monitor = Arc::new(std::sync::OnceLock::new());
        let value = Enters(monitor.clone());
        monitor.set(Monitor::new(value).named("turns")).ok().unwrap();
        let monitor = monitor.get().unwrap();
        assert_eq!(
            format!("{monitor:?}"),
            "Monitor { name: Some(\"turns\"), is_entered: false, .. }"
        );
        let mut entered = 0;
        let enters = || monitor.enter(|_| entered += 1).unwrap();
        write!(Writes(enters), "{monitor:?}").unwrap();
        assert!(entered > 0);
        let shown = monitor.enter(|_| format!("{monitor:?}")).unwrap();
        assert!(shown.contains("is_entered: true"), "{shown}");
    });
}

#[test]
fn a_semaphore_may_be_looked_at_while_it_is_shown() {
    apart!("a_semaphore_may_be_looked_at_while_it_is_shown", || {
        use std::fmt::Write as _;
        let empty = std::rc::Rc::new(Semaphore::new(0).named("empty"));
        let system = std::rc::Rc::new(LocalSystem::new());
        let own = empty.clone();
        let waits = system.spawn(move || own.wait().unwrap());
        let (own, around) = (empty.clone(), system.clone());
        drop(system.spawn(move || {
            let mut seen = String::new();
            let looks = || seen = around.dump(leno_kernel::dump::Depth::States).to_string();
            write!(Writes(looks), "{own:?}").unwrap();
            assert!(seen.contains("'empty'"), "{seen}");
            assert_eq!(
                format!("{own:?}"),
                "Semaphore { name: Some(\"empty\"), permits: 0, waiting: 1 }"
            );
            own.signal();
        }));
        system.run().unwrap();
        waits.join().unwrap();
    });
}
