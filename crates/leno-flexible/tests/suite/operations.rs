//! Operations, shapes, policies and questions, on the real system.

use std::sync::{Arc, Mutex};

use leno_flexible::{CallError, Label, Me, Party, Refusal, State, System, policy, spinning};

/// What bodies say, in order.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<String>>>);

impl Said {
    fn say(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Waits until nothing can happen without another operation.
fn rest(system: &System) {
    while !system.snapshot().is_at_rest() {
        std::thread::yield_now();
    }
}

/// Waits until a thread waits for somebody.
fn blocked(system: &System, threads: usize) {
    while system.snapshot().blocked().len() < threads {
        std::thread::yield_now();
    }
}

#[test]
fn f11_a_system_may_have_nothing_to_do() {
    let system = System::new();
    assert!(system.snapshot().is_at_rest());
    let idle = system.create("idle", |_: &mut Me<(), ()>| {});
    assert_eq!(idle.state(), State::Idle);
    drop(system);
    assert_eq!(idle.kick(), Err(Refusal::Stopped { coroutine: "idle".into() }));
}

#[test]
fn f37_three_policies_three_orders() {
    let order = |build: fn() -> leno_flexible::SystemBuilder| {
        let (said, system) = (Said::default(), build().build());
        let all: Vec<_> = [("a", 1), ("b", 3), ("c", 2)]
            .map(|(name, priority)| {
                let said = said.clone();
                system.coroutine(name).priority(priority).create(move |_: &mut Me<(), ()>| {
                    said.say(name);
                })
            })
            .into();
        // One that is active kicks them all, so that they wait together.
        let first = system.create("first", move |_: &mut Me<(), ()>| {
            all.iter().for_each(|one| one.kick().unwrap());
        });
        first.kick().unwrap();
        while said.all().len() < 3 {
            std::thread::yield_now();
        }
        said.all().concat()
    };
    assert_eq!(order(System::builder), "abc");
    assert_eq!(order(|| System::builder().schedule(policy::by_priority)), "bca");
    assert_eq!(order(|| System::builder().schedule(policy::last)), "cba");
}

#[test]
fn f39_requests_are_kept_with_their_labels() {
    let system = System::new();
    let m = system.create("m", |me: &mut Me<(), ()>| {
        loop {
            me.passivate();
            me.detach(());
        }
    });
    std::thread::scope(|s| {
        let call = |name: &str| {
            let m = m.clone();
            std::thread::Builder::new()
                .name(name.into())
                .spawn_scoped(s, move || m.call(()))
                .unwrap()
        };
        let first = call("first");
        blocked(&system, 1);
        rest(&system);
        // F40: it is idle, but attached, and so busy.
        assert!(m.state() == State::Idle && m.look().is_busy());
        let second = call("second");
        blocked(&system, 2);
        let requests = m.look().requests;
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0].label, Label::Call);
        assert_eq!(requests[0].from, Party::Thread("second".into()));
        for thread in [first, second] {
            m.kick().unwrap();
            thread.join().unwrap().unwrap();
            rest(&system);
        }
    });
}

#[test]
fn f40_busy_means_active_waiting_or_attached() {
    let system = System::new();
    let m = system.create("m", |me: &mut Me<(), ()>| {
        loop {
            me.detach(())
        }
    });
    assert!(!m.look().is_busy());
    let own = m.clone();
    let looks = system.create("looks", move |me: &mut Me<(), [bool; 2]>| {
        own.kick().unwrap();
        let waiting = own.look().is_busy();
        me.answer([waiting, me.caller().is_some()]);
    });
    assert_eq!(looks.call(()).unwrap(), [true, true]);
}

