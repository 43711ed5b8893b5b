//! Exits that pass through code of flexible systems: those of a caller that is cancelled while it runs the coroutines of
//! others, and those of other coroutines, which somebody has caught and raises again.

use std::any::Any;
use std::cell::RefCell;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use leno_coroutine::{Coroutine, Suspender};
use leno_flexible::policy::{Pending, Waiting};
use leno_flexible::synchroniser::monitor::{Monitor, Request};
use leno_flexible::{
    AsyncMe, CallError, Flexible, Me, Refusal, State, System, SystemBuilder, Threadless,
};
use leno_kernel::{LocalSystem, yield_now};

use super::support::in_time;

/// Adds one; each turn with a parameter of 100 or more lets other coroutines of the kernel run.
fn adds(system: &Threadless, name: &'static str) -> Flexible<u32, u32> {
    system.create(name, |mut me: AsyncMe<u32, u32>| async move {
        loop {
            let n = me.parameter().unwrap_or(0);
            if n >= 100 {
                yield_now();
            }
            me.detach(n + 1).await;
        }
    })
}

/// Runs `f` in a coroutine of the kernel, which is cancelled when it lets others run and `is_time`.
fn cancelled_when(is_time: impl Fn() -> bool + 'static, f: impl FnOnce() + 'static) {
    let local = LocalSystem::new();
    let one = local.spawn(f);
    let two = local.spawn(move || {
        while !is_time() {
            thread::yield_now();
        }
        one.cancel();
        one.join().is_err()
    });
    local.run().unwrap();
    assert!(two.join().unwrap(), "it has exited");
}

/// Runs `f` in a coroutine of the kernel, which is cancelled when it first lets others run.
fn cancelled(f: impl FnOnce() + 'static) {
    cancelled_when(|| true, f);
}

#[test]
fn a_caller_that_is_cancelled_while_it_steers_ends_only_the_body_that_it_runs() {
    in_time(|| {
        let system = Threadless::new();
        let (slow, other) = (adds(&system, "slow"), adds(&system, "other"));
        assert_eq!(other.call(1).unwrap(), 2);
        let own = slow.clone();
        cancelled(move || drop(own.call(100)));
        assert_eq!(other.call(1).unwrap(), 2);
        assert_eq!(slow.state(), State::Terminated);
        let refused = slow.call(1).unwrap_err();
        assert!(
            matches!(refused, CallError::Refused(Refusal::Terminated { has_panicked: false, .. })),
            "{refused}"
        );
        assert!(system.failures().is_empty());
    });
}

#[test]
fn those_who_wait_go_on_when_the_one_who_steers_is_cancelled() {
    in_time(|| {
        let system = Threadless::new();
        let (go, wait) = mpsc::channel();
        let slow = system.create("slow", |_: AsyncMe<u32, u32>| async move {
            go.send(()).unwrap();
            yield_now();
        });
        let other = adds(&system, "other");
        let calls = [(slow.clone(), 1), (other.clone(), 2)];
        let waits = thread::spawn(move || {
            wait.recv().unwrap();
            let calls = calls.map(|(own, n)| thread::spawn(move || own.call(n).ok()));
            calls.map(|own| own.join().unwrap())
        });
        let (pending, served) = (slow.clone(), other.clone());
        let is_time = move || !pending.look().requests.is_empty() && served.caller().is_some();
        cancelled_when(is_time, move || drop(slow.call(0)));
        assert_eq!(waits.join().unwrap(), [None, Some(3)]);
        assert_eq!(other.call(4).unwrap(), 5);
    });
}

/// The future is dropped with its coroutine, and its call is withdrawn.
#[test]
fn a_future_that_is_cancelled_while_it_steers_ends_only_the_body_that_it_runs() {
    in_time(|| {
        let system = Threadless::new();
        let (slow, other) = (adds(&system, "slow"), adds(&system, "other"));
        let own = slow.clone();
        cancelled(move || drop(leno_kernel::block_on(own.call_async(100))));
        assert_eq!(slow.state(), State::Terminated);
        assert_eq!(other.call(1).unwrap(), 2);
    });
}

#[test]
fn a_policy_in_which_the_one_who_steers_is_cancelled_stays() {
    in_time(|| {
        let (asked, is_on) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, on) = (asked.clone(), is_on.clone());
        let policy = move |_: &[Waiting]| {
            count.fetch_add(1, SeqCst);
            if on.swap(false, SeqCst) {
                yield_now();
            }
            0
        };
        let system = SystemBuilder::default().schedule(policy).threadless();
        let all = ["a", "b", "c"].map(|name| adds(&system, name));
        // Kicks two others in its turn: both wait when that has ended.
        let others = [all[1].clone(), all[2].clone()];
        let kicks = system.create("kicks", |mut me: AsyncMe<(), ()>| async move {
            loop {
                others.iter().for_each(|own| own.kick().unwrap());
                me.yield_now().await;
                me.detach(()).await;
            }
        });
        let own = kicks.clone();
        cancelled(move || {
            is_on.store(true, SeqCst);
            drop(own.call(()));
        });
        let before = asked.load(SeqCst);
        assert!(before > 0, "the policy was asked");
        for own in &all {
            assert_eq!(own.call(1).unwrap(), 2);
        }
        kicks.call_wait(()).unwrap();
        assert!(asked.load(SeqCst) > before, "the policy is still asked");
    });
}

