//! Systems without a home core: the caller steers. Not in `suite`: the stress leg builds it with
//! optimisations.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use leno_flexible::{
    AsyncMe, CallError, Flexible, Refusal, State, Threadless, policy, spinning_async,
};

/// Adds one and answers.
async fn one_more(mut me: AsyncMe<u32, u32>) {
    loop {
        let n = me.parameter().unwrap_or(0);
        me.detach(n + 1).await;
    }
}

fn rest(system: &Threadless) {
    while !system.snapshot().is_at_rest() {
        std::thread::yield_now();
    }
}

fn panic_text(f: impl FnOnce()) -> String {
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_err();
    payload.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn f66_an_idle_system_without_a_home_core_has_no_thread() {
    let system = Threadless::new();
    let here = Arc::new(Mutex::new(None));
    let own = here.clone();
    let m = system.create("m", |mut me: AsyncMe<(), ()>| async move {
        loop {
            *own.lock().unwrap() = Some(std::thread::current().id());
            me.detach(()).await;
        }
    });
    // Nothing runs before somebody calls, and then it runs on that one's thread.
    assert_eq!(*here.lock().unwrap(), None);
    m.call(()).unwrap();
    assert_eq!(*here.lock().unwrap(), Some(std::thread::current().id()));
    let other = m.clone();
    let id = std::thread::spawn(move || {
        other.call(()).unwrap();
        std::thread::current().id()
    });
    let id = id.join().unwrap();
    assert_eq!(*here.lock().unwrap(), Some(id));
}

#[test]
fn f31_who_kicks_runs_nothing_itself() {
    let system = Threadless::new();
    let here = Arc::new(Mutex::new(None));
    let own = here.clone();
    let m = system.create("m", |_: AsyncMe<(), ()>| async move {
        *own.lock().unwrap() = Some(std::thread::current().id());
    });
    // The body takes this lock, so a kick that ran it would never return.
    let held = here.lock().unwrap();
    m.kick().unwrap();
    drop(held);
    while here.lock().unwrap().is_none() {
        std::thread::yield_now();
    }
    assert_ne!(*here.lock().unwrap(), Some(std::thread::current().id()));
    rest(&system);
    assert_eq!(m.state(), State::Terminated);
}

#[test]
fn who_has_its_answer_runs_nobody_else() {
    let system = Threadless::new();
    let held = Arc::new(Mutex::new(0));
    let own = held.clone();
    let later = system.create("later", |_: AsyncMe<(), ()>| async move {
        *own.lock().unwrap() += 1;
    });
    let m = system.create("m", |mut me: AsyncMe<(), ()>| async move {
        later.kick().unwrap();
        me.detach(()).await;
    });
    let mine = held.lock().unwrap();
    m.call(()).unwrap();
    drop(mine);
    rest(&system);
    while *held.lock().unwrap() == 0 {
        std::thread::yield_now();
    }
}

#[test]
fn f53_many_threads_get_each_their_own_answers() {
    let system = Threadless::new();
    let m = system.create("m", one_more);
    let slow = system.create(
        "slow",
        spinning_async(|mut me: AsyncMe<u32, u32>| async move {
            let n = me.parameter().unwrap_or(0);
            me.yield_now().await;
            me.detach(n).await;
        }),
    );
    std::thread::scope(|s| {
        for t in 0..8 {
            let (m, slow) = (&m, &slow);
            s.spawn(move || {
                for n in t * 1_000..t * 1_000 + 500 {
                    assert_eq!(m.call(n).unwrap(), n + 1);
                    assert_eq!(slow.call(n).unwrap(), n);
                }
            });
        }
    });
}

#[test]
fn calls_among_bodies_follow_the_rules() {
    let system = Threadless::new();
    let inner = system.create("inner", one_more);
    let own = inner.clone();
    let outer = system.create("outer", |mut me: AsyncMe<u32, u32>| async move {
        let n = me.parameter().unwrap();
        let n = own.call_async(n).await.unwrap();
        me.answer(own.call_async(n).await.unwrap());
    });
    assert_eq!(outer.call(5).unwrap(), 7);
    assert_eq!(outer.state(), State::Terminated);
    let text = outer.call(1).unwrap_err().to_string();
    assert!(text.contains("'outer'"), "{text}");
}

#[test]
fn f95_a_body_may_wait_for_a_busy_one() {
    let system = Threadless::new();
    let m = system.create(
        "m",
        spinning_async(|mut me: AsyncMe<u32, u32>| async move {
            let n = me.parameter().unwrap_or(0);
            me.yield_now().await;
            me.detach(n).await;
        }),
    );
    let caller = |name: &str, n: u32, waits: bool| {
        let m = m.clone();
        system.create(name, move |mut me: AsyncMe<(), Option<u32>>| async move {
            let answer = if waits { m.call_wait_async(n).await } else { m.call_async(n).await };
            me.answer(answer.ok());
        })
    };
    let callers = [caller("a", 1, true), caller("b", 2, true), caller("c", 3, false)];
    // All three are waiting before any of them runs: c finds m busy.
    let starts = callers.clone();
    let start = system.create("start", |_: AsyncMe<(), ()>| async move {
        starts.iter().for_each(|one| one.kick().unwrap());
    });
    start.call(()).unwrap();
    rest(&system);
    assert!(callers.iter().all(|one| one.state() == State::Terminated));
    assert!(system.failures().is_empty());
}

#[test]
fn a_blocking_call_in_a_body_is_refused_by_name() {
    let (system, other) = (Threadless::new(), Threadless::new());
    let m = other.create("m", one_more);
    let blocks = system.create("blocks", |mut me: AsyncMe<(), String>| async move {
        me.answer(panic_text(|| drop(m.call(1))));
    });
    let text = blocks.call(()).unwrap();
    assert!(text.contains("'m'") && text.contains("call_async"), "{text}");
}

#[test]
fn a_body_waits_for_something_outside_and_is_woken() {
    let system = Threadless::new();
    let (tx, rx) = leno_channel::shared::channel::<u32>();
    let reads = system.create("reads", |mut me: AsyncMe<(), u32>| async move {
        me.answer(rx.recv_async().await.unwrap());
    });
    std::thread::scope(|s| {
        let reader = s.spawn(|| reads.call(()));
        while reads.state() != State::Parked {
            std::thread::yield_now();
        }
        // Whoever wakes it does not run it: the reader does.
        tx.send(7).unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), 7);
    });
}