#[test]
fn f49_kicks_or_calls_may_be_preferred() {
    for (policy, expected) in [
        (policy::calls_first as fn(&[policy::Pending]) -> usize, "call kick"),
        (policy::kicks_first, "kick call"),
    ] {
        let (system, said) = (System::new(), Said::default());
        let say = said.clone();
        let m = system.coroutine("m").serve(policy).create(move |me: &mut Me<bool, ()>| {
            loop {
                match me.parameter() {
                    Some(true) => me.passivate(),
                    Some(false) => say.say("call"),
                    None => say.say("kick"),
                }
                me.detach(());
            }
        });
        std::thread::scope(|s| {
            s.spawn(|| m.call(true).unwrap());
            blocked(&system, 1);
            rest(&system);
            s.spawn(|| m.call(false).unwrap());
            blocked(&system, 2);
            // Now it waits twice: m is attached, so the second kick finds it waiting and is kept.
            let own = m.clone();
            let kicks = system.create("kicks", move |_: &mut Me<(), ()>| {
                own.kick().unwrap();
                own.kick().unwrap();
            });
            kicks.call(()).unwrap();
        });
        rest(&system);
        assert_eq!(said.all().join(" "), expected);
    }
}

#[test]
fn f51_a_parameter_goes_to_the_one_named_not_to_the_bottom() {
    let (system, said) = (System::new(), Said::default());
    let say = said.clone();
    let k = system.create("k", move |me: &mut Me<u32, ()>| {
        say.say(format!("k {:?}", me.parameter()));
        me.passivate();
        say.say(format!("k {:?}", me.parameter()));
        me.detach(());
    });
    let say = said.clone();
    let m = system.create("m", move |me: &mut Me<u32, u32>| {
        k.call(1).unwrap();
        let own = me.parameter();
        say.say(format!("m {own:?}"));
        me.detach(own.unwrap_or(0));
    });
    m.kick().unwrap();
    rest(&system);
    let n = system.create("n", move |me: &mut Me<(), u32>| {
        let answer = m.call(7).unwrap();
        me.answer(answer);
    });
    assert_eq!(n.call(()).unwrap(), 7);
    assert_eq!(said.all(), ["k Some(1)", "k None", "m Some(7)"]);
}

#[test]
fn f53_eight_threads_get_each_their_own_answers() {
    let system = System::new();
    let echo = system.create(
        "echo",
        spinning(|me: &mut Me<u32, u32>| {
            let n = me.parameter().expect("somebody has called");
            me.yield_now();
            me.detach(n);
        }),
    );
    std::thread::scope(|s| {
        for thread in 0..8 {
            let echo = &echo;
            s.spawn(move || {
                for n in 0..50 {
                    assert_eq!(echo.call(thread * 100 + n).unwrap(), thread * 100 + n);
                }
            });
        }
    });
}

#[test]
fn f54_a_detach_answers_a_thread_and_a_coroutine() {
    let system = System::new();
    let double = system.create(
        "double",
        spinning(|me: &mut Me<u32, u32>| {
            let n = me.parameter().unwrap_or(0);
            me.detach(2 * n);
        }),
    );
    assert_eq!(double.call(4).unwrap(), 8);
    let twice = system.create("twice", move |me: &mut Me<u32, u32>| {
        let n = me.parameter().unwrap_or(0);
        me.answer(double.call(double.call(n).unwrap()).unwrap());
    });
    assert_eq!(twice.call(4).unwrap(), 16);
}

#[test]
fn f56_a_kick_has_neither_parameter_nor_answer() {
    let (system, said) = (System::new(), Said::default());
    let say = said.clone();
    let m = system.create("m", move |me: &mut Me<u32, u32>| {
        say.say(format!("{:?} {:?}", me.parameter(), me.caller()));
        me.detach(1);
    });
    m.kick().unwrap();
    rest(&system);
    assert_eq!(said.all(), ["None None"]);
}

#[test]
fn f57_a_spinning_body_never_terminates_and_keeps_its_caller() {
    let system = System::new();
    let mut rounds = 0;
    let m = system.create(
        "m",
        spinning(move |me: &mut Me<(), u32>| {
            rounds += 1;
            if rounds % 3 == 0 {
                me.detach(rounds);
            }
        }),
    );
    assert_eq!((m.call(()).unwrap(), m.call(()).unwrap()), (3, 6));
    assert_eq!(m.state(), State::Idle);
}

