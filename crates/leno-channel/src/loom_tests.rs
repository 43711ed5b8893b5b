//! Every interleaving of what threads do to shared channels; see `select/README.md` for the races.
//! With `LENO_PLANTED=ticket` a ticket is settled in two steps, with `LENO_PLANTED=note` a select is not told that
//! it was passed over, and then these must fail.
//!
//! Waiting is that of futures, since loom's threads share one real thread and so one bell.

use core::future::poll_fn;
use core::task::Poll;

use loom::future::block_on;
use loom::thread;

use leno_kernel::Waiter;
use leno_kernel::layer::bell::Bell;

use crate::exchange::{First, Next, Stage};
use crate::shared::{bounded, channel};
use crate::{Select, Semaphore, Shared, Source, join};

fn model(run: impl Fn() + Send + Sync + 'static) {
    model_with(3, run);
}

/// A thread is interrupted at most so many times where it would not have to wait.
fn model_with(interruptions: usize, run: impl Fn() + Send + Sync + 'static) {
    // What leno keeps per thread is made on a real stack; loom's are too small.
    assert_eq!(leno_kernel::current(), None);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(interruptions);
    builder.check(run);
}

#[test]
fn loom_a_rendezvous_is_never_missed() {
    model(|| {
        let (tx, rx) = channel();
        let sender = thread::spawn(move || block_on(tx.send_async(1)));
        assert_eq!(block_on(rx.recv_async()), Ok(1));
        assert!(sender.join().unwrap().is_ok());
        assert!(block_on(rx.recv_async()).is_err(), "the sender is gone");
    });
}

/// Whoever stands in line listens at one bell, then parks at another, as a coroutine does.
#[test]
fn loom_who_has_listened_in_vain_is_woken_all_the_same() {
    model(|| {
        let (tx, rx) = channel();
        let sender = thread::spawn(move || block_on(tx.send_async(1)).unwrap());
        let (listens, parks) = (std::sync::Arc::new(Bell::new()), std::sync::Arc::new(Bell::new()));
        let mut exchange = rx.channel.lock();
        if let Some((value, _)) = exchange.take_quick() {
            assert_eq!(value, 1);
        } else if exchange.has_nothing() {
            let first = || {
                let _is_heard = listens.is_rung();
                First::LookAs(Waiter::Thread(parks.clone()))
            };
            let next = || {
                parks.wait();
                Next::Look
            };
            let waiter = Waiter::Thread(listens.clone());
            exchange.wait(waiter, None, first, next, |exchange, stage, party| {
                drop(exchange);
                assert_eq!((stage, party.value), (Stage::Met, Some(1)));
            });
        } else {
            drop(exchange);
            assert_eq!(block_on(rx.recv_async()), Ok(1));
        }
        sender.join().unwrap();
    });
}

#[test]
fn loom_a_full_channel_makes_senders_wait() {
    model(|| {
        let (tx, rx) = bounded(1);
        let other = tx.clone();
        let senders = [(tx, 1), (other, 2)]
            .map(|(tx, value)| thread::spawn(move || block_on(tx.send_async(value)).unwrap()));
        let sum = (0..2).map(|_| block_on(rx.recv_async()).unwrap()).sum::<u32>();
        assert_eq!(sum, 3);
        senders.into_iter().for_each(|sender| sender.join().unwrap());
    });
}

#[test]
fn loom_two_senders_meet_one_select_once() {
    model(|| {
        let ((a, from_a), (b, from_b)) = (channel(), channel());
        let senders = [(a, 1), (b, 2)]
            .map(|(tx, value)| thread::spawn(move || block_on(tx.send_async(value)).unwrap()));
        let select = Select::new().recv(&from_a, |v| (0, v)).recv(&from_b, |v| (1, v));
        let (which, first) = block_on(select.wait_async()).unwrap();
        let first = first.expect("a select was met twice");
        let rest = if which == 0 { &from_b } else { &from_a };
        let second = block_on(rest.recv_async()).expect("a select was met twice");
        assert_eq!(first + second, 3);
        senders.into_iter().for_each(|sender| sender.join().unwrap());
    });
}

