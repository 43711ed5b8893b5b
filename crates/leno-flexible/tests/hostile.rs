//! Wakers, observers, policies and destructors that panic, or use the very system that calls them: the system
//! goes on, or says which rule was broken.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use leno_channel::shared;
use leno_flexible::synchroniser::monitor::{Monitor, Request};
use leno_flexible::{AsyncMe, Flexible, Me, System, Threadless, policy::Pending};
use leno_kernel::{LocalSystem, blocking};

/// Long enough for any machine, short enough for a test.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs `f` on a thread of its own; it must end in time.
fn in_time<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || drop(tell.send(f())));
    told.recv_timeout(LIMIT).expect("it ends in time, and does not panic")
}

struct Bomb;

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        panic!("a waker panics");
    }
}

/// What a panic says.
fn text(panic: Box<dyn std::any::Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[test]
fn a_system_without_threads_goes_on_after_a_waker_that_panics() {
    in_time(|| {
        let system = Threadless::new();
        let (tx, rx) = shared::channel::<u32>();
        let gate = system.create("gate", move |mut me: AsyncMe<u32, u32>| async move {
            loop {
                let n = rx.recv_async().await.unwrap();
                me.detach(n).await;
            }
        });
        let other = system.create("other", |mut me: AsyncMe<u32, u32>| async move {
            loop {
                let n = me.parameter().unwrap_or(0);
                me.detach(n + 1).await;
            }
        });
        let mut call = Box::pin(gate.call_async(1));
        let bomb = Waker::from(Arc::new(Bomb));
        assert!(call.as_mut().poll(&mut Context::from_waker(&bomb)).is_pending());
        let own = gate.clone();
        let waits = thread::spawn(move || own.call_wait(2));
        tx.send(10).unwrap();
        tx.send(20).unwrap();
        assert_eq!(other.call(4).unwrap(), 5);
        assert_eq!(waits.join().unwrap().unwrap(), 20);
    });
}

#[test]
fn helpers_outlive_hooks_that_panic() {
    struct Nasty;
    impl Drop for Nasty {
        fn drop(&mut self) {
            panic!("a payload's destructor panics");
        }
    }
    in_time(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let systems: Vec<_> = (0..260)
            .map(|_| {
                let count = count.clone();
                let system = Threadless::builder()
                    .on_failure(move |_| {
                        count.fetch_add(1, SeqCst);
                        panic_any(Nasty);
                    })
                    .threadless();
                let fails = system.create("fails", |_: AsyncMe<(), ()>| async { panic!("body") });
                fails.kick().unwrap();
                system
            })
            .collect();
        while count.load(SeqCst) < systems.len() {
            thread::yield_now();
        }
        let system = LocalSystem::new();
        let five = system.spawn(|| blocking(|| 5));
        system.run().unwrap();
        assert_eq!(five.join().unwrap(), 5);
    });
}

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

/// A system that its own code drops.
type Own = Arc<Mutex<Option<Threadless>>>;

/// Between two turns, the thread that steers drops what a call has left.
#[test]
fn a_parameter_that_drops_its_system_does_not_wait_for_its_own_thread() {
    struct Last(Own);
    impl Drop for Last {
        fn drop(&mut self) {
            let taken = self.0.lock().unwrap().take();
            drop(taken);
        }
    }
    in_time(|| {
        let (system, place) = (Threadless::new(), Own::default());
        let ignores = system.create("ignores", |mut me: AsyncMe<Last, ()>| async move {
            loop {
                me.detach(()).await;
            }
        });
        *place.lock().unwrap() = Some(system);
        let _refused = ignores.call(Last(place.clone()));
        let _refused = ignores.call(Last(place.clone()));
        assert!(place.lock().unwrap().is_none());
    });
}

/// One thread steers both systems, and the inner one has the innermost turn.
#[test]
fn a_body_of_another_system_that_drops_this_one_does_not_wait_for_its_own_thread() {
    in_time(|| {
        let (system, inner, place) = (Threadless::new(), Threadless::new(), Own::default());
        let own = place.clone();
        let drops = inner.create("drops", |mut me: AsyncMe<(), ()>| async move {
            let taken = own.lock().unwrap().take();
            drop(taken);
            me.answer(());
        });
        let calls = system.create("calls", |mut me: AsyncMe<(), ()>| async move {
            let _answer = drops.call_async(()).await;
            me.answer(());
        });
        *place.lock().unwrap() = Some(system);
        let _refused = calls.call(());
        assert!(place.lock().unwrap().is_none());
    });
}

