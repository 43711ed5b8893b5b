//! Bodies with a stack in a system without a home core: whichever thread steers goes on with them.
//! Not in `suite`: the leg of thread sanitizer builds it without the others.
#![cfg(not(any(leno_baton, leno_asan)))]

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use leno_coroutine::migrate::{Lock, pinned};
use leno_explore::{Explorer, explore};
use leno_flexible::{
    AsyncMe, CallError, Flexible, MigrantMe, Refusal, State, System, Threadless, spinning_migrant,
};

/// SAFETY of all bodies here: they keep only what may be sent while they wait.
fn create<P: Send + 'static, R: Send + 'static>(
    system: &Threadless,
    name: &str,
    body: impl FnOnce(&mut MigrantMe<'_, P, R>) + Send + 'static,
) -> Flexible<P, R> {
    // SAFETY: see above.
    unsafe { system.create_migratable(name, body) }
}

/// Runs `f` on another thread and waits for it.
fn elsewhere<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    thread::scope(|s| s.spawn(f).join().unwrap())
}

/// In a frame of its own, since it uses a thread-local.
#[inline(never)]
fn here() -> thread::ThreadId {
    thread::current().id()
}

fn sum(system: &Threadless) -> Flexible<u32, u32> {
    create(system, "sum", |me: &mut MigrantMe<u32, u32>| {
        let mut sum = 0;
        loop {
            sum += me.parameter().unwrap_or(0);
            me.detach(sum);
        }
    })
}

#[test]
fn f66_whoever_calls_goes_on_with_the_same_stack() {
    let system = Threadless::new();
    let (tell, told) = mpsc::channel();
    let sum = create(&system, "sum", move |me: &mut MigrantMe<u32, u32>| {
        let mut sum = 0;
        loop {
            tell.send(here()).unwrap();
            sum += me.parameter().unwrap_or(0);
            me.detach(sum);
        }
    });
    let threads: Vec<_> = (1..=3)
        .map(|n| {
            elsewhere(|| {
                assert_eq!(sum.call(n).unwrap(), (1..=n).sum::<u32>());
                here()
            })
        })
        .collect();
    assert_eq!(sum.call(4).unwrap(), 10);
    let ran: Vec<_> = told.try_iter().collect();
    assert_eq!(ran[..3], threads, "each thread that calls runs it");
    assert_eq!(ran[3], here());
}

#[test]
fn a_body_waits_in_the_middle_of_recursion() {
    fn descend(me: &mut MigrantMe<(), u32>, depth: u32) {
        if depth > 0 {
            descend(me, depth - 1);
            me.detach(depth);
            descend(me, depth - 1);
        }
    }
    let system = Threadless::new();
    let walk = create(&system, "walk", |me: &mut MigrantMe<(), u32>| descend(me, 3));
    let seen: Vec<_> = (0..7).map(|_| elsewhere(|| walk.call(()).unwrap())).collect();
    assert_eq!(seen, [1, 2, 1, 3, 1, 2, 1]);
    let end = walk.call(());
    assert!(matches!(end, Err(CallError::NoAnswer { .. })), "{end:?}");
}

#[test]
fn many_threads_call_and_nothing_is_lost() {
    let system = Threadless::new();
    let sum = sum(&system);
    thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| (0..200).for_each(|_| assert!(sum.call(1).is_ok())));
        }
    });
    assert_eq!(sum.call(0).unwrap(), 1_600);
}

