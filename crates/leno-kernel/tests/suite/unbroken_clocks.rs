//! Clocks, wakers and destructors that suspend the code around, hop or panic while a core calls them: what is freed
//! meanwhile is not used afterwards, and nothing is lost.
#![cfg(not(any(loom, leno_baton)))]

use std::cell::{Cell, RefCell};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use leno_coroutine::{Coroutine, State, Suspender, ring};
use leno_kernel::io::{Descriptor, Interest};
use leno_kernel::layer::bell::Bell;
use leno_kernel::policy::{Fifo, Policy, Ready, Why};
use leno_kernel::{
    Budget, Co, LocalSystem, Options, Platform, RealTime, Reason, Sink, Time, attach, current,
    park, sleep, spawn_local, unpark, yield_now,
};

type Generator = Coroutine<(), ()>;
type Kept = Rc<RefCell<Option<Generator>>>;

thread_local! {
    static AROUND: Cell<Option<*const Suspender<(), ()>>> = const { Cell::new(None) };
    static IS_SET: Cell<bool> = const { Cell::new(false) };
    static PARKED: Cell<Option<Co>> = const { Cell::new(None) };
}

/// A generator whose suspender is handed down to whatever its body calls.
fn generator(body: impl FnOnce() + 'static) -> Generator {
    Coroutine::new(move |co: &Suspender<(), ()>, ()| {
        AROUND.set(Some(co));
        body();
    })
}

/// Suspends that generator, once it was set.
fn intrude() {
    if IS_SET.replace(false) {
        let around = AROUND.get().expect("a generator runs");
        // SAFETY: the generator is around this call. It stands for whatever hands references down a call in
        // a thread-local, which others offer safely.
        unsafe { &*around }.suspend(());
    }
}

/// Fills what was freed.
fn fill_memory() {
    let mut kept = Vec::new();
    for size in (64..32_768).step_by(16) {
        kept.push(vec![0x41_u8; size]);
        kept.push(vec![0x41_u8; size]);
    }
    std::hint::black_box(&kept);
}

/// Suspends the generator in which it is asked: for the time, or whether that is virtual.
struct Intruder {
    when_asked_for_time: bool,
}

impl Platform for Intruder {
    fn now(&self) -> Time {
        if self.when_asked_for_time {
            intrude();
        }
        RealTime::new().now()
    }
    fn idle(&self, bell: &Bell, _: Option<Time>) {
        bell.wait_for(Duration::from_millis(1));
    }
    fn is_virtual(&self) -> bool {
        if !self.when_asked_for_time {
            intrude();
        }
        false
    }
}

/// Runs a body in a generator, in a coroutine of a system with that clock, which ends before the generator goes on.
fn outlives_its_system(when_asked_for_time: bool, body: impl FnOnce() + 'static) {
    let clock = Intruder { when_asked_for_time };
    let system = LocalSystem::builder().platform(clock).preemptive().build();
    let kept = Kept::default();
    let keeps = kept.clone();
    drop(system.spawn(move || {
        let sleeper = spawn_local(|| sleep(Duration::from_secs(3600)));
        yield_now();
        let own = generator(body);
        own.resume(());
        *keeps.borrow_mut() = Some(own);
        sleeper.cancel();
    }));
    // The loop asks the clock, too; there the suspender is refused, and that panic leaves the run.
    while catch_unwind(AssertUnwindSafe(|| system.run().unwrap())).is_err() {}
    drop(system);
    fill_memory();
    let left = kept.take().unwrap();
    if left.state() == State::Suspended {
        let _ = catch_unwind(AssertUnwindSafe(|| left.resume(())));
    }
}

fn sink_with(count: usize) -> Sink {
    let sink = Sink::new();
    for _ in 0..count {
        drop(sink.spawn(&Options::new(), || ()).unwrap());
    }
    sink
}

#[test]
fn a_clock_that_suspends_who_attaches_leaves_no_reference_to_the_core() {
    outlives_its_system(true, || {
        let sink = sink_with(70);
        for _ in 0..64 {
            let _ = attach(sink.next().unwrap());
        }
        IS_SET.set(true);
        let _ = sink.next();
        IS_SET.set(false);
    });
}

#[test]
fn a_clock_that_suspends_who_gives_a_slice_leaves_no_reference_to_the_core() {
    outlives_its_system(false, || {
        let sink = sink_with(1);
        let first = sink.next().unwrap();
        IS_SET.set(true);
        let _ = first.attach(Budget::time(Duration::from_secs(1)));
        IS_SET.set(false);
    });
}

#[test]
fn timers_fire_by_a_users_clock_while_a_scheduler_is_never_done() {
    struct Own(RealTime);
    impl Platform for Own {
        fn now(&self) -> Time {
            self.0.now()
        }
        fn idle(&self, bell: &Bell, deadline: Option<Time>) {
            self.0.idle(bell, deadline);
        }
    }
    let system = LocalSystem::builder().platform(Own(RealTime::new())).build();
    let is_over = Rc::new(Cell::new(false));
    let ends = is_over.clone();
    drop(system.spawn(move || {
        sleep(Duration::from_millis(5));
        ends.set(true);
    }));
    drop(system.spawn(move || {
        let (sink, ends) = (Sink::new(), is_over.clone());
        let forever = move || {
            while !ends.get() {
                yield_now();
            }
        };
        drop(sink.spawn(&Options::new(), forever).unwrap());
        while !is_over.get() {
            let _ = sink.next().map(attach);
        }
    }));
    system.run().unwrap();
}

/// Does something when it is woken, and fills what was freed by that.
struct Hops(fn());