#[test]
fn loom_facing_selects_meet() {
    model(|| {
        let ((a, from_a), (b, from_b)) = (channel(), channel());
        let sender = thread::spawn(move || {
            let select = Select::new().priority();
            let select = select.send(&a, 1, |sent| (1, sent.is_ok()));
            block_on(select.send(&b, 2, |sent| (2, sent.is_ok())).wait_async()).unwrap()
        });
        let select = Select::new().priority().recv(&from_b, |v| v).recv(&from_a, |v| v);
        let received = block_on(select.wait_async()).unwrap().unwrap();
        assert_eq!(sender.join().unwrap(), (received, true));
    });
}

#[test]
fn loom_a_join_takes_from_two_selects_that_offer_on_both() {
    model_with(2, || {
        let ((a, ones), (b, twos)) = (channel(), channel());
        let offers = [(a.clone(), b.clone(), 1), (a, b, 2)].map(|(a, b, value)| {
            thread::spawn(move || {
                let select = Select::new().priority().send(&a, value, |sent| sent.is_ok());
                block_on(select.send(&b, value, |sent| sent.is_ok()).wait_async()).unwrap()
            })
        });
        let (one, two) = block_on(join((&ones, &twos)).recv_async()).unwrap();
        assert_eq!(one + two, 3, "one of each");
        assert!(offers.into_iter().all(|offer| offer.join().unwrap()));
    });
}

#[test]
fn loom_crossed_joins_do_not_block_each_other() {
    model(|| {
        let ((a, ones), (b, twos)) = (bounded(2), bounded(2));
        (0..2).for_each(|i| a.try_send(i).unwrap());
        let (others, more) = (twos.clone(), ones.clone());
        let crossed = thread::spawn(move || block_on(join((&others, &more)).recv_async()).unwrap());
        let sender = thread::spawn(move || (0..2).for_each(|i| b.try_send(i).unwrap()));
        let (one, two) = block_on(join((&ones, &twos)).recv_async()).unwrap();
        let (other_two, other_one) = crossed.join().unwrap();
        assert_eq!((one + other_one, two + other_two), (1, 1));
        assert_eq!((one, other_one), (two, other_two), "in order");
        sender.join().unwrap();
    });
}

#[test]
fn loom_a_join_and_a_receiver_want_the_same() {
    model(|| {
        let ((a, ones), (b, twos)) = (channel(), bounded(1));
        b.try_send(5).unwrap();
        let rival = ones.clone();
        let rival = thread::spawn(move || block_on(rival.recv_async()).unwrap());
        let sender = thread::spawn(move || {
            block_on(a.send_async(1)).unwrap();
            block_on(a.send_async(2)).unwrap();
        });
        let (one, five) = block_on(join((&ones, &twos)).recv_async()).unwrap();
        assert_eq!((one + rival.join().unwrap(), five), (3, 5));
        sender.join().unwrap();
        drop(b);
    });
}

#[test]
fn loom_whoever_gives_up_loses_nothing() {
    model(|| {
        let ((a, from_a), (_b, from_b)) = (channel(), channel::<u32>());
        let sender = thread::spawn(move || block_on(a.send_async(1)).unwrap());
        let looked = block_on(async {
            let mut select =
                Some(Select::new().recv(&from_a, |v| v).recv(&from_b, |v| v).wait_async());
            poll_fn(|context| {
                let polled = core::pin::Pin::new(select.as_mut().unwrap()).poll(context);
                // Given up at once, also if it stands in line.
                select = None;
                Poll::Ready(match polled {
                    Poll::Ready(value) => value.unwrap().ok(),
                    Poll::Pending => None,
                })
            })
            .await
        });
        let value = looked.or_else(|| block_on(from_a.recv_async()).ok());
        assert_eq!(value, Some(1));
        sender.join().unwrap();
    });
}

