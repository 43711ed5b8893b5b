//! Sources that take their time, or use the very channels where their select waits: nobody waits for them, nobody
//! else panics, and what was passed over meanwhile is made up for when they have answered.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::support::in_time;
use leno_channel::{Mutex, Select, Semaphore, Source, bounded, channel, join, shared, unbounded};
use leno_kernel::{self as kernel, LocalSystem, Waiter};

const SHORT: Duration = Duration::from_millis(20);

/// Never ready; does something when it is asked for the second time, while its select stands in line.
struct Does<F: FnMut()>(u32, F);

fn does<F: FnMut()>(f: F) -> Does<F> {
    Does(0, f)
}

impl<F: FnMut()> Source for Does<F> {
    type Item = ();

    fn take(&mut self) -> Option<()> {
        self.0 += 1;
        if self.0 == 2 {
            (self.1)();
        }
        None
    }

    fn wait(&mut self, _: &Waiter) {}

    fn leave(&mut self, _: &Waiter) {}
}

#[test]
fn a_source_that_yields_keeps_nobody_from_sending() {
    let system = LocalSystem::new();
    let (tx, rx) = channel();
    let select = system.spawn(move || {
        let yields = does(kernel::yield_now);
        Select::new().recv(&rx, |value| value.ok()).source(yields, |()| None).wait()
    });
    let sends = system.spawn(move || tx.send(1));
    system.run().unwrap();
    assert_eq!(sends.join().unwrap(), Ok(()));
    assert_eq!(select.join().unwrap(), Ok(Some(1)));
}

#[test]
fn a_source_that_yields_keeps_nobody_from_receiving() {
    let system = LocalSystem::new();
    let (tx, rx) = channel();
    let select = system.spawn(move || {
        let yields = does(kernel::yield_now);
        Select::new().send(&tx, 1, |sent| sent.is_ok()).source(yields, |()| false).wait()
    });
    let receives = system.spawn(move || rx.recv());
    system.run().unwrap();
    assert_eq!(receives.join().unwrap(), Ok(1));
    assert_eq!(select.join().unwrap(), Ok(true));
}

#[test]
fn a_thread_does_not_wait_for_a_source_that_another_thread_asks() {
    in_time(|| {
        let (tx, rx) = shared::channel();
        let (asks, asked) = mpsc::channel();
        let (answer, answered) = mpsc::channel::<()>();
        let select = thread::spawn(move || {
            let blocks = does(|| {
                asks.send(()).unwrap();
                answered.recv().unwrap();
            });
            Select::new().recv(&rx, |value| value.unwrap()).source(blocks, |()| 0).wait()
        });
        asked.recv().unwrap();
        assert!(tx.try_send(1).is_err(), "nobody takes it now");
        assert_eq!(tx.waiting_receivers().len(), 1);
        // It stands in line, and is met when the source has answered.
        let other = tx.clone();
        let sends = thread::spawn(move || other.send(2));
        while tx.waiting_senders().is_empty() {
            thread::yield_now();
        }
        answer.send(()).unwrap();
        assert_eq!(select.join().unwrap(), Ok(2));
        assert_eq!(sends.join().unwrap(), Ok(()));
    });
}

#[test]
fn values_that_pass_a_select_keep_their_order() {
    let system = LocalSystem::new();
    let (tx, rx) = unbounded();
    let select = system.spawn(move || {
        let yields = does(kernel::yield_now);
        let first = Select::new().recv(&rx, |value| value.unwrap()).source(yields, |()| 0).wait();
        (first, rx.try_iter().collect::<Vec<_>>())
    });
    drop(system.spawn(move || (1..=3).for_each(|value| tx.send(value).unwrap())));
    system.run().unwrap();
    assert_eq!(select.join().unwrap(), (Ok(1), vec![2, 3]));
}

#[test]
fn another_receiver_is_met_while_the_first_asks_a_source() {
    let system = LocalSystem::new();
    let (tx, rx) = channel();
    let (go, wait) = channel::<()>();
    let other = rx.clone();
    let select = system.spawn(move || {
        let waits = does(|| drop(wait.recv()));
        Select::new().recv(&rx, |value| value.ok()).source(waits, |()| None).wait()
    });
    let receives = system.spawn(move || other.recv());
    drop(system.spawn(move || {
        tx.send(1).unwrap();
        go.send(()).unwrap();
        tx.send(2).unwrap();
    }));
    system.run().unwrap();
    assert_eq!((receives.join().unwrap(), select.join().unwrap()), (Ok(1), Ok(Some(2))));
}

