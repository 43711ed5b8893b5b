//! Channels and locks under every schedule, on the code of production. With a mistake planted in that
//! code (`LENO_PLANTED=..`, with `--cfg leno_planted`), these must find it; see `.ci/run`.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex as StdMutex};

use leno_channel::shared::{bounded, channel};
use leno_channel::{Mutex, Select};
use leno_explore::{Explorer, Failure, Summary, thread};
use leno_kernel::{LocalSystem, System, spawn};

/// Explores; a failure must be the same when it is run again from its token.
fn explored(explorer: Explorer, program: fn()) -> Result<Summary, Failure> {
    let result = explorer.run(program);
    if let Err(failure) = &result {
        let token = failure.shortest().to_string().parse().unwrap();
        let again = Explorer::new().replay(token).shrinks(0).run(program).unwrap_err();
        assert!(again.trouble().is_like(failure.trouble()), "{failure}\n{again}");
    }
    result
}

#[track_caller]
fn is_right(explorer: Explorer, program: fn()) -> Summary {
    explored(explorer, program).unwrap_or_else(|failure| panic!("{failure}"))
}

/// A thread sends what a coroutine of another receives: a wake-up that comes before the park.
fn hands_over() {
    let (tx, rx) = channel();
    let sender = thread::spawn("sender", move || (0..2).for_each(|n| tx.send(n).unwrap()));
    let system = LocalSystem::new();
    let received = system.spawn(move || rx.iter().collect::<Vec<_>>());
    system.run().unwrap();
    assert_eq!(received.join().unwrap(), [0, 1]);
    sender.join().unwrap();
}

#[test]
fn a_wake_up_is_never_lost() {
    is_right(Explorer::new().exhaustive().most_interruptions(3), hands_over);
}

/// Two threads and a buffer of one.
fn buffers() {
    let (tx, rx) = bounded(1);
    let sender = thread::spawn("sender", move || (0..3).for_each(|n| tx.send(n).unwrap()));
    let received: Vec<i32> = rx.iter().collect();
    assert_eq!(received, [0, 1, 2]);
    sender.join().unwrap();
}

#[test]
fn looking_and_standing_in_line_are_one_step() {
    is_right(Explorer::new().exhaustive().most_interruptions(3), buffers);
}

/// Three want one lock.
fn locks() {
    let counter = Arc::new(Mutex::shared(0));
    let others = ["one", "two", "three"].map(|name| {
        let counter = counter.clone();
        thread::spawn(name, move || {
            let mut counter = counter.lock().unwrap();
            let before = *counter;
            thread::yield_now();
            *counter = before + 1;
        })
    });
    others.into_iter().for_each(|other| other.join().unwrap());
    assert_eq!(*counter.lock().unwrap(), 3);
}

#[test]
fn a_lock_is_given_back_to_whoever_waits() {
    let summary = is_right(Explorer::new().exhaustive().most_interruptions(2), locks);
    assert!(summary.runs() > 10, "{summary}");
}

/// Coroutines of two cores, and a thread, over one channel.
fn cores() {
    let system = System::new(2).unwrap();
    let (tx, rx) = bounded(2);
    let other = thread::spawn("other", {
        let tx = tx.clone();
        move || tx.send(1).unwrap()
    });
    let sum = system.spawn(move || {
        let parts: Vec<_> = [2, 4]
            .into_iter()
            .map(|n| {
                let tx = tx.clone();
                spawn(move || tx.send(n).unwrap())
            })
            .collect();
        drop(tx);
        let sum = rx.iter().sum::<u32>();
        parts.into_iter().for_each(|part| part.join().unwrap());
        sum
    });
    assert_eq!(sum.join().unwrap(), 7);
    other.join().unwrap();
}

#[test]
fn cores_and_threads_lose_nothing() {
    is_right(Explorer::new().runs(2_000), cores);
}

/// Facing selects: each offers both directions.
fn selects() {
    let (left_tx, left_rx) = channel();
    let (right_tx, right_rx) = channel();
    let other = thread::spawn("other", move || {
        Select::new()
            .send(&left_tx, 1, |sent| sent.is_ok())
            .recv(&right_rx, |got| got == Ok(2))
            .wait()
            .unwrap()
    });
    let own = Select::new()
        .send(&right_tx, 2, |sent| sent.is_ok())
        .recv(&left_rx, |got| got == Ok(1))
        .wait()
        .unwrap();
    assert!(own && other.join().unwrap());
}

#[test]
fn facing_selects_meet_under_every_schedule() {
    is_right(Explorer::new().exhaustive().most_interruptions(3), selects);
}

/// What a program can do: in which order two values arrive.
fn outcomes(explorer: Explorer) -> (BTreeSet<[i32; 2]>, Summary) {
    let seen: Arc<StdMutex<BTreeSet<[i32; 2]>>> = Arc::default();
    let all = seen.clone();
    let summary = explorer.run(move || {
        let (tx, rx) = bounded(2);
        let (side, _others) = bounded(2);
        let senders = [1, 2].map(|n| {
            let (tx, side) = (tx.clone(), side.clone());
            thread::spawn("sender", move || {
                side.send(n).unwrap();
                tx.send(n).unwrap();
                // They end with whoever joins: fewer steps to take in any order.
                (tx, side)
            })
        });
        let _ends = senders.map(|sender| sender.join().unwrap());
        all.lock().unwrap().insert([rx.try_recv().unwrap(), rx.try_recv().unwrap()]);
    });
    let summary = summary.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(summary.is_complete(), "{summary}");
    (Arc::try_unwrap(seen).unwrap().into_inner().unwrap(), summary)
}

#[test]
fn reduction_leaves_no_outcome_out() {
    let (all, many) = outcomes(Explorer::new().exhaustive());
    let (reduced, few) = outcomes(Explorer::new().exhaustive().sharing_only_objects());
    assert_eq!(reduced, all, "{few}, {many}");
    assert_eq!(all.len(), 2);
    assert!(few.runs() * 2 < many.runs(), "{few}, {many}");
}
