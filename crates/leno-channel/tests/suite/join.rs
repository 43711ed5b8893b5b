//! Joins: all or none, crossed, in selects, cancelled.
#![cfg(not(loom))]

use std::time::Duration;

use leno_channel::{
    RecvError, Select, State, TryRecvError, bounded, channel, join, shared, unbounded,
};
use leno_kernel::{LocalSystem, block_on, yield_now};

const MS: Duration = Duration::from_millis(1);

#[test]
fn all_or_none() {
    let ((a, ones), (b, twos), (c, threes)) = (unbounded(), bounded(1), shared::unbounded());
    a.send(1).unwrap();
    b.send("two").unwrap();
    assert!(matches!(join((&ones, &twos, &threes)).try_recv(), Err(TryRecvError::Empty(_))));
    assert_eq!((ones.len(), twos.len()), (1, 1), "nothing was taken");
    c.send(3.0).unwrap();
    assert_eq!(join((&ones, &twos, &threes)).try_recv(), Ok((1, "two", 3.0)));
    assert!(join((&ones, &threes)).recv_timeout(MS).is_err());
    drop(c);
    a.send(4).unwrap();
    assert!(matches!(join((&ones, &threes)).recv(), Err(RecvError::Closed(_))));
    assert_eq!(ones.recv(), Ok(4), "still there");
}

#[test]
fn senders_leave_their_offers_and_the_joiner_takes_them() {
    let system = LocalSystem::new();
    let ((a, ones), (b, twos)) = (channel(), channel());
    let probe = (ones.clone(), twos.clone());
    let joins = system
        .spawn(move || (0..3).map(|_| join((&ones, &twos)).recv().unwrap()).collect::<Vec<_>>());
    drop(system.spawn(move || (0..3).for_each(|i| a.send(i).unwrap())));
    system.run().unwrap_err();
    assert_eq!(probe.0.state(), State::Blocked);
    assert_eq!(probe.0.waiting_receivers().len(), 1, "the joiner waits, too: there is no match");
    drop(system.spawn(move || (0..3).for_each(|i| b.send(i * 10).unwrap())));
    system.run().unwrap();
    assert_eq!(joins.join().unwrap(), [(0, 0), (1, 10), (2, 20)]);
    assert_eq!((probe.0.waiting_receivers(), probe.1.state()), (vec![], State::Empty));
}

#[test]
fn futures_and_threads_join() {
    let ((a, ones), (b, twos)) = (shared::channel(), shared::channel());
    let thread = std::thread::spawn(move || {
        for i in 0..50 {
            a.send(i).unwrap();
            b.send(i).unwrap();
        }
    });
    for i in 0..25 {
        // The thread waits at the first channel, so a joiner would wait for ever: take turns.
        assert_eq!(ones.recv(), Ok(2 * i));
        assert_eq!(twos.recv(), Ok(2 * i));
        assert_eq!(block_on(ones.recv_async()), Ok(2 * i + 1));
        assert_eq!(block_on(twos.recv_async()), Ok(2 * i + 1));
    }
    thread.join().unwrap();
    let ((a, ones), (b, twos)) = (shared::channel(), shared::channel());
    let sends = [std::thread::spawn(move || (0..50).for_each(|i| a.send(i).unwrap())), {
        std::thread::spawn(move || (0..50).for_each(|i| b.send(i).unwrap()))
    }];
    for i in 0..50 {
        let both = join((&ones, &twos));
        let got = if i % 2 == 0 { both.recv() } else { block_on(both.recv_async()) };
        assert_eq!(got, Ok((i, i)));
    }
    sends.into_iter().for_each(|send| send.join().unwrap());
}

#[test]
fn crossed_joins_neither_block_each_other_nor_lose_anything() {
    let system = LocalSystem::new();
    let ends: Vec<_> = (0..3).map(|_| channel()).collect();
    let (senders, receivers): (Vec<_>, Vec<_>) = ends.into_iter().unzip();
    let pairs = [(0, 1), (1, 2), (2, 0)];
    let joins: Vec<_> = pairs
        .iter()
        .map(|(one, other)| {
            let (one, other) = (receivers[*one].clone(), receivers[*other].clone());
            system.spawn(move || {
                (0..4).map(|_| join((&one, &other)).recv().unwrap()).collect::<Vec<_>>()
            })
        })
        .collect();
    for sender in senders {
        drop(system.spawn(move || (0..8).for_each(|i| sender.send(i).unwrap())));
    }
    system.run().unwrap();
    let mut seen: Vec<i32> = Vec::new();
    for joined in joins {
        let joined = joined.join().unwrap();
        assert!(joined.is_sorted_by_key(|pair| pair.0) && joined.is_sorted_by_key(|pair| pair.1));
        seen.extend(joined.iter().flat_map(|pair| [pair.0, pair.1]));
    }
    seen.sort();
    let expected: Vec<i32> = (0..8).flat_map(|i| [i; 3]).collect();
    assert_eq!(seen, expected);
}

