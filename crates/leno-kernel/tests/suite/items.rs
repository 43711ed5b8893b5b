//! Public functions that are given code, or outlive their system, keep no reference to a core; limits hold.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use leno_coroutine::{Coroutine, Suspender};
use leno_kernel::layer::bell::Bell;
use leno_kernel::layer::{Alarm, listen};
use leno_kernel::log::{self, What};
use leno_kernel::policy::{ChoiceLog, Decided, Decision};
use leno_kernel::{
    BuildError, LocalSystem, Options, Platform, Sink, SpawnError, System, Time, VirtualTime,
    current, sleep, spawn_local, yield_now,
};

/// A generator that was suspended by `body` in a coroutine of the system, which has ended.
fn suspended_in(
    system: &LocalSystem,
    body: impl FnOnce(&Suspender<(), ()>) + 'static,
) -> Coroutine<(), ()> {
    let kept = Rc::new(RefCell::new(None));
    let keep = kept.clone();
    let ends = system.spawn(move || {
        let generator = Coroutine::new(move |co: &Suspender<(), ()>, ()| body(co));
        generator.resume(());
        *keep.borrow_mut() = Some(generator);
    });
    system.run().unwrap();
    ends.join().unwrap();
    kept.take().expect("it was kept")
}

#[test]
fn a_look_that_suspends_the_code_that_listens_is_asked_where_that_goes_on() {
    let (system, looks) = (LocalSystem::new(), Rc::new(Cell::new(0)));
    let counted = looks.clone();
    let generator = suspended_in(&system, move |co| {
        let found = listen(|| {
            counted.set(counted.get() + 1);
            co.suspend(());
            false
        });
        assert!(!found);
    });
    // Busy: the generator, which is a plain thread's now, does not care.
    let waits = system.spawn(|| ());
    while !generator.resume(()).is_finished() {}
    assert!(looks.get() > 1, "{} looks", looks.get());
    drop(system);
    assert!(waits.join().is_err());
}

#[test]
fn an_event_that_suspends_the_code_that_tells_of_it_is_of_who_goes_on() {
    let system = LocalSystem::builder().log(100).build();
    let generator = suspended_in(&system, |co| {
        log::add(|| {
            co.suspend(());
            What::Marked("late".into())
        });
    });
    assert!(generator.resume(()).is_finished());
    let is_mark = |what: &What| matches!(what, What::Marked(_));
    assert!(!system.log().events().iter().any(|event| is_mark(&event.what)));
}

#[test]
fn a_sink_is_of_no_other_system_than_its_own() {
    let (first, kept) = (LocalSystem::new(), Rc::new(RefCell::new(None)));
    let keep = kept.clone();
    first.spawn(move || *keep.borrow_mut() = Some(Sink::new())).join_after(&first);
    drop(first);
    let second = LocalSystem::new();
    let refused = second.spawn(move || {
        let sink = kept.take().expect("it was kept");
        let spawned = sink.spawn(&Options::new(), || ());
        matches!(spawned, Err(SpawnError::NoSystem))
    });
    assert!(refused.join_after(&second));
}

#[test]
fn an_alarm_that_outlives_its_system_is_no_timer_of_another() {
    let (first, kept) = (LocalSystem::new(), Rc::new(RefCell::new(None)));
    let keep = kept.clone();
    let sets = first.spawn_future(poll_fn(move |context| {
        *keep.borrow_mut() = Some(Alarm::set(Time::NEVER, context));
        Poll::Ready(())
    }));
    sets.join_after(&first);
    drop(first);
    let second = LocalSystem::builder().virtual_time().build();
    let sleeps = second.spawn(|| sleep(Duration::from_secs(1)));
    let drops = second.spawn(move || drop(kept.take()));
    second.run().expect("its timer is still there");
    sleeps.join().unwrap();
    drops.join().unwrap();
}

trait JoinAfter<T> {
    /// Runs the system, and joins.
    fn join_after(self, system: &LocalSystem) -> T;
}

impl<T> JoinAfter<T> for leno_kernel::JoinHandle<T> {
    fn join_after(self, system: &LocalSystem) -> T {
        system.run().unwrap();
        self.join().unwrap()
    }
}

#[test]
fn more_cores_than_a_process_has_are_refused_before_any_is_taken() {
    let refused = System::new(usize::MAX).expect_err("nobody has so many");
    assert!(matches!(refused, BuildError::Cores(_)), "{refused}");
    let full: ChoiceLog = "P2X3w5e11264sgse".parse().expect("2⁶⁴ - 2 decisions");
    let mut full = full;
    let more = Decision::new(Decided::Pick, 2, 0);
    full.push(more);
    let refused = catch_unwind(AssertUnwindSafe(|| full.push(more)));
    assert!(refused.is_err(), "{}", full.len());
}

/// Is asked for the time by the core's loop alone.
struct Aside(VirtualTime);

impl Platform for Aside {
    fn now(&self) -> Time {
        assert!(current().is_none(), "in the middle of an operation");
        self.0.now()
    }

    fn idle(&self, bell: &Bell, deadline: Option<Time>) {
        self.0.idle(bell, deadline);
    }

    fn is_virtual(&self) -> bool {
        true
    }
}

#[test]
fn a_log_does_not_ask_a_clock_of_a_user_in_the_middle_of_an_operation() {
    let system = LocalSystem::builder().platform(Aside(VirtualTime::new())).log(100).build();
    let yields = system.spawn(|| {
        let child = spawn_local(yield_now);
        yield_now();
        child.join().is_ok()
    });
    assert!(yields.join_after(&system));
    assert!(system.log().events().len() > 5);
}
