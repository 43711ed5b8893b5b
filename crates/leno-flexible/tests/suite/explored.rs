//! What must hold under every schedule.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use leno_explore::{Explorer, explore, thread};
use leno_flexible::{Me, System, spinning};

/// Adds one while it lives.
struct Inside<'a>(&'a AtomicUsize);

impl<'a> Inside<'a> {
    fn new(inside: &'a AtomicUsize) -> Inside<'a> {
        assert_eq!(inside.fetch_add(1, SeqCst), 0, "two coroutines are active");
        Inside(inside)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

#[test]
fn f10_at_most_one_is_active() {
    explore(|| {
        let (system, inside) = (System::new(), Arc::new(AtomicUsize::new(0)));
        let own = inside.clone();
        let a = system.create(
            "a",
            spinning(move |me: &mut Me<(), ()>| {
                drop(Inside::new(&own));
                me.yield_now();
                drop(Inside::new(&own));
                me.detach(());
            }),
        );
        let (own, calls) = (inside.clone(), a.clone());
        let b = system.create(
            "b",
            spinning(move |me: &mut Me<(), ()>| {
                drop(Inside::new(&own));
                calls.kick().unwrap();
                drop(Inside::new(&own));
                me.detach(());
            }),
        );
        let one = a.clone();
        let one = thread::spawn("one", move || one.call(()).unwrap());
        let two = thread::spawn("two", move || b.call(()).unwrap());
        one.join().unwrap();
        two.join().unwrap();
    });
}

#[test]
fn f12_a_thread_is_blocked_only_while_it_calls() {
    explore(|| {
        let system = System::new();
        let m = system.create("m", |me: &mut Me<(), ()>| {
            loop {
                me.passivate();
                me.detach(());
            }
        });
        let own = m.clone();
        let calls = thread::spawn("calls", move || own.call(()).unwrap());
        let other = system.create("other", |_: &mut Me<(), ()>| {});
        // Neither blocks, whatever m is doing. The prod ends the call, or has m where the call ends it.
        let prods = thread::spawn("prods", move || {
            m.prod().unwrap();
            other.kick().unwrap();
        });
        prods.join().unwrap();
        calls.join().unwrap();
    });
}

#[test]
fn f50_in_order_of_arrival_nobody_is_passed() {
    explore(|| {
        let asked: Arc<Mutex<Vec<u32>>> = Arc::default();
        let served: Arc<Mutex<Vec<u32>>> = Arc::default();
        let own = asked.clone();
        let system = System::builder()
            .schedule(|_: &[_]| 0)
            .observer(move |event| {
                let is_call = matches!(
                    event.what,
                    leno_flexible::What::Applied(leno_flexible::Rule::CallByThreadPlain)
                );
                if is_call {
                    own.lock().unwrap().push(event.by.name().parse().unwrap());
                }
            })
            .build();
        let say = served.clone();
        let builder = system.coroutine("m").serve(|_: &[_]| 0);
        let m = builder.create(spinning(move |me: &mut Me<u32, ()>| {
            say.lock().unwrap().push(me.parameter().unwrap());
            me.detach(());
        }));
        let threads: Vec<_> = (0..3)
            .map(|n| {
                let m = m.clone();
                thread::spawn(n.to_string(), move || m.call(n).unwrap())
            })
            .collect();
        threads.into_iter().for_each(|own| own.join().unwrap());
        assert_eq!(*asked.lock().unwrap(), *served.lock().unwrap());
    });
}

#[test]
fn f55_a_later_service_does_not_change_an_answer() {
    explore(|| {
        let system = System::new();
        let echo = system.create(
            "echo",
            spinning(|me: &mut Me<u32, u32>| {
                let n = me.parameter().unwrap();
                me.yield_now();
                me.detach(n);
            }),
        );
        let threads: Vec<_> = (0..3)
            .map(|n| {
                let echo = echo.clone();
                thread::spawn(n.to_string(), move || {
                    assert_eq!(echo.call(n).unwrap(), n);
                    assert_eq!(echo.call(n + 10).unwrap(), n + 10);
                })
            })
            .collect();
        threads.into_iter().for_each(|own| own.join().unwrap());
    });
}

#[test]
fn f67_a_wake_up_before_the_sleep_is_not_lost() {
    let explorer = Explorer::new().exhaustive().most_interruptions(2);
    explorer.check(|| {
        let system = System::new();
        let m = system.create("m", |_: &mut Me<(), ()>| {});
        // The system goes to sleep meanwhile; a wake-up that is lost is a deadlock.
        m.call(()).unwrap();
    });
}

#[test]
fn f71_a_call_is_answered_or_withdrawn_never_both() {
    explore(|| {
        let system = System::new();
        let m = system.create(
            "m",
            spinning(|me: &mut Me<u32, u32>| {
                let n = me.parameter().unwrap_or(0);
                me.yield_now();
                me.detach(n);
            }),
        );
        let own = m.clone();
        let gives_up = thread::spawn("gives up", move || {
            let mut call = Box::pin(own.call_async(1));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            let polled = call.as_mut().poll(&mut context);
            thread::yield_now();
            drop((polled, call));
        });
        let stays = thread::spawn("stays", move || assert_eq!(m.call(2).unwrap(), 2));
        gives_up.join().unwrap();
        stays.join().unwrap();
    });
}

#[test]
fn f71_a_coroutine_that_gives_up_goes_on_and_so_does_the_other() {
    explore(|| {
        let system = System::new();
        let m = system.create(
            "m",
            spinning(|me: &mut Me<u32, u32>| {
                let n = me.parameter().unwrap_or(0);
                leno_kernel::sleep(std::time::Duration::from_nanos(10));
                me.detach(n);
            }),
        );
        let own = m.clone();
        let gives_up = system.create("gives up", move |me: &mut Me<(), bool>| {
            let answer = own.call_timeout(1, std::time::Duration::from_nanos(10));
            me.answer(answer.is_ok_and(|n| n == 1));
        });
        let one = thread::spawn("one", move || gives_up.call(()).unwrap());
        let two = thread::spawn("two", move || assert_eq!(m.call(2).unwrap(), 2));
        one.join().unwrap();
        two.join().unwrap();
    });
}

#[test]
fn a_system_that_ends_answers_everybody() {
    explore(|| {
        let system = System::new();
        let m = system.create("m", |me: &mut Me<(), ()>| {
            loop {
                me.passivate()
            }
        });
        let own = m.clone();
        let calls = thread::spawn("calls", move || assert!(own.call(()).is_err()));
        drop(system);
        calls.join().unwrap();
        assert!(m.kick().is_err());
    });
}

#[test]
fn f10_one_that_yields_to_the_kernel_waits_for_its_turn() {
    explore(|| {
        let (system, inside) = (System::new(), Arc::new(AtomicUsize::new(0)));
        let both = ["a", "b"].map(|name| {
            let own = inside.clone();
            system.create(
                name,
                spinning(move |me: &mut Me<(), ()>| {
                    drop(Inside::new(&own));
                    leno_kernel::yield_now();
                    drop(Inside::new(&own));
                    me.detach(());
                }),
            )
        });
        let threads = both
            .map(|own| thread::spawn("calls", move || (0..2).for_each(|_| own.call(()).unwrap())));
        threads.into_iter().for_each(|own| own.join().unwrap());
    });
}
