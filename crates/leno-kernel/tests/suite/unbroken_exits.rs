//! Exits of the code around a core's loop, exits that are caught and raised again, and ends of systems that wait for
//! each other.
#![cfg(not(any(loom, leno_baton)))]

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::ThreadId;
use std::time::Duration;

use crate::support::bounded;
use leno_coroutine::{Coroutine, Local, Suspender, ring};
use leno_kernel::io::{Descriptor, Interest};
use leno_kernel::layer::{Alarm, deadline_in};
use leno_kernel::{
    Co, LocalSystem, Outcome, System, Waiter, blocking, cancel, current, help, now, scope, sleep,
    yield_now,
};

type Payload = Box<dyn Any + Send>;

/// The exit of a generator that was dropped.
fn an_exit() -> Payload {
    let caught: Arc<Mutex<Option<Payload>>> = Arc::default();
    let keeps = caught.clone();
    let generator = Coroutine::new(move |co: &Suspender<(), ()>, ()| {
        *keeps.lock().unwrap() = catch_unwind(AssertUnwindSafe(|| co.suspend(()))).err();
    });
    generator.resume(());
    drop(generator);
    caught.lock().unwrap().take().unwrap()
}

/// Raises a payload when it is woken or dropped.
struct Raises(Mutex<Option<Payload>>);

impl Raises {
    fn exit() -> Raises {
        Raises(Mutex::new(Some(an_exit())))
    }

    fn raise(&self) {
        let payload = self.0.lock().unwrap().take();
        if let Some(payload) = payload {
            resume_unwind(payload);
        }
    }
}

impl Wake for Raises {
    fn wake(self: Arc<Self>) {
        self.raise();
    }
}

impl Drop for Raises {
    fn drop(&mut self) {
        self.raise();
    }
}

#[test]
fn futures_that_are_ended_with_the_code_around_their_loop_end_the_loop() {
    bounded(|| {
        let ended = Rc::new(Cell::new(0));
        let counts = ended.clone();
        ring::scope(|s| {
            s.spawn(|| {
                let system = LocalSystem::new();
                for _ in 0..20 {
                    struct Counts(Rc<Cell<u32>>);
                    impl Drop for Counts {
                        fn drop(&mut self) {
                            self.0.set(self.0.get() + 1);
                        }
                    }
                    let counts = Counts(counts.clone());
                    drop(system.spawn_future(async move {
                        ring::yield_now();
                        drop(counts);
                    }));
                }
                // One that never ends by itself.
                drop(system.spawn(|| {
                    loop {
                        sleep(Duration::from_millis(1));
                    }
                }));
                drop(system.run());
            });
            ring::yield_now();
        });
        assert_eq!(ended.get(), 20, "all have ended with the scope");
    });
}

thread_local!(static AROUND: Cell<Option<*const Suspender<(), ()>>> = const { Cell::new(None) });

#[test]
fn a_body_that_is_ended_with_a_generator_around_its_loop_ends_the_loop() {
    bounded(|| {
        let generator = Coroutine::new(|co: &Suspender<(), ()>, ()| {
            AROUND.set(Some(co));
            let system = LocalSystem::new();
            drop(system.spawn(|| {
                let around = AROUND.take().unwrap();
                // SAFETY: the generator is around this call. It stands for whatever hands references down a
                // call in a thread-local, which others offer safely.
                unsafe { &*around }.suspend(());
            }));
            drop(system.spawn(|| {
                loop {
                    sleep(Duration::from_millis(1));
                }
            }));
            drop(system.run());
            unreachable!("the run is left by the generator's exit");
        });
        generator.resume(());
        drop(generator);
    });
}

#[test]
fn the_clock_outlives_an_exit_that_a_waker_raises() {
    struct Tells(std::sync::mpsc::Sender<()>);
    impl Wake for Tells {
        fn wake(self: Arc<Self>) {
            let _ = self.0.send(());
        }
    }
    let raises = Arc::new(Raises::exit());
    let waker = Waker::from(raises.clone());
    let alarm = Alarm::set(now() + Duration::from_millis(1), &Context::from_waker(&waker));
    let (tell, told) = channel();
    let waker = Waker::from(Arc::new(Tells(tell)));
    let later = Alarm::set(now() + Duration::from_millis(5), &Context::from_waker(&waker));
    told.recv_timeout(Duration::from_secs(60)).expect("the later alarm goes off");
    assert!(raises.0.lock().unwrap().is_none(), "the first one did");
    drop((alarm, later));
}

