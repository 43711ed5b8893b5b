//! Calls that do not come to their end: an observer panics, or a body drops a call that it has begun.

use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use leno_flexible::{AsyncMe, Event, Me, Rule, State, System, Threadless, What};

use super::support::{in_time, until};

/// An observer that panics when this rule is applied to this coroutine, or by it.
fn panics_at(rule: Rule, name: &'static str) -> impl FnMut(&Event) + Send + 'static {
    move |event: &Event| {
        let is_it = event.on.as_deref() == Some(name) || event.by.to_string().contains(name);
        let is_rule = matches!(&event.what, What::Applied(other) if *other == rule);
        assert!(!(is_it && is_rule), "an observer panics");
    }
}

/// Whether an observer has panicked in `f`.
fn is_raised<T>(f: impl FnOnce() -> T) -> bool {
    let Err(raised) = catch_unwind(AssertUnwindSafe(f)) else { return false };
    assert_eq!(raised.downcast_ref::<&str>(), Some(&"an observer panics"));
    true
}

/// Otherwise its caller would be trusted to run the system, and be gone.
#[test]
fn the_call_of_a_thread_whose_observer_panics_is_taken_back() {
    in_time(|| {
        let system = Threadless::builder()
            .observer(panics_at(Rule::CallByThreadPlain, "other"))
            .threadless();
        let (enter, entered) = mpsc::channel();
        let (leave, left) = mpsc::channel::<()>();
        let left = Mutex::new(left);
        let busy = system.create("busy", move |mut me: AsyncMe<(), u32>| async move {
            enter.send(()).unwrap();
            left.lock().unwrap().recv().unwrap();
            me.detach(1).await;
        });
        let other = system.create("other", |mut me: AsyncMe<(), u32>| async move {
            loop {
                me.passivate().await;
            }
        });
        let waits = system.create("waits", |mut me: AsyncMe<(), u32>| async move {
            me.passivate().await;
            me.detach(2).await;
        });
        thread::scope(|s| {
            let waiting = s.spawn(|| waits.call(()));
            until(&waits, State::Idle);
            while waits.caller().is_none() {
                thread::yield_now();
            }
            let steering = s.spawn(|| busy.call(()));
            entered.recv().unwrap();
            assert!(is_raised(|| other.call(())), "the observer is told of the call");
            assert!(other.look().requests.is_empty() && other.caller().is_none(), "{other}");
            leave.send(()).unwrap();
            assert_eq!(steering.join().unwrap().unwrap(), 1);
            waits.kick().unwrap();
            assert_eq!(waiting.join().unwrap().unwrap(), 2);
        });
    });
}

#[test]
fn a_body_goes_on_after_a_call_whose_observer_panics() {
    in_time(|| {
        let system = System::builder().observer(panics_at(Rule::CallByCoroutine, "callee")).build();
        let callee = system.create("callee", |me: &mut Me<u32, u32>| {
            loop {
                me.detach(5);
            }
        });
        let (go, wait) = mpsc::channel::<()>();
        let calls = system.create("calls", move |me: &mut Me<(), bool>| {
            wait.recv().unwrap();
            let raised = is_raised(|| callee.call(1));
            me.detach(raised);
            me.detach(callee.call(1).unwrap() == 5);
        });
        let mut call = Box::pin(calls.call_async(()));
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        // This thread has told the observer of its call.
        go.send(()).unwrap();
        assert!(leno_kernel::block_on(call).unwrap(), "it is told of the panic");
        assert!(calls.call(()).unwrap());
    });
}

#[test]
fn a_body_without_a_stack_goes_on_after_a_call_whose_observer_panics() {
    in_time(|| {
        let observer = panics_at(Rule::CallByCoroutine, "callee");
        let system = Threadless::builder().observer(observer).threadless();
        let callee = system.create("callee", |mut me: AsyncMe<u32, u32>| async move {
            loop {
                me.detach(5).await;
            }
        });
        let calls = system.create("calls", |mut me: AsyncMe<(), bool>| async move {
            let mut call = pin!(callee.call_async(1));
            let raised = poll_fn(|context| {
                Poll::Ready(is_raised(|| call.as_mut().poll(context).is_pending()))
            });
            let raised = raised.await;
            me.detach(raised).await;
            let answer = callee.call_wait_async(1).await;
            me.detach(answer.unwrap() == 5).await;
        });
        assert!(calls.call(()).unwrap(), "it is told of the panic");
        assert!(calls.call(()).unwrap());
    });
}

/// A turn that has ended before the observer was told ends all the same: the panic comes when the body goes on.
#[test]
fn a_body_goes_on_after_a_turn_whose_observer_panics() {
    for rule in [Rule::Yield, Rule::Passivate, Rule::Resume] {
        in_time(move || {
            let system = System::builder().observer(panics_at(rule, "leaves")).build();
            let other = system.create("other", |me: &mut Me<(), ()>| {
                loop {
                    me.passivate();
                }
            });
            let (go, wait) = mpsc::channel::<()>();
            let leaves = system.create("leaves", move |me: &mut Me<(), bool>| {
                wait.recv().unwrap();
                let raised = is_raised(|| match rule {
                    Rule::Yield => me.yield_now(),
                    Rule::Passivate => me.passivate(),
                    _ => me.resume(&other).unwrap(),
                });
                me.detach(raised);
                loop {
                    me.detach(true);
                }
            });
            let mut call = Box::pin(leaves.call_async(()));
            assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            // This thread has told the observer of its call.
            go.send(()).unwrap();
            // Or this thread tells the observer, if it does so of something else at that moment.
            let mut raised = false;
            let answer = loop {
                if let Poll::Ready(answer) =
                    call.as_mut().poll(&mut Context::from_waker(Waker::noop()))
                {
                    break answer.unwrap();
                }
                if leaves.state() == State::Idle {
                    raised |= is_raised(|| leaves.prod());
                }
                thread::yield_now();
            };
            assert!(answer || raised, "it is told of the panic: {rule:?}");
            assert!(leaves.call(()).unwrap());
        });
    }
}

#[test]
fn a_body_without_a_stack_that_catches_a_panic_of_its_resume_has_ended_its_turn() {
    in_time(|| {
        let system = Threadless::builder().observer(panics_at(Rule::Resume, "leaves")).threadless();
        let other = system.create("other", |mut me: AsyncMe<(), ()>| async move {
            loop {
                me.passivate().await;
            }
        });
        let leaves = system.create("leaves", |mut me: AsyncMe<(), bool>| async move {
            let raised = {
                let mut resume = pin!(me.resume(&other));
                poll_fn(|context| {
                    Poll::Ready(is_raised(|| resume.as_mut().poll(context).is_pending()))
                })
                .await
            };
            me.answer(raised);
            let again = {
                let mut yields = pin!(me.yield_now());
                poll_fn(|context| {
                    let polled = AssertUnwindSafe(|| yields.as_mut().poll(context).is_pending());
                    Poll::Ready(catch_unwind(polled).is_err())
                })
                .await
            };
            assert!(again, "the turn has ended");
        });
        assert!(leaves.call(()).unwrap());
    });
}

/// A future that is polled once, and dropped when this returns, as by a `select` whose other branch is ready.
async fn poll_once<F: Future>(future: F) {
    let mut future = pin!(future);
    poll_fn(|context| {
        assert!(future.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
}

#[test]
fn a_body_that_drops_a_call_it_has_begun_goes_on_in_its_turn() {
    for waits in [false, true] {
        in_time(move || {
            let system = Threadless::new();
            let callee = system.create("callee", |mut me: AsyncMe<u32, u32>| async move {
                loop {
                    me.passivate().await;
                }
            });
            let mut busy = Box::pin(callee.call_async(1));
            if waits {
                assert!(busy.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            }
            let own = callee.clone();
            let calls = system.create("calls", |mut me: AsyncMe<(), u32>| async move {
                poll_once(if waits { own.call_wait_async(1) } else { own.call_async(1) }).await;
                me.detach(7).await;
                poll_once(if waits { own.call_wait_async(1) } else { own.call_async(1) }).await;
                me.yield_now().await;
                me.detach(8).await;
            });
            assert_eq!((calls.call(()).unwrap(), calls.call(()).unwrap()), (7, 8));
            assert_eq!(calls.look().callee, None);
        });
    }
}

#[test]
fn a_body_that_has_dropped_its_call_is_woken_by_what_else_it_waits_for() {
    in_time(|| {
        let system = Threadless::new();
        let callee = system.create("callee", |mut me: AsyncMe<u32, u32>| async move {
            me.passivate().await;
        });
        let (tx, rx) = leno_channel::shared::channel::<u32>();
        let own = callee.clone();
        let calls = system.create("calls", |mut me: AsyncMe<(), u32>| async move {
            poll_once(own.call_async(1)).await;
            let n = rx.recv_async().await.unwrap();
            me.detach(n).await;
        });
        let caller = calls.clone();
        let call = thread::spawn(move || caller.call(()));
        until(&calls, State::Parked);
        tx.send(9).unwrap();
        assert_eq!(call.join().unwrap().unwrap(), 9);
    });
}

/// Whoever drops it, and when: it goes on.
#[test]
fn a_body_whose_call_another_one_drops_goes_on() {
    in_time(|| {
        let system = Threadless::new();
        let callee = system.create("callee", |mut me: AsyncMe<u32, u32>| async move {
            loop {
                me.passivate().await;
            }
        });
        let place = Arc::new(Mutex::new(Some(callee.call_async(1))));
        let own = place.clone();
        let calls = system.create("calls", |mut me: AsyncMe<(), u32>| async move {
            poll_fn(|context| match own.lock().unwrap().as_mut() {
                Some(call) => pin!(call).poll(context).map(drop),
                None => Poll::Ready(()),
            })
            .await;
            me.detach(3).await;
        });
        let caller = calls.clone();
        let call = thread::spawn(move || caller.call(()));
        until(&calls, State::Calling);
        let taken = place.lock().unwrap().take();
        drop(taken);
        assert_eq!(call.join().unwrap().unwrap(), 3);
    });
}

#[test]
fn a_system_one_of_whose_bodies_has_dropped_a_call_of_one_that_is_gone_can_be_looked_at() {
    in_time(|| {
        let system = Threadless::new();
        let callee = system.create("callee", |_: AsyncMe<u32, u32>| async {});
        let calls = system.create("calls", |_: AsyncMe<u32, u32>| async move {
            poll_once(callee.call_async(1)).await;
            drop(callee);
            pending::<()>().await;
        });
        let own = calls.clone();
        let call = thread::spawn(move || own.call(3));
        while system.snapshot().coroutines.len() > 1 {
            thread::yield_now();
        }
        calls.kick().unwrap();
        assert_eq!(calls.look().callee, None);
        assert!(!format!("{system:?}").is_empty());
        drop(system);
        assert!(call.join().unwrap().is_err());
    });
}

/// A plain coroutine of the home core wakes and attaches the one that runs a body, and not its system does.
#[test]
fn a_body_that_runs_out_of_turn_is_refused() {
    for calls in [false, true] {
        in_time(move || {
            let system = System::new();
            let other = system.create("other", |me: &mut Me<u32, u32>| {
                loop {
                    me.detach(5);
                }
            });
            let callee = other.clone();
            let out_of_turn = system.create("out", move |me: &mut Me<(), String>| {
                let own = leno_kernel::layer::current_stack().expect("it has a stack");
                drop(leno_kernel::spawn_local(move || {
                    leno_kernel::Waiter::Co(own).wake();
                    assert!(leno_kernel::attach(own).is_ok());
                }));
                leno_kernel::park(leno_kernel::Reason::Blocking);
                if calls {
                    me.answer(callee.call(1).unwrap_err().to_string());
                } else {
                    me.detach(String::new());
                }
            });
            let text = match out_of_turn.call(()) {
                Ok(text) => text,
                Err(error) => error.to_string(),
            };
            assert!(text.contains("its turn has ended"), "{text}");
            assert_eq!(other.call(1).unwrap(), 5);
        });
    }
}

/// Its coroutine is idle for the table by then, and nobody calls it.
#[test]
fn code_of_users_that_yields_after_a_turn_has_ended_goes_on() {
    in_time(|| {
        let (tell, told) = mpsc::channel();
        let system = System::builder()
            .observer(move |event| {
                if matches!(event.what, What::Applied(Rule::Passivate)) {
                    (0..3).for_each(|_| leno_kernel::yield_now());
                    tell.send(leno_kernel::layer::current_stack().is_some()).unwrap();
                }
            })
            .build();
        let passive = system.create("passive", |me: &mut Me<(), ()>| {
            loop {
                me.passivate();
            }
        });
        passive.kick().unwrap();
        told.recv().unwrap();
        passive.kick().unwrap();
        told.recv().unwrap();
    });
}

/// Its coroutine has ended for the table by then.
#[test]
fn a_hook_that_yields_after_a_body_has_ended_goes_on() {
    in_time(|| {
        let (tell, told) = mpsc::channel();
        let tell = Mutex::new(tell);
        let system = System::builder()
            .on_failure(move |_| {
                (0..3).for_each(|_| leno_kernel::yield_now());
                leno_kernel::sleep(Duration::from_millis(1));
                tell.lock().unwrap().send(()).unwrap();
            })
            .build();
        let fails = system.create("fails", |_: &mut Me<(), ()>| panic!("a body panics"));
        fails.kick().unwrap();
        told.recv().unwrap();
    });
}
