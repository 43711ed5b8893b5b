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
    assert!(settle(&mut network).is_empty());
    let node = network.link_on_heap(line.number(), thread(), ());
    assert!(network.lines.poll(line, thread()).is_none());
    network.lines.close(line);
    assert_ne!(network.lines.open(), line, "someone stands there");
    assert_eq!(settle(&mut network).len(), 2);
    assert_eq!(network.stage(node.handle()), Stage::Met);
    assert_eq!(network.lines.open(), line);
    assert!(network.is_empty(line.number()));
    assert!(settle(&mut network).is_empty());
    drop(network);
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
    let (own, guard) = (own.unwrap(), network.inner.lock());
    assert_eq!(guard.stage(before.handle()), Stage::Met);
    assert_eq!(guard.stage(own.handle()), Stage::Waiting);
    drop(guard);
}