#[test]
fn a_source_may_send_to_its_own_select() {
    in_time(|| {
        // Stored, and found when it has answered.
        let (tx, rx) = shared::bounded(1);
        let sends = does(move || tx.try_send(7).unwrap());
        let select = Select::new().recv(&rx, |value| value.unwrap()).source(sends, |()| 0);
        assert_eq!(select.wait(), Ok(7));
        // A rendezvous has nobody to take it, because that one asks.
        let (tx, rx) = shared::channel();
        let sends = does(|| assert_eq!(tx.try_send(7).unwrap_err().into_inner(), 7));
        let select = Select::new().recv(&rx, |value| value.unwrap()).source(sends, |()| 0);
        assert_eq!(select.after(SHORT, || 9).wait(), Ok(9));
        assert!(rx.waiting_receivers().is_empty());
    });
}

#[test]
fn a_source_may_close_a_channel_of_its_own_select() {
    let system = LocalSystem::new();
    let (tx, rx) = channel::<u32>();
    let others = [rx.clone(), rx.clone()];
    let [first, last] = others.map(|rx| move || rx.recv().is_err());
    let first = system.spawn(first);
    let select = system.spawn(move || {
        let mut tx = Some(tx);
        // The others wait before and after it.
        let closes = does(move || {
            kernel::yield_now();
            assert!(catch_unwind(AssertUnwindSafe(|| drop(tx.take()))).is_ok());
        });
        Select::new().recv(&rx, |value| value.is_err()).source(closes, |()| false).wait()
    });
    let last = system.spawn(last);
    system.run().unwrap();
    assert_eq!(select.join().unwrap(), Ok(true), "it is told, too");
    assert!(first.join().unwrap() && last.join().unwrap());
}

#[test]
fn a_source_may_drop_the_receiver_of_its_own_select() {
    let system = LocalSystem::new();
    let (tx, rx) = channel();
    let other = tx.clone();
    let select = system.spawn(move || {
        let mut rx = Some(rx);
        let drops = does(move || drop(rx.take()));
        let sent = |sent: Result<(), leno_channel::SendError<u32>>| sent.unwrap_err().into_inner();
        Select::new().send(&tx, 5, sent).source(drops, |()| 0).wait()
    });
    let sends = system.spawn(move || other.send(6).is_err());
    system.run().unwrap();
    assert_eq!(select.join().unwrap(), Ok(5), "it has its value back");
    assert!(sends.join().unwrap());
}

#[test]
fn a_source_may_join_channels_where_selects_offer() {
    in_time(|| {
        let system = LocalSystem::new();
        let ((tx1, rx1), (tx2, rx2)) = (channel(), channel());
        let innocent = system
            .spawn(move || Select::new().send(&tx1, 1, |_| "sent").after(SHORT, || "late").wait());
        let asks = system.spawn(move || {
            // Of the two channels, this very select offers on one.
            let joins = does(|| assert!(join((&rx1, &rx2)).try_recv().is_err()));
            let select = Select::new().send(&tx2, 2, |_| "sent").source(joins, |()| "");
            select.after(SHORT, || "late").wait()
        });
        let bystander = system.spawn(|| kernel::sleep(SHORT * 2));
        system.run().unwrap();
        bystander.join().unwrap();
        assert_eq!(innocent.join().unwrap(), Ok("late"));
        assert_eq!(asks.join().unwrap(), Ok("late"));
    });
}

#[test]
fn a_join_meets_a_select_that_has_asked_a_source() {
    let system = LocalSystem::new();
    let ((tx1, rx1), (tx2, rx2)) = (channel(), bounded(1));
    tx2.send(2).unwrap();
    let select = system.spawn(move || {
        let yields = does(kernel::yield_now);
        Select::new().send(&tx1, 1, |sent| sent.is_ok()).source(yields, |()| false).wait()
    });
    let joins = system.spawn(move || join((&rx1, &rx2)).recv());
    system.run().unwrap();
    assert_eq!(joins.join().unwrap(), Ok((1, 2)));
    assert_eq!(select.join().unwrap(), Ok(true));
    drop(tx2);
}

