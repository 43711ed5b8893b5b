//! What a dump says: of each coroutine its name, state, age, what it waits for, who could wake it,
//! where it was spawned and where it is; of a core that does not answer, whom it runs. Not in `suite`: some look at all systems of the
//! process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Poll, Waker};
use std::time::Duration;

use leno_coroutine::Coroutine;
use leno_kernel::dump::{Depth, Dump};
use leno_kernel::layer::ledger::{End, Knower, Side, learn};
use leno_kernel::layer::{Sign, park_on};
use leno_kernel::policy::Lifo;
use leno_kernel::{
    LocalSystem, Name, Object, Options, Reason, State, System, block_on, blocking, current,
    dump_all, park, sleep, spawn_local, try_spawn, yield_now,
};

fn wait_for_ever() {
    park(Reason::Passive);
}

fn named(name: impl Into<Name>) -> Options {
    Options::new().name(name)
}

/// The text, with numbers of coroutines, times, and lines replaced.
fn normal(dump: &impl ToString) -> String {
    let mut text = String::new();
    for word in dump.to_string().split_inclusive([' ', '\n']) {
        let (word, end) = word.split_at(word.trim_end_matches([' ', '\n']).len());
        let bare = word.trim_matches(['(', ')', ',', ':']);
        let is_time = bare.strip_suffix('s').is_some_and(|time| {
            time.starts_with(|c: char| c.is_ascii_digit()) && !time.contains(':')
        });
        let shown = if is_time {
            word.replace(bare, "TIME")
        } else if bare.starts_with('#') {
            word.replace(bare, "#N")
        } else if bare.contains("dump.rs:") {
            word.replace(bare, "HERE")
        } else {
            word.to_owned()
        };
        text += &shown;
        text += end;
    }
    text
}

/// The lines about one coroutine.
fn about<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!("  '{name}' ");
    let mut lines = text.lines().skip_while(|line| !line.starts_with(&start));
    let first = lines.next().unwrap_or_else(|| panic!("no {name} in\n{text}")).trim();
    let rest = lines.take_while(|line| line.starts_with("    ")).map(str::trim);
    std::iter::once(first).chain(rest).collect()
}

#[test]
fn the_text_of_a_dump() {
    let system = LocalSystem::builder().name("shop").virtual_time().policy(Lifo::new()).build();
    let orders = Object::local();
    let line = line!() + 1;
    let clerk = system.spawn_with(&named("clerk"), move || {
        sleep(Duration::from_secs(2));
        park(Reason::Hungry(orders));
    });
    let clerk = clerk.unwrap();
    let co = clerk.co().unwrap();
    let boss = system.spawn_with(&named("boss"), move || drop(clerk.join())).unwrap();
    let cat = system.spawn_future_with(&named("cat"), std::future::pending::<()>()).unwrap();
    let (boss, cat) = (boss.co().unwrap(), cat.co().unwrap());
    drop(system.spawn(|| ()));
    system.run().unwrap_err();
    let text = system.dump(Depth::States).to_string();
    let core = text.lines().nth(1).unwrap().split(' ').nth(1).unwrap().to_owned();
    let (file, second, third) = (file!(), line + 6, line + 7);
    let expected = format!(
        "system 'shop', 1 core
core {core} at 2.000000 s of virtual time, lifo: 4 spawned, 1 returned, 3 left
  'clerk' ({co}) is waiting to receive from channel {orders} for 0.0ns
    alive for 2.0s, spawned at {file}:{line}:24
  'boss' ({boss}) is waiting for the end of {co} for 2.0s
    to be woken by 'clerk' ({co})
    alive for 2.0s, spawned at {file}:{second}:23
  'cat' ({cat}), a future, is waiting for a future for 2.0s
    to be woken by whoever knows it
    alive for 2.0s, spawned at {file}:{third}:22
"
    );
    assert_eq!(text, expected);
}

