//! Values, wakers, sources and policies that panic or use the very channel that calls them: nothing of a user
//! is called while a channel is locked, and everyone is woken.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use crate::support::{in_time, on_next_panic};
use leno_channel::{
    Condition, Mutex, Select, Semaphore, Source, bounded, channel, join, shared, unbounded,
};
use leno_coroutine::ring;
use leno_kernel::policy::{Choice, Fifo, Policy, Ready};
use leno_kernel::{Co, LocalSystem, Options, System, Waiter};

struct Bomb;

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        panic!("a waker panics");
    }
}

/// Does something when it is dropped, or wakes.
struct Does<F: Fn() + Send + Sync>(F);

impl<F: Fn() + Send + Sync> Drop for Does<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl<F: Fn() + Send + Sync + 'static> Wake for Does<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

fn waker_that(f: impl Fn() + Send + Sync + 'static) -> Waker {
    Waker::from(Arc::new(Does(f)))
}

#[test]
fn closing_wakes_all_although_a_waker_panics() {
    in_time(|| {
        let (tx, rx) = shared::bounded::<u32>(1);
        let own = rx.clone();
        let mut first = pin!(own.recv_async());
        let bomb = Waker::from(Arc::new(Bomb));
        assert!(first.as_mut().poll(&mut Context::from_waker(&bomb)).is_pending());
        let waiters: Vec<_> = (0..3)
            .map(|_| {
                let rx = rx.clone();
                thread::spawn(move || rx.recv().is_err())
            })
            .collect();
        while rx.waiting_receivers().len() < 4 {
            thread::yield_now();
        }
        tx.close();
        assert!(waiters.into_iter().all(|waiter| waiter.join().unwrap()));
    });
}

#[test]
fn all_values_of_a_channel_are_dropped_although_several_panic() {
    let count = Arc::new(AtomicUsize::new(0));
    let (tx, rx) = unbounded();
    for _ in 0..3 {
        let count = count.clone();
        let value = Does(move || {
            count.fetch_add(1, SeqCst);
            panic!("a value's destructor panics");
        });
        tx.send(value).unwrap_or_else(|_| unreachable!("it is open"));
    }
    drop(rx);
    assert_eq!(count.load(SeqCst), 3);
}

#[test]
fn a_value_may_use_its_channel_when_it_is_dropped() {
    in_time(|| {
        let (tx, rx) = shared::unbounded::<Box<dyn Send>>();
        let (sees, seen) = mpsc::channel();
        for _ in 0..2 {
            let (own, sees) = (tx.clone(), sees.clone());
            let does = Does(move || {
                let refused = own.try_send(Box::new(())).is_err();
                let _ = sees.send((refused, own.len()));
            });
            tx.send(Box::new(does)).unwrap_or_else(|_| unreachable!("it is open"));
        }
        drop(rx);
        let seen: Vec<_> = seen.try_iter().collect();
        assert_eq!(seen, [(true, 0), (true, 0)]);
    });
}

#[test]
fn a_waker_may_use_its_channel_when_it_is_woken_or_dropped() {
    in_time(|| {
        let (tx, rx) = shared::bounded::<u32>(1);
        let looks = || {
            let rx = rx.clone();
            waker_that(move || {
                rx.len();
                rx.waiting_receivers();
            })
        };
        // One that takes the other's place.
        let mut recv = Box::pin(rx.recv_async());
        assert!(recv.as_mut().poll(&mut Context::from_waker(&looks())).is_pending());
        assert!(recv.as_mut().poll(&mut Context::from_waker(&looks())).is_pending());
        tx.send(1).unwrap();
        assert!(recv.as_mut().poll(&mut Context::from_waker(&looks())).is_ready());
        // One that gives up.
        drop(recv);
        let mut recv = Box::pin(rx.recv_async());
        assert!(recv.as_mut().poll(&mut Context::from_waker(&looks())).is_pending());
        drop(recv);
        // Senders.
        tx.send(1).unwrap();
        let mut send = Box::pin(tx.send_async(2));
        assert!(send.as_mut().poll(&mut Context::from_waker(&looks())).is_pending());
        assert!(send.as_mut().poll(&mut Context::from_waker(&looks())).is_pending());
        drop(send);
        // A select, which finds one ready, one not, and then is done.
        let (_more, none) = shared::bounded::<u32>(1);
        let select = Select::new().recv(&none, |_| 0).recv(&rx, |value| value.unwrap());
        let mut select = pin!(select.wait_async());
        assert!(select.as_mut().poll(&mut Context::from_waker(&looks())).is_ready());
        let select = Select::new().recv(&none, |_| 0).recv(&rx, |value| value.unwrap());
        let mut select = pin!(select.wait_async());
        assert!(select.as_mut().poll(&mut Context::from_waker(&looks())).is_pending());
        tx.send(3).unwrap();
        assert!(select.as_mut().poll(&mut Context::from_waker(&looks())).is_ready());
        // A join of two.
        let mut join = Box::pin(leno_channel::join((&none, &rx)).recv_async());
        assert!(join.as_mut().poll(&mut Context::from_waker(&looks())).is_pending());
        assert!(join.as_mut().poll(&mut Context::from_waker(&looks())).is_pending());
        drop(join);
    });
}