#[test]
fn f58_an_attached_only_one_ignores_kicks() {
    let (system, said) = (System::new(), Said::default());
    let say = said.clone();
    let m = system.coroutine("m").attached_only().create(move |me: &mut Me<(), ()>| {
        say.say("active");
        me.detach(());
    });
    m.kick().unwrap();
    rest(&system);
    assert!(said.all().is_empty());
    m.call(()).unwrap();
    assert_eq!(said.all(), ["active"]);
}

#[test]
fn f59_shapes_combine() {
    // E4, E10: spinning and attached-only; a kick counts nobody, and a second call is served.
    let system = System::new();
    let mut count = 0;
    let request = system.coroutine("request").attached_only().create(spinning(
        move |me: &mut Me<u32, u32>| {
            count += me.parameter().expect("it runs only for a caller");
            me.detach(count);
        },
    ));
    assert_eq!(request.call(2).unwrap(), 2);
    request.kick().unwrap();
    rest(&system);
    assert_eq!(request.call(3).unwrap(), 5);
}

#[test]
fn f62_e9_the_introductory_example() {
    let (system, said) = (System::new(), Said::default());
    let say = said.clone();
    let n = system.create("n", move |me: &mut Me<u32, u32>| {
        let p = me.parameter().unwrap();
        say.say((p + 1).to_string());
        me.detach(p + 2);
        say.say((p + 3).to_string());
    });
    let (say, own) = (said.clone(), n.clone());
    let m = system.create("m", move |me: &mut Me<(), ()>| {
        say.say("1");
        let r = own.call(1).unwrap();
        say.say(r.to_string());
        me.resume(&own).unwrap();
    });
    std::thread::scope(|s| {
        let main = std::thread::Builder::new().name("main".into());
        let main = main.spawn_scoped(s, || m.call(())).unwrap();
        while said.all().len() < 4 {
            std::thread::yield_now();
        }
        rest(&system);
        assert_eq!(said.all().concat(), "1234");
        assert_eq!((m.state(), n.state()), (State::Idle, State::Terminated));
        let blocked = system.snapshot().blocked();
        assert_eq!(blocked[0].to_string(), "thread 'main' waits on m (idle)");
        system.stop();
        assert!(main.join().unwrap().is_err());
    });
}

#[test]
fn f69_f70_names_states_and_callers() {
    let system = System::new();
    let m = system.create("m", |me: &mut Me<(), String>| {
        let caller = me.caller().map(|caller| caller.to_string());
        me.detach(format!("{:?} {}", caller, me.name()));
    });
    assert_eq!((m.to_string(), &*m.name()), ("m[IDLE]".to_owned(), "m"));
    assert_eq!(m.caller(), None);
    let own = m.clone();
    let n = system.create("n", move |me: &mut Me<(), String>| me.answer(own.call(()).unwrap()));
    assert_eq!(n.call(()).unwrap(), "Some(\"coroutine 'n'\") m");
    assert_eq!(n.to_string(), "n[TERMINATED]");
}

