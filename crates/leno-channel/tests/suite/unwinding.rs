//! Waits that unwind: a clock that panics while its caller parks, a waker that raises an exit in the middle of
//! an operation. A party leaves its line then, and what it was given goes to others.

use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use crate::support::in_time;
use leno_channel::{Condition, Mutex, Select, Semaphore, bounded, channel};
use leno_kernel::layer::bell::Bell;
use leno_kernel::{self as kernel, LocalSystem, Platform, RealTime, Time};

const LONG: Duration = Duration::from_secs(3_600);

/// A clock that panics once, the given number of calls later.
#[derive(Clone)]
struct Fuse(Rc<Cell<u32>>);

struct Clock(RealTime, Fuse);

impl Platform for Clock {
    fn now(&self) -> Time {
        let left = self.1.0.get();
        self.1.0.set(left.saturating_sub(1));
        assert_ne!(left, 1, "the clock fails once");
        self.0.now()
    }

    fn idle(&self, bell: &Bell, deadline: Option<Time>) {
        self.0.idle(bell, deadline);
    }
}

impl Fuse {
    /// Runs `wait`, whose deadline is one call of the clock, and its park another, which panics.
    fn burns<R>(&self, wait: impl FnOnce() -> R) {
        self.0.set(2);
        assert!(catch_unwind(AssertUnwindSafe(wait)).is_err(), "the clock was not asked");
    }
}

fn system() -> (LocalSystem, Fuse) {
    let fuse = Fuse(Rc::default());
    (LocalSystem::builder().platform(Clock(RealTime::new(), fuse.clone())).build(), fuse)
}

#[test]
fn a_mutex_is_not_handed_to_a_caller_whose_clock_has_panicked() {
    let (system, fuse) = system();
    let mutex = Rc::new(Mutex::local(7));
    let (holds, fails) = (mutex.clone(), mutex.clone());
    drop(system.spawn(move || {
        let guard = holds.lock().unwrap();
        (0..3).for_each(|_| kernel::yield_now());
        drop(guard);
    }));
    drop(system.spawn(move || fuse.burns(|| fails.lock_timeout(LONG).is_ok())));
    let waits = mutex.clone();
    let last = system.spawn(move || {
        kernel::yield_now();
        *waits.lock().unwrap()
    });
    system.run().unwrap();
    assert_eq!(last.join().unwrap(), 7);
    assert!(mutex.waiting().is_empty());
}

#[test]
fn a_value_is_not_handed_to_a_receiver_whose_clock_has_panicked() {
    let (system, fuse) = system();
    let (tx, rx) = channel();
    let received = system.spawn(move || {
        fuse.burns(|| rx.recv_timeout(LONG));
        kernel::yield_now();
        rx.recv()
    });
    drop(system.spawn(move || tx.send(7).unwrap()));
    system.run().unwrap();
    assert_eq!(received.join().unwrap(), Ok(7));
}

#[test]
fn a_value_is_not_sent_after_its_senders_clock_has_panicked() {
    let (system, fuse) = system();
    let (tx, rx) = bounded(1);
    let value = Rc::new(());
    let (sent, left) = (value.clone(), tx.clone());
    drop(system.spawn(move || {
        tx.send(Rc::default()).unwrap();
        fuse.burns(|| tx.send_timeout(sent, LONG).is_ok());
    }));
    system.run().unwrap();
    assert_eq!(Rc::strong_count(&value), 1, "it is dropped");
    assert!(left.waiting_senders().is_empty());
    assert_eq!(rx.try_iter().count(), 1);
}

#[test]
fn a_permit_is_not_lost_to_a_caller_whose_clock_has_panicked() {
    let (system, fuse) = system();
    let semaphore = Rc::new(Semaphore::local(0));
    let own = semaphore.clone();
    drop(system.spawn(move || fuse.burns(|| own.acquire_timeout(LONG).is_ok())));
    system.run().unwrap();
    semaphore.release(1);
    assert_eq!(semaphore.available(), 1);
}

#[test]
fn a_notification_is_not_lost_to_a_caller_whose_clock_has_panicked() {
    let (system, fuse) = system();
    let both = Rc::new((Mutex::local(()), Condition::local()));
    let (fails, waits, tells) = (both.clone(), both.clone(), both);
    drop(system.spawn(move || {
        let guard = fails.0.lock().unwrap();
        fuse.burns(|| fails.1.wait_timeout(guard, LONG).is_ok());
    }));
    let told = system.spawn(move || drop(waits.1.wait(waits.0.lock().unwrap()).unwrap()));
    drop(system.spawn(move || tells.1.notify_one()));
    system.run().unwrap();
    told.join().unwrap();
}