#[test]
fn bodies_of_both_kinds_call_resume_and_kick_each_other() {
    let system = Threadless::new();
    let double = system.create("double", |mut me: AsyncMe<u32, u32>| async move {
        loop {
            let n = me.parameter().unwrap_or(0);
            me.detach(2 * n).await;
        }
    });
    let kicked = Arc::new(AtomicUsize::new(0));
    let own = kicked.clone();
    let counts = create(&system, "counts", move |me: &mut MigrantMe<(), ()>| {
        loop {
            own.fetch_add(1, SeqCst);
            me.passivate();
        }
    });
    let (other, third) = (double.clone(), counts.clone());
    let first = create(&system, "first", move |me: &mut MigrantMe<u32, u32>| {
        let n = me.parameter().unwrap_or(0);
        let doubled = me.call(&other, n).unwrap();
        third.kick().unwrap();
        me.yield_now();
        me.resume(&third).unwrap();
        me.answer(doubled + 1);
    });
    let own = first.clone();
    let resumes = system.create("resumes", |mut me: AsyncMe<(), ()>| async move {
        me.resume(&own).await.unwrap();
    });
    thread::scope(|s| {
        let called = s.spawn(|| first.call(4).unwrap());
        while first.state() != State::Idle || first.caller().is_none() {
            thread::yield_now();
        }
        resumes.kick().unwrap();
        assert_eq!(called.join().unwrap(), 9);
    });
    assert_eq!(kicked.load(SeqCst), 2);
}

#[test]
fn one_that_waits_outside_lets_others_be_active() {
    let system = Threadless::new();
    let (tx, rx) = leno_channel::shared::channel::<u32>();
    let reads = create(&system, "reads", move |me: &mut MigrantMe<(), u32>| {
        let read = me.wait(rx.recv_async()).unwrap();
        me.answer(read);
    });
    let sum = sum(&system);
    thread::scope(|s| {
        let called = s.spawn(|| reads.call(()).unwrap());
        while reads.state() != State::Parked {
            thread::yield_now();
        }
        assert_eq!(sum.call(5).unwrap(), 5, "others are served meanwhile");
        tx.send(7).unwrap();
        assert_eq!(called.join().unwrap(), 7);
    });
}

#[test]
fn a_coroutine_of_another_system_is_called_as_by_a_thread() {
    let (one, two) = (Threadless::new(), System::new());
    let upper = two.create("upper", |me: &mut leno_flexible::Me<String, String>| {
        let text = me.parameter().unwrap_or_default();
        me.detach(text.to_uppercase());
    });
    let other = upper.clone();
    let asks = create(&one, "asks", move |me: &mut MigrantMe<(), String>| {
        assert!(matches!(me.resume(&other), Err(Refusal::Foreign { .. })));
        let answer = me.call(&other, "a".to_owned()).unwrap();
        me.answer(answer);
    });
    assert_eq!(asks.call(()).unwrap(), "A");
}

#[test]
fn f19_a_self_call_and_a_cycle_of_stacks_are_refused_by_name() {
    let system = Threadless::new();
    let own = Arc::new(Mutex::new(None::<Flexible<u32, String>>));
    let known = own.clone();
    let b = create(&system, "b", move |me: &mut MigrantMe<u32, String>| {
        loop {
            let a = known.lock().unwrap().clone().unwrap();
            let refused = me.call(&a, 0).unwrap_err().to_string();
            me.detach(refused);
        }
    });
    let (other, known) = (b.clone(), own.clone());
    let a = create(&system, "a", move |me: &mut MigrantMe<u32, String>| {
        loop {
            let itself = known.lock().unwrap().clone().unwrap();
            let answer = match me.parameter() {
                Some(0) => me.call(&itself, 0).unwrap_err().to_string(),
                _ => me.call(&other, 0).unwrap(),
            };
            me.detach(answer);
        }
    });
    *own.lock().unwrap() = Some(a.clone());
    assert_eq!(a.call(0).unwrap(), "coroutine 'a' cannot call or resume itself");
    let cycle = a.call(1).unwrap();
    assert!(cycle.contains("'b'") && cycle.contains("'a'"), "{cycle}");
    *own.lock().unwrap() = None;
}

#[test]
fn f73_a_panic_reaches_the_caller_and_the_system_goes_on() {
    let system = Threadless::new();
    let fails = create(&system, "fails", |me: &mut MigrantMe<(), ()>| {
        me.detach(());
        panic!("enough");
    });
    fails.call(()).unwrap();
    let error = elsewhere(|| fails.call(()).unwrap_err());
    assert_eq!(error.to_string(), "coroutine 'fails' has panicked: enough");
    let kicked = create(&system, "kicked", |_: &mut MigrantMe<(), ()>| panic!("alone"));
    kicked.kick().unwrap();
    let mut failures = Vec::new();
    while failures.is_empty() {
        failures.extend(system.failures().iter().map(ToString::to_string));
        thread::yield_now();
    }
    assert_eq!(failures, ["coroutine 'kicked' has panicked: alone"]);
    assert_eq!(sum(&system).call(1).unwrap(), 1);
}

