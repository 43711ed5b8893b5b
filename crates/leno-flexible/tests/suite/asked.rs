//! Observers and policies that panic, wait, or use the very system that calls them: the system goes on, or says which
//! rule was broken.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::task::{Context, Waker};
use std::thread;

use leno_flexible::{AsyncMe, Flexible, Me, System, Threadless, policy::Pending};
use leno_kernel::LocalSystem;

use super::support::{in_time, text};

#[test]
fn an_observer_that_panics_leaves_the_operation_whole() {
    in_time(|| {
        let is_to_panic = Arc::new(AtomicBool::new(false));
        let own = is_to_panic.clone();
        let system = Threadless::builder()
            .observer(move |_| assert!(!own.load(SeqCst), "an observer panics"))
            .threadless();
        let adds = system.create("adds", |mut me: AsyncMe<u32, u32>| async move {
            loop {
                let n = me.parameter().unwrap_or(0);
                me.detach(n + 1).await;
            }
        });
        assert_eq!(adds.call(1).unwrap(), 2);
        is_to_panic.store(true, SeqCst);
        let raised = catch_unwind(AssertUnwindSafe(|| adds.kick())).unwrap_err();
        assert_eq!(text(raised), "an observer panics");
        // It is gone, and the kick was done.
        assert_eq!(adds.call(2).unwrap(), 3);
    });
}

/// Makes a system whose observer drops what is put into the place, while its thread unwinds.
fn dropping<T: Send + 'static>() -> (leno_flexible::SystemBuilder, Arc<Mutex<Option<T>>>) {
    struct Last<T>(Option<T>);
    impl<T> Drop for Last<T> {
        fn drop(&mut self) {
            drop(self.0.take());
        }
    }
    let place: Arc<Mutex<Option<T>>> = Arc::default();
    let own = place.clone();
    let observer = move |_: &leno_flexible::Event| {
        let taken = own.lock().unwrap().take();
        if taken.is_some() {
            let _last = Last(taken);
            panic!("an observer panics");
        }
    };
    (System::builder().observer(observer), place)
}

/// Kicks until the observer has dropped what is in the place. It panics here, or in the home core, if that is
/// telling it of something at that moment.
fn kick_until_dropped<T>(own: &Flexible<u32, u32>, place: &Mutex<Option<T>>) {
    while place.lock().unwrap().is_some() {
        if let Err(raised) = catch_unwind(AssertUnwindSafe(|| own.kick())) {
            assert_eq!(text(raised), "an observer panics");
        }
    }
}

fn adds(me: &mut Me<u32, u32>) {
    loop {
        let n = me.parameter().unwrap_or(0);
        me.detach(n + 1);
    }
}

#[test]
fn an_observer_that_drops_its_system_does_not_wait_for_itself() {
    in_time(|| {
        let (builder, place) = dropping();
        let system = builder.build();
        let adds = system.create("adds", adds);
        assert_eq!(adds.call(1).unwrap(), 2);
        *place.lock().unwrap() = Some(system);
        kick_until_dropped(&adds, &place);
        // The system ends.
        while adds.call(1).is_ok() {
            thread::yield_now();
        }
    });
}

#[test]
fn an_observer_that_drops_its_system_without_threads_does_not_wait_for_itself() {
    in_time(|| {
        let (builder, place) = dropping();
        let system = builder.threadless();
        let adds = system.create("adds", |mut me: AsyncMe<u32, u32>| async move {
            loop {
                let n = me.parameter().unwrap_or(0);
                me.detach(n + 1).await;
            }
        });
        assert_eq!(adds.call(1).unwrap(), 2);
        *place.lock().unwrap() = Some(system);
        kick_until_dropped(&adds, &place);
        while adds.call(1).is_ok() {
            thread::yield_now();
        }
    });
}

