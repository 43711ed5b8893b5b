//! Failures, threads that give up, several systems, what is outside, Simula. Not in `suite`: it counts
//! threads and memory of its process.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leno_flexible::{CallError, Me, Refusal, State, System, spinning};
use leno_kernel::LocalSystem;

fn rest(system: &System) {
    while !system.snapshot().is_at_rest() {
        std::thread::yield_now();
    }
}

#[test]
fn f73_f74_a_panic_ends_its_coroutine_alone_and_reaches_the_caller() {
    struct Gone(Arc<AtomicUsize>);
    impl Drop for Gone {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let (system, gone) = (System::new(), Arc::new(AtomicUsize::new(0)));
    let own = Gone(gone.clone());
    let fails = system.create("fails", move |_: &mut Me<(), ()>| {
        let _own = own;
        panic!("on purpose");
    });
    let other = system.create(
        "other",
        spinning(|me: &mut Me<u32, u32>| {
            let n = me.parameter().unwrap_or(0);
            me.detach(n);
        }),
    );
    let own = fails.clone();
    let calls = system.create("calls", move |me: &mut Me<(), String>| {
        me.answer(own.call(()).unwrap_err().to_string());
    });
    let text = calls.call(()).unwrap();
    assert_eq!(text, "coroutine 'fails' has panicked: on purpose");
    assert_eq!((gone.load(SeqCst), fails.state()), (1, State::Terminated));
    assert_eq!(other.call(5).unwrap(), 5);
    // The same for a thread, which gets what it panicked with.
    let fails = system.create("fails", |_: &mut Me<(), ()>| panic!("again"));
    let Err(CallError::Failed(failure)) = fails.call(()) else { panic!("it panicked") };
    assert_eq!(failure.into_payload().downcast_ref::<&str>(), Some(&"again"));
    assert_eq!(other.call(6).unwrap(), 6);
}

#[test]
fn f75_a_panic_of_a_kicked_one_reaches_the_hook_or_is_kept() {
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let own = heard.clone();
    let system = System::builder()
        .on_failure(move |failure| own.lock().unwrap().push(failure.to_string()))
        .build();
    let fails = system.create("fails", |_: &mut Me<(), ()>| panic!("unattached"));
    fails.kick().unwrap();
    while heard.lock().unwrap().is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(*heard.lock().unwrap(), ["coroutine 'fails' has panicked: unattached"]);
    let system = System::new();
    let fails = system.create("fails", |_: &mut Me<(), ()>| panic!("kept"));
    fails.kick().unwrap();
    let mut failures = Vec::new();
    while failures.is_empty() {
        failures = system.failures();
    }
    assert_eq!(failures[0].name.as_str(), Some("fails"));
    let alive = system.create("alive", |_: &mut Me<(), ()>| {});
    alive.call(()).unwrap();
}

#[test]
fn f71_a_thread_that_gives_up_leaves_a_sound_system() {
    let system = System::new();
    let m = system.create("m", |me: &mut Me<u32, u32>| {
        loop {
            let n = me.parameter().unwrap_or(0);
            me.passivate();
            me.detach(n);
        }
    });
    // The first is served and not answered; the second is still pending.
    let first = m.call_timeout(1, Duration::from_millis(300));
    assert!(matches!(first, Err(CallError::TimedOut { served: Some(_), .. })), "{first:?}");
    assert_eq!(m.caller(), None);
    // It is in the middle of its body: its detach will be nobody's.
    m.kick().unwrap();
    rest(&system);
    std::thread::scope(|s| {
        let holds = s.spawn(|| m.call(2));
        while m.caller().is_none() {
            std::thread::yield_now();
        }
        rest(&system);
        let second = m.call_timeout(3, Duration::from_millis(20));
        assert!(matches!(second, Err(CallError::TimedOut { served: None, .. })), "{second:?}");
        assert!(m.look().requests.is_empty());
        m.kick().unwrap();
        assert_eq!(holds.join().unwrap().unwrap(), 2);
    });
}

#[test]
fn f71_a_coroutines_own_call_has_a_limit_too() {
    let system = System::new();
    let m = system.create("m", |me: &mut Me<u32, u32>| {
        loop {
            let n = me.parameter().unwrap_or(0);
            me.passivate();
            me.detach(n);
        }
    });
    let own = m.clone();
    // It is served and not answered: m goes on without it, and its next detach is nobody's.
    let gives_up = system.create("gives up", move |me: &mut Me<(), String>| {
        me.answer(own.call_timeout(1, Duration::from_millis(200)).unwrap_err().to_string());
    });
    assert_eq!(gives_up.call(()).unwrap(), "coroutine 'm' (IDLE) has not answered in time");
    assert_eq!((m.caller(), m.state()), (None, State::Idle));
    m.kick().unwrap();
    rest(&system);
    // In time, it is as any call.
    let echo = system.create(
        "echo",
        spinning(|me: &mut Me<u32, u32>| {
            let n = me.parameter().unwrap_or(0);
            me.detach(n);
        }),
    );
    let in_time = system.create("in time", move |me: &mut Me<(), u32>| {
        me.answer(echo.call_timeout(7, Duration::from_secs(600)).unwrap());
    });
    assert_eq!(in_time.call(()).unwrap(), 7);
    assert_eq!(system.snapshot().blocked(), []);
}

#[test]
fn f71_a_coroutine_of_another_system_that_exits_while_calling() {
    let system = System::new();
    let m = system.create("m", |me: &mut Me<(), ()>| {
        loop {
            me.passivate();
            me.detach(());
        }
    });
    let local = LocalSystem::new();
    let own = m.clone();
    let calls = local.spawn(move || drop(own.call(())));
    let co = calls.co().unwrap();
    let own = m.clone();
    drop(local.spawn(move || {
        while own.caller().is_none() {
            leno_kernel::yield_now();
        }
        leno_kernel::cancel(co);
    }));
    local.run().unwrap();
    assert!(calls.join().is_err());
    rest(&system);
    assert_eq!((m.caller(), m.state()), (None, State::Idle));
}

#[test]
fn f63_systems_are_disjoint_and_call_each_other_as_threads_do() {
    let (one, two) = (System::new(), System::new());
    let m = one.create(
        "m",
        spinning(|me: &mut Me<u32, u32>| {
            let n = me.parameter().unwrap_or(0);
            me.detach(n + 1);
        }),
    );
    let own = m.clone();
    let n = two.create("n", move |me: &mut Me<u32, u32>| {
        let n = me.parameter().unwrap_or(0);
        let foreign = me.resume(&own);
        assert_eq!(foreign, Err(Refusal::Foreign { by: "n".into(), coroutine: "m".into() }));
        me.answer(own.call(n).unwrap());
    });
    assert_eq!(n.call(1).unwrap(), 2);
    drop(two);
    assert_eq!(m.call(2).unwrap(), 3);
}

#[test]
fn a_coroutine_that_waits_outside_lets_others_be_active() {
    let system = System::new();
    let (tx, rx) = leno_channel::shared::channel::<u32>();
    let reads = system.create("reads", move |me: &mut Me<(), u32>| {
        let n = rx.recv().unwrap();
        me.answer(n);
    });
    let writes = system.create("writes", move |_: &mut Me<(), ()>| tx.send(7).unwrap());
    std::thread::scope(|s| {
        let reader = s.spawn(|| reads.call(()));
        while reads.state() != State::Parked {
            std::thread::yield_now();
        }
        assert!(reads.look().is_busy());
        writes.call(()).unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), 7);
    });
}

