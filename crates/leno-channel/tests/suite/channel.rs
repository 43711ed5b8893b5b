//! Channels: every operation by coroutines, threads and futures; order, closing, lists, names.
#![cfg(not(loom))]

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use leno_channel::{
    Flavour, Named, Receiver, RecvError, RecvTimeoutError, SendError, SendTimeoutError, Sender,
    State, TryRecvError, TrySendError, Who, bounded, channel, shared, unbounded,
};
use leno_kernel::policy::{Choice, ChoiceKind, Policy, Ready};
use leno_kernel::{
    Co, LocalSystem, Options, Reason, State as CoState, block_on, current, sleep, yield_now,
};

type Ends<T, F> = (Sender<T, F>, Receiver<T, F>);

const MS: Duration = Duration::from_millis(1);

/// Sends 0..n from one body and sums in the other, as coroutines and as futures in all pairings.
fn pairings<F: Flavour>(make: impl Fn() -> Ends<u64, F>) {
    for futures in 0..4 {
        let system = LocalSystem::new();
        let (tx, rx) = make();
        if futures & 1 == 0 {
            drop(system.spawn(move || (0..100).for_each(|i| tx.send(i).unwrap())));
        } else {
            drop(system.spawn_future(async move {
                for i in 0..100 {
                    tx.send_async(i).await.unwrap();
                }
            }));
        }
        let collect = if futures & 2 == 0 {
            system.spawn(move || rx.into_iter().collect::<Vec<_>>())
        } else {
            system.spawn_future(async move {
                let mut all = Vec::new();
                while let Ok(i) = rx.recv_async().await {
                    all.push(i);
                }
                all
            })
        };
        system.run().unwrap();
        assert_eq!(collect.join().unwrap(), (0..100).collect::<Vec<_>>(), "pairing {futures}");
    }
}

#[test]
fn k18_coroutines_and_futures_exchange_in_order() {
    pairings(channel);
    pairings(|| bounded(3));
    pairings(unbounded);
    pairings(shared::channel);
    pairings(|| shared::bounded(3));
    pairings(shared::unbounded);
}

#[test]
fn threads_exchange_in_order() {
    for make in [shared::channel::<u64>, || shared::bounded(3), shared::unbounded] {
        let (tx, rx) = make();
        let sender = std::thread::spawn(move || (0..100).for_each(|i| tx.send(i).unwrap()));
        assert_eq!(rx.iter().collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
        sender.join().unwrap();
    }
}

#[test]
fn a_thread_exchanges_with_coroutines_and_futures() {
    let (tx, rx) = shared::channel();
    let (back, answers) = shared::channel();
    let thread = std::thread::spawn(move || {
        let system = LocalSystem::new();
        let (rx_too, back_too) = (rx.clone(), back.clone());
        drop(system.spawn(move || rx.iter().for_each(|i: u32| back.send(i + 1).unwrap())));
        drop(system.spawn_future(async move {
            while let Ok(i) = rx_too.recv_async().await {
                back_too.send_async(i + 1).await.unwrap();
            }
        }));
        system.run().unwrap();
    });
    for i in 0..100 {
        tx.send(i).unwrap();
        assert_eq!(answers.recv_timeout(10_000 * MS).unwrap(), i + 1);
    }
    drop(tx);
    thread.join().unwrap();
}

#[test]
fn futures_of_a_tokio_runtime_exchange_with_threads_and_each_other() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (tx, rx) = shared::channel();
    let thread = std::thread::spawn(move || (0..50).for_each(|i| tx.send(i).unwrap()));
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async move {
        let (inner, out) = channel();
        let moved = tokio::task::spawn_local(async move {
            while let Ok(i) = rx.recv_async().await {
                inner.send_async(i).await.unwrap();
            }
        });
        for i in 0..50 {
            assert_eq!(out.recv_async().await, Ok(i));
        }
        assert!(out.recv_async().await.is_err());
        moved.await.unwrap();
    });
    thread.join().unwrap();
}

#[test]
fn a_local_wait_of_a_plain_thread_is_refused_but_ends_with_its_time() {
    let (tx, rx) = channel::<u32>();
    let error = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rx.recv())).unwrap_err();
    let text = error.downcast_ref::<String>().unwrap();
    assert!(text.starts_with("a thread is waiting to receive from channel "), "{text}");
    assert!(matches!(rx.recv_timeout(MS), Err(RecvTimeoutError::TimedOut(_))));
    assert!(matches!(tx.send_timeout(7, MS), Err(SendTimeoutError::TimedOut(7, _))));
    assert_eq!(rx.state(), State::Empty, "both have left");
}