#[test]
fn a_policy_may_use_the_channel_it_is_asked_about() {
    struct Looks(Fifo, shared::Sender<u32>, Arc<AtomicUsize>);

    impl Policy for Looks {
        fn ready(&mut self, ready: &Ready<'_>) {
            self.0.ready(ready);
        }

        fn pick(&mut self) -> Option<Co> {
            self.0.pick()
        }

        fn choose(&mut self, choice: &Choice<'_>) -> usize {
            if choice.object == Some(self.1.object()) {
                assert_eq!(self.1.waiting_receivers().len(), choice.candidates.len());
                self.2.fetch_add(1, SeqCst);
            }
            choice.candidates.len() - 1
        }

        fn forget(&mut self, co: Co) {
            self.0.forget(co);
        }
    }

    in_time(|| {
        let (tx, rx) = shared::channel();
        let asked = Arc::new(AtomicUsize::new(0));
        let policy = Looks(Fifo::new(), tx.clone(), asked.clone());
        let system = LocalSystem::builder().policy(policy).build();
        let waits: Vec<_> = (0..3)
            .map(|_| {
                let rx = rx.clone();
                system.spawn(move || rx.recv().unwrap())
            })
            .collect();
        let sends = system.spawn(move || {
            while tx.waiting_receivers().len() < 3 {
                leno_kernel::yield_now();
            }
            (0..3).for_each(|n| tx.send(n).unwrap());
        });
        system.run().unwrap();
        sends.join().unwrap();
        let got: Vec<_> = waits.into_iter().map(|waits| waits.join().unwrap()).collect();
        assert_eq!((got, asked.load(SeqCst)), (vec![2, 1, 0], 2));
    });
}

#[test]
fn two_sources_that_panic_when_a_select_leaves_them_do_not_abort() {
    struct Panics;

    impl Source for Panics {
        type Item = ();

        fn take(&mut self) -> Option<()> {
            None
        }

        fn wait(&mut self, _: &Waiter) {}

        fn leave(&mut self, _: &Waiter) {
            panic!("a source panics");
        }
    }

    let (tx, rx) = shared::bounded(1);
    let left = in_time(move || {
        let select = || {
            Select::new()
                .source(Panics, |()| 0)
                .source(Panics, |()| 0)
                .recv(&rx, |value| value.unwrap())
                .after(Duration::from_millis(1), || 9)
        };
        // One whose time is over before it waits does not leave its sources.
        let raised = loop {
            if let Err(raised) = catch_unwind(AssertUnwindSafe(|| select().wait())) {
                break raised;
            }
        };
        assert_eq!(raised.downcast_ref(), Some(&"a source panics"));
        rx.waiting_receivers().len()
    });
    assert_eq!(left, 0);
    drop(tx);
}