/// Raises the exit of the coroutine that calls it, if that is to exit.
struct Yields;

impl Wake for Yields {
    fn wake(self: Arc<Self>) {
        kernel::yield_now();
    }
}

/// Polls a future with a waker that raises the exit of who calls it; forgets neither.
fn poll_to_exit<F: Future>(future: F) -> Pin<Box<F>> {
    let mut future = Box::pin(future);
    let waker = Waker::from(Arc::new(Yields));
    assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    future
}

/// Ends the calling coroutine as soon as it yields.
fn cancel_self() {
    kernel::cancel(kernel::current().unwrap());
}

#[test]
fn a_notification_is_not_lost_to_a_caller_that_exits_while_it_unlocks() {
    let system = LocalSystem::new();
    let mutex: &Mutex<()> = Box::leak(Box::new(Mutex::local(())));
    let condition: &Condition = Box::leak(Box::new(Condition::local()));
    let exits = system.spawn(move || {
        let guard = mutex.lock().unwrap();
        // Unlocking wakes this one, whose waker raises the exit.
        let _next = poll_to_exit(mutex.lock_async());
        cancel_self();
        let _ = condition.wait(guard);
    });
    let told = system.spawn(|| drop(condition.wait(mutex.lock().unwrap()).unwrap()));
    drop(system.spawn(|| {
        assert_eq!(condition.waiting().len(), 1);
        condition.notify_one();
    }));
    system.run().unwrap();
    assert!(exits.join().is_err());
    told.join().unwrap();
}

#[test]
fn a_sender_that_exits_while_it_wakes_joiners_leaves_its_line() {
    let system = LocalSystem::new();
    let ((tx, rx), (_other, none)) = (channel::<u32>(), channel::<u32>());
    let own = rx.clone();
    let exits = system.spawn(move || {
        // Standing in line wakes the joiner, whose waker raises the exit.
        let join = leno_channel::join((&own, &none));
        let _joins = poll_to_exit(join.recv_async());
        cancel_self();
        let _ = tx.send(1);
    });
    system.run().unwrap();
    assert!(exits.join().is_err());
    assert!(rx.try_recv().is_err(), "the value has gone with its sender");
}

#[test]
fn all_permits_are_added_although_a_waker_raises_an_exit() {
    let system = LocalSystem::new();
    let semaphore = Rc::new(Semaphore::local(0));
    let own = semaphore.clone();
    let exits = system.spawn(move || {
        let first = poll_to_exit(own.acquire_async());
        cancel_self();
        own.release(3);
        drop(first);
        assert_eq!(own.available(), 3);
        kernel::yield_now();
        unreachable!("it exits at its next operation");
    });
    system.run().unwrap();
    assert!(exits.join().unwrap_err().outcome() == Some(kernel::Outcome::Exited));
    assert_eq!(semaphore.available(), 3);
}

#[test]
fn all_are_notified_although_a_waker_raises_an_exit() {
    let system = LocalSystem::new();
    let mutex: &Mutex<()> = Box::leak(Box::new(Mutex::local(())));
    let condition: &Condition = Box::leak(Box::new(Condition::local()));
    let exits = system.spawn(move || {
        let guard = mutex.lock().unwrap();
        let _first = poll_to_exit(condition.wait_async(guard));
        kernel::yield_now();
        cancel_self();
        condition.notify_all();
        kernel::yield_now();
        unreachable!("it exits at its next operation");
    });
    let waits = || drop(condition.wait(mutex.lock().unwrap()).unwrap());
    let told = [system.spawn(waits), system.spawn(waits)];
    system.run().unwrap();
    assert!(exits.join().is_err());
    told.into_iter().for_each(|told| told.join().unwrap());
}

#[test]
fn a_value_that_its_sender_may_not_wait_for_is_dropped_after_the_lock() {
    struct Looks(Option<leno_channel::Sender<Looks>>, Rc<Cell<bool>>);

    impl Drop for Looks {
        fn drop(&mut self) {
            if let Some(tx) = self.0.take() {
                let looked = catch_unwind(AssertUnwindSafe(|| tx.waiting_senders().len()));
                self.1.set(looked.is_ok());
                std::mem::forget((looked, tx));
            }
        }
    }

    let (tx, _rx) = channel();
    let has_looked = Rc::new(Cell::new(false));
    let value = Looks(Some(tx.clone()), has_looked.clone());
    // A thread that is no coroutine cannot wait for a local channel.
    assert!(catch_unwind(AssertUnwindSafe(|| tx.send(value).is_ok())).is_err());
    assert!(has_looked.get(), "the channel was locked");
}

