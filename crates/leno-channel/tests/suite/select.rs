//! Select: every kind of alternative, every kind of caller, order, cancellation.
#![cfg(not(loom))]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use leno_channel::{
    Select, SelectError, State, Turn, Who, after, bounded, channel, every, never, select, shared,
    unbounded,
};
use leno_kernel::policy::{Choice, ChoiceKind, Policy, Ready};
use leno_kernel::{
    Co, LocalSystem, Reason, State as CoState, block_on, sleep, spawn_local, yield_now,
};

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_waiting_select_is_met_by_whoever_comes_once() {
    let system = LocalSystem::new();
    let ((a, from_a), (b, from_b)) = (channel(), channel());
    let (probe_a, probe_b) = (from_a.clone(), from_b.clone());
    let waits = system.spawn(move || {
        Select::new().recv(&from_a, |v| ('a', v)).recv(&from_b, |v| ('b', v)).wait()
    });
    let deadlock = system.run().unwrap_err();
    assert!(matches!(deadlock.report.alive[0].state, CoState::Parked(Reason::Choosing(_))));
    assert_eq!(probe_a.waiting_receivers(), [Who::Co(waits.co().unwrap())]);
    assert_eq!((probe_a.state(), probe_b.state()), (State::Hungry, State::Hungry));
    b.try_send(2).unwrap();
    assert!(a.try_send(1).is_err(), "it was met at b");
    assert_eq!(probe_a.state(), State::Empty);
    system.run().unwrap();
    assert_eq!(waits.join().unwrap(), Ok(('b', Ok(2))));
}

#[test]
fn facing_selects_meet() {
    let system = LocalSystem::new();
    let ((a, from_a), (b, from_b)) = (channel(), channel());
    let sends = system.spawn(move || {
        Select::new().send(&a, 1, |r| ('a', r.is_ok())).send(&b, 2, |r| ('b', r.is_ok())).wait()
    });
    let receives =
        system.spawn(move || Select::new().recv(&from_b, |v| v).recv(&from_a, |v| v).wait());
    system.run().unwrap();
    let sent = sends.join().unwrap().unwrap();
    assert!(sent.1);
    let expected = if sent.0 == 'a' { 1 } else { 2 };
    assert_eq!(receives.join().unwrap(), Ok(Ok(expected)));
}

#[test]
fn a_select_does_not_meet_itself() {
    let system = LocalSystem::new();
    let (tx, rx) = channel();
    let (own_tx, own_rx) = (tx.clone(), rx.clone());
    let waits = system.spawn(move || {
        Select::new().send(&own_tx, 1, |_| 'w').recv(&own_rx, |v| char::from(v.unwrap())).wait()
    });
    system.run().unwrap_err();
    tx.try_send(b'r').unwrap();
    system.run().unwrap();
    assert_eq!(waits.join().unwrap(), Ok('r'));
    drop(rx);
}

#[test]
fn a_select_takes_from_a_waiting_select() {
    let system = LocalSystem::new();
    let ((a, from_a), (b, from_b)) = (channel::<u32>(), channel::<u32>());
    let offers: Vec<_> = (0..2)
        .map(|i| {
            let (a, b) = (a.clone(), b.clone());
            system.spawn(move || Select::new().send(&a, i, |_| 'a').send(&b, i, |_| 'b').wait())
        })
        .collect();
    system.run().unwrap_err();
    let took = Select::new().recv(&from_a, |v| v).try_wait().unwrap();
    assert_eq!(took, Ok(0));
    assert_eq!(from_b.try_recv(), Ok(1), "the first is gone from b, too");
    assert!(from_b.try_recv().is_err());
    system.run().unwrap();
    let got: Vec<_> = offers.into_iter().map(|o| o.join().unwrap().unwrap()).collect();
    assert_eq!(got, ['a', 'b']);
}