#[test]
fn a_select_that_offers_on_two_channels_gives_once() {
    let system = LocalSystem::new();
    let ((a, ones), (b, twos)) = (channel(), channel());
    let (to_a, to_b) = (a.clone(), b.clone());
    let offers =
        system.spawn(move || Select::new().send(&to_a, 1, |_| 'a').send(&to_b, 1, |_| 'b').wait());
    let joins = system.spawn(move || join((&ones, &twos)).recv());
    system.run().unwrap_err();
    // The one at `a` gives way: the select serves `b`.
    drop(system.spawn(move || a.send(2).unwrap()));
    system.run().unwrap();
    assert_eq!(joins.join().unwrap(), Ok((2, 1)));
    assert_eq!(offers.join().unwrap(), Ok('b'));
    drop(b);
}

#[test]
fn a_join_is_an_alternative() {
    let system = LocalSystem::builder().virtual_time().build();
    let ((a, ones), (b, twos), (c, threes)) = (channel(), channel(), channel::<i32>());
    let waits = system.spawn(move || {
        let wait = || {
            Select::new()
                .join((&ones, &twos), |both| both.map(|(one, two)| one + two))
                .recv(&threes, |three| three)
                .after(1_000 * MS, || Ok(-1))
                .wait()
        };
        [wait(), wait(), wait()].map(|got| got.unwrap().unwrap())
    });
    drop(system.spawn(move || {
        c.send(3).unwrap();
        let to = b.clone();
        let sender = leno_kernel::spawn_local(move || to.send(20));
        yield_now();
        // Someone offers at b; the joiner has looked and waits on. Now both are there.
        Select::new().send(&a, 100, |sent| sent.unwrap()).wait().unwrap();
        sender.join().unwrap().unwrap();
        leno_kernel::park(leno_kernel::Reason::Passive);
        drop((a, b, c));
    }));
    system.run().unwrap_err();
    assert_eq!(waits.join().unwrap(), [3, 120, -1]);
}

#[test]
fn a_cancelled_join_has_taken_nothing() {
    let system = LocalSystem::new();
    let ((a, ones), (b, twos)) = (channel(), channel::<u32>());
    let (probe, rest) = (twos.clone(), ones.clone());
    let joins = system.spawn(move || join((&ones, &twos)).recv());
    drop(system.spawn(move || {
        let offer = leno_kernel::spawn_local(move || a.send(1));
        yield_now();
        joins.cancel();
        yield_now();
        drop(b);
        drop(offer);
    }));
    system.run().unwrap_err();
    assert_eq!((rest.try_recv(), probe.waiting_receivers()), (Ok(1), vec![]));
    system.run().unwrap();
}

#[test]
fn lists_and_misuse() {
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..5).map(|_| bounded(1)).unzip();
    senders.iter().zip(0..).for_each(|(tx, i)| tx.send(i).unwrap());
    assert_eq!(join(&receivers[..]).recv(), Ok(vec![0, 1, 2, 3, 4]));
    senders.iter().zip(5..).for_each(|(tx, i)| tx.send(i).unwrap());
    assert_eq!(join(receivers.iter().rev().collect::<Vec<_>>()).recv(), Ok(vec![9, 8, 7, 6, 5]));
    let twice = || join((&receivers[0], &receivers[0].clone())).try_recv();
    let error = std::panic::catch_unwind(std::panic::AssertUnwindSafe(twice)).unwrap_err();
    assert!(error.downcast_ref::<String>().unwrap().ends_with("is there twice"));
}

#[test]
fn a_join_is_told_when_the_last_value_of_a_closed_channel_is_taken() {
    let system = LocalSystem::new();
    let ((a, from_a), (_b, from_b)) = (bounded::<u32>(2), channel::<u32>());
    a.send(1).unwrap();
    a.close();
    let takes = from_a.clone();
    let waits = system.spawn(move || join((&from_a, &from_b)).recv());
    system.run().unwrap_err();
    assert_eq!(takes.recv(), Ok(1));
    system.run().unwrap();
    assert!(waits.join().unwrap().is_err(), "nothing will come any more");
}

/// One core for both: an attempt reserves, and commits all or returns all, whether it is a join, a select,
/// or a join that is an alternative of a select.
#[test]
fn c16_select_and_join_commit_all_or_return_all() {
    let ((a, from_a), (b, from_b)) = (bounded(2), channel());
    a.send(1).unwrap();
    a.send(2).unwrap();
    let both = || Select::new().join((&from_a, &from_b), |both| both.ok());
    assert_eq!(both().try_wait(), Err(leno_channel::SelectError::NotReady));
    assert_eq!(
        (from_a.len(), b.state()),
        (2, leno_channel::State::Empty),
        "all returned, in order"
    );
    let system = LocalSystem::new();
    let (to_a, to_b) = (a.clone(), b.clone());
    // A select that offers to the join: its value, or that of another alternative, never both.
    let offers = system.spawn(move || {
        Select::new().priority().send(&to_b, 'b', |_| 'b').send(&to_a, 9, |_| 'a').wait()
    });
    system.run().unwrap_err();
    assert_eq!(both().try_wait(), Ok(Some((1, 'b'))), "all committed");
    system.run().unwrap();
    assert_eq!((offers.join().unwrap(), from_a.try_recv()), (Ok('b'), Ok(2)));
    assert!(from_a.try_recv().is_err() && from_b.try_recv().is_err(), "nothing twice");
}