/// Waits itself when it wakes.
struct Parks;

impl Wake for Parks {
    fn wake(self: Arc<Self>) {
        assert_eq!(kernel::park(kernel::Reason::Sleeping), kernel::Wake::Unparked);
    }
}

#[test]
fn a_sender_goes_on_although_a_joiners_waker_takes_its_wake() {
    let system = LocalSystem::new();
    let ((tx, rx), (_other, none)) = (channel(), channel::<u32>());
    let own = rx.clone();
    let sends = system.spawn(move || {
        let mut joins = Box::pin(leno_channel::join((&own, &none)).recv_async());
        let waker = Waker::from(Arc::new(Parks));
        assert!(joins.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        tx.send(1)
    });
    let receives = system.spawn(move || rx.recv());
    system.run().unwrap();
    assert_eq!((sends.join().unwrap(), receives.join().unwrap()), (Ok(()), Ok(1)));
}

#[test]
fn a_select_joins_although_a_waker_that_it_calls_takes_its_wake() {
    let system = LocalSystem::new();
    let ((one, ones), (two, twos)) = (bounded(1), bounded(1));
    let ((tx, rx), (_other, none)) = (channel(), channel::<u32>());
    let select = system.spawn(move || {
        let mut joins = Box::pin(leno_channel::join((&rx, &none)).recv_async());
        let waker = Waker::from(Arc::new(Parks));
        assert!(joins.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        let select = Select::new().join((&ones, &twos), |both| both.ok());
        select.send(&tx, 3, |_| None).wait()
    });
    drop(system.spawn(move || (one.send(1), two.send("two"))));
    system.run().unwrap();
    assert_eq!(select.join().unwrap(), Ok(Some((1, "two"))));
}

#[test]
fn a_notification_is_heard_although_a_lockers_waker_takes_the_wake() {
    let system = LocalSystem::new();
    let mutex: &Mutex<()> = Box::leak(Box::new(Mutex::local(())));
    let condition: &Condition = Box::leak(Box::new(Condition::local()));
    let told = system.spawn(move || {
        let guard = mutex.lock().unwrap();
        let mut next = Box::pin(mutex.lock_async());
        let waker = Waker::from(Arc::new(Parks));
        assert!(next.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        // Gives the lock back before this waits for it.
        std::mem::forget(kernel::spawn_local(move || drop(next)));
        drop(condition.wait(guard).unwrap());
    });
    drop(system.spawn(|| condition.notify_one()));
    system.run().unwrap();
    told.join().unwrap();
}

/// A clock that uses a channel whenever it is asked whether its time is virtual, once its system is made.
struct Uses(RealTime, leno_channel::shared::Sender<u32>, Rc<Cell<bool>>);

impl Platform for Uses {
    fn now(&self) -> Time {
        self.0.now()
    }

    fn idle(&self, bell: &Bell, deadline: Option<Time>) {
        self.0.idle(bell, deadline);
    }

    fn is_virtual(&self) -> bool {
        if self.2.get() {
            let _ = self.1.try_send(1);
        }
        false
    }
}

#[test]
fn no_clock_is_asked_while_a_channel_is_locked() {
    let (tx, rx) = leno_channel::shared::channel();
    let is_armed = Rc::new(Cell::new(false));
    let clock = Uses(RealTime::new(), tx.clone(), is_armed.clone());
    let system = LocalSystem::builder().platform(clock).build();
    let receives = system.spawn(move || {
        is_armed.set(true);
        rx.recv()
    });
    let sender = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(10));
        tx.send(7)
    });
    system.run().unwrap();
    assert!(receives.join().unwrap().is_ok());
    assert!(sender.join().unwrap().is_ok());
}

/// A clock that parks once, the given number of calls later.
struct ParkingClock(RealTime, Rc<Cell<u32>>);

impl Platform for ParkingClock {
    fn now(&self) -> Time {
        let left = self.1.get();
        self.1.set(left.saturating_sub(1));
        if left == 1 {
            assert_eq!(kernel::park(kernel::Reason::Sleeping), kernel::Wake::Unparked);
        }
        self.0.now()
    }

    fn idle(&self, bell: &Bell, deadline: Option<Time>) {
        self.0.idle(bell, deadline);
    }
}

