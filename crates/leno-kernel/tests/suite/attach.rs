//! Schedulers as user code: sinks, attaching, call links, and when a coroutine first runs.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use leno_kernel::layer::{call, unpark_with};
use leno_kernel::policy::{Fifo, Hint};
use leno_kernel::{
    AttachError, Back, LocalSystem, Options, Outcome, Quiescence, Reason, Sink, Start, State,
    System, Wake, attach, cancel, current, park, spawn, spawn_local, spawn_local_future, try_spawn,
    try_spawn_local, unpark, yield_now,
};

type Seen = Rc<RefCell<Vec<String>>>;

fn say(seen: &Seen, word: impl Into<String>) {
    seen.borrow_mut().push(word.into());
}

fn named(name: &'static str) -> Options {
    Options::new().name(name)
}

/// Runs `f` as the only coroutine of a system at first.
fn inside<T: 'static>(f: impl FnOnce() -> T + 'static) -> T {
    let system = LocalSystem::new();
    let result = system.spawn(f);
    system.run().unwrap();
    result.join().unwrap()
}

#[test]
fn a_scheduler_decides_who_runs() {
    let seen = inside(|| {
        let seen: Seen = Rc::default();
        let sink = Sink::new();
        for name in ["a", "b", "c"] {
            let seen = seen.clone();
            let body = move || {
                for turn in 0..2 {
                    say(&seen, format!("{name}{turn}"));
                    yield_now();
                }
            };
            drop(sink.spawn(&named(name), body).unwrap());
        }
        // Last come, first served.
        let mut stack = Vec::new();
        loop {
            stack.extend(core::iter::from_fn(|| sink.try_next()));
            let Some(co) = stack.pop() else { break };
            attach(co).unwrap();
        }
        assert_eq!(sink.members(), 0);
        seen.take()
    });
    assert_eq!(seen.join(" "), "c0 c1 b0 b1 a0 a1");
}

#[test]
fn attaching_says_why_it_came_back() {
    inside(|| {
        let sink = Sink::new();
        let own = current().unwrap();
        let handle = sink
            .spawn(&Options::new(), move || {
                yield_now();
                park(Reason::Passive);
                call(own);
            })
            .unwrap();
        let co = handle.co().unwrap();
        assert_eq!(attach(co), Ok(Back::Yielded));
        assert_eq!(sink.next(), Some(co));
        assert_eq!(attach(co), Ok(Back::Parked(Reason::Passive)));
        assert_eq!(attach(co), Err(AttachError::NotReady(co, State::Parked(Reason::Passive))));
        unpark(co);
        assert_eq!(attach(co), Ok(Back::Called(own)));
        unpark(co);
        assert_eq!(attach(co), Ok(Back::Ended(Outcome::Returned)));
        assert_eq!(attach(co), Err(AttachError::Ended(co)));
        assert_eq!(sink.next(), None);
        handle.join().unwrap();
    });
}

#[test]
fn a_scheduler_waits_for_its_coroutines_and_they_for_others() {
    let turns = inside(|| {
        let sink = Sink::new();
        let others: Vec<_> = (0..10).map(|n| spawn_local(move || yield_twice(n))).collect();
        for other in others {
            drop(sink.spawn(&Options::new(), move || other.join().unwrap()).unwrap());
        }
        let mut turns = 0;
        while let Some(co) = sink.next() {
            turns += 1;
            attach(co).unwrap();
        }
        turns
    });
    assert_eq!(turns, 20, "each parks once");
}

fn yield_twice(n: u32) -> u32 {
    yield_now();
    yield_now();
    n
}

#[test]
fn schedulers_nest() {
    let seen = inside(|| {
        let seen: Seen = Rc::default();
        let outer = Sink::new();
        for name in ["x", "y"] {
            let seen = seen.clone();
            let body = move || {
                let inner = Sink::new();
                for n in 0..2 {
                    let seen = seen.clone();
                    let body = move || {
                        say(&seen, format!("{name}{n}"));
                        yield_now();
                        say(&seen, format!("{name}{n}'"));
                    };
                    drop(inner.spawn(&Options::new(), body).unwrap());
                }
                while let Some(co) = inner.next() {
                    attach(co).unwrap();
                    yield_now();
                }
            };
            drop(outer.spawn(&Options::new(), body).unwrap());
        }
        while let Some(co) = outer.next() {
            attach(co).unwrap();
        }
        seen.take()
    });
    assert_eq!(seen.join(" "), "x0 y0 x1 y1 x0' y0' x1' y1'");
}

