//! Nodes that are futures and await several operations at once.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::mpsc;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use leno_graph::{Graph, Halt};

/// Polls both until both are over, as every `join!` does.
async fn both<A, B>(a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut of_a, mut of_b) = (None, None);
    poll_fn(|context| {
        poll(&mut of_a, a.as_mut(), context);
        poll(&mut of_b, b.as_mut(), context);
        if of_a.is_some() && of_b.is_some() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    (of_a.unwrap(), of_b.unwrap())
}

fn poll<T>(done: &mut Option<T>, future: Pin<&mut impl Future<Output = T>>, cx: &mut Context<'_>) {
    if done.is_none()
        && let Poll::Ready(value) = future.poll(cx)
    {
        *done = Some(value);
    }
}

/// Receives from a thread that gives everybody else time to be wrong.
fn later() -> mpsc::Receiver<()> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        tell.send(())
    });
    told
}

/// One node computes, another awaits two messages of it: nobody outside waits in vain.
#[test]
fn a_node_that_awaits_two_messages_waits_once() {
    for _ in 0..3 {
        let mut graph = Graph::deterministic().parallel(2);
        let ((tx1, rx1), (tx2, rx2)) = (graph.channel(1), graph.channel(1));
        let (out, sums) = graph.channel(1);
        let told = later();
        graph.node("slow", (tx1, tx2), move |cx, (tx1, tx2)| {
            told.recv().unwrap();
            tx1.send(cx, 1);
            tx2.send(cx, 2);
        });
        graph.stackless("both", (rx1, rx2, out), |cx, (rx1, rx2, out)| async move {
            while let (Some(one), Some(two)) =
                both(rx1.receive_async(&cx), rx2.receive_async(&cx)).await
            {
                out.send_async(&cx, one + two).await;
            }
        });
        let run = graph.build().unwrap();
        let outlet = run.outlet(sums);
        assert_eq!(outlet.checked_receive().unwrap(), Some(3));
        assert_eq!(outlet.checked_receive().unwrap(), None);
        drop(outlet);
        run.finish().unwrap();
    }
}

/// One that awaits room in two channels: these grow only when nobody else can go on.
#[test]
fn a_run_is_finished_when_a_node_that_computes_has_ended() {
    let mut graph = Graph::deterministic().parallel(2);
    let ((tx1, rx1), (tx2, rx2)) = (graph.channel(1), graph.channel(1));
    let (done, is_done) = mpsc::channel();
    let told = later();
    let slow = graph.node("slow", (rx1, rx2), move |cx, (rx1, rx2)| {
        let first = rx1.receive(cx);
        told.recv().unwrap();
        let rest = (rx2.receive(cx), rx1.receive(cx), rx2.receive(cx));
        done.send((first, rest)).unwrap();
    });
    graph.stackless("both", (tx1, tx2), |cx, (tx1, tx2)| async move {
        for n in 1..=3 {
            both(tx1.send_async(&cx, n), tx2.send_async(&cx, 10 * n)).await;
        }
    });
    let run = graph.build().unwrap();
    run.start(slow);
    run.finish().unwrap();
    assert_eq!(is_done.try_recv(), Ok((Some(1), (Some(10), Some(2), Some(20)))));
}

/// All that a node awaits is told.
#[test]
fn a_deadlock_names_all_that_a_node_awaits() {
    let mut graph = Graph::deterministic().parallel(2);
    let ((tx1, rx1), (tx2, rx2)) = (graph.channel::<u32>(1), graph.channel::<u32>(1));
    let ((back, asked), (out, sums)) = (graph.channel::<u32>(1), graph.channel::<u32>(1));
    graph.node("asks", (asked, tx1, tx2), |cx, (asked, tx1, tx2)| {
        while let Some(n) = asked.receive(cx) {
            tx1.send(cx, n);
            tx2.send(cx, n);
        }
    });
    graph.stackless("both", (rx1, rx2, back, out), |cx, (rx1, rx2, back, out)| async move {
        let (one, two) = both(rx1.receive_async(&cx), rx2.receive_async(&cx)).await;
        back.send_async(&cx, 1).await;
        out.send_async(&cx, one.unwrap() + two.unwrap()).await;
    });
    let run = graph.build().unwrap();
    let outlet = run.outlet(sums);
    let Err(Halt::Deadlock(deadlock)) = outlet.checked_receive() else { panic!("no deadlock") };
    let names: Vec<&str> = deadlock.waits.iter().map(|wait| wait.node.as_str()).collect();
    assert_eq!(names, ["outside", "asks", "both", "both"], "{deadlock}");
}
