//! Someone who always has work keeps neither timers nor other threads waiting.
//!
//! Who works says so by a flag, or works until it is told to stop by the very one that it might keep waiting:
//! then the test ends only if that one is not.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::future::poll_fn;
use std::panic::catch_unwind;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::support::{Seen, inside, say};
use leno_kernel::{LocalSystem, Options, sleep, spawn_local, yield_now};
use leno_process::{Budget, Sink, System, preemptible, process};

/// Works until it is told to stop.
#[preemptible]
fn work_until(stop: &dyn Fn() -> bool) {
    while !stop() {
        std::hint::black_box(());
    }
}

/// A sink with one that works until `stop`, and one that sets it after it has slept.
fn sleeper_beside_worker(sink: &Sink) {
    let stop = Rc::new(Cell::new(false));
    let told = stop.clone();
    drop(sink.spawn(&Options::new(), move || work_until(&|| told.get())));
    drop(sink.spawn(&Options::new(), move || {
        for _ in 0..3 {
            sleep(Duration::from_millis(1));
        }
        stop.set(true);
    }));
}

#[test]
fn a_sleeper_is_woken_while_another_has_work() {
    for budget in [Budget::units(10), Budget::units(50_000), Budget::time(Duration::from_millis(1))]
    {
        inside(move || {
            let sink = Sink::new();
            sleeper_beside_worker(&sink);
            while let Some(co) = sink.next() {
                co.attach(budget).unwrap();
            }
        });
    }
}

#[test]
fn also_if_its_scheduler_never_asks_for_the_next() {
    inside(|| {
        let sink = Sink::new();
        sleeper_beside_worker(&sink);
        while sink.members() > 0 {
            match sink.try_next() {
                Some(co) => drop(co.attach(Budget::units(1000)).unwrap()),
                None => yield_now(),
            }
        }
    });
}

#[test]
fn also_if_nobody_is_preempted() {
    inside(|| {
        let sink = Sink::new();
        let stop = Rc::new(Cell::new(false));
        let told = stop.clone();
        let yields = move || {
            while !told.get() {
                yield_now();
            }
        };
        drop(sink.spawn(&Options::new(), yields));
        drop(sink.spawn(&Options::new(), move || {
            sleep(Duration::from_millis(1));
            stop.set(true);
        }));
        while let Some(co) = sink.next() {
            leno_kernel::attach(co).unwrap();
        }
    });
}

#[test]
fn also_under_a_scheduler_in_a_slice_of_another() {
    for outer in [Budget::Unlimited, Budget::units(5_000)] {
        inside(move || {
            let all = Sink::new();
            let scheduler = || {
                let sink = Sink::new();
                sleeper_beside_worker(&sink);
                while let Some(co) = sink.next() {
                    co.attach(Budget::units(100)).unwrap();
                }
            };
            drop(all.spawn(&Options::new(), scheduler));
            while let Some(co) = all.next() {
                co.attach(outer).unwrap();
            }
        });
    }
}

#[test]
fn also_if_its_scheduler_is_a_future() {
    let system = LocalSystem::builder().preemptive().build();
    drop(system.spawn_future(async {
        let sink = Sink::new();
        sleeper_beside_worker(&sink);
        while let Some(co) = poll_fn(|context| sink.poll_next(context)).await {
            co.attach(Budget::units(1000)).unwrap();
        }
    }));
    system.run().unwrap();
}

#[test]
fn the_cores_own_coroutines_run_beside_a_scheduler() {
    inside(|| {
        let sink = Sink::new();
        let stop = Rc::new(Cell::new(false));
        let told = stop.clone();
        drop(sink.spawn(&Options::new(), move || work_until(&|| told.get())));
        drop(spawn_local(move || {
            for _ in 0..3 {
                yield_now();
            }
            stop.set(true);
        }));
        while let Some(co) = sink.next() {
            co.attach(Budget::units(1000)).unwrap();
        }
    });
}

/// What happens beside each other in virtual time, and all events of that.
fn in_virtual_time(units: u64) -> (Vec<String>, String) {
    let system = LocalSystem::builder().preemptive().virtual_time().log(100_000).build();
    let seen = Seen::default();
    let inner = seen.clone();
    drop(system.spawn(move || {
        let sink = Sink::new();
        let works = inner.clone();
        drop(sink.spawn(&Options::new(), move || crate::support::count_aloud("lap", &works)));
        let naps = inner.clone();
        drop(sink.spawn(&Options::new(), move || {
            for n in 0..3 {
                // Over at once; but a timer has to say so.
                sleep(Duration::ZERO);
                say(&naps, format!("nap{n}"));
            }
        }));
        drop(sink.spawn(&Options::new(), move || {
            sleep(Duration::from_millis(1));
            say(&inner, "later");
        }));
        while let Some(co) = sink.next() {
            co.attach(Budget::units(units)).unwrap();
        }
    }));
    system.run().unwrap();
    (seen.take(), system.log().to_string())
}

#[test]
fn in_virtual_time_who_is_due_is_woken_at_the_same_place_in_each_run() {
    for units in [1_000, 30_000] {
        let (seen, log) = in_virtual_time(units);
        let place = |word: &str| seen.iter().position(|other| other == word).unwrap();
        assert!(place("nap2") < place("lap5"), "{seen:?}");
        // Virtual time stands still as long as anyone has work.
        assert!(place("lap5") < place("later"), "{seen:?}");
        for _ in 0..3 {
            assert_eq!(in_virtual_time(units), (seen.clone(), log.clone()));
        }
    }
}

struct Worker;

#[process]
impl Worker {
    #[entry]
    fn work(&mut self, stop: Arc<AtomicBool>) -> u32 {
        work_until(&|| stop.load(Relaxed));
        1
    }
}

struct Sleeper;

#[process]
impl Sleeper {
    #[entry]
    fn nap(&mut self, stop: Arc<AtomicBool>) {
        sleep(Duration::from_millis(1));
        stop.store(true, Relaxed);
    }

    #[entry]
    fn ask(&mut self, n: u32) -> u32 {
        n
    }
}

#[test]
fn a_process_is_woken_and_called_from_outside_while_another_has_work() {
    for quantum in [Budget::units(10_000), Budget::time(Duration::from_millis(1))] {
        let system = System::builder().quantum(quantum).build().unwrap();
        let (worker, sleeper) = (system.start(Worker), system.start(Sleeper));
        for is_called in [true, false] {
            let stop = Arc::new(AtomicBool::new(false));
            let mut work = worker.work(stop.clone()).unwrap();
            // From outside, and while it works: whoever answers has had a turn.
            for n in 0..3 {
                assert_eq!(sleeper.ask(n).unwrap().wait(), Ok(n));
                work = work.try_take().expect_err("nobody has told it to stop");
            }
            match is_called {
                true => stop.store(true, Relaxed),
                false => sleeper.nap(stop).unwrap(),
            }
            assert_eq!(work.wait(), Ok(1));
        }
        system.run().unwrap();
    }
}

#[test]
fn a_sink_outside_of_any_system_is_refused_where_it_is_made() {
    let payload = catch_unwind(Sink::new).expect_err("there is no system");
    let text = payload.downcast_ref::<&str>().expect("it is a text");
    assert!(text.contains("make it inside a coroutine of the system"), "{text}");
}