/// In a process of its own: a `Drop` that panics while a thread unwinds ends it.
#[test]
fn an_observer_may_drop_handles_and_calls_of_its_system_while_it_unwinds() {
    const CHILD: &str = "LENO_FLEXIBLE_DROPS";
    if std::env::var_os(CHILD).is_none() {
        let own = std::env::current_exe().unwrap();
        const NAME: &str = concat!(
            module_path!(),
            "::an_observer_may_drop_handles_and_calls_of_its_system_while_it_unwinds"
        );
        let (_crate, name) = NAME.split_once("::").unwrap();
        let mut child = std::process::Command::new(own);
        let output = child.args([name, "--exact", "--nocapture"]).env(CHILD, "1").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "no test has run");
        return;
    }
    in_time(|| {
        let (builder, place) = dropping();
        let system = builder.build();
        let never = system.create("never", |me: &mut Me<u32, u32>| {
            loop {
                let _ = me.parameter();
                me.passivate();
            }
        });
        let mut call = Box::pin(never.call_async(1));
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let adds = system.create("adds", adds);
        *place.lock().unwrap() = Some((never, call));
        kick_until_dropped(&adds, &place);
        assert_eq!(adds.call(1).unwrap(), 2);
    });
}

#[test]
fn an_observer_that_operates_on_its_system_gets_a_panic() {
    in_time(|| {
        let place: Arc<OnceLock<Flexible<u32, u32>>> = Arc::default();
        let (own, is_on) = (place.clone(), Arc::new(AtomicBool::new(false)));
        let on = is_on.clone();
        let system = Threadless::builder()
            .observer(move |_| {
                if let Some(other) = own.get().filter(|_| on.load(SeqCst)) {
                    let _ = other.kick();
                }
            })
            .threadless();
        let adds = system.create("adds", |mut me: AsyncMe<u32, u32>| async move {
            loop {
                let n = me.parameter().unwrap_or(0);
                me.detach(n + 1).await;
            }
        });
        let _ = place.set(adds.clone());
        is_on.store(true, SeqCst);
        let raised = text(catch_unwind(AssertUnwindSafe(|| adds.kick())).unwrap_err());
        assert!(
            raised.contains("an observer operates on the flexible system that calls it"),
            "{raised}"
        );
        assert_eq!(adds.call(2).unwrap(), 3);
    });
}

#[test]
fn a_policy_of_requests_that_panics_leaves_no_request_without_an_answer() {
    in_time(|| {
        let system = System::new();
        let (go, wait) = mpsc::channel::<()>();
        let wait = Mutex::new(wait);
        let serves = system
            .coroutine("serves")
            .serve(|_: &[Pending]| -> usize { panic!("a policy panics") })
            .create(move |me: &mut Me<u32, u32>| {
                loop {
                    wait.lock().unwrap().recv().unwrap();
                    let n = me.parameter().unwrap_or(0);
                    me.detach(n + 1);
                }
            });
        let calls: Vec<_> = (0..3)
            .map(|n| {
                let serves = serves.clone();
                thread::spawn(move || serves.call_wait(n))
            })
            .collect();
        while serves.look().requests.len() < 2 {
            thread::yield_now();
        }
        // The coroutine itself operates, when it detaches, and so gets the panic: it may have ended before the third.
        (0..3).for_each(|_| go.send(()).unwrap_or_default());
        calls.into_iter().for_each(|call| drop(call.join().expect("answered or told")));
    });
}

/// A coroutine that adds one, for calls from anywhere.
fn adder(system: &System, name: &'static str) -> Flexible<u32, u32> {
    system.create(name, |me: &mut Me<u32, u32>| {
        loop {
            let n = me.parameter().unwrap_or(0);
            me.detach(n + 1);
        }
    })
}

#[test]
fn an_observer_that_does_not_return_keeps_nobody_else_from_operating() {
    in_time(|| {
        let (enter, entered) = mpsc::channel();
        let (leave, left) = mpsc::channel::<()>();
        let (left, told) = (Mutex::new(left), Arc::new(AtomicUsize::new(0)));
        let own = told.clone();
        let system = System::builder()
            .observer(move |_| {
                if own.fetch_add(1, SeqCst) == 0 {
                    enter.send(()).unwrap();
                    left.lock().unwrap().recv().unwrap();
                }
            })
            .build();
        let system = Arc::new(system);
        let there = system.clone();
        let first = thread::spawn(move || adder(&there, "first"));
        entered.recv().unwrap();
        // The other thread is in the observer still.
        let second = adder(&system, "second");
        assert_eq!(second.call(1).unwrap(), 2);
        assert_eq!(system.snapshot().coroutines.len(), 2);
        assert_eq!(told.load(SeqCst), 1);
        leave.send(()).unwrap();
        let first = first.join().unwrap();
        assert!(told.load(SeqCst) > 1, "what has happened meanwhile is told");
        assert_eq!(first.call(1).unwrap(), 2);
    });
}