#[test]
fn f95_a_coroutine_may_wait_for_a_busy_one() {
    let system = System::new();
    let m = system.create(
        "m",
        spinning(|me: &mut Me<u32, u32>| {
            let n = me.parameter().unwrap_or(0);
            me.yield_now();
            me.detach(n);
        }),
    );
    let callers: Vec<_> = (0..3)
        .map(|n| {
            let m = m.clone();
            system.create(format!("n{n}"), move |me: &mut Me<(), u32>| {
                me.answer(m.call_wait(n).unwrap());
            })
        })
        .collect();
    std::thread::scope(|s| {
        let threads: Vec<_> = callers.iter().map(|own| s.spawn(|| own.call(()).unwrap())).collect();
        let answers: Vec<_> = threads.into_iter().map(|own| own.join().unwrap()).collect();
        assert_eq!(answers, [0, 1, 2]);
    });
}

#[test]
fn f95_c14_a_wait_in_a_circle_is_refused() {
    let system = System::new();
    type Slot = Arc<Mutex<Option<leno_flexible::Flexible<(), String>>>>;
    let slot = Slot::default();
    let own = slot.clone();
    let b = system.create("b", move |me: &mut Me<(), String>| {
        let a = own.lock().unwrap().clone().unwrap();
        me.answer(a.call_wait(()).unwrap_err().to_string());
    });
    let a = system.create("a", move |me: &mut Me<(), String>| me.answer(b.call(()).unwrap()));
    *slot.lock().unwrap() = Some(a.clone());
    let text = a.call(()).unwrap();
    assert!(text.starts_with("coroutine 'b' cannot call or resume 'a'"), "{text}");
    slot.lock().unwrap().take();
}