#[test]
fn closing_and_leaving_complete_a_select() {
    let system = LocalSystem::new();
    let ((tx, rx), (to, from)) = (channel::<u32>(), channel::<u32>());
    let (probe, closes) = (rx.clone(), rx.clone());
    let waits = system.spawn(move || {
        let first = Select::new().recv(&rx, |v| v.is_err()).recv(&never(), |_| false).wait();
        let second = Select::new().send(&to, 9, |r| r.unwrap_err().into_inner() == 9).wait();
        (first, second)
    });
    drop(system.spawn(move || {
        closes.close();
        yield_now();
        drop(from);
    }));
    system.run().unwrap();
    assert_eq!(waits.join().unwrap(), (Ok(true), Ok(true)));
    drop((tx, probe));
}

#[test]
fn time_default_and_nothing() {
    let system = LocalSystem::builder().virtual_time().build();
    let (_tx, rx) = channel::<u32>();
    let probe = rx.clone();
    let waits = system.spawn(move || {
        let start = leno_kernel::now();
        let first = Select::new().recv(&rx, |_| 0).after(50 * MS, || 1).after(20 * MS, || 2).wait();
        assert_eq!(leno_kernel::now() - start, 20 * MS);
        let second = Select::new().recv(&rx, |_| 0).default(|| 3).wait();
        let third = Select::new().recv(&rx, |_| 0).try_wait();
        let fourth = Select::<()>::new().wait();
        (first, second, third, fourth)
    });
    system.run().unwrap();
    let expected = (Ok(2), Ok(3), Err(SelectError::NotReady), Err(SelectError::NoAlternative));
    assert_eq!(waits.join().unwrap(), expected);
    assert_eq!(probe.state(), State::Empty);
}

#[test]
fn timers_as_receivers() {
    let system = LocalSystem::builder().virtual_time().build();
    let waits = system.spawn(|| {
        let (ticks, end, none) = (every(10 * MS), after(35 * MS), never());
        let mut seen = Vec::new();
        loop {
            let more = Select::new()
                .recv(&ticks, |t| Some(t.unwrap().as_nanos() / 1_000_000))
                .recv(&end, |_| None)
                .recv(&none, |_| unreachable!())
                .wait();
            match more.unwrap() {
                Some(tick) => seen.push(tick),
                None => break,
            }
        }
        assert!(end.recv().is_err(), "it has given its time");
        assert!(none.recv_timeout(MS).is_err());
        sleep(100 * MS);
        seen.push(ticks.recv().unwrap().as_nanos() / 1_000_000);
        seen.push(ticks.recv().unwrap().as_nanos() / 1_000_000);
        seen
    });
    system.run().unwrap();
    assert_eq!(waits.join().unwrap(), [10, 20, 30, 40, 140], "what was missed is left out");
}

#[test]
fn the_end_of_a_coroutine_is_an_alternative() {
    let system = LocalSystem::builder().virtual_time().build();
    let waits = system.spawn(|| {
        let mut slow = spawn_local(|| {
            sleep(30 * MS);
            "slow"
        });
        let early = Select::new().source(&mut slow, |_| "end").after(10 * MS, || "time").wait();
        let late = Select::new().source(&mut slow, |r| r.unwrap()).after(50 * MS, || "time").wait();
        (early, late)
    });
    system.run().unwrap();
    assert_eq!(waits.join().unwrap(), (Ok("time"), Ok("slow")));
}