#[test]
fn a_sign_says_what_is_waited_for_and_who_could_wake() {
    let system = LocalSystem::new();
    let door = || {
        let door = Sign::new(Object::local());
        door.set_name("door");
        door.set_ends(1, 3);
        door
    };
    let hungry = move || {
        let door = door();
        park_on(Reason::Hungry(door.object()), &door);
    };
    let blocked = move || {
        let door = door();
        park_on(Reason::Blocked(door.object()), &door);
    };
    let keeper = system.spawn_with(&named("keeper"), wait_for_ever).unwrap();
    let holder = keeper.co();
    let locked = move || {
        let door = door();
        door.set_holder(holder);
        park_on(Reason::Lock(door.object()), &door);
    };
    drop(system.spawn_with(&named("hungry"), hungry).unwrap());
    drop(system.spawn_with(&named("blocked"), blocked).unwrap());
    drop(system.spawn_with(&named("locked"), locked).unwrap());
    let deadlock = system.run().unwrap_err();
    let text = normal(&system.dump(Depth::States));
    let rest = "alive for TIME, spawned at HERE";
    let first = "'hungry' (#N) is waiting to receive from channel 'door' (#N) for TIME";
    assert_eq!(about(&text, "hungry"), [first, "to be woken by 1 sender", rest]);
    let first = "'blocked' (#N) is waiting to send to channel 'door' (#N) for TIME";
    assert_eq!(about(&text, "blocked"), [first, "to be woken by 3 receivers", rest]);
    let first = "'locked' (#N) is waiting for lock 'door' (#N) for TIME";
    let second = "to be woken by 'keeper' (#N), which holds it";
    assert_eq!(about(&text, "locked"), [first, second, rest]);
    let first = "'keeper' (#N) is parked for TIME";
    assert_eq!(about(&text, "keeper"), [first, "to be woken by whoever knows it", rest]);
    let text = deadlock.to_string();
    assert!(text.contains("'locked' is waiting for lock 'door' (#"), "{text}");
}

#[test]
fn a_sign_is_shown_only_while_its_coroutine_is_parked() {
    let system = LocalSystem::new();
    let waits = system.spawn_with(&named("waits"), || {
        let sign = Sign::new(Object::local());
        park_on(Reason::Lock(sign.object()), &sign);
        drop(sign);
        park(Reason::Passive);
    });
    let co = waits.as_ref().unwrap().co().unwrap();
    let sign =
        |system: &LocalSystem| system.dump(Depth::States).alive().next().unwrap().sign.clone();
    system.run().unwrap_err();
    assert!(sign(&system).is_some());
    leno_kernel::unpark(co);
    // It is ready now, or its message is on the way.
    system.run().unwrap_err();
    assert!(sign(&system).is_none());
    drop(waits);
}

#[test]
fn what_a_dump_says_of_those_that_wait_otherwise() {
    let system = LocalSystem::new();
    drop(system.spawn_with(&named("sleeper"), || sleep(Duration::from_millis(300))).unwrap());
    let helper = || blocking(|| std::thread::sleep(Duration::from_millis(300)));
    drop(system.spawn_with(&named("aided"), helper).unwrap());
    let (sender, receiver) = std::sync::mpsc::channel::<Waker>();
    let waits = move || {
        let mut polls = 0;
        block_on(std::future::poll_fn(|context| {
            polls += 1;
            sender.send(context.waker().clone()).unwrap();
            if polls == 1 { Poll::Pending } else { Poll::Ready(()) }
        }));
    };
    drop(system.spawn_with(&named("awaiting"), waits).unwrap());
    let dump = system.spawn_with(&named("looker"), move || {
        yield_now();
        let dump = dump_all(Depth::States);
        receiver.recv().unwrap().wake();
        dump
    });
    system.run().unwrap();
    let text = normal(&dump.unwrap().join().unwrap());
    let rest = "alive for TIME, spawned at HERE";
    let first = "'sleeper' (#N) is sleeping for TIME";
    assert_eq!(about(&text, "sleeper"), [first, "to be woken by time", rest]);
    let first = "'aided' (#N) is waiting for a helper thread for TIME";
    assert_eq!(about(&text, "aided"), [first, "to be woken by a helper thread", rest]);
    let first = "'awaiting' (#N) is waiting for a future for TIME";
    assert_eq!(about(&text, "awaiting"), [first, "to be woken by 1 waker", rest]);
    assert_eq!(about(&text, "looker"), ["'looker' (#N) is running", rest]);
}

