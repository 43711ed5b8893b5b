//! Nodes that are futures, beside nodes with stacks.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use leno_explore::Explorer;
use leno_graph::{FutureCx, Graph, Receiver, Schedule, SendFuture, SendStatus, Sender, Source};

use crate::nodes::{collect, in_all_modes, in_other_modes, map, range};

async fn range_future<S: Schedule>(cx: FutureCx<S>, out: Sender<i32, S>, from: i32, to: i32) {
    for i in from..to {
        if !out.send_async(&cx, i).await {
            return;
        }
    }
}

async fn square_future<X: Source<Item = i32>>(
    cx: FutureCx<X::S>,
    (from, to): (Receiver<X>, Sender<i32, X::S>),
) {
    while let Some(i) = from.receive_async(&cx).await {
        if !to.send_async(&cx, i * i).await {
            return;
        }
    }
}

#[test]
fn p48_nodes_with_and_without_stacks_behave_alike() {
    // Which of the three nodes are futures.
    for which in 0..8 {
        for capacity in [1, 3] {
            in_all_modes!(|graph| {
                let (tx, rx) = graph.channel(capacity);
                match which & 1 {
                    0 => graph.node("range", tx, range(0, 20)),
                    _ => graph.stackless("range", tx, |cx, tx| range_future(cx, tx, 0, 20)),
                };
                let (tx, squares) = graph.channel(capacity);
                match which & 2 {
                    0 => graph.node("square", (rx, tx), map(|i: i32| i * i)),
                    _ => graph.stackless("square", (rx, tx), square_future),
                };
                let (tx, list) = graph.channel(1);
                match which & 4 {
                    0 => graph.node("collect", (squares, tx), collect),
                    _ => graph.stackless("collect", (squares, tx), |cx, (from, to)| async move {
                        let mut all = Vec::new();
                        while let Some(i) = from.receive_async(&cx).await {
                            all.push(i);
                        }
                        to.send_async(&cx, all).await;
                    }),
                };
                let run = graph.build().unwrap();
                let expected: Vec<i32> = (0..20).map(|i| i * i).collect();
                assert_eq!(run.outlet(list).receive(), Some(expected));
            });
        }
    }
}

#[test]
fn p48_joins_in_futures() {
    in_all_modes!(|graph| {
        let (a, left) = graph.channel(1);
        graph.stackless("a", a, |cx, tx| range_future(cx, tx, 0, 5));
        let (b, right) = graph.channel(1);
        graph.node("b", b, range(10, 14));
        let pairs = graph.join((left, right));
        let (out, sums) = graph.channel(1);
        graph.stackless("sums", (pairs, out), |cx, (pairs, out)| async move {
            while let Some((a, b)) = pairs.receive_async(&cx).await {
                out.send_async(&cx, a + b).await;
            }
        });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(sums).collect::<Vec<_>>(), [10, 12, 14, 16]);
    });
}

#[test]
fn p48_futures_and_stacks_under_many_schedules() {
    Explorer::new().runs(300).check(|| {
        let mut graph = Graph::deterministic().parallel(2);
        let (tx, rx) = graph.channel(1);
        graph.stackless("range", tx, |cx, tx| range_future(cx, tx, 0, 4));
        let (tx, squares) = graph.channel(1);
        graph.node("square", (rx, tx), map(|i: i32| i * i));
        let (tx, again) = graph.channel(1);
        graph.stackless("square", (squares, tx), square_future);
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(again).collect::<Vec<_>>(), [0, 1, 16, 81]);
    });
}

/// Sends by hand: state in fields, entered again, the operation tried again.
struct ByHand<S: Schedule> {
    cx: FutureCx<S>,
    out: Sender<i32, S>,
    next: i32,
}

impl<S: Schedule> Unpin for ByHand<S> {}

impl<S: Schedule> Future for ByHand<S> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        while self.next < 10 {
            let this = &mut *self;
            let mut send = this.out.send_async(&this.cx, this.next);
            assert_eq!(send.status(), SendStatus::Idle);
            if Pin::new(&mut send).poll(context).is_pending() {
                // The message was handed over, or there is no room for it.
                assert!(matches!(send.status(), SendStatus::Pending(_)));
                return Poll::Pending;
            }
            assert!(send.status().is_successful());
            drop(send);
            self.next += 1;
        }
        Poll::Ready(())
    }
}