#[test]
fn futures_are_attached_too_and_attach_others() {
    let sum = inside(|| {
        let total = Rc::new(Cell::new(0));
        let done = spawn_local_future({
            let total = total.clone();
            async move {
                let sink = Sink::new();
                for n in 1..=3 {
                    let total = total.clone();
                    let add = move || {
                        yield_now();
                        total.set(total.get() + n);
                    };
                    drop(sink.spawn(&Options::new(), add).unwrap());
                }
                let future = spawn_local_future(async { 4 });
                sink.take_over(future.co().unwrap()).unwrap();
                while let Some(co) = core::future::poll_fn(|context| sink.poll_next(context)).await
                {
                    attach(co).unwrap();
                }
                total.set(total.get() + future.await.unwrap());
            }
        });
        done.join().unwrap();
        total.get()
    });
    assert_eq!(sum, 10);
}

#[test]
fn what_is_lost_with_a_sink_is_the_cores_again() {
    inside(|| {
        let sink = Sink::new();
        let ready = sink.spawn(&Options::new(), || 1).unwrap();
        let taken = sink.spawn(&Options::new(), || 2).unwrap();
        let parked = sink
            .spawn(&Options::new(), || {
                park(Reason::Passive);
                3
            })
            .unwrap();
        assert_eq!(sink.try_next(), ready.co());
        attach(parked.co().unwrap()).unwrap();
        drop(sink);
        parked.unpark();
        assert_eq!([ready, taken, parked].map(|handle| handle.join().unwrap()), [1, 2, 3]);
    });
}

#[test]
fn draining_ends_those_whose_scheduler_never_attaches_them() {
    let system = LocalSystem::new();
    let dropped = Rc::new(Cell::new(0));
    struct Count(Rc<Cell<u32>>);
    impl Drop for Count {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let count = dropped.clone();
    drop(system.spawn(move || {
        let sink = Sink::new();
        for _ in 0..3 {
            let guard = Count(count.clone());
            let body = move || {
                let _guard = guard;
                loop {
                    yield_now();
                }
            };
            drop(sink.spawn(&Options::new(), body).unwrap());
        }
        attach(sink.try_next().unwrap()).unwrap();
        park(Reason::Passive);
    }));
    system.run().unwrap_err();
    let report = system.drain();
    assert_eq!((dropped.get(), report.exited, report.alive.len()), (3, 3, 0));
}

#[test]
fn attaching_takes_one_out_of_the_cores_queue() {
    for explicit in [false, true] {
        let builder = LocalSystem::builder();
        let builder = if explicit { builder.policy(Fifo::new()) } else { builder };
        let system = builder.build();
        let runs = Rc::new(Cell::new(0));
        let count = runs.clone();
        drop(system.spawn(move || {
            let body = move || count.set(count.get() + 1);
            let other = spawn_local(body);
            assert_eq!(attach(other.co().unwrap()), Ok(Back::Ended(Outcome::Returned)));
        }));
        assert_eq!(system.run().unwrap().returned, 2);
        assert_eq!(runs.get(), 1);
    }
}

#[test]
fn one_cannot_attach_itself_nor_those_of_others() {
    let elsewhere = LocalSystem::new();
    let other = elsewhere.spawn(|| ()).co().unwrap();
    inside(move || {
        let own = current().unwrap();
        assert_eq!(attach(own), Err(AttachError::NotReady(own, State::Running)));
        assert_eq!(attach(other), Err(AttachError::Elsewhere(other)));
        assert_eq!(Sink::new().take_over(other), Err(AttachError::Elsewhere(other)));
    });
    assert_eq!(attach(other), Err(AttachError::Elsewhere(other)));
    elsewhere.run().unwrap();
}

#[test]
fn a_call_link_hands_over_and_comes_back() {
    let seen = inside(|| {
        let seen: Seen = Rc::default();
        let own = current().unwrap();
        let log = seen.clone();
        let callee = spawn_local(move || {
            for n in 0..3 {
                park(Reason::Passive);
                say(&log, format!("callee {n}"));
                unpark_with(own, Hint::Next);
            }
        });
        let log = seen.clone();
        drop(spawn_local(move || say(&log, "other")));
        yield_now();
        for n in 0..3 {
            assert_eq!(call(callee.co().unwrap()), Wake::Unparked);
            say(&seen, format!("caller {n}"));
        }
        callee.join().unwrap();
        seen.take()
    });
    assert_eq!(
        seen.join(", "),
        "other, callee 0, caller 0, callee 1, caller 1, callee 2, caller 2"
    );
}

#[test]
fn a_call_that_nobody_answers_is_named_and_can_be_cancelled() {
    let system = LocalSystem::new();
    let callee = system.spawn_with(&named("callee"), || {
        loop {
            if park(Reason::Passive) == Wake::Exit {
                return;
            }
        }
    });
    let callee = callee.unwrap().co().unwrap();
    let caller = system.spawn_with(&named("caller"), move || call(callee)).unwrap();
    let deadlock = system.run().unwrap_err().to_string();
    assert!(deadlock.contains(&format!("'caller' is calling {callee}")), "{deadlock}");
    caller.cancel();
    cancel(callee);
    system.run().unwrap();
    assert_eq!(caller.join().unwrap(), Wake::Exit);
}

#[test]
fn c6_a_coroutine_starts_eagerly_idle_lazily_or_ready() {
    let seen = inside(|| {
        let seen: Seen = Rc::default();
        let spawn = |name: &'static str, start| {
            let log = seen.clone();
            let body = move || {
                say(&log, format!("{name} runs"));
                yield_now();
                say(&log, format!("{name} ends"));
            };
            try_spawn_local(&named(name).start(start), body).unwrap()
        };
        let eager = spawn("eager", Start::Eager);
        say(&seen, "spawned eager");
        let ready = spawn("ready", Start::Ready);
        let lazy = spawn("lazy", Start::Lazy);
        let idle = spawn("idle", Start::Idle);
        say(&seen, "spawned all");
        eager.join().unwrap();
        ready.join().unwrap();
        say(&seen, "wanted lazy");
        lazy.join().unwrap();
        say(&seen, "unparked idle");
        idle.unpark();
        idle.join().unwrap();
        seen.take()
    });
    assert_eq!(
        seen,
        [
            "eager runs",
            "spawned eager",
            "spawned all",
            "eager ends",
            "ready runs",
            "ready ends",
            "wanted lazy",
            "lazy runs",
            "lazy ends",
            "unparked idle",
            "idle runs",
            "idle ends",
        ]
    );
}

