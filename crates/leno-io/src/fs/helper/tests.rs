//! Who waits for a call, and how long.

use core::pin::pin;
use std::sync::mpsc::channel;
use std::task::Waker;

use super::*;

#[test]
fn all_who_wait_for_a_call_go_on_when_it_is_done() {
    let (go, may) = channel();
    let called = Call::start(move || may.recv().unwrap());
    let call = &called.0;
    std::thread::scope(|scope| {
        let blocked = [(); 2].map(|()| scope.spawn(|| call.block()));
        while !call.lock().has_several(LINE) {
            std::thread::yield_now();
        }
        assert!(blocked.iter().all(|thread| !thread.is_finished()), "they block");
        let mut future = pin!(Done { call, place: None });
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..2 {
            assert!(future.as_mut().poll(&mut context).is_pending());
            assert_eq!(call.lock().iter(LINE).count(), 3, "it stands in line once");
        }
        go.send(7).unwrap();
        blocked.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(call.lock().is_empty(LINE), "nobody waits any more");
        assert_eq!(future.as_mut().poll(&mut context), Poll::Ready(7));
    });
}

#[test]
fn a_call_that_is_withdrawn_is_waited_for_no_more() {
    // Nobody begins it.
    let queue = WaitQueue::new(Stage::<_, ()>::Waiting(|| ()));
    let call = Call { queue };
    let mut turns = 0;
    let is_over = call.wait(Waiter::Thread(Arc::default()), || {
        turns += 1;
        call.cancel();
        Next::Leave
    });
    assert!(is_over && turns == 1 && call.take().is_none());
    assert!(call.wait(Waiter::Thread(Arc::default()), || unreachable!("it is over")));
}
