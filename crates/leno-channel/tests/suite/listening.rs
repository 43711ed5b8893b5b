//! Coroutines alone on their cores, which listen in line before they park: whoever meets, closes or
//! cancels may do so while they listen, when they have just stopped, or once they are parked.
#![cfg(not(loom))]

use std::thread;

use leno_channel::{RecvError, Sender, Shared, shared};
use leno_kernel::LocalSystem;

/// Some work that takes a little longer each time, so that the other side is found at every stage.
fn dawdle(round: usize) {
    (0..round % 400 * 20).for_each(|_| std::hint::spin_loop());
}

const ROUNDS: usize = if cfg!(any(miri, leno_baton)) { 20 } else { 2_000 };

#[test]
fn two_cores_answer_each_other() {
    let ((ask, asked), (answer, answers)) =
        (shared::channel::<usize>(), shared::channel::<usize>());
    let other = thread::spawn(move || {
        let system = LocalSystem::new();
        drop(system.spawn(move || {
            for (round, value) in asked.iter().enumerate() {
                dawdle(round);
                answer.send(value + 1).unwrap();
            }
        }));
        system.run().unwrap();
    });
    let system = LocalSystem::new();
    let sum = system.spawn(move || {
        let ask_one = |round| {
            dawdle(ROUNDS - round);
            ask.send(round).unwrap();
            answers.recv().unwrap()
        };
        (0..ROUNDS).map(ask_one).sum::<usize>()
    });
    system.run().unwrap();
    assert_eq!(sum.join().unwrap(), ROUNDS * (ROUNDS + 1) / 2);
    other.join().unwrap();
}

#[test]
fn a_channel_is_closed_while_someone_listens() {
    let (hand, handed) = shared::bounded::<Sender<u8, Shared>>(1);
    let other = thread::spawn(move || {
        for (round, tx) in handed.iter().enumerate() {
            dawdle(round);
            drop(tx);
        }
    });
    let system = LocalSystem::new();
    let refused = system.spawn(move || {
        let is_refused = |_: &usize| {
            let (tx, rx) = shared::channel::<u8>();
            hand.send(tx).unwrap();
            matches!(rx.recv(), Err(RecvError::Closed(_)))
        };
        (0..ROUNDS).filter(is_refused).count()
    });
    system.run().unwrap();
    assert_eq!(refused.join().unwrap(), ROUNDS);
    other.join().unwrap();
}

#[test]
fn nothing_is_lost_when_a_listener_is_cancelled() {
    for round in 0..ROUNDS / 10 {
        let (tx, rx) = shared::channel::<usize>();
        let system = LocalSystem::new();
        let (first, second) = (rx.clone(), rx);
        let receiver = system.spawn(move || first.recv());
        let co = receiver.co().expect("it is in its system");
        let other = thread::spawn(move || {
            dawdle(round * 10);
            leno_kernel::cancel(co);
            let taken = tx.send_timeout(round, std::time::Duration::from_secs(60));
            taken.is_ok()
        });
        system.run().unwrap();
        let first = receiver.join();
        let next = system.spawn(move || second.recv());
        if let Ok(value) = first {
            assert_eq!(value, Ok(round));
            drop(next);
        } else {
            system.run().unwrap();
            assert_eq!(next.join().unwrap(), Ok(round));
        }
        assert!(other.join().unwrap());
    }
}
