//! What must hold under every schedule where nobody has a home core: nobody who is ready is forgotten,
//! whoever gives up, is woken, or drops what.
//!
//! With a planted mistake (`LENO_PLANTED=helm`, `direct` or `call-look`, with `--cfg leno_planted`) these must fail; see `.ci/run`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use leno_explore::{Explorer, explore, thread};
use leno_flexible::{AsyncMe, CallError, Refusal, Threadless, spinning_async};

async fn echo(mut me: AsyncMe<u32, u32>) {
    let n = me.parameter().unwrap_or(0);
    me.yield_now().await;
    me.detach(n).await;
}

#[test]
fn f10_at_most_one_is_active_without_a_home_core() {
    explore(|| {
        let (system, inside) = (Threadless::new(), Arc::new(AtomicUsize::new(0)));
        let make = |name: &str| {
            let inside = inside.clone();
            let body = spinning_async(move |mut me: AsyncMe<u32, u32>| {
                let inside = inside.clone();
                async move {
                    assert_eq!(inside.fetch_add(1, SeqCst), 0, "two coroutines are active");
                    thread::yield_now();
                    inside.fetch_sub(1, SeqCst);
                    let n = me.parameter().unwrap_or(0);
                    me.detach(n).await;
                }
            });
            system.create(name, body)
        };
        let (a, b) = (make("a"), make("b"));
        let one = thread::spawn("one", move || assert_eq!(a.call(1).unwrap(), 1));
        let two = thread::spawn("two", move || assert_eq!(b.call(2).unwrap(), 2));
        one.join().unwrap();
        two.join().unwrap();
    });
}

#[test]
fn f67_the_helm_is_handed_over_without_loss() {
    let explorer = Explorer::new().exhaustive().most_interruptions(2);
    explorer.check(|| {
        let system = Threadless::new();
        let m = system.create("m", spinning_async(echo));
        let other = m.clone();
        let two = thread::spawn("two", move || assert_eq!(other.call(2).unwrap(), 2));
        assert_eq!(m.call(1).unwrap(), 1);
        two.join().unwrap();
    });
}

#[test]
fn a_call_that_nothing_is_in_the_way_of_is_explored_as_it_runs() {
    // Nothing else is left open here but whether a call is served at once, as outside of worlds, or by the rules one by
    // one.
    let explorer = Explorer::new().exhaustive();
    let summary = explorer.run(|| {
        let system = Threadless::new();
        let next = system.create("next", |mut me: AsyncMe<u32, u32>| async move {
            loop {
                let n = me.parameter().unwrap_or(0);
                me.detach(n + 1).await;
            }
        });
        assert_eq!((next.call(1).unwrap(), next.call(2).unwrap()), (2, 3));
    });
    let summary = summary.unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(summary.runs(), 4, "{summary}");
}

#[test]
fn f67_two_call_and_one_kicks() {
    explore(|| {
        let system = Threadless::new();
        let m = system.create("m", spinning_async(echo));
        let (kicked, is_kicked) = leno_channel::shared::channel::<()>();
        let k = system.create("k", |_: AsyncMe<(), ()>| async move {
            kicked.send_async(()).await.unwrap();
        });
        let threads: Vec<_> = (0..2)
            .map(|n| {
                let m = m.clone();
                thread::spawn(n.to_string(), move || assert_eq!(m.call(n).unwrap(), n))
            })
            .collect();
        k.kick().unwrap();
        threads.into_iter().for_each(|own| own.join().unwrap());
        is_kicked.recv().unwrap();
    });
}

#[test]
fn f71_one_who_gives_up_without_a_home_core_leaves_the_others_served() {
    explore(|| {
        let system = Threadless::new();
        let m = system.create("m", spinning_async(echo));
        let own = m.clone();
        let gives_up =
            thread::spawn("gives up", move || match own.call_timeout(1, Duration::from_nanos(1)) {
                Ok(n) => assert_eq!(n, 1),
                Err(CallError::TimedOut { .. }) => {}
                Err(other) => panic!("{other}"),
            });
        let own = m.clone();
        let drops = thread::spawn("drops", move || {
            let mut call = Box::pin(own.call_async(3));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            let polled = call.as_mut().poll(&mut context);
            thread::yield_now();
            drop((polled, call));
        });
        let stays = thread::spawn("stays", move || assert_eq!(m.call(2).unwrap(), 2));
        gives_up.join().unwrap();
        drops.join().unwrap();
        stays.join().unwrap();
    });
}

#[test]
fn a_body_that_is_woken_from_outside_goes_on() {
    explore(|| {
        let system = Threadless::new();
        let (tx, rx) = leno_channel::shared::channel::<u32>();
        let reads = system.create("reads", |mut me: AsyncMe<(), u32>| async move {
            let first = rx.recv_async().await.unwrap();
            me.detach(first).await;
            let second = rx.recv_async().await.unwrap();
            me.answer(second);
        });
        let writes = thread::spawn("writes", move || {
            tx.send(1).unwrap();
            tx.send(2).unwrap();
        });
        assert_eq!(reads.call(()).unwrap(), 1);
        assert_eq!(reads.call(()).unwrap(), 2);
        writes.join().unwrap();
    });
}

#[test]
fn a_system_that_is_dropped_while_others_call_answers_everybody() {
    explore(|| {
        let system = Threadless::new();
        let m = system.create("m", spinning_async(echo));
        let gone = Arc::new(());
        let own = gone.clone();
        let waits = system.create("waits", |mut me: AsyncMe<(), ()>| async move {
            let _own = own;
            loop {
                me.passivate().await;
            }
        });
        let calls = thread::spawn("calls", move || match m.call(1) {
            Ok(n) => assert_eq!(n, 1),
            Err(CallError::Refused(Refusal::Stopped { .. })) => {}
            Err(other) => panic!("{other}"),
        });
        let waits = thread::spawn("waits", move || assert!(waits.call(()).is_err()));
        drop(system);
        calls.join().unwrap();
        waits.join().unwrap();
        assert_eq!(
            Arc::strong_count(&gone),
            1,
            "its bodies are dropped by the last that has run one"
        );
    });
}