#[test]
fn a_semaphore_has_any_number_of_permits_at_once() {
    in_time(|| {
        let all = Semaphore::shared(usize::MAX);
        assert_eq!(all.available(), usize::MAX);
        let some: Vec<_> = (0..200).map(|_| all.acquire().unwrap()).collect();
        assert_eq!(all.available(), usize::MAX - 200);
        drop(some);
        assert_eq!(all.available(), usize::MAX);
        all.release(usize::MAX);
        assert_eq!(all.available(), usize::MAX);

        let few = Semaphore::shared(0);
        few.release(1_000);
        for left in (0..1_000).rev() {
            few.try_acquire().unwrap().forget();
            assert_eq!(few.available(), left);
        }
        assert!(few.try_acquire().is_err());
        thread::scope(|scope| {
            let waits: Vec<_> =
                (0..3).map(|_| scope.spawn(|| few.acquire().unwrap().forget())).collect();
            while few.waiting().len() < 3 {
                thread::yield_now();
            }
            few.release(usize::MAX);
            waits.into_iter().for_each(|waits| waits.join().unwrap());
        });
        assert_eq!(few.available(), usize::MAX - 3);
        let taken = Select::new().recv(&few, |permit| permit.map(drop).is_ok()).wait();
        assert!(taken.unwrap());
    });
}

#[test]
fn notifying_all_ends_although_a_waker_waits_again() {
    in_time(|| {
        type Both = (Mutex<(), leno_channel::Shared>, Condition<leno_channel::Shared>);
        struct Again(Arc<Both>, AtomicUsize);
        impl Wake for Again {
            fn wake(self: Arc<Self>) {
                if self.1.fetch_add(1, SeqCst) < 1_000 {
                    wait(&self.0.clone(), self);
                }
            }
        }
        fn wait(both: &Arc<Both>, again: Arc<Again>) {
            let both = both.clone();
            let mut waits = Box::pin(async move {
                let guard = both.0.lock_async().await;
                drop(both.1.wait_async(guard).await);
            });
            let waker = Waker::from(again);
            assert!(waits.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            std::mem::forget(waits);
        }
        let both: Arc<Both> = Arc::new((Mutex::shared(()), Condition::shared()));
        let again = Arc::new(Again(both.clone(), AtomicUsize::new(0)));
        wait(&both, again.clone());
        both.1.notify_all();
        assert_eq!(again.1.load(SeqCst), 1);
    });
}

/// Panics when it is dropped, unless its thread panics already.
struct DropBomb;

impl Drop for DropBomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("a destructor panics");
        }
    }
}

#[test]
fn what_a_select_has_taken_is_not_lost_although_another_alternative_panics_when_it_is_dropped() {
    let (tx, _rx) = channel::<DropBomb>();
    let mutex = Mutex::shared(1);
    let handled = std::cell::Cell::new(0);
    let handle = || handled.set(handled.get() + 1);
    let locks = || {
        let select = Select::new().recv(&mutex, |guard| {
            handle();
            guard
        });
        select.send(&tx, DropBomb, |_| unreachable!("nobody receives")).wait().map(drop)
    };
    assert!(catch_unwind(AssertUnwindSafe(locks)).is_err(), "the destructor's panic goes on");
    assert_eq!(handled.get(), 1);
    assert_eq!(mutex.try_lock().map(|guard| *guard), Ok(1));

    let permits = Semaphore::shared(1);
    let (value, values) = bounded(1);
    value.send(5).unwrap();
    let takes = || {
        let select = Select::many().recv(&permits, drop);
        select.send(&tx, DropBomb, |_| unreachable!("nobody receives")).wait()
    };
    assert!(catch_unwind(AssertUnwindSafe(takes)).is_err());
    assert_eq!(permits.available(), 1);
    let got = std::cell::Cell::new(None);
    let receives = || {
        let select = Select::new().send(&tx, DropBomb, |_| unreachable!("nobody receives"));
        select.recv(&values, |value| got.set(value.ok())).wait()
    };
    assert!(catch_unwind(AssertUnwindSafe(receives)).is_err());
    assert_eq!(got.get(), Some(5), "its handler has it");
}