#[inline(never)]
fn outer_frame(wait: &dyn Fn()) {
    inner_frame(wait);
    std::hint::black_box(());
}

#[inline(never)]
fn inner_frame(wait: &dyn Fn()) {
    wait();
    std::hint::black_box(());
}

#[test]
#[cfg_attr(miri, ignore = "slow: symbols are read")]
fn a_backtrace_has_the_coroutines_own_frames_only() {
    let system = LocalSystem::new();
    let body = || outer_frame(&wait_for_ever);
    drop(system.spawn_with(&named("parked"), body).unwrap());
    drop(system.spawn_with(&named("fresh"), || ()).unwrap());
    let dump = system.dump(Depth::Frames);
    assert!(dump.alive().all(|alive| alive.backtrace.is_none()), "none has started");
    system.run().unwrap_err();
    let text = system.dump(Depth::Frames).to_string();
    let lines = about(&text, "parked");
    let frames: Vec<_> = lines.iter().filter(|line| line.starts_with("in ")).collect();
    assert!(frames.iter().all(|frame| !frame.contains("leno_kernel::")), "{text}");
    assert!(!text.contains("catch_unwind") && !text.contains("__rust"), "{text}");
    let place = |name: &str| {
        let found = frames.iter().position(|frame| frame.contains(name));
        found.unwrap_or_else(|| panic!("no {name} in\n{text}"))
    };
    assert!(place("inner_frame") < place("outer_frame"), "innermost first");
    assert_eq!(place("wait_for_ever"), 0, "the wait itself: {text}");
    assert!(system.dump(Depth::States).alive().all(|alive| alive.backtrace.is_none()));
    assert_eq!(system.drain().returned, 2, "looking did no harm");
}

/// A wait inside two generators parks all of it, and all of it is shown.
#[test]
#[cfg_attr(miri, ignore = "slow: symbols are read")]
#[cfg_attr(leno_baton, ignore = "native: there each coroutine is a thread, with its own frames")]
fn a_chain_of_generators_shows_all_its_frames() {
    #[inline(never)]
    fn in_the_first(wait: fn()) {
        let second = Coroutine::<(), ()>::new(move |_, ()| in_the_second(wait));
        second.resume(());
        std::hint::black_box(());
    }
    #[inline(never)]
    fn in_the_second(wait: fn()) {
        wait();
        std::hint::black_box(());
    }
    #[inline(never)]
    fn at_the_bottom(wait: fn()) {
        let first = Coroutine::<(), ()>::new(move |_, ()| in_the_first(wait));
        first.resume(());
        std::hint::black_box(());
    }
    let system = LocalSystem::new();
    drop(system.spawn_with(&named("chain"), || at_the_bottom(wait_for_ever)).unwrap());
    system.run().unwrap_err();
    let text = system.dump(Depth::Frames).to_string();
    let place = |name: &str| text.find(name).unwrap_or_else(|| panic!("no {name} in\n{text}"));
    assert!(place("in_the_second") < place("in_the_first"), "{text}");
    assert!(place("in_the_first") < place("at_the_bottom"), "{text}");
    assert!(!text.contains("run_until"), "{text}");
}