#[test]
fn a_kicked_body_that_nobody_waits_for_is_woken_too() {
    let system = Threadless::new();
    let (tx, rx) = leno_channel::shared::channel::<u32>();
    let got = Arc::new(AtomicUsize::new(0));
    let own = got.clone();
    let reads = system.create("reads", |_: AsyncMe<(), ()>| async move {
        while let Ok(n) = rx.recv_async().await {
            own.fetch_add(n as usize, SeqCst);
        }
    });
    reads.kick().unwrap();
    (1..=100).for_each(|n| tx.send(n).unwrap());
    drop(tx);
    while reads.state() != State::Terminated {
        std::thread::yield_now();
    }
    assert_eq!(got.load(SeqCst), 5_050);
}

#[test]
fn futures_call_too() {
    let system = Threadless::new();
    let m = system.create("m", one_more);
    assert_eq!(leno_kernel::block_on(m.call_async(1)).unwrap(), 2);
    // One that was polled once and is dropped has withdrawn.
    let waits = system.create("waits", |mut me: AsyncMe<(), ()>| async move {
        me.passivate().await;
        me.detach(()).await;
    });
    let mut call = Box::pin(waits.call_async(()));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(call.as_mut().poll(&mut context).is_pending());
    assert!(waits.caller().is_some());
    drop(call);
    assert_eq!((waits.caller(), waits.state()), (None, State::Idle));
}