/// Counts how often it is dropped, and operates meanwhile.
struct Dropped<'a, 'b>(&'a mut MigrantMe<'b, (), ()>, Arc<AtomicUsize>);

impl Drop for Dropped<'_, '_> {
    fn drop(&mut self) {
        self.0.detach(());
        self.0.passivate();
        self.0.yield_now();
        assert!(self.0.try_wait(std::future::ready(())).is_err());
        self.1.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_system_that_is_dropped_by_another_thread_unwinds_its_stacks() {
    let gone = Arc::new(AtomicUsize::new(0));
    let system = Threadless::new();
    for place in 0..2 {
        let own = gone.clone();
        let waits = create(&system, "waits", move |me: &mut MigrantMe<(), ()>| {
            let dropped = Dropped(me, own);
            match place {
                0 => dropped.0.detach(()),
                _ => dropped.0.wait(std::future::pending::<()>()),
            }
            unreachable!("nobody lets it go on");
        });
        match place {
            0 => waits.call(()).unwrap(),
            _ => waits.kick().unwrap(),
        }
        while waits.state() == State::Active || waits.state() == State::Waiting {
            thread::yield_now();
        }
    }
    let never = create(&system, "never", {
        let own = gone.clone();
        move |me: &mut MigrantMe<(), ()>| drop(Dropped(me, own))
    });
    elsewhere(|| drop(system));
    assert_eq!(gone.load(SeqCst), 2);
    assert!(matches!(never.call(()), Err(CallError::Refused(Refusal::Stopped { .. }))));
}

#[test]
fn a_panic_while_it_unwinds_by_its_own_panic_detaches_nobody() {
    let system = Threadless::new();
    let gone = Arc::new(AtomicUsize::new(0));
    let own = gone.clone();
    let fails = create(&system, "fails", move |me: &mut MigrantMe<(), ()>| {
        let _dropped = Dropped(me, own);
        panic!("enough");
    });
    let error = fails.call(()).unwrap_err();
    assert!(matches!(error, CallError::Failed(_)), "its destructors do not answer: {error}");
    assert_eq!(gone.load(SeqCst), 1);
}

#[test]
fn one_that_is_called_by_a_destructor_of_a_thread_that_panics_still_waits() {
    struct Calls<'a>(&'a Flexible<u32, u32>);
    impl Drop for Calls<'_> {
        fn drop(&mut self) {
            assert_eq!(self.0.call(2).unwrap(), 3);
        }
    }
    let system = Threadless::new();
    let sum = sum(&system);
    assert_eq!(sum.call(1).unwrap(), 1);
    let panicked = thread::scope(|s| {
        s.spawn(|| {
            let _calls = Calls(&sum);
            panic!("enough");
        })
        .join()
    });
    assert!(panicked.is_err());
    assert_eq!(sum.call(3).unwrap(), 6);
}

#[test]
fn one_that_is_tied_to_its_thread_cannot_wait() {
    let system = Threadless::new();
    let lock = Arc::new(Lock::new(0));
    let own = lock.clone();
    let locks = create(&system, "locks", move |me: &mut MigrantMe<(), ()>| {
        let _guard = own.lock();
        me.detach(());
    });
    let error = locks.call(()).unwrap_err().to_string();
    assert!(
        error.starts_with("coroutine 'locks' has panicked: coroutine 'locks' is tied"),
        "{error}"
    );
    assert!(lock.try_lock().is_some(), "it has unlocked");
    let pins = create(&system, "pins", |me: &mut MigrantMe<(), ()>| pinned(|| me.passivate()));
    assert!(matches!(pins.call(()), Err(CallError::Failed(_))));
    let owns = create(&system, "owns", move |me: &mut MigrantMe<(), ()>| {
        let _guard = lock.lock_owned();
        me.detach(());
    });
    owns.call(()).unwrap();
}

