//! How a turn of a body without a stack ends: by the operation that ends it, whatever else happens before the
//! poll has come back.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use leno_flexible::{AsyncMe, State, Threadless};

/// Polls it once, and drops it then.
async fn begin(future: impl Future<Output = ()>) {
    let mut future = pin!(future);
    poll_fn(|context| {
        assert!(future.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
}

#[test]
fn f54_an_answer_is_not_lost_if_the_body_ends_in_the_same_turn() {
    let system = Threadless::new();
    let m = system.create("m", |mut me: AsyncMe<(), u32>| async move {
        begin(me.detach(7)).await;
    });
    assert_eq!(m.call(()).unwrap(), 7);
    assert_eq!(m.state(), State::Terminated);
}

#[test]
fn f75_a_panic_after_a_detach_is_nobodys() {
    let system = Threadless::new();
    let m = system.create("m", |mut me: AsyncMe<(), u32>| async move {
        begin(me.detach(7)).await;
        panic!("on purpose");
    });
    assert_eq!(m.call(()).unwrap(), 7);
    assert_eq!(m.state(), State::Terminated);
    let [failure] = &system.failures()[..] else { panic!("one has failed") };
    assert!(failure.to_string().contains("on purpose"), "{failure}");
}

#[test]
fn f21_who_has_detached_has_no_caller_and_no_parameter() {
    let system = Threadless::new();
    let seen = Arc::new(Mutex::new(None));
    let own = seen.clone();
    let m = system.create("m", |mut me: AsyncMe<u32, ()>| async move {
        assert!(me.caller().is_some());
        begin(me.detach(())).await;
        *own.lock().unwrap() = Some((me.caller(), me.parameter()));
    });
    m.call(3).unwrap();
    assert_eq!(*seen.lock().unwrap(), Some((None, None)));
}

#[test]
fn f25_who_has_passivated_keeps_both() {
    let system = Threadless::new();
    let m = system.create("m", |mut me: AsyncMe<u32, u32>| async move {
        begin(me.passivate()).await;
        let answer = me.caller().and(me.parameter()).unwrap_or(0);
        me.answer(answer);
    });
    assert_eq!(m.call(3).unwrap(), 3);
}

#[test]
fn f36_a_turn_ends_once() {
    let system = Threadless::new();
    let m = system.create("m", |mut me: AsyncMe<(), u32>| async move {
        begin(me.detach(1)).await;
        me.detach(2).await;
    });
    assert_eq!(m.call(()).unwrap(), 1);
    let [failure] = &system.failures()[..] else { panic!("it was told so") };
    let text = "coroutine 'm' does one thing at a time: this turn has ended";
    assert!(failure.to_string().contains(text), "{failure}");
}

/// A kick of one's own after a detach is served; before, the two were one operation after the other, too.
#[test]
fn f24_what_is_done_after_a_detach_comes_after_it() {
    let system = Threadless::new();
    let turns = Arc::new(Mutex::new(Vec::new()));
    let own = turns.clone();
    let other = system.create("other", |_: AsyncMe<(), ()>| async move {
        own.lock().unwrap().push("other");
    });
    let own = turns.clone();
    let m = system.create("m", |mut me: AsyncMe<(), ()>| async move {
        begin(me.detach(())).await;
        other.kick().unwrap();
        own.lock().unwrap().push("m");
        std::future::pending::<()>().await;
    });
    m.call(()).unwrap();
    while !system.snapshot().is_at_rest() {
        std::thread::yield_now();
    }
    assert_eq!(*turns.lock().unwrap(), ["m", "other"]);
}