#[test]
fn f71_one_who_gives_up_hands_over() {
    let system = Threadless::new();
    let m = system.create("m", |mut me: AsyncMe<u32, u32>| async move {
        loop {
            let n = me.parameter().unwrap_or(0);
            me.passivate().await;
            me.detach(n).await;
        }
    });
    let first = m.call_timeout(1, Duration::from_millis(100));
    assert!(matches!(first, Err(CallError::TimedOut { served: Some(_), .. })), "{first:?}");
    assert_eq!(m.caller(), None);
    // It steers one that never ends, and gives up all the same; a helper goes on.
    let (turns, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (own, ends) = (turns.clone(), stop.clone());
    let endless = system.create("endless", |mut me: AsyncMe<(), ()>| async move {
        while ends.load(SeqCst) == 0 {
            own.fetch_add(1, SeqCst);
            me.yield_now().await;
        }
    });
    let gives_up = endless.call_timeout((), Duration::from_millis(20));
    assert!(matches!(gives_up, Err(CallError::TimedOut { .. })), "{gives_up:?}");
    let seen = turns.load(SeqCst);
    while turns.load(SeqCst) < seen + 10 {
        std::thread::yield_now();
    }
    stop.store(1, SeqCst);
    rest(&system);
}

#[test]
fn f73_f74_f75_panics_end_their_coroutine_alone() {
    let system = Threadless::new();
    let fails = system.create("fails", |_: AsyncMe<(), ()>| async { panic!("attached") });
    let Err(CallError::Failed(failure)) = fails.call(()) else { panic!("it panicked") };
    assert_eq!(failure.to_string(), "coroutine 'fails' has panicked: attached");
    let own = system.create("fails", |_: AsyncMe<(), ()>| async { panic!("inside") });
    let calls = system.create("calls", |mut me: AsyncMe<(), String>| async move {
        me.answer(own.call_async(()).await.unwrap_err().to_string());
    });
    assert_eq!(calls.call(()).unwrap(), "coroutine 'fails' has panicked: inside");
    let kicked = system.create("kicked", |_: AsyncMe<(), ()>| async { panic!("alone") });
    kicked.kick().unwrap();
    let mut failures = Vec::new();
    while failures.is_empty() {
        failures = system.failures();
    }
    assert_eq!(failures[0].to_string(), "coroutine 'kicked' has panicked: alone");
    assert_eq!(system.create("m", one_more).call(1).unwrap(), 2);
}

#[test]
fn a_policy_that_panics_stops_its_system_and_tells_who_waits() {
    let system = Threadless::builder().schedule(|_: &[_]| panic!("undecided")).threadless();
    let a = system.create("a", |mut me: AsyncMe<(), ()>| async move { me.yield_now().await });
    let own = a.clone();
    let b = system.create("b", |mut me: AsyncMe<(), ()>| async move {
        own.kick().unwrap();
        me.yield_now().await;
    });
    // Whoever steers gets the panic.
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| b.call(()))).is_err());
    assert!(matches!(a.kick(), Err(Refusal::Stopped { .. })));
}