#[test]
fn a_join_is_told_although_a_source_beside_it_takes_the_wake() {
    let system = LocalSystem::new();
    let ((tx1, rx1), (tx2, rx2)) = (bounded(1), bounded(1));
    tx2.send(2).unwrap();
    let select = system.spawn(move || {
        // The wake for the join ends this park.
        let parks =
            does(|| assert_eq!(kernel::park(kernel::Reason::Sleeping), kernel::Wake::Unparked));
        Select::new().join((&rx1, &rx2), |both| both.ok()).source(parks, |()| None).wait()
    });
    drop(system.spawn(move || {
        tx1.send(1).unwrap();
        kernel::park(kernel::Reason::Sleeping);
    }));
    // The last one parks for ever.
    assert!(system.run().is_err());
    assert_eq!(select.try_join().unwrap().unwrap(), Ok(Some((1, 2))));
    drop(tx2);
}

#[test]
fn facing_selects_meet_although_both_ask_sources() {
    let system = LocalSystem::new();
    let ((tx1, rx1), (tx2, rx2)) = (channel(), channel());
    let sends = system.spawn(move || {
        let yields = does(kernel::yield_now);
        let select = Select::new().send(&tx1, 1, |_| 1).send(&tx2, 2, |_| 2);
        select.source(yields, |()| 0).wait()
    });
    let receives = system.spawn(move || {
        let yields = does(kernel::yield_now);
        let select = Select::new().recv(&rx2, |value| value.unwrap());
        select.recv(&rx1, |value| value.unwrap()).source(yields, |()| 0).wait()
    });
    system.run().unwrap();
    assert_eq!(sends.join().unwrap(), receives.join().unwrap());
}

#[test]
fn locks_pass_a_select_that_asks_a_source() {
    let system = LocalSystem::new();
    let mutex: &Mutex<u32> = Box::leak(Box::new(Mutex::local(1)));
    let permits: &Semaphore = Box::leak(Box::new(Semaphore::local(0)));
    let mut guard = mutex.try_lock().unwrap();
    let [locks, takes] = [true, false].map(|is_lock| {
        system.spawn(move || {
            let yields = does(kernel::yield_now);
            let select = Select::new();
            match is_lock {
                true => select.recv(mutex, |guard| *guard.unwrap()).source(yields, |()| 0).wait(),
                false => select.recv(permits, |_| 3).source(yields, |()| 0).wait(),
            }
        })
    });
    drop(system.spawn(move || {
        *guard = 2;
        drop(guard);
        permits.release(usize::MAX);
        assert_eq!(permits.available(), usize::MAX);
    }));
    system.run().unwrap();
    assert_eq!((locks.join().unwrap(), takes.join().unwrap()), (Ok(2), Ok(3)));
    assert_eq!(permits.available(), usize::MAX);
    assert_eq!(*mutex.try_lock().unwrap(), 2);
}

#[test]
fn a_future_whose_source_has_panicked_makes_up_for_it_when_it_is_polled_again() {
    use std::future::Future;
    use std::task::{Context, Poll, Waker};

    let (tx, rx) = bounded(1);
    let panics = does(move || {
        tx.try_send(4).unwrap();
        panic!("a source panics");
    });
    let mut select =
        Box::pin(Select::new().recv(&rx, |v| v.ok()).source(panics, |()| None).wait_async());
    let mut poll = || select.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(catch_unwind(AssertUnwindSafe(&mut poll)).is_err());
    assert_eq!(poll(), Poll::Ready(Ok(Some(4))));
}

