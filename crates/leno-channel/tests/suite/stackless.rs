//! The stackless form: state in fields, entered again, the operation that waits tried again.
#![cfg(not(loom))]

use std::cell::Cell;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use leno_channel::{Receiver, RecvFuture, SendStatus, Sender, bounded, channel};
use leno_kernel::{LocalSystem, unpark};

/// Adds up what comes and sends each sum on, written by hand: all it knows is in its fields.
struct Adder<'a> {
    from: &'a Receiver<u32>,
    to: &'a Sender<u32>,
    waits: Waits<'a>,
    sum: u32,
    entered: Rc<Cell<u32>>,
}

/// What it tries again when it is entered again.
enum Waits<'a> {
    Receives(RecvFuture<'a, u32>),
    Sends(leno_channel::SendFuture<'a, u32>),
}

impl Future for Adder<'_> {
    type Output = u32;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u32> {
        let this = &mut *self;
        this.entered.set(this.entered.get() + 1);
        loop {
            match &mut this.waits {
                Waits::Receives(future) => match Pin::new(future).poll(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(_)) => return Poll::Ready(this.sum),
                    Poll::Ready(Ok(value)) => {
                        this.sum += value;
                        this.waits = Waits::Sends(this.to.send_async(this.sum));
                    }
                },
                Waits::Sends(future) => match Pin::new(future).poll(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(sent) => {
                        sent.unwrap();
                        this.waits = Waits::Receives(this.from.recv_async());
                    }
                },
            }
        }
    }
}

#[test]
fn p46_a_body_without_a_stack_is_entered_again_and_tries_again() {
    let system = LocalSystem::new();
    let ((tx, from), (to, rx)) = (channel(), channel());
    let entered = Rc::new(Cell::new(0));
    let counts = entered.clone();
    let adds = system.spawn_future(async move {
        let waits = Waits::Receives(from.recv_async());
        Adder { from: &from, to: &to, waits, sum: 0, entered: counts }.await
    });
    drop(system.run());
    // For no reason: it tries again, and waits again.
    adds.co().into_iter().for_each(unpark);
    drop(system.run());
    assert_eq!(entered.get(), 2);
    let feeds = system.spawn(move || {
        let step = |value| {
            tx.send(value).unwrap();
            rx.recv().unwrap()
        };
        [1, 2, 3].map(step)
    });
    system.run().unwrap();
    assert_eq!((feeds.join().unwrap(), adds.join().unwrap()), ([1, 3, 6], 6));
    assert!(entered.get() >= 6, "for each value, and for the end");
}

#[test]
fn p47_a_send_without_a_stack_has_a_status() {
    let (tx, rx) = bounded(1);
    let mut context = Context::from_waker(Waker::noop());
    let mut first = pin!(tx.send_async(1));
    assert_eq!(first.status(), SendStatus::Idle);
    assert!(first.as_mut().poll(&mut context).is_ready());
    assert_eq!(first.status(), SendStatus::Sent);
    let (mut second, mut third) = (pin!(tx.send_async(2)), pin!(tx.send_async(3)));
    for _ in 0..3 {
        assert!(second.as_mut().poll(&mut context).is_pending());
        assert!(third.as_mut().poll(&mut context).is_pending());
    }
    let (SendStatus::Pending(one), SendStatus::Pending(other)) = (second.status(), third.status())
    else {
        panic!("{:?} {:?}", second.status(), third.status());
    };
    assert_ne!(one, other);
    assert_eq!(rx.try_recv(), Ok(1));
    assert!(!second.status().is_sent(), "it has not looked yet");
    assert_eq!(second.as_mut().poll(&mut context), Poll::Ready(Ok(())));
    assert!(second.status().is_sent());
    rx.close();
    let Poll::Ready(Err(error)) = third.as_mut().poll(&mut context) else { panic!("it is closed") };
    assert_eq!((error.into_inner(), third.status()), (3, SendStatus::Closed));
}