#[test]
fn dropping_it_drops_its_bodies() {
    struct Gone(Arc<AtomicUsize>);
    impl Drop for Gone {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let (system, gone) = (Threadless::new(), Arc::new(AtomicUsize::new(0)));
    let all: Vec<_> = (0..3)
        .map(|n| {
            let own = Gone(gone.clone());
            system.create("one", move |mut me: AsyncMe<(), ()>| async move {
                let _own = own;
                if n > 0 {
                    loop {
                        me.passivate().await;
                    }
                }
            })
        })
        .collect();
    all[1].kick().unwrap();
    std::thread::scope(|s| {
        let calls = s.spawn(|| all[2].call(()));
        while all[2].caller().is_none() {
            std::thread::yield_now();
        }
        drop(system);
        let answer = calls.join().unwrap();
        assert!(matches!(answer, Err(CallError::Refused(Refusal::Stopped { .. }))), "{answer:?}");
    });
    assert!(all[0].kick().is_err());
    // A helper that was just steering drops them when the turn has ended.
    let limit = Instant::now() + Duration::from_secs(60);
    while gone.load(SeqCst) < 3 {
        assert!(Instant::now() < limit, "{} of 3 bodies are dropped", gone.load(SeqCst));
        std::thread::yield_now();
    }
}

#[test]
fn one_of_its_own_bodies_may_drop_it() {
    let system = Arc::new(Mutex::new(Some(Threadless::new())));
    let own = system.clone();
    let guard = system.lock().unwrap();
    let drops = guard.as_ref().unwrap().create("drops", |mut me: AsyncMe<(), ()>| async move {
        drop(own.lock().unwrap().take());
        me.passivate().await;
    });
    drop(guard);
    assert!(drops.call(()).is_err());
    assert!(drops.kick().is_err());
    assert_eq!(drops.state(), State::Terminated);
}

/// Polls a future with a waker of its own, and only when that was woken.
struct Picky<F> {
    future: std::pin::Pin<Box<F>>,
    woken: Arc<Picked>,
}

#[derive(Default)]
struct Picked {
    is_woken: std::sync::atomic::AtomicBool,
    outer: Mutex<Option<std::task::Waker>>,
}

impl std::task::Wake for Picked {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, SeqCst);
        self.outer.lock().unwrap().clone().into_iter().for_each(std::task::Waker::wake);
    }
}

impl<F: Future> Future for Picky<F> {
    type Output = F::Output;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<F::Output> {
        *self.woken.outer.lock().unwrap() = Some(context.waker().clone());
        if !self.woken.is_woken.swap(false, SeqCst) {
            return std::task::Poll::Pending;
        }
        let waker = std::task::Waker::from(self.woken.clone());
        self.future.as_mut().poll(&mut std::task::Context::from_waker(&waker))
    }
}

#[test]
fn a_body_in_parts_that_have_wakers_of_their_own() {
    let system = Threadless::new();
    let inner = system.create("inner", one_more);
    let m = system.create("m", |mut me: AsyncMe<u32, u32>| async move {
        loop {
            let woken = Arc::new(Picked { is_woken: true.into(), outer: Mutex::default() });
            let n = me.parameter().unwrap_or(0);
            let n = Picky { future: Box::pin(inner.call_async(n)), woken: woken.clone() }.await;
            woken.is_woken.store(true, SeqCst);
            Picky { future: Box::pin(me.detach(n.unwrap())), woken }.await;
        }
    });
    assert_eq!((m.call(1).unwrap(), m.call(5).unwrap()), (2, 6));
}

#[test]
fn two_things_at_once_are_refused() {
    let system = Threadless::new();
    let (a, b) = (system.create("a", one_more), system.create("b", one_more));
    let m = system.create("m", |mut me: AsyncMe<(), String>| async move {
        let (mut first, mut second) = (Box::pin(a.call_async(1)), Box::pin(b.call_async(2)));
        let both = std::future::poll_fn(|context| {
            let first = first.as_mut().poll(context);
            let second = second.as_mut().poll(context);
            std::task::Poll::Ready((first.is_pending(), second))
        });
        let (is_pending, second) = both.await;
        assert!(is_pending);
        let std::task::Poll::Ready(Err(error)) = second else { panic!("it was refused") };
        let answer = first.await.unwrap();
        me.answer(format!("{answer}; {error}"));
    });
    let text = "2; coroutine 'm' does one thing at a time, and its turn has ended";
    assert_eq!(m.call(()).unwrap(), text);
}

