//! Sending, receiving, closing and cancelling.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use leno_graph::{Graph, Temperature};

use crate::nodes::{in_all_modes, in_other_modes, range};

#[test]
fn p33_a_send_into_a_full_channel_suspends() {
    for capacity in [1, 2, 5] {
        in_all_modes!(|graph| {
            let (tx, rx) = graph.named("bounded", capacity);
            let (out, go) = graph.channel::<()>(1);
            let sent = Arc::new(AtomicUsize::new(0));
            let count = sent.clone();
            graph.node("sender", (tx, out), move |cx, (tx, out)| {
                for i in 0..100 {
                    if i == capacity {
                        out.send(cx, ());
                    }
                    tx.send(cx, i);
                    count.fetch_add(1, SeqCst);
                }
            });
            let run = graph.build().unwrap();
            assert_eq!(run.outlet(go).receive(), Some(()));
            assert_eq!(sent.load(SeqCst), capacity);
            let rx = run.outlet(rx);
            assert_eq!(rx.collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
            assert_eq!(run.counters()[0].1.most, capacity);
            assert_eq!(run.counters()[0].1.sent, 100);
        });
    }
}

#[test]
fn p34_after_a_close_what_is_there_is_received_and_then_the_close() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(3);
        let run = graph.build().unwrap();
        let (tx, rx) = (run.inlet(tx), run.outlet(rx));
        assert!(tx.send(1) && tx.send(2));
        assert!(tx.close());
        assert!(!tx.close());
        assert_eq!((rx.receive(), rx.receive()), (Some(1), Some(2)));
        assert_eq!((rx.receive(), rx.receive()), (None, None));
    });
}

#[test]
fn p35_a_send_into_a_closed_channel_is_false_and_does_not_block() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        let (out, seen) = graph.channel(1);
        graph.node("sender", (tx, out), |cx, (tx, out)| {
            tx.close();
            let refused = [tx.send(cx, 1), tx.send(cx, 2)];
            assert_eq!(tx.offer(cx, 3), Err(3), "the message comes back");
            out.send(cx, refused);
        });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(seen).receive(), Some([false, false]));
        assert_eq!(run.outlet(rx).receive(), None);
    });
}

#[test]
fn p36_a_cancel_drops_what_is_there_and_refuses_more() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    in_all_modes!(|graph| {
        let dropped = Arc::new(AtomicUsize::new(0));
        let (tx, rx) = graph.channel(3);
        let run = graph.build().unwrap();
        let (tx, rx) = (run.inlet(tx), run.outlet(rx));
        assert!(tx.send(Counted(dropped.clone())));
        assert!(tx.send(Counted(dropped.clone())));
        assert!(rx.cancel());
        assert_eq!(dropped.load(SeqCst), 2);
        assert!(!rx.cancel());
        assert!(!tx.send(Counted(dropped.clone())));
        assert!(rx.receive().is_none());
        assert_eq!(dropped.load(SeqCst), 3);
    });
    // One who waits to send is refused.
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        let (out, seen) = graph.channel(2);
        graph.node("sender", (tx, out), |cx, (tx, out)| {
            out.send(cx, tx.send(cx, 1));
            out.send(cx, tx.send(cx, 2));
        });
        let run = graph.build().unwrap();
        let (rx, seen) = (run.outlet(rx), run.outlet(seen));
        assert_eq!(seen.receive(), Some(true));
        rx.cancel();
        assert_eq!(seen.receive(), Some(false));
    });
}

#[test]
fn p37_the_last_of_many_closes_and_the_last_of_many_cancels() {
    in_other_modes!(|graph| {
        let (tx, rx) = graph.channel(4);
        let other = tx.clone();
        let run = graph.build().unwrap();
        let (one, other, rx) = (run.inlet(tx), run.inlet(other), run.outlet(rx));
        assert!(one.close());
        assert!(!one.send(1) && other.send(2));
        assert_eq!(rx.receive(), Some(2));
        assert!(other.close());
        assert_eq!(rx.receive(), None);
    });
    in_other_modes!(|graph| {
        let (tx, rx) = graph.channel(4);
        let other = rx.clone();
        let run = graph.build().unwrap();
        let (tx, one, other) = (run.inlet(tx), run.outlet(rx), run.outlet(other));
        assert!(one.cancel());
        assert!(tx.send(1));
        assert_eq!(one.receive(), None);
        assert_eq!(other.receive(), Some(1));
        assert!(other.cancel());
        assert!(!tx.send(2));
    });
}

#[test]
fn nodes_that_need_not_be_deterministic_may_try() {
    in_other_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        let (out, seen) = graph.channel(8);
        graph.free_node("tries", (tx, rx, out), |cx, (tx, rx, out)| {
            out.send(cx, rx.try_receive(cx));
            assert_eq!(tx.try_send(cx, 1), Ok(()));
            assert_eq!(tx.try_send(cx, 2), Err(2));
            out.send(cx, rx.try_receive(cx));
            tx.close();
            out.send(cx, rx.try_receive(cx));
            assert!(cx.now() >= leno_kernel::Time::START);
        });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(seen).collect::<Vec<_>>(), [None, Some(1), None]);
    });
}

#[test]
fn p53_nodes_of_an_embedded_graph_keep_their_names() {
    let mut inner = Graph::deterministic().sequential();
    let (tx, numbers) = inner.channel(1);
    let one = inner.node("one", tx, range(0, 1));
    let mut graph = Graph::nondeterministic().sequential();
    let (tx, others) = graph.channel(1);
    let first = graph.node("first", tx, range(0, 1));
    graph.embed(inner).unwrap();
    let (tx, more) = graph.channel(1);
    let last = graph.node("last", tx, range(0, 1));
    let run = graph.build().unwrap();
    assert_eq!([first, one, last].map(|node| run.name(node).to_owned()), ["first", "one", "last"]);
    assert_eq!(run.outlet(numbers).count(), 1);
    let temperatures = [first, one, last].map(|node| run.temperature(node));
    assert_eq!(temperatures, [Temperature::Cold, Temperature::Ended, Temperature::Cold]);
    drop((others, more));

    let mut graph = Graph::deterministic().sequential();
    let (tx, _rx) = graph.channel(1);
    let other = graph.node("other", tx, range(0, 1));
    let asks = std::panic::AssertUnwindSafe(|| run.name(other).to_owned());
    let payload = std::panic::catch_unwind(asks).unwrap_err();
    let message = payload.downcast_ref::<String>().unwrap();
    assert_eq!(message, "a node belongs to the graph that is asked about it");
}