/// Between two turns, the one who steers wakes those who wait for an answer.
#[test]
fn a_waker_in_which_the_one_who_steers_is_cancelled_ends_nobody() {
    struct Yields;
    impl Wake for Yields {
        fn wake(self: Arc<Self>) {
            yield_now();
        }
    }
    in_time(|| {
        let system = Threadless::new();
        let place: Arc<Mutex<Option<Waker>>> = Arc::default();
        let own = place.clone();
        // Waits for something outside first.
        let gate = system.create("gate", |mut me: AsyncMe<(), u32>| async move {
            let mut is_first = true;
            poll_fn(|context| {
                *own.lock().unwrap() = Some(context.waker().clone());
                if std::mem::take(&mut is_first) { Poll::Pending } else { Poll::Ready(()) }
            })
            .await;
            me.detach(7).await;
        });
        let opens = system.create("opens", |mut me: AsyncMe<(), ()>| async move {
            let waker = place.lock().unwrap().take();
            waker.expect("somebody waits").wake();
            me.yield_now().await;
            me.passivate().await;
        });
        let mut call = Box::pin(gate.call_async(()));
        let waker = Waker::from(Arc::new(Yields));
        assert!(call.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        let own = opens.clone();
        cancelled(move || drop(own.call(())));
        let answered = call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(answered, Poll::Ready(Ok(7))));
        assert_ne!(opens.state(), State::Terminated);
        assert_eq!(adds(&system, "other").call(1).unwrap(), 2);
    });
}

/// The exit of a coroutine that has ended.
fn stolen() -> Box<dyn Any + Send> {
    let slot = Rc::new(RefCell::new(None));
    let into = slot.clone();
    let co = Coroutine::new(move |co: &Suspender<(), ()>, ()| {
        let caught = catch_unwind(AssertUnwindSafe(|| co.suspend(())));
        *into.borrow_mut() = caught.err();
    });
    co.resume(());
    drop(co);
    let stolen = slot.borrow_mut().take();
    stolen.expect("an exit")
}

fn has_failed<T>(called: Result<T, CallError>) -> bool {
    matches!(called, Err(CallError::Failed(_)))
}

#[test]
fn an_exit_of_another_coroutine_is_a_failure_of_the_body_that_raises_it() {
    in_time(|| {
        let system = Threadless::new();
        let good = adds(&system, "good");
        let raises = system.create("raises", |_: AsyncMe<u32, u32>| async {
            resume_unwind(stolen());
        });
        assert!(has_failed(raises.call(1)));
        assert_eq!(good.call(1).unwrap(), 2);

        let home = System::new();
        let raises = home.create("raises", |_: &mut Me<u32, u32>| resume_unwind(stolen()));
        assert!(has_failed(raises.call(1)));
    });
}

#[test]
fn a_desk_outlives_an_exit_of_another_coroutine() {
    in_time(|| {
        let system = System::new();
        let counts = Monitor::new(&system, "counts", 0);
        let next = counts.method("next", |count: &mut u32, raises: bool| {
            if raises {
                resume_unwind(stolen());
            }
            *count += 1;
            *count
        });
        assert!(has_failed(next.call(true)));
        assert_eq!(next.call(false).unwrap(), 1);
    });
}

#[test]
fn a_scheduler_that_raises_an_exit_of_another_coroutine_breaks_its_monitor_by_name() {
    in_time(|| {
        let system = System::new();
        let raises = |_: &u32, _: &[Request]| -> Option<usize> { resume_unwind(stolen()) };
        let counts = Monitor::with_scheduler(&system, "counts", 0, raises);
        let next = counts.method("next", |count: &mut u32, ()| {
            *count += 1;
            *count
        });
        let broken = next.call(()).unwrap_err().to_string();
        assert!(broken.contains("the scheduler of monitor 'counts' has panicked"), "{broken}");
        counts.set_scheduler(|_: &u32, _: &[Request]| Some(0));
        assert_eq!(next.call(()).unwrap(), 1);
    });
}

/// Runs `f` in a coroutine of the kernel.
fn in_coroutine<T: 'static>(f: impl FnOnce() -> T + 'static) -> T {
    let local = LocalSystem::new();
    let one = local.spawn(f);
    local.run().unwrap();
    one.join().unwrap()
}

#[test]
fn observers_and_policies_that_raise_an_exit_of_another_coroutine_are_gone() {
    in_time(|| {
        let calls = Arc::new(AtomicUsize::new(0));
        let own = calls.clone();
        let observer = move |_: &leno_flexible::Event| {
            own.fetch_add(1, SeqCst);
            resume_unwind(stolen());
        };
        let system = System::builder().observer(observer).threadless();
        let told = in_coroutine(move || {
            let raised = catch_unwind(AssertUnwindSafe(|| adds(&system, "one")));
            assert!(raised.is_err());
            adds(&system, "other").kick().unwrap();
            calls.load(SeqCst)
        });
        assert_eq!(told, 1);

        let calls = Arc::new(AtomicUsize::new(0));
        let own = calls.clone();
        let policy = move |_: &[Pending]| -> usize {
            own.fetch_add(1, SeqCst);
            resume_unwind(stolen());
        };
        let system = Threadless::new();
        let builder = system.coroutine("serves").serve(policy);
        let serves = builder.create(|mut me: AsyncMe<u32, u32>| async move {
            loop {
                let n = me.parameter().unwrap_or(0);
                me.detach(n + 1).await;
            }
        });
        let asked = in_coroutine(move || {
            let busy = serves.clone();
            let kicks = system.create("kicks", |mut me: AsyncMe<(), ()>| async move {
                // The first is served at once, the others are kept.
                (0..4).for_each(|_| busy.kick().unwrap());
                me.answer(());
            });
            kicks.call(()).unwrap();
            let raised =
                catch_unwind(AssertUnwindSafe(|| (0..4).for_each(|n| drop(serves.call(n)))));
            drop(raised);
            assert_eq!(serves.call(1).unwrap(), 2);
            calls.load(SeqCst)
        });
        assert_eq!(asked, 1);
    });
}