#[test]
fn a_panic_hook_may_use_the_channel_whose_operation_panics() {
    // A thread that is no coroutine cannot wait for a local channel.
    let (tx, rx) = channel::<u32>();
    let (tx, rx) = (std::rc::Rc::new(tx), std::rc::Rc::new(rx));
    let seen = std::rc::Rc::new(std::cell::Cell::new(0));
    for is_sender in [false, true] {
        let (sender, receiver, seen) = (tx.clone(), rx.clone(), seen.clone());
        on_next_panic(move |_| {
            seen.set(seen.get() + 1 + receiver.len() + sender.waiting_senders().len());
        });
        let waits = || if is_sender { drop(tx.send(1)) } else { drop(rx.recv()) };
        assert!(catch_unwind(AssertUnwindSafe(waits)).is_err());
    }
    assert_eq!(seen.get(), 2);

    // A future must not block its core.
    for is_sender in [false, true] {
        let told = in_time(move || {
            let (tx, rx) = shared::bounded::<String>(1);
            if is_sender {
                tx.send("first".to_string()).unwrap();
            }
            let (log, own) = (tx.clone(), rx.clone());
            on_next_panic(move |info| drop(log.try_send(info.to_string())));
            let system = LocalSystem::new();
            let waits = system.spawn_future(async move {
                if is_sender { drop(tx.send("second".to_string())) } else { drop(rx.recv()) }
            });
            system.run().unwrap();
            assert!(waits.join().is_err());
            own.try_recv().unwrap()
        });
        assert_eq!(told == "first", is_sender, "{told}");
    }
}

#[test]
fn alternatives_of_a_select_are_dropped_each_by_itself() {
    let (tx, _rx) = channel::<DropBomb>();
    let (value, values) = bounded(3);
    (1..=3).for_each(|number| value.send(number).unwrap());
    let mut seen = Vec::new();
    let mut select = |is_known: bool| {
        let add = |value: Result<i32, _>| value.unwrap();
        let never = |_| unreachable!("nobody receives");
        let taken = std::cell::Cell::new(0);
        let take = |value| taken.set(add(value));
        let selects = || match is_known {
            true => {
                let select = Select::new().send(&tx, DropBomb, never).recv(&values, take);
                select.send(&tx, DropBomb, never).wait()
            }
            false => {
                let select = Select::many().send(&tx, DropBomb, never).recv(&values, take);
                select.send(&tx, DropBomb, never).wait()
            }
        };
        assert!(catch_unwind(AssertUnwindSafe(selects)).is_err());
        seen.push(taken.get());
    };
    select(true);
    select(false);
    assert_eq!(seen, [1, 2]);
    // One that takes nothing.
    let never = |_| unreachable!("nobody receives");
    let gives_up = || {
        let select = Select::new().send(&tx, DropBomb, never);
        select.send(&tx, DropBomb, never).try_wait()
    };
    assert!(catch_unwind(AssertUnwindSafe(gives_up)).is_err());
}

struct Sends(shared::Sender<u32>, mpsc::Sender<()>);

impl Wake for Sends {
    fn wake(self: Arc<Self>) {
        self.1.send(()).unwrap();
        self.0.send(2).unwrap();
    }
}

/// Two waits of one coroutine at one channel: the second is in the frame of the first, which looks again after it.
#[test]
fn one_that_stands_in_line_may_wait_there_again_in_a_waker() {
    in_time(|| {
        let (tx, rx) = shared::channel::<u32>();
        let (_keeps, never) = shared::channel::<u32>();
        let (called, is_called) = mpsc::channel();
        let sends = Waker::from(Arc::new(Sends(tx.clone(), called)));
        let joined = join((&rx, &never));
        let mut joined = pin!(joined.recv_async());
        assert!(joined.as_mut().poll(&mut Context::from_waker(&sends)).is_pending());
        let system = System::new(1).unwrap();
        // Twice what one takes, which is much under a sanitizer.
        let options = Options::new().stack_size(256 << 10);
        let both = system.spawn_with(&options, move || tx.send(1));
        is_called.recv().unwrap();
        // The first in line came first.
        assert_eq!((rx.recv(), rx.recv()), (Ok(1), Ok(2)));
        assert_eq!(both.join().unwrap(), Ok(()));
    });
}

/// On a plain thread: if it did not exit there, it would block the thread.
#[test]
fn a_member_of_a_ring_that_is_ended_in_a_waker_of_its_send_waits_no_more() {
    in_time(|| {
        let (tx, rx) = shared::channel::<u32>();
        let (_other, others) = shared::channel::<u32>();
        let waker = waker_that(ring::yield_now);
        let select = Select::new().join((&rx, &others), |_| ());
        let mut joins = pin!(select.wait_async());
        assert!(joins.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        let member = ring::spawn(move || tx.send(1).unwrap());
        ring::yield_now();
        assert!(!member.is_finished() && rx.waiting_senders().len() == 1);
        ring::drain().unwrap();
        assert!(member.is_finished() && rx.waiting_senders().is_empty());
    });
}