#[test]
fn a_receiver_goes_on_although_its_clock_takes_the_wake() {
    in_time(|| {
        let left = Rc::<Cell<u32>>::default();
        let clock = ParkingClock(RealTime::new(), left.clone());
        let system = LocalSystem::builder().platform(clock).build();
        let (tx, rx) = channel();
        let receives = system.spawn(move || {
            // The deadline is one call of the clock, and the park another.
            left.set(2);
            let received = rx.recv_timeout(LONG);
            assert_eq!(left.get(), 0);
            received
        });
        let sends = system.spawn(move || tx.send(7));
        system.run().unwrap();
        assert_eq!(receives.join().unwrap(), Ok(7));
        sends.join().unwrap().unwrap();
    });
}

#[test]
fn what_was_taken_is_not_lost_to_a_waker_in_which_the_calling_coroutine_is_to_exit() {
    let system = LocalSystem::new();
    let (tx, rx) = bounded(1);
    tx.send(1).unwrap();
    let received = Rc::new(Cell::new(None));
    let seen = received.clone();
    let exits = system.spawn(move || {
        // A sender that waits for room, and is woken by who takes a value.
        let mut sends = Box::pin(tx.send_async(2));
        let waker = Waker::from(Arc::new(Yields));
        assert!(sends.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        cancel_self();
        seen.set(rx.recv().ok());
        kernel::yield_now();
        unreachable!("it exits at its next operation");
    });
    system.run().unwrap();
    assert!(exits.join().is_err());
    assert_eq!(received.get(), Some(1));
}

#[test]
fn both_values_of_a_join_go_back_although_a_waker_waits() {
    /// Panics when its select leaves it, while a reader whose waker waits stands in line.
    struct Leaves(&'static leno_channel::Receiver<i32>);

    impl leno_channel::Source for Leaves {
        type Item = ();

        fn take(&mut self) -> Option<()> {
            None
        }

        fn wait(&mut self, _: &kernel::Waiter) {}

        fn leave(&mut self, _: &kernel::Waiter) {
            let waker = Waker::from(Arc::new(Yields));
            let receives = Box::leak(Box::new(self.0.recv_async()));
            let receives = Pin::new(receives).poll(&mut Context::from_waker(&waker));
            assert!(receives.is_pending());
            cancel_self();
            panic!("it is left");
        }
    }

    let system = LocalSystem::new();
    let ((one, ones), (two, twos)) = (bounded(1), bounded(1));
    let [ones, twos] = [ones, twos].map(|end| &*Box::leak(Box::new(end)));
    let select = system.spawn(move || {
        let select = Select::new().source(Leaves(ones), |()| None);
        select.join((ones, twos), |both| both.ok()).wait()
    });
    let sends = system.spawn(move || {
        kernel::yield_now();
        one.send(1).unwrap();
        two.send(2).unwrap();
        (one, two)
    });
    system.run().unwrap();
    assert!(select.join().is_err());
    let _ends = sends.join().unwrap();
    // The reader has the first.
    assert_eq!((ones.try_recv().ok(), twos.try_recv()), (None, Ok(2)));
}

#[test]
fn a_mutex_is_not_lost_to_a_policy_in_which_the_calling_coroutine_exits() {
    /// First come, first served; exits once when it is told of a coroutine.
    struct Exits(std::collections::VecDeque<kernel::Co>, Rc<Cell<bool>>);

    impl kernel::policy::Policy for Exits {
        fn ready(&mut self, ready: &kernel::policy::Ready<'_>) {
            self.0.push_back(ready.co);
            if self.1.take() {
                kernel::layer::exit_as(kernel::Outcome::Exited);
            }
        }

        fn pick(&mut self) -> Option<kernel::Co> {
            self.0.pop_front()
        }

        fn forget(&mut self, co: kernel::Co) {
            self.0.retain(|other| *other != co);
        }
    }

    for is_select in [false, true] {
        let mutex: &Mutex<i32> = Box::leak(Box::new(Mutex::local(1)));
        let is_armed = Rc::new(Cell::new(false));
        let policy = Exits(Default::default(), is_armed.clone());
        let system = LocalSystem::builder().policy(policy).build();
        let parked = system.spawn(|| kernel::park(kernel::Reason::Passive));
        let other = parked.co().unwrap();
        let locks = system.spawn(move || {
            kernel::yield_now();
            kernel::unpark(other);
            is_armed.set(true);
            if is_select {
                drop(Select::new().recv(mutex, |guard| guard).wait());
            } else {
                let guard = mutex.lock();
                kernel::layer::unpark_partner(other);
                drop(guard);
            }
            kernel::yield_now();
        });
        system.run().unwrap();
        assert!(locks.join().is_err(), "it has exited, at its next operation");
        assert_eq!(mutex.try_lock().map(|guard| *guard), Ok(1));
    }
}