/// In a process of its own: a `Drop` that panics while a thread unwinds ends it.
#[test]
fn an_observer_may_drop_handles_and_calls_of_its_system_while_it_unwinds() {
    const CHILD: &str = "LENO_FLEXIBLE_DROPS";
    if std::env::var_os(CHILD).is_none() {
        let own = std::env::current_exe().unwrap();
        let name = "an_observer_may_drop_handles_and_calls_of_its_system_while_it_unwinds";
        let mut child = std::process::Command::new(own);
        let output = child.args([name, "--exact", "--nocapture"]).env(CHILD, "1").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
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

#[test]
fn a_scheduler_of_a_monitor_may_use_the_monitor() {
    in_time(|| {
        let system = System::new();
        let place: Arc<OnceLock<Monitor<u32>>> = Arc::default();
        let own = place.clone();
        let counts =
            Monitor::with_scheduler(&system, "counts", 0, move |_: &u32, _: &[Request]| {
                if let Some(monitor) = own.get() {
                    monitor.set_scheduler(|_: &u32, _: &[Request]| Some(0));
                }
                Some(0)
            });
        assert!(place.set(counts.clone()).is_ok());
        let next = counts.method("next", |count, ()| {
            *count += 1;
            *count
        });
        assert_eq!(next.call(()).unwrap(), 1);
        assert_eq!(next.call(()).unwrap(), 2);
    });
}

#[test]
fn a_parameter_that_nobody_takes_may_use_the_system_when_it_is_dropped() {
    struct Looks(Arc<OnceLock<Flexible<Looks, ()>>>);
    impl Drop for Looks {
        fn drop(&mut self) {
            if let Some(own) = self.0.get() {
                own.look();
            }
        }
    }
    in_time(|| {
        let system = Threadless::new();
        let place: Arc<OnceLock<Flexible<Looks, ()>>> = Arc::default();
        let ignores = system.create("ignores", |mut me: AsyncMe<Looks, ()>| async move {
            loop {
                me.detach(()).await;
            }
        });
        assert!(place.set(ignores.clone()).is_ok());
        for _ in 0..3 {
            ignores.call(Looks(place.clone())).unwrap();
        }
        let mut call = Box::pin(ignores.call_async(Looks(place.clone())));
        let waker = Waker::noop();
        assert!(call.as_mut().poll(&mut Context::from_waker(waker)).is_ready());
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

/// By then the thread has lost what tells it whose turn it is, so it cannot steer itself.
#[test]
fn a_call_in_the_destructor_of_a_thread_local_is_answered() {
    struct Last(Flexible<u32, u32>, mpsc::Sender<Result<u32, String>>);
    impl Drop for Last {
        fn drop(&mut self) {
            let answer = self.0.call(1).map_err(|error| error.to_string());
            self.1.send(answer).unwrap();
        }
    }
    thread_local!(static LAST: std::cell::RefCell<Option<Last>> = const { std::cell::RefCell::new(None) });
    in_time(|| {
        let system = Threadless::new();
        let adds = system.create("adds", |mut me: AsyncMe<u32, u32>| async move {
            loop {
                let n = me.parameter().unwrap_or(0);
                me.detach(n + 1).await;
            }
        });
        let (tell, told) = mpsc::channel();
        let thread = thread::spawn(move || {
            LAST.set(Some(Last(adds.clone(), tell)));
            // After that one, so what it uses goes before that one.
            assert_eq!(adds.call(4).unwrap(), 5);
        });
        thread.join().unwrap();
        assert_eq!(told.recv().unwrap().unwrap(), 2);
    });
}

#[test]
fn an_answer_after_the_end_of_its_system_is_void() {
    in_time(|| {
        let system = Arc::new(Threadless::new());
        let own = Arc::downgrade(&system);
        let stops = system.create("stops", |mut me: AsyncMe<u32, u32>| async move {
            own.upgrade().expect("its caller has it").stop();
            me.detach(7).await;
        });
        let stopped = stops.call(1).unwrap_err();
        assert!(matches!(stopped, leno_flexible::CallError::Refused(_)), "{stopped}");
        assert!(system.failures().is_empty());
    });
}