#[test]
fn f96_who_waits_on_whom() {
    let system = System::new();
    let k = system.create("k", |me: &mut Me<(), ()>| me.passivate());
    let m = system.create("m", move |_: &mut Me<(), ()>| drop(k.call(())));
    std::thread::scope(|s| {
        let name = |name: &str| std::thread::Builder::new().name(name.into());
        let calls = |name: std::thread::Builder| name.spawn_scoped(s, || drop(m.call(()))).unwrap();
        calls(name("anna"));
        while system.snapshot().get("k").is_none_or(|k| k.caller.is_none()) {
            std::thread::yield_now();
        }
        rest(&system);
        let text = system.snapshot().to_string();
        assert_eq!(
            text,
            "k[IDLE] m[CALLING]\n  coroutine 'm' waits on k (idle)\n  thread 'anna' waits on m (calling)"
        );
        system.stop();
    });
}

#[test]
fn f99_c7_simulas_rules() {
    let said: Arc<Mutex<Vec<&str>>> = Arc::default();
    let system = System::builder().simula().build();
    type Slot = Arc<Mutex<Option<leno_flexible::Flexible<(), ()>>>>;
    let slot = Slot::default();
    let (say, own) = (said.clone(), slot.clone());
    // The first is main: it resumes x, which detaches without a caller, and so comes back here.
    let main = system.create("main", move |me: &mut Me<(), ()>| {
        let x = own.lock().unwrap().take().unwrap();
        say.lock().unwrap().push("main");
        me.resume(&x).unwrap();
        say.lock().unwrap().push("main again");
        me.resume(&x).unwrap();
        say.lock().unwrap().push("main at last");
        assert!(matches!(me.resume(&x), Err(Refusal::Terminated { .. })));
        assert!(matches!(x.call(()), Err(CallError::Refused(Refusal::Terminated { .. }))));
    });
    let say = said.clone();
    let x = system.create("x", move |me: &mut Me<(), ()>| {
        say.lock().unwrap().push("x");
        me.detach(());
        say.lock().unwrap().push("x again");
    });
    *slot.lock().unwrap() = Some(x);
    main.call(()).unwrap();
    assert_eq!(*said.lock().unwrap(), ["main", "x", "main again", "x again", "main at last"]);
    // E13: one that is attached cannot be resumed; with other systems it can.
    for (is_simula, expected) in [(true, true), (false, false)] {
        let builder = System::builder();
        let system = if is_simula { builder.simula() } else { builder }.build();
        let inner = system.create("inner", |me: &mut Me<(), ()>| {
            me.passivate();
            me.detach(());
        });
        let own = inner.clone();
        let outer = system.create("outer", move |_: &mut Me<(), ()>| drop(own.call(())));
        outer.kick().unwrap();
        while inner.state() != State::Idle || inner.caller().is_none() {
            std::thread::yield_now();
        }
        rest(&system);
        let own = inner.clone();
        let resumes = system.create("resumes", move |me: &mut Me<(), ()>| {
            assert_eq!(me.resume(&own).is_err(), expected);
        });
        resumes.kick().unwrap();
        rest(&system);
    }
}