#[test]
fn a_blocking_call_inside_a_future_is_refused() {
    let system = LocalSystem::new();
    let (_tx, rx) = channel::<u32>();
    let refused = system.spawn_future(async move { rx.recv() });
    system.run().unwrap();
    assert!(refused.join().unwrap_err().to_string().contains("use its `_async` form"));
}

#[test]
fn what_is_stored_comes_before_closed() {
    let (tx, rx) = bounded(2);
    tx.send(1).unwrap();
    tx.send(2).unwrap();
    assert!(matches!(tx.try_send(3), Err(TrySendError::Full(3, _))));
    assert_eq!((rx.len(), rx.capacity(), rx.is_empty()), (2, Some(2), false));
    drop(tx);
    assert!(rx.is_closed());
    assert_eq!((rx.recv(), rx.recv()), (Ok(1), Ok(2)));
    assert!(matches!(rx.recv(), Err(RecvError::Closed(_))));
    assert!(matches!(rx.try_recv(), Err(TryRecvError::Closed(_))));
    assert!(matches!(rx.recv_timeout(MS), Err(RecvTimeoutError::Closed(_))));
}

#[test]
fn without_receivers_the_value_comes_back_and_what_is_stored_is_dropped() {
    let value = Rc::new(());
    let (tx, rx) = unbounded();
    tx.send(value.clone()).unwrap();
    drop(rx);
    assert_eq!(Rc::strong_count(&value), 1);
    assert!(tx.is_closed());
    assert!(matches!(tx.send(value.clone()), Err(SendError::Closed(..))));
    assert!(matches!(tx.try_send(value.clone()), Err(TrySendError::Closed(..))));
    assert!(matches!(tx.send_timeout(value.clone(), MS), Err(SendTimeoutError::Closed(..))));
    assert_eq!(Rc::strong_count(&value), 1);
}

/// Whoever waits learns that the other side is gone, or that the channel was closed.
fn told<F: Flavour>(make: impl Fn() -> Ends<u64, F>) {
    for close in [false, true] {
        let system = LocalSystem::new();
        let (tx, rx) = make();
        let (sender, receiver) = (tx.clone(), rx.clone());
        let (waits, awaits) = (rx.clone(), rx.clone());
        let one = system.spawn(move || waits.recv().is_err());
        let two = system.spawn_future(async move { awaits.recv_async().await.is_err() });
        drop((sender, rx));
        drop(system.spawn(move || if close { receiver.close() } else { drop((tx, receiver)) }));
        system.run().unwrap();
        assert!(one.join().unwrap() && two.join().unwrap());

        let (tx, rx) = make();
        let (waits, awaits) = (tx.clone(), tx.clone());
        let fill =
            |tx: &Sender<u64, F>| (0..tx.capacity().unwrap()).for_each(|_| tx.try_send(0).unwrap());
        fill(&tx);
        let one = system.spawn(move || waits.send(1).unwrap_err().into_inner());
        let two = system
            .spawn_future(async move { awaits.send_async(2).await.unwrap_err().into_inner() });
        drop(system.spawn(move || if close { tx.close() } else { drop(rx) }));
        system.run().unwrap();
        assert_eq!((one.join().unwrap(), two.join().unwrap()), (1, 2));
    }
}

#[test]
fn whoever_waits_is_told_of_the_end() {
    told(channel);
    told(|| bounded(2));
    told(shared::channel);
    told(|| shared::bounded(2));
}