#[test]
fn f72_f19_a_busy_one_and_cycles_are_errors_that_name_both() {
    let system = System::new();
    let busy = system.create("busy", |me: &mut Me<(), ()>| me.detach(()));
    let own = busy.clone();
    let calls = system.create("calls", move |me: &mut Me<(), String>| {
        own.kick().unwrap();
        me.answer(own.call(()).unwrap_err().to_string());
    });
    let text = calls.call(()).unwrap();
    assert_eq!(text, "coroutine 'calls' cannot have 'busy', which is WAITING");
    // A coroutine that knows itself, and one that knows its caller.
    type Slot = Arc<Mutex<Option<leno_flexible::Flexible<(), String>>>>;
    let (own, first): (Slot, Slot) = Default::default();
    let slot = own.clone();
    let itself = system.create("itself", move |me: &mut Me<(), String>| {
        let own = slot.lock().unwrap().clone().unwrap();
        me.answer(own.call(()).unwrap_err().to_string());
    });
    *own.lock().unwrap() = Some(itself.clone());
    assert_eq!(itself.call(()).unwrap(), "coroutine 'itself' cannot call or resume itself");
    let slot = first.clone();
    let c = system.create("c", move |me: &mut Me<(), String>| {
        let first = slot.lock().unwrap().clone().unwrap();
        me.answer(first.call(()).unwrap_err().to_string());
    });
    let b = system.create("b", move |me: &mut Me<(), String>| me.answer(c.call(()).unwrap()));
    let a = system.create("a", move |me: &mut Me<(), String>| me.answer(b.call(()).unwrap()));
    *first.lock().unwrap() = Some(a.clone());
    assert!(a.call(()).unwrap().starts_with("coroutine 'c' cannot call or resume 'a'"));
    own.lock().unwrap().take();
    first.lock().unwrap().take();
}

#[test]
fn f76_no_value_is_not_an_empty_value() {
    let system = System::new();
    let empty = system.create("empty", |me: &mut Me<(), String>| me.answer(String::new()));
    assert_eq!(empty.call(()).unwrap(), "");
    let none = system.create("none", |_: &mut Me<(), String>| {});
    assert!(matches!(none.call(()), Err(CallError::NoAnswer { .. })));
    // One that gives nothing back has done so at its end.
    let nothing = system.create("nothing", |_: &mut Me<(), ()>| {});
    nothing.call(()).unwrap();
    assert!(matches!(nothing.call(()), Err(CallError::Refused(Refusal::Terminated { .. }))));
}

#[test]
fn f77_both_queues_are_programmable() {
    let said = Said::default();
    let say = said.clone();
    let system = System::builder()
        .schedule(move |waiting: &[policy::Waiting]| {
            say.say(format!("{} wait", waiting.len()));
            waiting.iter().position(|own| own.caller.is_some()).unwrap_or(0)
        })
        .build();
    let say = said.clone();
    let a = system.create("a", move |_: &mut Me<(), ()>| say.say("a"));
    let say = said.clone();
    let b = system.create("b", move |_: &mut Me<(), ()>| say.say("b"));
    let first = system.create("first", move |_: &mut Me<(), ()>| {
        a.kick().unwrap();
        b.call(()).unwrap();
    });
    first.call(()).unwrap();
    rest(&system);
    // b has a caller, so it comes before a, though it came later.
    assert_eq!(said.all()[..2], ["2 wait", "b"]);
}

#[test]
fn f91_methods_wrap_private_coroutines() {
    struct Account {
        balance: leno_flexible::Flexible<i64, i64>,
        _system: System,
    }
    impl Account {
        fn new() -> Account {
            let system = System::new();
            let mut balance = 0;
            let body = spinning(move |me: &mut Me<i64, i64>| {
                balance += me.parameter().unwrap_or(0);
                me.detach(balance);
            });
            Account { balance: system.create("balance", body), _system: system }
        }
        fn add(&self, amount: i64) -> i64 {
            self.balance.call(amount).expect("it never ends")
        }
    }
    let account = Account::new();
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| (0..25).for_each(|_| assert!(account.add(1) > 0)));
        }
    });
    assert_eq!(account.add(0), 100);
}

#[test]
fn e12_a_prod_ends_the_next_passivate() {
    let (system, said) = (System::new(), Said::default());
    let say = said.clone();
    let m = system.create("m", move |me: &mut Me<bool, ()>| {
        me.passivate();
        say.say("on");
        me.detach(());
    });
    let own = m.clone();
    let n = system.create("n", move |_: &mut Me<(), ()>| {
        // m is waiting: a kick would be kept until it detaches.
        own.kick().unwrap();
        own.prod().unwrap();
    });
    n.call(()).unwrap();
    rest(&system);
    assert_eq!(said.all(), ["on"]);
    drop(m);
}