impl Wake for Hops {
    fn wake(self: Arc<Self>) {
        (self.0)();
        fill_memory();
        IS_SET.set(true);
    }
}

/// Runs a system whose reactor calls such a waker while its loop is busy.
fn poll_with_waker(hop: fn()) {
    let system = LocalSystem::new();
    let (mut far, near) = UnixStream::pair().unwrap();
    let descriptor = Rc::new(Descriptor::new(near).unwrap());
    let own = descriptor.clone();
    drop(system.spawn_future(async move {
        let waker = Waker::from(Arc::new(Hops(hop)));
        let ready = own.poll_ready(&mut Context::from_waker(&waker), Interest::READ);
        assert!(ready.is_pending());
    }));
    drop(system.spawn(move || {
        yield_now();
        far.write_all(b"x").unwrap();
        while !IS_SET.get() {
            yield_now();
        }
        drop((far, descriptor));
    }));
    system.run().unwrap();
    IS_SET.set(false);
}

#[test]
fn a_waker_that_hops_while_a_core_polls_may_end_another_core_of_the_thread() {
    ring::spawn(|| {
        let other = LocalSystem::new();
        drop(other.spawn_future(async { ring::yield_now() }));
        other.run().unwrap();
    });
    ring::yield_now();
    poll_with_waker(ring::yield_now);
}

#[test]
fn a_waker_that_yields_while_a_core_polls_may_end_another_core_of_the_thread() {
    struct Parks(RealTime, Cell<u32>);
    impl Platform for Parks {
        fn now(&self) -> Time {
            self.1.set(self.1.get() + 1);
            if self.1.get() == 4 {
                park(Reason::Sleeping);
            }
            self.0.now()
        }
        fn idle(&self, bell: &Bell, deadline: Option<Time>) {
            self.0.idle(bell, deadline);
        }
    }
    let outer = LocalSystem::new();
    drop(outer.spawn(|| {
        PARKED.set(current());
        let clock = Parks(RealTime::new(), Cell::new(0));
        let other = LocalSystem::builder().platform(clock).build();
        drop(other.spawn(|| (0..1000).for_each(|_| yield_now())));
        other.run().unwrap();
    }));
    drop(outer.spawn(|| {
        poll_with_waker(|| {
            unpark(PARKED.get().unwrap());
            yield_now();
        });
    }));
    outer.run().unwrap();
}

/// Panics when a coroutine yields, and suspends the generator around when it is dropped.
#[derive(Default)]
struct Dies(Fifo, bool);

impl Policy for Dies {
    fn ready(&mut self, ready: &Ready<'_>) {
        self.0.ready(ready);
        if ready.why == Why::Yielded && IS_SET.get() {
            self.1 = true;
            panic!("the policy fails");
        }
    }
    fn pick(&mut self) -> Option<Co> {
        self.0.pick()
    }
    fn forget(&mut self, co: Co) {
        self.0.forget(co);
    }
}

impl Drop for Dies {
    fn drop(&mut self) {
        if self.1 {
            intrude();
        }
    }
}

#[test]
fn a_core_stays_until_the_destructor_of_its_policy_has_come_back() {
    let system = LocalSystem::builder().policy(Dies::default()).build();
    let kept = Kept::default();
    let keeps = kept.clone();
    drop(system.spawn(move || {
        let own = generator(|| {
            IS_SET.set(true);
            yield_now();
        });
        own.resume(());
        *keeps.borrow_mut() = Some(own);
    }));
    // The policy's panic leaves it.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(system.run())));
    drop(system);
    fill_memory();
    let left = kept.take().unwrap();
    assert!(left.state() == State::Suspended, "the policy's destructor has suspended it");
    let _ = catch_unwind(AssertUnwindSafe(|| left.resume(())));
}

/// A clock that fails once: when it idles, or when it is made.
struct Fails {
    clock: RealTime,
    idles: Cell<bool>,
    is_asked: Cell<bool>,
}

impl Platform for Fails {
    fn now(&self) -> Time {
        if self.is_asked.replace(false) {
            // Says nothing on stderr.
            resume_unwind(Box::new("the clock fails"));
        }
        self.clock.now()
    }
    fn idle(&self, bell: &Bell, deadline: Option<Time>) {
        self.clock.idle(bell, deadline);
        assert!(!self.idles.replace(false), "idling fails");
    }
}

#[test]
fn mail_that_ends_an_idle_that_panics_is_read_by_the_next_run() {
    let clock =
        Fails { clock: RealTime::new(), idles: Cell::new(true), is_asked: Cell::new(false) };
    let system = LocalSystem::builder().platform(clock).build();
    let (tell, told) = channel();
    let waits = system.spawn(move || {
        tell.send(current().unwrap()).unwrap();
        park(Reason::Io)
    });
    let thread = std::thread::spawn(move || {
        let co = told.recv().unwrap();
        // Not before the core sleeps, most of the time.
        std::thread::sleep(Duration::from_millis(50));
        unpark(co);
    });
    let mut runs = 0;
    while !waits.is_finished() {
        runs += 1;
        let _ = catch_unwind(AssertUnwindSafe(|| drop(system.run())));
        assert!(runs < 3, "the second run reads it");
    }
    thread.join().unwrap();
}

#[test]
fn a_clock_that_fails_when_a_system_is_made_loses_no_core_number() {
    // More than there are numbers.
    for _ in 0..(1 << 16) + 10 {
        let clock =
            Fails { clock: RealTime::new(), idles: Cell::new(false), is_asked: Cell::new(true) };
        let builder = LocalSystem::builder().platform(clock);
        assert!(catch_unwind(AssertUnwindSafe(|| builder.build())).is_err());
    }
    LocalSystem::new().run().unwrap();
}