#[test]
fn k6_a_channel_knows_who_waits() {
    let system = LocalSystem::new();
    let (tx, rx) = channel::<u32>();
    assert_eq!(rx.state(), State::Empty);
    let hungry: Vec<Co> = (0..2)
        .map(|_| {
            let rx = rx.clone();
            system.spawn(move || rx.recv().is_ok()).co().unwrap()
        })
        .collect();
    let future = rx.clone();
    let future = system.spawn_future(async move { future.recv_async().await.is_ok() });
    let deadlock = system.run().unwrap_err();
    assert_eq!(deadlock.report.alive[0].state, CoState::Parked(Reason::Hungry(rx.object())));
    assert_eq!(tx.state(), State::Hungry);
    let all = [Who::Co(hungry[0]), Who::Co(hungry[1]), Who::Co(future.co().unwrap())];
    assert_eq!(rx.waiting_receivers(), all);
    assert_eq!(rx.waiting_senders(), []);
    (0..3).for_each(|i| tx.try_send(i).unwrap());
    assert!(tx.try_send(3).is_err(), "nobody waits");
    system.run().unwrap();

    let sends = tx.clone();
    let blocked = system.spawn(move || sends.send(5).is_ok());
    let deadlock = system.run().unwrap_err();
    assert_eq!(deadlock.report.alive[0].state, CoState::Parked(Reason::Blocked(tx.object())));
    assert_eq!(
        (tx.state(), tx.waiting_senders()),
        (State::Blocked, vec![Who::Co(blocked.co().unwrap())])
    );
    assert_eq!(rx.try_recv(), Ok(5));
    system.run().unwrap();
    assert_eq!(tx.state(), State::Empty);
}

#[test]
fn shared_waits_keep_a_system_open_and_local_ones_do_not() {
    let system = LocalSystem::new();
    let (tx, rx) = shared::channel();
    let got = system.spawn(move || rx.recv());
    let thread = std::thread::spawn(move || {
        std::thread::sleep(20 * MS);
        tx.send(1).unwrap();
    });
    system.run().unwrap();
    assert_eq!(got.join().unwrap(), Ok(1));
    thread.join().unwrap();
    let (_tx, rx) = channel::<u32>();
    let waits = system.spawn_future(async move { rx.recv_async().await.is_ok() });
    system.run().unwrap_err();
    drop(waits);
}

#[test]
fn time_limits_in_virtual_time() {
    let system = LocalSystem::builder().virtual_time().build();
    let (tx, rx) = channel();
    let (late, times_out) = (tx.clone(), rx.clone());
    let receiver = system.spawn(move || {
        let nothing = times_out.recv_timeout(1_000 * MS).is_err();
        (nothing, times_out.recv_timeout(10_000 * MS).unwrap())
    });
    drop(system.spawn(move || {
        sleep(3_600 * MS);
        late.send(3).unwrap();
    }));
    system.run().unwrap();
    assert_eq!(receiver.join().unwrap(), (true, 3));
    let sender = system.spawn(move || tx.send_timeout(9, 5 * MS).unwrap_err().into_inner());
    system.run().unwrap();
    assert_eq!(sender.join().unwrap(), 9);
    assert_eq!(rx.state(), State::Empty);
}

#[test]
fn messages_name_the_channel_and_the_rule() {
    let (tx, rx) = bounded::<u32>(1).named("jobs");
    tx.send(1).unwrap();
    let full = tx.try_send(2).unwrap_err();
    assert_eq!(full.to_string(), "channel 'jobs' has no room, and nobody waits to receive");
    assert_eq!(format!("{full:?}"), full.to_string());
    assert_eq!(format!("{tx:?} {rx:?}"), "Sender('jobs') Receiver('jobs')");
    rx.try_recv().unwrap();
    let empty = rx.try_recv().unwrap_err();
    assert_eq!(empty.to_string(), "channel 'jobs' has nothing to receive now");
    assert_eq!(empty.channel().name(), Some("jobs"));
    let (tx, rx) = channel::<u32>();
    drop(rx);
    let number = tx.object().number();
    assert_eq!(tx.send(1).unwrap_err().to_string(), format!("channel #{number} is closed"));
    assert!(tx.same_channel(&tx.clone()));
}

/// Takes the last waiter, and counts how often it was asked.
struct LastWaiter(std::collections::VecDeque<Co>, Rc<RefCell<usize>>);

impl Policy for LastWaiter {
    fn ready(&mut self, ready: &Ready<'_>) {
        self.0.push_back(ready.co);
    }
    fn pick(&mut self) -> Option<Co> {
        self.0.pop_front()
    }
    fn choose(&mut self, choice: &Choice<'_>) -> usize {
        if choice.kind == ChoiceKind::After {
            return 0;
        }
        assert_eq!(choice.kind, ChoiceKind::Waiter);
        *self.1.borrow_mut() += 1;
        choice.candidates.len() - 1
    }
    fn forget(&mut self, co: Co) {
        self.0.retain(|other| *other != co);
    }
}