#[test]
fn helpers_outlive_exits_that_jobs_raise() {
    bounded(|| {
        // More than there are helpers.
        for _ in 0..300 {
            let payload = an_exit();
            help(move || resume_unwind(payload));
        }
        let system = System::new(1).unwrap();
        assert_eq!(system.spawn(|| blocking(|| 7)).join().unwrap(), 7);
    });
}

#[test]
fn cores_outlive_exits_that_results_and_wakers_raise() {
    bounded(|| {
        let system = System::new(1).unwrap();
        let innocent = system.spawn(|| {
            sleep(Duration::from_millis(20));
            7
        });
        // It ends when its handle is gone: else this thread would drop its result.
        let (go, wait) = channel::<()>();
        drop(system.spawn(move || {
            wait.recv().unwrap();
            Raises::exit()
        }));
        go.send(()).unwrap();
        let waker = Waker::from(Arc::new(Raises::exit()));
        drop(system.spawn_future(poll_fn(move |_| {
            waker.wake_by_ref();
            Poll::Ready(())
        })));
        let payload = Mutex::new(Some(an_exit()));
        let panics = system.spawn(move || resume_unwind(payload.lock().unwrap().take().unwrap()));
        assert!(panics.join().is_err());
        assert_eq!(innocent.join().unwrap(), 7);
    });
}

#[test]
fn a_waker_that_raises_a_foreign_exit_does_not_unwind_who_wakes_it() {
    let system = LocalSystem::new();
    let goes_on = system.spawn(|| {
        Waiter::Waker(Waker::from(Arc::new(Raises::exit()))).wake();
        7
    });
    system.run().unwrap();
    assert_eq!(goes_on.join().unwrap(), 7);
}

fn alarm_of(system: &LocalSystem) -> Alarm {
    let kept = Rc::new(RefCell::new(None));
    let own = kept.clone();
    drop(system.spawn_future(poll_fn(move |context| {
        *own.borrow_mut() = Some(Alarm::set(deadline_in(Duration::from_secs(60)), context));
        Poll::Ready(())
    })));
    system.run().unwrap();
    kept.take().unwrap()
}

#[test]
fn an_alarm_may_outlive_its_core_whose_number_a_team_has() {
    let systems: Vec<_> = (0..4).map(|_| LocalSystem::new()).collect();
    let alarms: Vec<_> = systems.iter().map(alarm_of).collect();
    drop(systems);
    // They take the numbers of those that are gone.
    let others: Vec<_> = (0..4).map(|_| System::new(1).unwrap()).collect();
    drop(alarms);
    drop(others);
}

#[test]
fn systems_whose_coroutines_drop_each_other_end() {
    bounded(|| {
        let a = Arc::new(System::new(1).unwrap());
        let b = Arc::new(System::new(1).unwrap());
        let both = Arc::new(Barrier::new(3));
        let (a2, b2, x, y) = (a.clone(), b.clone(), both.clone(), both.clone());
        let one = a.spawn(move || {
            x.wait();
            x.wait();
            drop(b2);
        });
        let two = b.spawn(move || {
            y.wait();
            y.wait();
            drop(a2);
        });
        both.wait();
        drop((a, b));
        both.wait();
        let _ = (one.join(), two.join());
    });
}

#[test]
fn a_blocking_closure_may_drop_the_system_of_its_coroutine() {
    bounded(|| {
        let system = Arc::new(System::new(1).unwrap());
        let own = system.clone();
        let (go, wait) = channel::<()>();
        let (tell, told) = channel();
        let one = system.spawn(move || {
            blocking(move || {
                wait.recv().unwrap();
                drop(own);
                tell.send(()).unwrap();
            });
        });
        // If it is the last one.
        while Arc::strong_count(&system) > 2 {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(20));
        drop(system);
        go.send(()).unwrap();
        told.recv().unwrap();
        let _ = one.join();
    });
}

static OWN: Local<Rc<ThreadId>> = Local::new(|| Rc::new(std::thread::current().id()));

struct Touches;

impl Drop for Touches {
    fn drop(&mut self) {
        OWN.with(|_| ());
    }
}