#[test]
fn a_select_that_was_passed_over_sends_where_there_is_room_beside_stored_values() {
    let system = LocalSystem::new();
    let (tx, rx) = bounded(2);
    (1..=2).for_each(|value| tx.send(value).unwrap());
    let (rx, own) = (std::rc::Rc::new(rx), std::rc::Rc::new(std::cell::Cell::new(None)));
    let (receiver, taken) = (rx.clone(), own.clone());
    let select = system.spawn(move || {
        let takes = does(|| taken.set(receiver.try_recv().ok()));
        Select::new().send(&tx, 3, |sent| sent.is_ok()).source(takes, |()| false).wait()
    });
    system.run().unwrap();
    assert_eq!((own.get(), select.join().unwrap()), (Some(1), Ok(true)));
    assert_eq!(rx.iter().collect::<Vec<_>>(), [2, 3]);
}

/// Never ready; waits whenever it is asked for its deadline.
struct Waits;

impl Source for Waits {
    type Item = ();

    fn take(&mut self) -> Option<()> {
        None
    }

    fn wait(&mut self, _: &Waiter) {}

    fn leave(&mut self, _: &Waiter) {}

    fn deadline(&self) -> Option<kernel::Time> {
        kernel::sleep(SHORT);
        None
    }
}

#[test]
fn a_select_goes_on_although_a_deadline_takes_its_wake() {
    let system = LocalSystem::builder().virtual_time().build();
    let (tx, rx) = channel();
    let select = system
        .spawn(move || Select::new().recv(&rx, |value| value.ok()).source(Waits, |()| None).wait());
    let sends = system.spawn(move || {
        // It is asked once before the select stands in line, and once after.
        kernel::sleep(SHORT + SHORT / 2);
        tx.send(7)
    });
    system.run().unwrap();
    assert_eq!((sends.join().unwrap(), select.join().unwrap()), (Ok(()), Ok(Some(7))));
}

/// Never ready; when it is asked for its deadline, it has the select met, and then a system of its thread listen.
struct Listens {
    meet: Cell<Option<shared::Sender<u8>>>,
}

impl Source for Listens {
    type Item = ();

    fn take(&mut self) -> Option<()> {
        None
    }

    fn wait(&mut self, _: &Waiter) {}

    fn leave(&mut self, _: &Waiter) {}

    fn deadline(&self) -> Option<kernel::Time> {
        let meet = self.meet.take()?;
        thread::spawn(move || meet.send(7).unwrap()).join().unwrap();
        let (tx, rx) = shared::channel();
        let sender = thread::spawn(move || {
            thread::sleep(SHORT);
            tx.send(()).unwrap();
        });
        let system = LocalSystem::new();
        let receives = system.spawn(move || rx.recv());
        system.run().unwrap();
        receives.join().unwrap().unwrap();
        sender.join().unwrap();
        None
    }
}

#[test]
fn a_thread_goes_on_although_its_own_system_listens_while_it_is_about_to_wait() {
    in_time(|| {
        let (tx, rx) = shared::bounded(1);
        let listens = Listens { meet: Cell::new(Some(tx.clone())) };
        let select = Select::new().recv(&rx, |value| value.ok()).source(listens, |()| None);
        assert_eq!(select.wait(), Ok(Some(7)));
        drop(tx);
    });
}

#[test]
fn a_select_goes_on_although_a_source_takes_the_wake_of_another() {
    /// Ready when it is set, of which it tells.
    struct Flag(std::rc::Rc<(std::cell::Cell<bool>, std::cell::Cell<Option<Waiter>>)>);

    impl Source for Flag {
        type Item = ();

        fn take(&mut self) -> Option<()> {
            self.0.0.get().then_some(())
        }

        fn wait(&mut self, waiter: &Waiter) {
            self.0.1.set(Some(waiter.clone()));
        }

        fn leave(&mut self, _: &Waiter) {
            self.0.1.take();
        }
    }

    let system = LocalSystem::new();
    let flag = std::rc::Rc::<(std::cell::Cell<bool>, std::cell::Cell<Option<Waiter>>)>::default();
    let own = Flag(flag.clone());
    let select = system.spawn(move || {
        let parks =
            does(|| assert_eq!(kernel::park(kernel::Reason::Sleeping), kernel::Wake::Unparked));
        Select::new().source(own, |()| "set").source(parks, |()| "never").wait()
    });
    drop(system.spawn(move || {
        flag.0.set(true);
        flag.1.take().expect("it waits").wake();
    }));
    system.run().unwrap();
    assert_eq!(select.join().unwrap(), Ok("set"));
}