#[test]
fn k20_which_waiter_is_met_is_the_policy_s_choice() {
    let asked = Rc::new(RefCell::new(0));
    let system =
        LocalSystem::builder().policy(LastWaiter(Default::default(), asked.clone())).build();
    let (tx, rx) = channel();
    let receivers: Vec<_> = (0..3)
        .map(|_| {
            let rx = rx.clone();
            system.spawn(move || rx.recv().unwrap())
        })
        .collect();
    drop(system.spawn(move || (0..3).for_each(|i| tx.send(i).unwrap())));
    system.run().unwrap();
    let got: Vec<u32> = receivers.into_iter().map(|r| r.join().unwrap()).collect();
    assert_eq!(got, [2, 1, 0]);
    assert_eq!(*asked.borrow(), 2, "not asked when there is one");
}

#[test]
fn first_come_first_met_by_default() {
    let system = LocalSystem::new();
    let (tx, rx) = channel();
    let senders: Vec<_> = (0..4)
        .map(|i| {
            let tx = tx.clone();
            system.spawn(move || tx.send(i).unwrap())
        })
        .collect();
    drop((senders, tx));
    let got = system.spawn(move || rx.iter().collect::<Vec<u32>>());
    system.run().unwrap();
    assert_eq!(got.join().unwrap(), [0, 1, 2, 3]);
}

#[test]
fn a_cancelled_receiver_gives_back_what_it_was_handed_in_order() {
    let system = LocalSystem::new();
    let (tx, rx) = channel();
    let receivers: Vec<_> = (0..3)
        .map(|_| {
            let rx = rx.clone();
            system.spawn(move || rx.recv())
        })
        .collect();
    let next = rx.clone();
    drop(system.spawn(move || {
        (0..3).for_each(|i| tx.send(i).unwrap());
        // They have been handed their values and have not run yet. In any order.
        receivers[1].cancel();
        receivers[0].cancel();
        receivers[2].cancel();
        yield_now();
        drop(tx);
    }));
    let report = system.run().unwrap();
    assert_eq!(report.exited, 3);
    assert_eq!(next.iter().collect::<Vec<u32>>(), [0, 1, 2]);
    drop(rx);
}

#[test]
fn a_cancelled_receiver_s_value_goes_to_whoever_waits_next() {
    let system = LocalSystem::new();
    let (tx, rx) = channel();
    let first = {
        let rx = rx.clone();
        system.spawn(move || rx.recv())
    };
    let second = system.spawn(move || rx.recv());
    drop(system.spawn(move || {
        tx.send(7).unwrap();
        first.cancel();
        yield_now();
    }));
    system.run().unwrap();
    assert_eq!(second.join().unwrap(), Ok(7));
}

#[test]
fn a_cancelled_sender_withdraws_its_value() {
    let system = LocalSystem::new();
    let (value, (tx, rx)) = (Rc::new(()), channel());
    let held = value.clone();
    let sender = system.spawn(move || tx.send(held).is_ok());
    system.run().unwrap_err();
    sender.cancel();
    system.run().unwrap();
    assert_eq!((Rc::strong_count(&value), rx.state()), (1, State::Empty));
    assert!(rx.try_recv().is_err());
}

#[test]
fn a_dropped_future_gives_back_what_it_was_handed() {
    let (tx, rx) = channel();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    {
        let mut receive = std::pin::pin!(rx.recv_async());
        assert!(receive.as_mut().poll(&mut context).is_pending());
        tx.try_send(1).unwrap();
    }
    assert_eq!(rx.len(), 1);
    {
        let mut send = std::pin::pin!(tx.send_async(2));
        assert!(send.as_mut().poll(&mut context).is_pending());
    }
    assert_eq!(rx.state(), State::Empty, "it has left");
    assert_eq!(block_on(rx.recv_async()), Ok(1));
}

#[test]
fn an_unwinding_coroutine_sends_at_once_or_not_at_all() {
    struct Says(Sender<&'static str>, Receiver<&'static str>, Sender<String>);
    impl Drop for Says {
        fn drop(&mut self) {
            let first = self.0.send("fits").is_ok();
            let second = self.0.send("waits").unwrap_err();
            assert!(matches!(second, SendError::Exiting("waits", _)));
            assert_eq!(self.1.recv(), Ok("fits"));
            let nothing = self.1.recv().unwrap_err();
            assert!(matches!(nothing, RecvError::Exiting(_)));
            self.2.try_send(format!("{first}; {second}; {nothing}")).unwrap();
        }
    }
    let system = LocalSystem::new();
    let ((tx, rx), (out, said)) = (bounded(1).named("c"), unbounded());
    let co = system.spawn(move || {
        let _says = Says(tx, rx, out);
        leno_kernel::park(Reason::Passive);
        leno_kernel::exit();
    });
    system.run().unwrap_err();
    co.cancel();
    system.run().unwrap();
    let text = "cannot wait at channel 'c': the coroutine's own stack unwinds";
    assert_eq!(said.recv().unwrap(), format!("true; {text}; {text}"));
}