#[test]
fn an_observer_that_suspends_holds_no_lock() {
    in_time(|| {
        let kernel = LocalSystem::new();
        let system = Arc::new(
            System::builder()
                .observer(|_| {
                    if leno_kernel::can_park() {
                        leno_kernel::yield_now();
                    }
                })
                .build(),
        );
        let calls: Vec<_> = ["a", "b", "c"]
            .into_iter()
            .map(|name| {
                let system = system.clone();
                kernel.spawn(move || adder(&system, name).call(1).unwrap())
            })
            .collect();
        kernel.run().unwrap();
        for call in calls {
            assert_eq!(call.join().unwrap(), 2);
        }
    });
}

#[test]
fn a_policy_may_look_at_its_system_but_not_operate_on_it() {
    in_time(|| {
        let place: Arc<OnceLock<Flexible<u32, u32>>> = Arc::default();
        let refused = Arc::new(AtomicUsize::new(0));
        let (own, count) = (place.clone(), refused.clone());
        let system = Arc::new(
            System::builder()
                .schedule(move |waiting: &[leno_flexible::policy::Waiting]| {
                    if let Some(other) = own.get() {
                        other.look();
                        let kicked = catch_unwind(AssertUnwindSafe(|| other.kick())).unwrap_err();
                        assert!(
                            text(kicked).contains("operates on the flexible system that calls")
                        );
                        count.fetch_add(1, SeqCst);
                    }
                    waiting.len() - 1
                })
                .build(),
        );
        let (go, wait) = mpsc::channel::<()>();
        let wait = Mutex::new(wait);
        let gate = system.create("gate", move |_: &mut Me<(), ()>| {
            wait.lock().unwrap().recv().unwrap();
        });
        let all = ["a", "b", "c"].map(|name| adder(&system, name));
        assert!(place.set(all[0].clone()).is_ok());
        gate.kick().unwrap();
        all.iter().for_each(|own| own.kick().unwrap());
        // All three wait by now, and nobody else is active.
        go.send(()).unwrap();
        for own in &all {
            assert_eq!(own.call(4).unwrap(), 5);
        }
        assert!(refused.load(SeqCst) > 0, "the policy was not asked");
    });
}

#[test]
fn a_policy_of_requests_is_asked_about_those_that_are_there() {
    in_time(|| {
        let system = Arc::new(System::new());
        let (enter, entered) = mpsc::channel();
        let (leave, left) = mpsc::channel::<()>();
        let left = Mutex::new(left);
        let (go, wait) = mpsc::channel::<()>();
        let wait = Mutex::new(wait);
        let asked: Arc<Mutex<Vec<usize>>> = Arc::default();
        let own = asked.clone();
        let serves = system
            .coroutine("serves")
            .serve(move |pending: &[Pending]| {
                let mut asked = own.lock().unwrap();
                asked.push(pending.len());
                if asked.len() == 1 {
                    enter.send(()).unwrap();
                    left.lock().unwrap().recv().unwrap();
                }
                pending.len() - 1
            })
            .create(move |me: &mut Me<u32, u32>| {
                loop {
                    wait.lock().unwrap().recv().unwrap();
                    let n = me.parameter().unwrap_or(0);
                    me.detach(n + 1);
                }
            });
        let call = |n| {
            let serves = serves.clone();
            thread::spawn(move || serves.call_wait(n).unwrap())
        };
        let requests = |n: usize| {
            while serves.look().requests.len() < n {
                thread::yield_now();
            }
        };
        let first = call(0);
        while serves.look().caller.is_none() {
            thread::yield_now();
        }
        let rest = [call(1), call(2)];
        requests(2);
        go.send(()).unwrap();
        // The first one is answered, and its successor is being chosen: another one comes.
        entered.recv().unwrap();
        assert_eq!(first.join().unwrap(), 1);
        let last = call(3);
        requests(3);
        leave.send(()).unwrap();
        (0..3).for_each(|_| go.send(()).unwrap());
        assert_eq!(last.join().unwrap(), 4);
        assert_eq!(rest.map(|own| own.join().unwrap()), [2, 3]);
        assert_eq!(asked.lock().unwrap()[..2], [2, 3], "it is asked again about three");
    });
}