#[test]
fn locals_that_are_made_after_a_body_are_not_those_of_the_next_one_on_its_stack() {
    let (done, wait) = channel::<()>();
    let (tell, told) = channel::<()>();
    let other = std::thread::spawn(move || {
        let system = LocalSystem::new();
        drop(system.spawn(|| {
            scope(|s| {
                for _ in 0..300 {
                    drop(s.spawn(|| {
                        yield_now();
                        Touches
                    }));
                }
            });
        }));
        system.run().unwrap();
        tell.send(()).unwrap();
        // It is alive while others use the stacks that it has given back.
        let _ = wait.recv();
    });
    told.recv().unwrap();
    let (system, own) = (LocalSystem::new(), std::thread::current().id());
    let found: Vec<_> = (0..300)
        .map(|_| {
            system.spawn(move || {
                yield_now();
                OWN.with(|made_by| **made_by == own)
            })
        })
        .collect();
    system.run().unwrap();
    assert!(found.into_iter().all(|is_own| is_own.join().unwrap()), "all are of this thread");
    done.send(()).unwrap();
    other.join().unwrap();
}

/// Names another descriptor than its own when it is told to.
struct Lies(UnixStream, Arc<UnixStream>, Arc<AtomicBool>);

impl AsFd for Lies {
    fn as_fd(&self) -> BorrowedFd<'_> {
        if self.2.load(SeqCst) { self.1.as_fd() } else { self.0.as_fd() }
    }
}

/// Another owner of a descriptor.
struct Shares(Arc<UnixStream>);

impl AsFd for Shares {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[test]
fn a_descriptor_whose_owner_names_another_one_does_not_end_that_ones_watch() {
    use std::io::Write;
    let system = LocalSystem::new();
    let (first, _keeps) = UnixStream::pair().unwrap();
    let (second, mut far) = UnixStream::pair().unwrap();
    let (second, is_lying) = (Arc::new(second), Arc::new(AtomicBool::new(false)));
    let liar = Descriptor::new(Lies(first, second.clone(), is_lying.clone())).unwrap();
    let honest = Descriptor::new(Shares(second)).unwrap();
    let waits = system.spawn(move || honest.wait(Interest::READ).unwrap().is_readable());
    drop(system.spawn(move || {
        let waker = Waker::noop();
        let ready = liar.poll_ready(&mut Context::from_waker(waker), Interest::READ);
        assert!(ready.is_pending());
        is_lying.store(true, SeqCst);
        drop(liar);
        far.write_all(b"x").unwrap();
        yield_now();
        drop(far);
    }));
    system.run().unwrap();
    assert!(waits.join().unwrap());
}

#[test]
fn failures_that_a_core_reports_too_late_are_in_the_next_report() {
    let system = System::new(1).unwrap();
    let fails = || {
        let (let_go, has_handle) = channel::<()>();
        // Its panic is a failure if nobody has its handle by then.
        drop(system.spawn(move || {
            assert!(has_handle.recv().is_err());
            resume_unwind(Box::new("it fails"));
        }));
        drop(let_go);
    };
    fails();
    let (go, wait) = channel::<()>();
    let busy = system.spawn(move || wait.recv().unwrap());
    // The core is busy for longer than a report waits.
    let report = loop {
        let report = system.report();
        if !report.busy.is_empty() {
            break report;
        }
        assert!(report.failures.is_empty() || !busy.is_finished());
        if !report.failures.is_empty() {
            // It came before the core was busy: once more.
            drop(report);
            fails();
        }
    };
    assert!(report.failures.is_empty(), "a busy core reports nothing");
    go.send(()).unwrap();
    busy.join().unwrap();
    let mut failures = 0;
    while failures == 0 {
        failures += system.report().failures.len();
    }
    assert_eq!(failures, 1);
}

#[test]
fn a_loop_ends_although_a_waker_raises_an_exit_when_a_coroutine_is_given_up() {
    /// Cancels a coroutine, and yields in it.
    struct Exits(Co);
    impl Wake for Exits {
        fn wake(self: Arc<Self>) {
            cancel(self.0);
            yield_now();
        }
    }

    bounded(|| {
        let outer = LocalSystem::new();
        let exits = outer.spawn(|| {
            let inner = LocalSystem::new();
            let mut refuses = inner.spawn(|| {
                loop {
                    drop(catch_unwind(yield_now));
                }
            });
            let waker = Waker::from(Arc::new(Exits(current().unwrap())));
            let polled = std::pin::Pin::new(&mut refuses).poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
            drop(inner.spawn(move || {
                yield_now();
                refuses.cancel();
                std::mem::forget(refuses);
            }));
            drop(inner.run());
            unreachable!("its exit was raised");
        });
        outer.run().unwrap();
        assert_eq!(exits.join().unwrap_err().outcome(), Some(Outcome::Exited));
    });
}
