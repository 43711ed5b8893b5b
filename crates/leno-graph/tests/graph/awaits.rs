//! Nodes that are futures and await something that is none of the graph's: whoever runs the graph parks.

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use leno_graph::{Graph, Halt, Temperature, Until};
use leno_kernel::LocalSystem;

use crate::nodes::{in_all_modes, map};

/// Something that happens once, for whoever awaits it.
#[derive(Clone, Default)]
struct Event(Arc<Mutex<(bool, Option<Waker>)>>);

impl Event {
    fn happens(&self) {
        let waker = {
            let mut inner = self.0.lock().unwrap();
            inner.0 = true;
            inner.1.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    fn is_awaited(&self) -> bool {
        self.0.lock().unwrap().1.is_some()
    }

    fn poll(&self, context: &Context<'_>) -> Poll<()> {
        let mut inner = self.0.lock().unwrap();
        inner.1 = Some(context.waker().clone());
        if inner.0 { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[test]
fn p48_a_thread_is_parked_while_a_node_awaits_another_thread() {
    let mut graph = Graph::deterministic().sequential();
    let (tx, rx) = graph.channel(1);
    let (event, polls) = (Event::default(), Rc::new(Cell::new(0)));
    let (own, count) = (event.clone(), polls.clone());
    graph.stackless("awaits", tx, |cx, tx| async move {
        tx.send_async(&cx, 1).await;
        tx.send_async(&cx, 2).await;
        poll_fn(|context| {
            count.set(count.get() + 1);
            own.poll(context)
        })
        .await;
        tx.send_async(&cx, 3).await;
    });
    let run = graph.build().unwrap();
    let rx = run.outlet(rx);
    assert_eq!([rx.receive(), rx.receive()], [Some(1), Some(2)]);
    let other = thread::spawn(move || {
        while !event.is_awaited() {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(20));
        event.happens();
    });
    assert_eq!([rx.receive(), rx.receive()], [Some(3), None]);
    other.join().unwrap();
    // By hand, then to be parked for, then when it was woken; once more if it happened between those two.
    assert!((2..=3).contains(&polls.get()), "it was polled {} times", polls.get());
}

#[test]
fn p48_a_coroutine_is_parked_while_a_node_sleeps() {
    let said: Rc<RefCell<Vec<String>>> = Rc::default();
    let system = LocalSystem::builder().virtual_time().build();
    let own = said.clone();
    drop(system.spawn(move || {
        let mut graph = Graph::deterministic().sequential();
        let (tx, ticks) = graph.channel(1);
        graph.stackless("ticks", tx, |cx, tx| async move {
            for tick in 0..3 {
                leno_io::time::sleep_async(Duration::from_secs(10)).await;
                tx.send_async(&cx, tick).await;
            }
        });
        // One between them that has a stack, and waits in the chain.
        let (tx, passed) = graph.channel(1);
        graph.node("forward", (ticks, tx), map(|tick: i32| tick));
        let run = graph.build().unwrap();
        run.outlet(passed).for_each(|tick| own.borrow_mut().push(format!("tick {tick}")));
    }));
    let own = said.clone();
    drop(system.spawn(move || {
        for beat in 0..3 {
            leno_kernel::sleep(Duration::from_secs(9));
            own.borrow_mut().push(format!("beat {beat}"));
        }
    }));
    system.run().unwrap();
    // At 9, 10, 18, 20, 27 and 30 seconds.
    assert_eq!(*said.borrow(), ["beat 0", "tick 0", "beat 1", "tick 1", "beat 2", "tick 2"]);
}

#[test]
fn p48_a_wake_up_while_a_node_is_polled_is_not_lost() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(1);
        graph.stackless("yields", tx, |cx, tx| async move {
            for i in 0..10 {
                let mut is_first = true;
                poll_fn(|context| {
                    if is_first {
                        is_first = false;
                        context.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    Poll::Ready(())
                })
                .await;
                tx.send_async(&cx, i).await;
            }
        });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(rx).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
    });
}

#[test]
fn p48_nobody_waits_for_what_can_never_wake() {
    let mut graph = Graph::deterministic().sequential();
    let (tx, rx) = graph.named("never", 1);
    let never = graph.stackless("waits", tx, |cx, tx| async move {
        tx.send_async(&cx, 1).await;
        pending::<()>().await;
        tx.send_async(&cx, 2).await;
    });
    let run = graph.build().unwrap();
    let rx = run.outlet(rx);
    assert_eq!(rx.checked_receive(), Ok(Some(1)));
    for _ in 0..2 {
        let Err(Halt::Deadlock(deadlock)) = rx.checked_receive() else { panic!("it never ends") };
        assert_eq!(deadlock.waits[0].until, Until::Message("never".to_owned()));
        assert_eq!(
            (deadlock.waits[1].node.as_str(), &deadlock.waits[1].until),
            ("waits", &Until::Woken)
        );
        assert_eq!(
            deadlock.to_string(),
            "deadlock: 'outside' waits to receive from channel 'never', 'waits' awaits something that will \
             never wake it"
        );
    }
    assert!(run.finish().is_err());
    assert_eq!(run.temperature(never), Temperature::Hot);
}

#[test]
fn p48_an_event_loop_says_that_nobody_wakes_a_node() {
    let mut graph = Graph::nondeterministic().sequential();
    let (tx, rx) = graph.named::<()>("never", 1);
    graph.stackless("waits", tx, |_, tx| async move {
        pending::<()>().await;
        drop(tx);
    });
    let run = graph.build().unwrap();
    let deadlock = run.outlet(rx).checked_receive().unwrap_err().to_string();
    assert!(deadlock.ends_with("'waits' awaits something that will never wake it"), "{deadlock}");
    let deadlock = run.finish().unwrap_err().to_string();
    assert_eq!(deadlock, "deadlock: 'waits' awaits something that will never wake it");
}

#[test]
fn p48_a_full_channel_does_not_grow_for_a_node_that_nobody_wakes() {
    let mut graph = Graph::deterministic().sequential().growing();
    let (tx, numbers) = graph.named("numbers", 1);
    let first =
        graph.node("numbers", tx, |cx, tx| (0..).take_while(|i| tx.send(cx, *i)).for_each(drop));
    graph.stackless("stops", numbers, |cx, numbers| async move {
        numbers.receive_async(&cx).await;
        pending::<()>().await;
    });
    let run = graph.build().unwrap();
    run.start(first);
    assert!(run.finish().is_err());
    assert_eq!(run.counters()[0].1.capacity, 1);
}

#[test]
fn p48_who_is_to_exit_leaves_a_graph_that_awaits() {
    let event = Event::default();
    let (own, dropped) = (event.clone(), Rc::new(Cell::new(false)));
    struct Drops(Rc<Cell<bool>>);
    impl Drop for Drops {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let drops = Drops(dropped.clone());
    let system = LocalSystem::new();
    let waits = system.spawn(move || {
        let mut graph = Graph::deterministic().sequential();
        let (tx, rx) = graph.channel(1);
        graph.stackless("awaits", tx, |cx, tx| async move {
            let _drops = drops;
            poll_fn(|context| own.poll(context)).await;
            tx.send_async(&cx, 1).await;
        });
        graph.build().unwrap().outlet(rx).receive()
    });
    let co = waits.co().unwrap();
    drop(system.spawn(move || {
        while !event.is_awaited() {
            leno_kernel::yield_now();
        }
        leno_kernel::cancel(co);
    }));
    system.run().unwrap();
    assert!(waits.join().is_err());
    assert!(dropped.get());
}