#[test]
fn f66_an_idle_system_uses_no_processor_and_wakes() {
    let system = System::builder().name("idle-one").build();
    let m = system.create(
        "m",
        spinning(|me: &mut Me<u32, u32>| {
            let n = me.parameter().unwrap_or(0);
            me.detach(n);
        }),
    );
    assert_eq!(m.call(1).unwrap(), 1);
    rest(&system);
    let used = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        tasks
            .filter_map(|task| Some(task.ok()?.path()))
            .filter(|task| {
                std::fs::read_to_string(task.join("comm"))
                    .is_ok_and(|name| name.starts_with("idle-one"))
            })
            .filter_map(|task| std::fs::read_to_string(task.join("schedstat")).ok())
            .filter_map(|stat| stat.split_whitespace().next()?.parse::<u64>().ok())
            .sum::<u64>()
    };
    // It listens for a moment first.
    std::thread::sleep(Duration::from_millis(50));
    let before = used();
    std::thread::sleep(Duration::from_millis(200));
    assert!(used() - before < 20_000_000, "nanoseconds of 200 ms: {}", used() - before);
    assert_eq!(m.call(2).unwrap(), 2);
}

/// Resident memory of this process, in bytes.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// A million where there is optimisation.
const MANY: usize = if cfg!(debug_assertions) { 20_000 } else { 1_000_000 };

#[test]
fn f68_what_has_terminated_leaves_nothing() {
    let system = System::new();
    let creates = system.create("creates", |me: &mut Me<usize, ()>| {
        loop {
            for _ in 0..me.parameter().unwrap_or(0) {
                let one = me.create("one", |_: &mut Me<(), ()>| {});
                one.kick().unwrap();
                drop(one);
                me.yield_now();
            }
            me.detach(());
        }
    });
    creates.call(MANY / 10).unwrap();
    let before = resident();
    creates.call(MANY).unwrap();
    rest(&system);
    assert_eq!(system.snapshot().coroutines.len(), 1);
    assert!(leno_context::stack::figures().high_water < 150_000);
    // Other tests run beside this one, and have stacks: a million that were left would need 4 GB.
    let grown = resident().saturating_sub(before);
    assert!(grown < 1 << 30, "{grown} bytes more after {MANY} coroutines");
}

#[test]
fn a_system_may_be_dropped_by_one_of_its_own_coroutines() {
    let system = Arc::new(System::new());
    let (own, ended) = (system.clone(), Arc::new(AtomicUsize::new(0)));
    let says = ended.clone();
    let drops = system.create("drops", move |me: &mut Me<(), ()>| {
        me.passivate();
        drop(own);
        says.store(1, SeqCst);
    });
    drops.kick().unwrap();
    rest(&system);
    drops.kick().unwrap();
    drop(system);
    while ended.load(SeqCst) == 0 && Arc::strong_count(&ended) > 1 {
        std::thread::yield_now();
    }
    assert!(drops.kick().is_err());
}