#[test]
#[cfg_attr(miri, ignore = "slow: symbols are read")]
fn a_dump_during_a_panic_says_who_unwinds() {
    struct Look(std::rc::Rc<std::cell::Cell<Option<Dump>>>);
    impl Drop for Look {
        fn drop(&mut self) {
            self.0.set(Some(dump_all(Depth::Frames)));
        }
    }
    let system = LocalSystem::new();
    let seen = Look(Default::default());
    let dump = seen.0.clone();
    drop(system.spawn_with(&named("other"), || outer_frame(&wait_for_ever)).unwrap());
    let bad = system.spawn_with(&named("unwinding"), move || {
        let _seen = seen;
        panic!("as planned");
    });
    system.run().unwrap_err();
    bad.unwrap().join().unwrap_err();
    let text = normal(&dump.take().unwrap());
    assert_eq!(about(&text, "unwinding")[0], "'unwinding' (#N) is running");
    assert!(about(&text, "other").iter().any(|line| line.contains("inner_frame")), "{text}");
}

#[test]
fn a_circle_through_a_lock_and_a_join_is_named_once() {
    let system = LocalSystem::new();
    let lock = std::rc::Rc::new(Sign::new(Object::local()));
    let own = lock.clone();
    let holds = move || {
        lock.set_holder(current());
        let waits = spawn_local(move || park_on(Reason::Lock(own.object()), &own));
        drop(waits.join());
    };
    drop(system.spawn_with(&named("holds"), holds).unwrap());
    drop(system.spawn_with(&named("apart"), wait_for_ever).unwrap());
    let report = system.run().unwrap_err().report;
    let [circle] = &report.cycles()[..] else { panic!("one circle: {report}") };
    let names: Vec<_> = circle.iter().map(|alive| alive.name.as_str()).collect();
    assert_eq!(names, [Some("holds"), None]);
    let text = normal(&system.dump(Depth::States));
    assert!(text.ends_with("a circle: 'holds' waits for #N waits for 'holds'\n"), "{text}");
    assert_eq!(text.matches("a circle").count(), 1);
}

/// A core that is busy until the guard is dropped.
struct Spinner(Arc<AtomicBool>);

