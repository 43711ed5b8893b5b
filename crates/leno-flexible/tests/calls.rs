//! Calls that do not come to their end.

use std::future::{pending, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use leno_flexible::{AsyncMe, Flexible, State, Threadless};

/// Runs `f` on a thread of its own; it must end in time.
fn in_time<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || drop(tell.send(f())));
    told.recv_timeout(Duration::from_secs(60)).expect("it ends in time, and does not panic")
}

/// Waits until a coroutine is in this state.
fn until<P, R>(own: &Flexible<P, R>, state: State) {
    while own.state() != state {
        thread::yield_now();
    }
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
