//! Whose a line is, and when its waits end.

use std::sync::Arc;

use super::*;
use crate::memory::Network;

fn thread() -> Waiter {
    Waiter::Thread(Arc::default())
}

#[test]
fn a_line_is_used_again_when_the_waits_of_those_before_were_ended() {
    let queue = Queue::new(State::new(false));
    let mut network = queue.lock();
    let line = network.lines.open();
    let before = settle(&mut network).len();
    let node = network.link_on_heap(line.number(), thread(), ());
    let unused = network.lines.poll(line, thread());
    network.lines.close(line);
    let other = network.lines.open();
    let woken = settle(&mut network).len();
    let stage = network.stage(node.handle());
    let again = network.lines.open();
    let is_empty = network.is_empty(line.number());
    let after = settle(&mut network).len();
    drop(network);
    assert!(unused.is_none());
    assert_ne!(other, line, "someone stands there");
    assert_eq!((before, woken, after), (0, 2, 0));
    assert_eq!((stage, again, is_empty), (Stage::Met, line, true));
}

#[test]
fn an_operation_does_not_end_the_wait_that_it_begins() {
    let network = Network::new();
    let before = {
        let mut network = network.inner.lock();
        let healing = network.healing.number();
        assert!(settle(&mut network).is_empty());
        network.link_on_heap(healing, thread(), ())
    };
    let mut own = None;
    let ((), raised) = network.inner.with_then(
        |state| state.lines.wake(state.healing),
        |network, ()| {
            let healing = network.healing.number();
            own = Some(network.link_on_heap(healing, thread(), ()));
        },
    );
    assert!(raised.is_none());
    let own = own.unwrap();
    let stages = [&before, &own].map(|node| network.inner.lock().stage(node.handle()));
    assert_eq!(stages, [Stage::Met, Stage::Waiting]);
}