#[test]
fn c6_outside_the_core_and_on_several() {
    let system = LocalSystem::new();
    let ran = Rc::new(Cell::new(false));
    let flag = ran.clone();
    let eager = Options::new().start(Start::Eager);
    let handle = system.spawn_with(&eager, move || flag.set(true)).unwrap();
    assert!(ran.get(), "nobody had to run the system");
    handle.join().unwrap();

    let system = System::new(2).unwrap();
    let lazy = system.spawn_with(&Options::new().start(Start::Lazy), || 1);
    let idle = system.spawn_with(&Options::new().start(Start::Idle), || 2);
    let eager = system.spawn_with(&Options::new().start(Start::Eager), || 3);
    let within = system.spawn(|| {
        let core = || current().unwrap().to_string().split('.').next().unwrap().to_owned();
        let own = core();
        let eager = Options::new().start(Start::Eager);
        let there = try_spawn(&eager, core).unwrap();
        assert!(there.is_finished());
        there.join().unwrap() == own
    });
    assert_eq!(lazy.join().unwrap(), 1);
    idle.unpark();
    assert_eq!(idle.join().unwrap(), 2);
    assert_eq!(eager.join().unwrap(), 3);
    assert!(within.join().unwrap());
}

#[test]
fn c6_those_that_never_start_are_named_removed_and_drained() {
    let idle = named("sleeper").start(Start::Idle);
    let system = LocalSystem::new();
    drop(system.spawn_with(&idle, || ()).unwrap());
    let deadlock = system.run().unwrap_err().to_string();
    assert!(deadlock.contains("'sleeper' is new"), "{deadlock}");
    assert_eq!(system.drain().exited, 1);

    let system = LocalSystem::builder().at_quiescence(Quiescence::Reap).build();
    let handle = system.spawn_with(&idle, || ()).unwrap();
    assert_eq!(system.run().unwrap().alive.len(), 0);
    assert_eq!(handle.join().unwrap_err().outcome(), Some(Outcome::Exited));

    let system = System::new(1).unwrap();
    let handle = system.spawn_with(&idle, || ());
    drop(system);
    assert_eq!(handle.join().unwrap_err().outcome(), Some(Outcome::Exited));
}

#[test]
fn waiting_for_a_coroutine_of_another_system_is_no_deadlock() {
    let others = System::new(1).unwrap();
    let other = others.spawn(|| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        spawn(|| 5).join().unwrap()
    });
    let system = LocalSystem::new();
    let sum = system.spawn(move || other.join().unwrap() + 1);
    system.run().unwrap();
    assert_eq!(sum.join().unwrap(), 6);
}

#[test]
fn futures_that_wait_for_each_other_are_a_deadlock() {
    let system = LocalSystem::new();
    let first = Rc::new(RefCell::new(None));
    let own = first.clone();
    let one = system.spawn_future(async move {
        let other: leno_kernel::JoinHandle<()> = own.borrow_mut().take().unwrap();
        let _ = other.await;
    });
    first.replace(Some(system.spawn_future(async move {
        let _ = one.await;
    })));
    let deadlock = system.run().unwrap_err();
    assert_eq!(deadlock.report.alive.len(), 2);
}