#[test]
fn futures_select_in_virtual_time_also_behind_another_waker() {
    struct Wrapped(Waker);
    impl std::task::Wake for Wrapped {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.wake_by_ref();
        }
    }
    let system = LocalSystem::builder().virtual_time().build();
    let (tx, rx) = channel();
    let own = system.spawn_future(async move {
        let first = Select::new().recv(&rx, |v| v.ok()).after(30 * MS, || None).wait_async().await;
        let second = Select::new().recv(&rx, |v| v.ok()).after(30 * MS, || None).wait_async().await;
        (first, second, leno_kernel::now().as_nanos() / 1_000_000)
    });
    drop(system.spawn(move || {
        sleep(40 * MS);
        tx.send(1).unwrap();
    }));
    let wrapped = system.spawn_future(async move {
        let timer = after(15 * MS);
        let mut wait = Box::pin(timer.recv_async());
        std::future::poll_fn(|context| {
            let waker = std::sync::Arc::new(Wrapped(context.waker().clone())).into();
            wait.as_mut().poll(&mut Context::from_waker(&waker))
        })
        .await
    });
    system.run().unwrap();
    assert_eq!(own.join().unwrap(), (Ok(None), Ok(Some(1)), 40));
    assert_eq!(wrapped.join().unwrap().unwrap().as_nanos(), 15_000_000);
}

#[test]
fn futures_of_tokio_select() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (tx, rx) = shared::channel();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(20 * MS);
        tx.send(7).unwrap();
    });
    let got = runtime.block_on(async {
        let (_keep, local) = channel::<u32>();
        let first = Select::new().recv(&local, |v| v.ok()).after(MS, || None).wait_async().await;
        let second = select! {
            async;
            recv(rx) -> v => v.ok(),
            recv(local) -> _ => None,
        };
        (first, second)
    });
    assert_eq!(got, (Ok(None), Ok(Some(7))));
    thread.join().unwrap();
}

#[test]
fn threads_select_over_local_and_shared() {
    let ((tx, rx), (local, from)) = (shared::channel(), bounded(1));
    let thread = std::thread::spawn(move || (0..100).for_each(|i| tx.send(i).unwrap()));
    let mut got = Vec::new();
    loop {
        let next = Select::new()
            .recv(&rx, |v| v.ok())
            .recv(&from, |v| v.ok())
            .after(10_000 * MS, || panic!("nobody came"))
            .wait();
        match next.unwrap() {
            Some(i) if i == 49 => {
                got.push(i);
                local.send(1_000).unwrap();
            }
            Some(i) => got.push(i),
            None => break,
        }
    }
    thread.join().unwrap();
    got.extend(from.try_recv());
    got.sort();
    let expected: Vec<i32> = (0..100).chain([1_000]).collect();
    assert_eq!(got, expected);
    let (_tx, rx) = channel::<u32>();
    let waits = std::panic::AssertUnwindSafe(|| Select::new().recv(&rx, |_| ()).wait());
    assert!(std::panic::catch_unwind(waits).is_err(), "nobody could ever come");
}

#[test]
fn a_cancelled_select_loses_nothing() {
    let system = LocalSystem::new();
    let ((tx, rx), (to, from)) = (channel(), channel());
    let (rest, value) = (rx.clone(), Rc::new(()));
    let held = value.clone();
    let waits = system
        .spawn(move || Select::new().recv(&rx, |v| v.is_ok()).send(&to, held, |_| false).wait());
    drop(system.spawn(move || {
        tx.send(5).unwrap();
        waits.cancel();
    }));
    let report = system.run().unwrap();
    assert_eq!(report.exited, 1);
    assert_eq!(rest.try_recv(), Ok(5), "what it was handed is back");
    assert_eq!((from.state(), Rc::strong_count(&value)), (State::Empty, 1));
}