#[test]
fn other_wakes_do_no_harm() {
    let system = LocalSystem::new();
    let (tx, rx) = channel();
    let got = system.spawn(move || {
        leno_kernel::unpark(current().unwrap());
        rx.recv()
    });
    let co = got.co().unwrap();
    drop(system.spawn(move || {
        for _ in 0..3 {
            leno_kernel::unpark(co);
            yield_now();
        }
        tx.send(1).unwrap();
    }));
    system.run().unwrap();
    assert_eq!(got.join().unwrap(), Ok(1));
}

#[test]
fn c2_capacity_is_given_when_a_channel_is_made() {
    fn holds<F: leno_channel::Flavour>(ends: (Sender<u32, F>, Receiver<u32, F>), most: u32) -> u32 {
        let (tx, rx) = ends;
        let held = (0..most).take_while(|i| tx.try_send(*i).is_ok()).count() as u32;
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), (0..held).collect::<Vec<_>>());
        assert_eq!(tx.capacity(), rx.capacity());
        if let Some(capacity) = tx.capacity() {
            assert_eq!(capacity as u32, held);
        }
        held
    }
    assert_eq!((holds(channel(), 5), holds(shared::channel(), 5)), (0, 0));
    for capacity in [0, 1, 2, 7] {
        let held = (holds(bounded(capacity), 9), holds(shared::bounded(capacity), 9));
        assert_eq!(held, (capacity as u32, capacity as u32));
    }
    assert_eq!((holds(unbounded(), 999), holds(shared::unbounded(), 999)), (999, 999));
    assert_eq!(unbounded::<u32>().0.capacity(), None);
}

/// Whatever the schedule, each value arrives once, and at one reader in the order of its writer.
#[test]
fn k18_every_value_arrives_once_under_any_schedule() {
    for seed in 0..if cfg!(miri) { 3 } else { 100 } {
        let policy = leno_kernel::policy::SeededRandom::new(seed);
        let system = LocalSystem::builder().policy(policy).build();
        let (tx, rx) = bounded(seed as usize % 3);
        for writer in 0..3 {
            let tx = tx.clone();
            drop(system.spawn(move || (0..10).for_each(|i| tx.send((writer, i)).unwrap())));
        }
        drop(tx);
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let rx = rx.clone();
                system.spawn(move || rx.iter().collect::<Vec<_>>())
            })
            .collect();
        system.run().unwrap();
        let mut all: Vec<(u32, u32)> = Vec::new();
        for reader in readers {
            let got = reader.join().unwrap();
            // With a buffer a writer has several values on their way, to several readers.
            for writer in 0..3 {
                let of_one = got.iter().filter(|(from, _)| *from == writer);
                assert!(of_one.is_sorted(), "seed {seed}: {got:?}");
            }
            all.extend(got);
        }
        all.sort();
        let expected: Vec<_> = (0..3).flat_map(|w| (0..10).map(move |i| (w, i))).collect();
        assert_eq!(all, expected, "seed {seed}");
    }
}

/// Each operation is compiled into its caller in optimised builds only: in others it would take some KiB of the frame.
#[test]
fn many_operations_of_one_function_fit_a_small_stack() {
    macro_rules! eight {
        ($($operation:tt)*) => {
            $($operation)* $($operation)* $($operation)* $($operation)*
            $($operation)* $($operation)* $($operation)* $($operation)*
        };
    }
    let system = LocalSystem::new();
    let ((tx, from), (to, rx)) = (channel(), channel());
    let options = Options::new().stack_size(48 << 10);
    let asks = move || {
        eight! { tx.send(1).unwrap(); assert_eq!(rx.recv(), Ok(2)); }
    };
    let answers = move || {
        eight! { assert_eq!(from.recv(), Ok(1)); to.send(2).unwrap(); }
    };
    drop(system.spawn_with(&options, asks).unwrap());
    drop(system.spawn_with(&options, answers).unwrap());
    assert!(system.run().unwrap().failures.is_empty());
}