#[test]
#[cfg_attr(leno_baton, ignore = "there each coroutine is a thread, to be seen by tools")]
fn f78_a_coroutine_is_no_thread() {
    let system = System::new();
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let many = if cfg!(debug_assertions) { 5_000 } else { 100_000 };
    let all: Vec<_> = (0..many)
        .map(|n| {
            let body = move |me: &mut Me<(), u64>| {
                me.passivate();
                me.answer(n);
            };
            system.coroutine("one").stack_size(16 << 10).create(body)
        })
        .collect();
    all.iter().for_each(|one| one.kick().unwrap());
    rest(&system);
    // Other tests run beside this one, with a few threads each.
    assert!(threads() < 500, "{}", threads());
    let sum: u64 = all.iter().map(|one| one.call(()).unwrap()).sum();
    assert_eq!(sum, (many - 1) * many / 2);
}

/// A small simulation: a clock resumes customers in order of time, customers call the till, and a thread
/// asks for the report.
#[test]
fn f94_resume_call_and_threads_in_one_program() {
    type Customer = leno_flexible::Flexible<(), ()>;
    type Visit = (u32, usize);
    type Agenda = Arc<Mutex<std::collections::BTreeMap<(u32, usize), Customer>>>;
    let (system, agenda) = (System::new(), Agenda::default());
    let mut log = Vec::new();
    let till = system.create(
        "till",
        spinning(move |me: &mut Me<Option<Visit>, Vec<Visit>>| {
            log.extend(me.parameter().flatten());
            me.detach(log.clone());
        }),
    );
    // The clock hands over to whoever is next; that one hands back.
    type Slot = Arc<Mutex<Option<leno_flexible::Flexible<(), u32>>>>;
    let slot = Slot::default();
    for number in 0..3 {
        let (book, bill, back) = (agenda.clone(), till.clone(), slot.clone());
        let customer = system.create(format!("customer {number}"), move |me: &mut Me<(), ()>| {
            for round in 1..=3 {
                let time = round * (number as u32 + 2);
                bill.call(Some((time, number))).unwrap();
                let clock = back.lock().unwrap().clone().unwrap();
                if round < 3 {
                    let own = book.lock().unwrap().remove(&(u32::MAX, number)).unwrap();
                    book.lock().unwrap().insert(((round + 1) * (number as u32 + 2), number), own);
                }
                me.resume(&clock).unwrap();
            }
        });
        agenda.lock().unwrap().insert((u32::MAX, number), customer.clone());
        agenda.lock().unwrap().insert((number as u32 + 2, number), customer);
    }
    let book = agenda.clone();
    let clock = system.create("clock", move |me: &mut Me<(), u32>| {
        let mut now = 0;
        loop {
            let next = book
                .lock()
                .unwrap()
                .first_entry()
                .filter(|own| own.key().0 < u32::MAX)
                .map(|own| own.remove_entry());
            let Some(((time, number), customer)) = next else { break };
            now = time;
            book.lock().unwrap().insert((u32::MAX, number), customer.clone());
            me.resume(&customer).unwrap();
        }
        me.answer(now);
    });
    *slot.lock().unwrap() = Some(clock.clone());
    assert_eq!(clock.call(()).unwrap(), 12);
    let report = std::thread::spawn(move || till.call(None).unwrap()).join().unwrap();
    let expected = [(2, 0), (3, 1), (4, 0), (4, 2), (6, 0), (6, 1), (8, 2), (9, 1), (12, 2)];
    assert_eq!(report, expected);
    slot.lock().unwrap().take();
    agenda.lock().unwrap().clear();
}

#[test]
fn a_policy_that_panics_stops_its_system_and_tells_who_waits() {
    let system = System::builder().schedule(|_: &[_]| panic!("undecided")).build();
    let a = system.create("a", |me: &mut Me<(), ()>| me.yield_now());
    let own = a.clone();
    let b = system.create("b", move |me: &mut Me<(), ()>| {
        own.kick().unwrap();
        me.yield_now();
    });
    let answer = b.call(());
    assert!(matches!(answer, Err(CallError::Refused(Refusal::Stopped { .. }))), "{answer:?}");
    assert!(a.kick().is_err());
}