impl Spinner {
    fn on(system: &System, name: &'static str) -> Spinner {
        let (stop, begun) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (seen, runs) = (stop.clone(), begun.clone());
        let body = move || {
            runs.store(true, SeqCst);
            while !seen.load(SeqCst) {
                std::thread::yield_now();
            }
        };
        drop(system.spawn_with(&named(name), body));
        while !begun.load(SeqCst) {
            std::thread::yield_now();
        }
        Spinner(stop)
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

#[test]
fn a_core_that_does_not_answer_is_seen_from_outside() {
    let system = System::builder().cores(2).name("works").build().unwrap();
    let spinner = Spinner::on(&system, "spinner");
    let report = system.report();
    assert_eq!(report.busy.len(), 1, "{report}");
    let dump = system.dump(Depth::States);
    assert_eq!((dump.cores.len(), dump.busy.len()), (1, 1));
    let text = normal(&dump);
    assert!(text.starts_with("system 'works', 2 cores\n"), "{text}");
    let expected = "does not answer: it has run 'spinner' (#N, spawned at HERE) for TIME\n";
    assert!(text.contains(expected), "{text}");
    drop(spinner);
    assert!(system.wait().unwrap().busy.is_empty());
}

#[test]
fn a_coroutine_may_dump_the_system_it_is_in() {
    let system = Arc::new(System::new(1).unwrap());
    let own = system.clone();
    let dump = system.spawn_with(&named("looker"), move || own.dump(Depth::States)).join().unwrap();
    assert!(dump.busy.is_empty());
    let states: Vec<_> = dump.alive().map(|alive| (alive.name.as_str(), alive.state)).collect();
    assert_eq!(states, [(Some("looker"), State::Running)]);
}

#[test]
fn shutting_down_tells_what_those_who_did_not_stop_wait_for() {
    let system = System::new(1).unwrap();
    let (release, seen) = std::sync::mpsc::channel::<()>();
    let started = Arc::new(AtomicBool::new(false));
    let begun = started.clone();
    let body = move || {
        let seen = std::sync::Mutex::new(seen);
        blocking(move || {
            begun.store(true, SeqCst);
            seen.lock().unwrap().recv().unwrap_err();
        })
    };
    let helped = system.spawn_with(&named("helped"), body);
    while !started.load(SeqCst) {
        std::thread::yield_now();
    }
    let stopped = system.shutdown(Duration::from_millis(20)).unwrap_err();
    let text = normal(&stopped);
    let expected = "not stopped in time: 1 coroutine that waits; 1 spawned, 0 returned, 1 left\n  \
                    'helped' is waiting for a helper thread, and is to exit, spawned at HERE";
    assert_eq!(text, expected);
    drop(release);
    let _ = helped.join();
}

#[test]
fn all_systems_of_the_process_are_listed() {
    let several = System::builder().cores(2).name("several").build().unwrap();
    let idle = LocalSystem::builder().name("idle").build();
    let one = LocalSystem::builder().name("one").build();
    let parked = several.spawn_with(&named("far away"), wait_for_ever);
    while parked.co().is_none() {
        std::thread::yield_now();
    }
    let dump = one.spawn_with(&named("here"), || dump_all(Depth::States)).unwrap();
    one.run().unwrap();
    let text = normal(&dump.join().unwrap());
    let at = |piece: &str| text.find(piece).unwrap_or_else(|| panic!("no {piece} in\n{text}"));
    assert!(at("system 'several', 2 cores") < at("'far away' (#N) is "), "{text}");
    assert!(at("system 'one', 1 core") < at("'here' (#N) is running"), "{text}");
    assert!(text.contains("does not answer: nobody runs it"), "{text}");
    drop(idle);
    parked.unpark();
    parked.join().unwrap();
}

#[test]
fn whom_the_ledger_knows_is_named() {
    let system = LocalSystem::new();
    let channel = Object::local();
    let end = End { channel, side: Side::Sending };
    let knows = move || {
        learn(Knower::Co(current().unwrap()), end);
        wait_for_ever();
    };
    drop(system.spawn_with(&named("knows"), knows).unwrap());
    let hungry = move || {
        learn(Knower::World, end);
        park(Reason::Hungry(channel));
    };
    drop(system.spawn_with(&named("hungry"), hungry).unwrap());
    system.run().unwrap_err();
    let text = normal(&system.dump(Depth::States));
    assert_eq!(about(&text, "hungry")[1], "to be woken by 'knows' (#N), the world");
}

/// Dumps while coroutines come and go; every one is of a moment that could have been.
#[test]
fn dumps_under_fire_are_of_coroutines_that_exist() {
    let (dumps, children) = if cfg!(miri) { (2, 5) } else { (60, 20) };
    let system = System::builder().cores(2).name("fire").build().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    for _ in 0..4 {
        let stop = stop.clone();
        drop(system.spawn_with(&named("parent"), move || {
            while !stop.load(SeqCst) {
                let child = |_| {
                    try_spawn(&named("child"), || {
                        yield_now();
                        sleep(Duration::from_micros(20));
                    })
                };
                let all: Vec<_> = (0..children).map(child).collect();
                all.into_iter().for_each(|child| child.unwrap().join().unwrap());
            }
        }));
    }
    for round in 0..dumps {
        let depth = if round % 8 == 0 { Depth::Frames } else { Depth::States };
        let dump = system.dump(depth);
        assert!(dump.busy.is_empty(), "{dump}");
        for alive in dump.alive() {
            assert!(matches!(alive.name.as_str(), Some("parent" | "child")), "{dump}");
            let is_parked = matches!(alive.state, State::Parked(_));
            assert!(is_parked || alive.state == State::Ready, "{dump}");
        }
    }
    stop.store(true, SeqCst);
    assert_eq!(system.wait().unwrap().alive.len(), 0);
}