#[test]
fn f37_policies_work_as_with_a_home_core() {
    let said: Arc<Mutex<Vec<i32>>> = Arc::default();
    let system = Threadless::builder().schedule(policy::by_priority).threadless();
    let all: Vec<Flexible<(), ()>> = [1, 3, 2]
        .into_iter()
        .map(|n| {
            let said = said.clone();
            system.coroutine("one").priority(n).create(|_| async move {
                said.lock().unwrap().push(n);
            })
        })
        .collect();
    let start = system.create("start", |_: AsyncMe<(), ()>| async move {
        all.iter().for_each(|one| one.kick().unwrap());
    });
    start.call(()).unwrap();
    while said.lock().unwrap().len() < 3 {
        std::thread::yield_now();
    }
    assert_eq!(*said.lock().unwrap(), [3, 2, 1]);
}

#[test]
fn systems_of_both_kinds_call_each_other() {
    let (home, threadless) = (leno_flexible::System::new(), Threadless::new());
    let m = home.create(
        "m",
        leno_flexible::spinning(|me: &mut leno_flexible::Me<u32, u32>| {
            let n = me.parameter().unwrap_or(0);
            me.detach(n + 1);
        }),
    );
    let own = m.clone();
    let n = threadless.create("n", |mut me: AsyncMe<u32, u32>| async move {
        loop {
            let n = me.parameter().unwrap_or(0);
            let n = own.call_async(n).await.unwrap();
            me.detach(n).await;
        }
    });
    assert_eq!(n.call(1).unwrap(), 2);
    let own = n.clone();
    let k = home.create("k", move |me: &mut leno_flexible::Me<u32, u32>| {
        let n = me.parameter().unwrap_or(0);
        me.answer(own.call(n).unwrap());
    });
    std::thread::scope(|s| {
        for n in 0..4 {
            let own = &threadless;
            let m = m.clone();
            s.spawn(move || {
                let calls = own.create("calls", |mut me: AsyncMe<u32, u32>| async move {
                    let n = me.parameter().unwrap_or(0);
                    me.answer(m.call_async(n).await.unwrap());
                });
                assert_eq!(calls.call(n).unwrap(), n + 1);
            });
        }
        assert_eq!(k.call(5).unwrap(), 6);
    });
}

/// Threads that call, kick, give up and drop, all at once.
#[test]
fn stress_nobody_is_lost() {
    let seconds =
        std::env::var("LENO_STRESS_SECONDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let end = std::time::Instant::now() + Duration::from_secs(seconds);
    let mut rounds = 0;
    while std::time::Instant::now() < end {
        rounds += 1;
        let system = Threadless::new();
        let kicked = Arc::new(AtomicUsize::new(0));
        let own = kicked.clone();
        let counts = system.create(
            "counts",
            spinning_async(move |mut me: AsyncMe<(), ()>| {
                let own = own.clone();
                async move {
                    own.fetch_add(1, SeqCst);
                    me.detach(()).await;
                }
            }),
        );
        let inner = system.create("inner", one_more);
        let own = inner.clone();
        let m = system.create(
            "m",
            spinning_async(move |mut me: AsyncMe<u32, u32>| {
                let own = own.clone();
                async move {
                    let n = me.parameter().unwrap_or(0);
                    let n = own.call_wait_async(n).await.unwrap();
                    me.detach(n).await;
                }
            }),
        );
        std::thread::scope(|s| {
            for t in 0..4u32 {
                let (m, inner, counts) = (&m, &inner, &counts);
                s.spawn(move || {
                    for n in 0..50 {
                        match (t + n) % 4 {
                            0 => assert_eq!(m.call(n).unwrap(), n + 1),
                            1 => counts.kick().unwrap(),
                            2 => drop(m.call_timeout(n, Duration::from_micros(u64::from(n)))),
                            _ => assert_eq!(inner.call(n).unwrap(), n + 1),
                        }
                    }
                });
            }
        });
        // 50 kicks, each of which is one activation.
        while kicked.load(SeqCst) < 50 {
            std::thread::yield_now();
        }
        rest(&system);
        assert_eq!(kicked.load(SeqCst), 50);
    }
    println!("{rounds} rounds");
}