#[test]
fn loom_closing_against_waiting() {
    model(|| {
        let (tx, rx) = channel::<u32>();
        let closer = rx.clone();
        let closer = thread::spawn(move || closer.close());
        let sent = block_on(tx.send_async(1));
        assert_eq!(sent.unwrap_err().into_inner(), 1);
        let select = Select::new().recv(&rx, |v| v.is_err());
        assert_eq!(block_on(select.wait_async()), Ok(true));
        closer.join().unwrap();
    });
}

#[test]
fn loom_a_permit_goes_round() {
    model(|| {
        let semaphore = std::sync::Arc::new(Semaphore::<Shared>::shared(1));
        let other = semaphore.clone();
        let other = thread::spawn(move || drop(block_on(other.acquire_async())));
        drop(block_on(semaphore.acquire_async()));
        other.join().unwrap();
        assert_eq!(semaphore.available(), 1);
    });
}

/// A source that has nothing.
struct Nothing;

impl Source for Nothing {
    type Item = ();

    fn take(&mut self) -> Option<()> {
        None
    }

    fn wait(&mut self, _: &Waiter) {}

    fn leave(&mut self, _: &Waiter) {}
}

#[test]
fn loom_who_passes_a_select_that_asks_is_met_afterwards() {
    model(|| {
        let (tx, rx) = channel();
        let sender = thread::spawn(move || block_on(tx.send_async(1)).unwrap());
        let select = Select::new().recv(&rx, |value| value.unwrap()).source(Nothing, |()| 0);
        assert_eq!(block_on(select.wait_async()), Ok(1));
        sender.join().unwrap();
    });
}

#[test]
fn loom_what_passes_a_select_that_asks_stays_in_order() {
    model(|| {
        let (tx, rx) = bounded(2);
        let sender = thread::spawn(move || (1..=2).for_each(|value| tx.try_send(value).unwrap()));
        let select = Select::new().recv(&rx, |value| value.unwrap()).source(Nothing, |()| 0);
        assert_eq!(block_on(select.wait_async()), Ok(1));
        assert_eq!(block_on(rx.recv_async()), Ok(2));
        sender.join().unwrap();
    });
}

#[test]
fn loom_facing_selects_that_ask_meet() {
    model_with(2, || {
        let (tx, rx) = channel();
        let sender = thread::spawn(move || {
            let select = Select::new().send(&tx, 1, |sent| sent.is_ok());
            block_on(select.source(Nothing, |()| false).wait_async())
        });
        let select = Select::new().recv(&rx, |value| value.unwrap()).source(Nothing, |()| 0);
        assert_eq!(block_on(select.wait_async()), Ok(1));
        assert_eq!(sender.join().unwrap(), Ok(true));
    });
}

#[test]
fn loom_a_join_meets_a_select_that_asks() {
    model_with(2, || {
        let ((a, ones), (b, twos)) = (channel(), bounded(1));
        b.try_send(2).unwrap();
        let sender = thread::spawn(move || {
            let select = Select::new().send(&a, 1, |sent| sent.is_ok());
            block_on(select.source(Nothing, |()| false).wait_async())
        });
        assert_eq!(block_on(join((&ones, &twos)).recv_async()), Ok((1, 2)));
        assert_eq!(sender.join().unwrap(), Ok(true));
    });
}

#[test]
fn loom_closing_tells_a_select_that_asks() {
    model(|| {
        let (tx, rx) = channel::<u32>();
        let closer = thread::spawn(move || drop(tx));
        let select = Select::new().recv(&rx, |value| value.is_err()).source(Nothing, |()| false);
        assert_eq!(block_on(select.wait_async()), Ok(true));
        closer.join().unwrap();
    });
}