#[test]
fn p46_a_node_may_keep_its_state_in_fields() {
    // With room for all, each attempt succeeds; nothing is pending.
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(16);
        graph.stackless("by hand", tx, |cx, out| ByHand { cx, out, next: 0 });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(rx).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
    });
}

#[test]
fn p47_a_send_has_a_status() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        let (out, seen) = graph.channel(8);
        graph.stackless("sender", (tx, out), |cx, (tx, out)| async move {
            let mut first = tx.send_async(&cx, 1);
            let mut statuses = vec![first.status()];
            assert!((&mut first).await);
            statuses.push(first.status());
            drop(first);
            let mut second = tx.send_async(&cx, 2);
            let is_pending = |send: &mut SendFuture<'_, i32, _>| {
                Pin::new(send).poll(&mut Context::from_waker(Waker::noop())).is_pending()
            };
            assert!(is_pending(&mut second));
            let SendStatus::Pending(number) = second.status() else { panic!("it is full") };
            assert!(number > 0 && !second.status().is_over() && !second.status().is_successful());
            drop(second);
            tx.close();
            let mut third = tx.send_async(&cx, 3);
            assert!(!(&mut third).await);
            statuses.push(third.status());
            drop(third);
            out.send_async(&cx, statuses).await;
        });
        let run = graph.build().unwrap();
        let expected = vec![SendStatus::Idle, SendStatus::Sent, SendStatus::Closed];
        assert_eq!(run.outlet(seen).receive(), Some(expected));
        assert_eq!(run.outlet(rx).collect::<Vec<_>>(), [1]);
    });
}

/// Ready when another thread has said so.
#[test]
fn a_future_of_another_kind_wakes_a_node() {
    in_other_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        graph.stackless("waits", tx, |cx, tx| async move {
            let mut thread = None;
            let value = std::future::poll_fn(|context| {
                let waker = context.waker().clone();
                match &thread {
                    None => {
                        thread = Some(std::thread::spawn(move || waker.wake()));
                        Poll::Pending
                    }
                    Some(thread) if thread.is_finished() => Poll::Ready(7),
                    Some(_) => {
                        waker.wake();
                        Poll::Pending
                    }
                }
            });
            tx.send_async(&cx, value.await).await;
        });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(rx).receive(), Some(7));
    });
}

#[test]
fn a_future_that_panics_closes_its_ends() {
    let mut graph = leno_graph::Graph::deterministic().sequential();
    let (tx, rx) = graph.channel(1);
    graph.stackless("two", tx, |cx, tx| async move {
        tx.send_async(&cx, 1).await;
        tx.send_async(&cx, 2).await;
        panic!("no more than two");
    });
    let run = graph.build().unwrap();
    let all = run.outlet(rx);
    assert_eq!([all.receive(), all.receive()], [Some(1), Some(2)]);
    let receive = std::panic::AssertUnwindSafe(|| all.receive());
    let payload = std::panic::catch_unwind(receive).unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"no more than two"));
    assert!(matches!(all.checked_receive(), Err(leno_graph::Halt::Panicked { .. })));
}

/// Receives once. It panics if it is polled again and again meanwhile.
async fn receives<X: Source>(cx: FutureCx<X::S>, from: Receiver<X>) {
    let (mut received, mut polls) = (pin!(from.receive_async(&cx)), 0);
    poll_fn(|context| {
        polls += 1;
        assert!(polls < 100, "nobody has sent anything, and it is polled again");
        received.as_mut().poll(context).map(drop)
    })
    .await;
}

#[test]
fn p57_a_future_that_awaits_a_join_in_vain_comes_to_rest() {
    in_all_modes!(|graph| {
        let (a, left) = graph.channel(1);
        let (b, right) = graph.channel::<i32>(1);
        let pairs = graph.join((left, right));
        graph.stackless("joins", pairs, receives);
        let run = graph.build().unwrap();
        let (a, _b) = (run.inlet(a), run.inlet(b));
        assert!(a.send(1));
        assert!(run.finish().is_err());
    });
}

#[test]
fn p57_a_join_that_meets_only_itself_comes_to_rest() {
    in_other_modes!(|graph| {
        let (a, twice) = graph.channel(2);
        let (b, never) = graph.channel::<i32>(1);
        let inner = graph.join((twice.clone(), never));
        let pairs = graph.join((twice, inner));
        graph.stackless("joins", pairs, receives);
        let run = graph.build().unwrap();
        let (a, _b) = (run.inlet(a), run.inlet(b));
        assert!(a.send(1));
        assert!(run.finish().is_err());
    });
}