#[test]
fn a_stack_that_cannot_be_had_is_its_callers_error() {
    let system = Threadless::new();
    let builder = system.coroutine("huge").stack_size(usize::MAX / 2);
    // SAFETY: see `create`.
    let huge = unsafe { builder.create_migratable(|_: &mut MigrantMe<(), ()>| {}) };
    let error = huge.call(()).unwrap_err().to_string();
    assert!(error.contains("huge") && error.contains("cannot start"), "{error}");
    assert_eq!(sum(&system).call(1).unwrap(), 1, "the system goes on");
}

#[test]
fn a_blocking_call_in_a_body_says_what_to_use() {
    let system = Threadless::new();
    let sum = sum(&system);
    let blocks = create(&system, "blocks", move |_: &mut MigrantMe<(), ()>| {
        let _ = sum.call(1);
    });
    let error = blocks.call(()).unwrap_err().to_string();
    assert!(error.contains("MigrantMe::call"), "{error}");
}

#[test]
fn f71_a_thread_that_gives_up_leaves_the_stack_to_others() {
    let system = Threadless::new();
    let slow = create(&system, "slow", |me: &mut MigrantMe<u32, u32>| {
        loop {
            while me.parameter() != Some(2) {
                me.passivate();
            }
            me.detach(2);
        }
    });
    let late = elsewhere(|| slow.call_timeout(1, Duration::from_millis(5)).unwrap_err());
    assert!(matches!(late, CallError::TimedOut { .. }), "{late}");
    assert_eq!(slow.call(2).unwrap(), 2);
}

#[test]
fn f10_at_most_one_is_active_with_stacks_that_change_threads() {
    explore(|| {
        let (system, inside) = (Threadless::new(), Arc::new(AtomicUsize::new(0)));
        let make = |name: &str| {
            let inside = inside.clone();
            let body = spinning_migrant(move |me: &mut MigrantMe<u32, u32>| {
                assert_eq!(inside.fetch_add(1, SeqCst), 0, "two coroutines are active");
                leno_explore::thread::yield_now();
                inside.fetch_sub(1, SeqCst);
                let n = me.parameter().unwrap_or(0);
                me.detach(n);
            });
            create(&system, name, body)
        };
        let (a, b) = (make("a"), make("b"));
        let one = leno_explore::thread::spawn("one", move || assert_eq!(a.call(1).unwrap(), 1));
        let two = leno_explore::thread::spawn("two", move || assert_eq!(b.call(2).unwrap(), 2));
        one.join().unwrap();
        two.join().unwrap();
    });
}

#[test]
fn f67_the_helm_is_handed_over_with_the_stack() {
    let explorer = Explorer::new().exhaustive().most_interruptions(2);
    explorer.check(|| {
        let system = Threadless::new();
        let body = spinning_migrant(|me: &mut MigrantMe<u32, u32>| {
            let n = me.parameter().unwrap_or(0);
            me.yield_now();
            me.detach(n);
        });
        let m = create(&system, "m", body);
        let other = m.clone();
        let two = leno_explore::thread::spawn("two", move || assert_eq!(other.call(2).unwrap(), 2));
        assert_eq!(m.call(1).unwrap(), 1);
        two.join().unwrap();
    });
}

#[test]
fn f71_stacks_are_unwound_whoever_drops_their_system_when() {
    explore(|| {
        let system = Threadless::new();
        let gone = Arc::new(());
        let own = gone.clone();
        let m = create(&system, "m", move |me: &mut MigrantMe<u32, u32>| {
            let _own = own;
            loop {
                let n = me.parameter().unwrap_or(0);
                me.yield_now();
                me.detach(n);
            }
        });
        let calls = leno_explore::thread::spawn("calls", move || match m.call(1) {
            Ok(n) => assert_eq!(n, 1),
            Err(CallError::Refused(Refusal::Stopped { .. })) => {}
            Err(other) => panic!("{other}"),
        });
        drop(system);
        assert_eq!(Arc::strong_count(&gone), 1, "its stacks are gone with it");
        calls.join().unwrap();
    });
}