#[test]
fn a_dropped_select_future_loses_nothing_and_may_change_its_waker() {
    struct Count(std::sync::atomic::AtomicUsize);
    impl std::task::Wake for Count {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let ((a, from_a), (_b, from_b)) = (channel(), channel::<u32>());
    let count = std::sync::Arc::new(Count(Default::default()));
    let waker = Waker::from(count.clone());
    {
        let select = Select::new().recv(&from_a, |v| v).recv(&from_b, |v| v);
        let mut select = std::pin::pin!(select.wait_async());
        let noop = &mut Context::from_waker(Waker::noop());
        assert!(select.as_mut().poll(noop).is_pending());
        assert!(select.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        a.try_send(3).unwrap();
        assert_eq!(count.0.load(std::sync::atomic::Ordering::Relaxed), 1);
    }
    assert_eq!((from_a.try_recv(), from_b.state()), (Ok(3), State::Empty));
    let select = Select::new().recv(&from_a, |v| v).wait_async();
    let mut select = std::pin::pin!(select);
    assert!(select.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    a.try_send(4).unwrap();
    assert_eq!(select.poll(&mut Context::from_waker(&waker)), Poll::Ready(Ok(Ok(4))));
}

#[test]
fn an_unwinding_coroutine_selects_at_once_or_not_at_all() {
    struct Last(leno_channel::Receiver<u32>, Rc<RefCell<Option<SelectError>>>);
    impl Drop for Last {
        fn drop(&mut self) {
            *self.1.borrow_mut() = Select::new().recv(&self.0, |_| ()).wait().err();
        }
    }
    let system = LocalSystem::new();
    let ((_tx, rx), error) = (channel(), Rc::default());
    let last = Last(rx, Rc::clone(&error));
    let co = system.spawn(move || {
        let _last = last;
        sleep(1_000_000 * MS);
    });
    drop(system.spawn(move || co.cancel()));
    system.run().unwrap();
    assert_eq!(error.take(), Some(SelectError::Exiting));
}

#[test]
fn orders() {
    let (tx, rx) = unbounded();
    (0..12).for_each(|i| tx.send(i).unwrap());
    let turn = Turn::new();
    let fair: String = (0..4)
        .map(|_| Select::new().recv(&rx, |_| 'a').recv(&rx, |_| 'b').wait().unwrap())
        .collect();
    assert!(fair == "abab" || fair == "baba", "{fair}");
    let first: String = (0..4)
        .map(|_| Select::new().priority().recv(&rx, |_| 'a').recv(&rx, |_| 'b').wait().unwrap())
        .collect();
    assert_eq!(first, "aaaa");
    let robin: String = (0..4)
        .map(|_| {
            let select = Select::new().round_robin(&turn);
            select.recv(&rx, |_| 'a').recv(&rx, |_| 'b').recv(&never(), |_| 'n').wait().unwrap()
        })
        .collect();
    assert_eq!(robin, "abab");
}

/// Takes the last of everything.
#[derive(Default)]
struct Last(VecDeque<Co>, Rc<RefCell<Vec<ChoiceKind>>>);

impl Policy for Last {
    fn ready(&mut self, ready: &Ready<'_>) {
        self.0.push_back(ready.co);
    }
    fn pick(&mut self) -> Option<Co> {
        self.0.pop_front()
    }
    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        self.1.borrow_mut().push(choice.kind);
        choice.candidates.len() - 1
    }
    fn forget(&mut self, co: Co) {
        self.0.retain(|other| *other != co);
    }
}

#[test]
fn a_policy_chooses_among_ready_alternatives() {
    let asked = Rc::default();
    let policy = Last(VecDeque::new(), Rc::clone(&asked));
    let system = LocalSystem::builder().policy(policy).build();
    let ((a, from_a), (b, from_b), (_c, from_c)) = (unbounded(), unbounded(), unbounded::<u32>());
    a.send(1).unwrap();
    b.send(2).unwrap();
    let takes = system.spawn(move || {
        let take =
            || Select::new().recv(&from_a, |v| v).recv(&from_b, |v| v).recv(&from_c, |v| v).wait();
        (take().unwrap().unwrap(), take().unwrap().unwrap())
    });
    system.run().unwrap();
    assert_eq!(takes.join().unwrap(), (2, 1));
    assert_eq!(*asked.borrow(), [ChoiceKind::Alternative], "not asked when one is ready");
}

#[test]
fn the_macro_takes_references() {
    fn first<F: leno_channel::Flavour>(
        all: &[leno_channel::Receiver<u32, F>],
        other: &leno_channel::Receiver<u32, F>,
    ) -> Option<u32> {
        let both = [&all[0], other];
        select! {
            recv(both[0]) -> v => v.ok(),
            recv(&other) -> v => v.ok(),
            after(MS) => None,
        }
        .unwrap()
    }
    let ((a, from_a), (b, from_b)) = (bounded(1), bounded(1));
    let from_a = [from_a];
    a.send(1).unwrap();
    assert_eq!(first(&from_a, &from_b), Some(1));
    b.send(2).unwrap();
    assert_eq!(first(&from_a, &from_b), Some(2));
    assert_eq!(first(&from_a, &from_b), None);
}

#[test]
fn the_macro_has_bodies_that_may_leave() {
    fn first(rx: &leno_channel::Receiver<u32>) -> Result<u32, Box<dyn std::error::Error>> {
        loop {
            select! {
                priority;
                recv(*rx) -> v => { if v? > 1 { return Ok(v_is_big()); } }
                default => break,
            }?
        }
        Ok(0)
    }
    fn v_is_big() -> u32 {
        100
    }
    let (tx, rx) = unbounded();
    (0..3).for_each(|i| tx.send(i).unwrap());
    assert_eq!(first(&rx).unwrap(), 100);
    assert_eq!(first(&rx).unwrap(), 0);
    let (one, two) = (bounded(1), bounded(1));
    one.0.send(1).unwrap();
    two.0.send(2).unwrap();
    let sum = select! {
        join(one.1, two.1) -> both => both.map(|(a, b)| a + b).unwrap(),
        recv(rx) -> v => v.unwrap(),
    };
    assert_eq!(sum, Ok(3));
    let sent = block_on(async {
        select! { async; send(one.0, 5) -> sent => sent.is_ok() }
    });
    assert_eq!((sent, one.1.recv()), (Ok(true), Ok(5)));
}

/// A receiver that is `None` is never ready, however the select is waited for.
#[test]
fn an_alternative_can_be_switched_off() {
    let (tx, rx) = bounded(2);
    tx.send(1).unwrap();
    tx.send(2).unwrap();
    let (on, off) = (Some(&rx), None::<&leno_channel::Receiver<u32>>);
    for n in [1, 2] {
        let taken = Select::new().recv(&off, |_| 0).recv(&on, |value| value.unwrap()).wait();
        assert_eq!(taken, Ok(n));
    }
    let nobody = || Select::new().recv(&off, |_| ()).recv(&off, |_| ());
    assert_eq!(nobody().wait(), Err(SelectError::NoAlternative));
    assert_eq!(nobody().try_wait(), Err(SelectError::NotReady));
    assert_eq!(block_on(nobody().wait_async()), Err(SelectError::NoAlternative));
    assert_eq!(nobody().default(|| ()).wait(), Ok(()));
    assert_eq!(Select::many().recv(&off, |_| 'a').after(MS, || 'b').wait(), Ok('b'));

    // Also one who waits: in a coroutine, and in a future.
    let system = LocalSystem::new();
    let (quiet, silence) = channel::<u32>();
    let receives = move |silence: Option<leno_channel::Receiver<u32>>| {
        let off = None::<leno_channel::Receiver<u32>>;
        let value = select! { recv(off) -> _ => 0, recv(silence) -> value => value.unwrap() };
        value.unwrap()
    };
    let stack = system.spawn(move || receives(Some(silence)));
    drop(system.spawn(move || quiet.send(7).unwrap()));
    let (hush, still) = channel::<u32>();
    let future = system.spawn_future(async move {
        let (off, on) = (None::<leno_channel::Receiver<u32>>, Some(still));
        select! { async; recv(off) -> _ => 0, recv(on) -> value => value.unwrap() }.unwrap()
    });
    drop(system.spawn(move || hush.send(8).unwrap()));
    system.run().unwrap();
    assert_eq!((stack.join().unwrap(), future.join().unwrap()), (7, 8));
}
