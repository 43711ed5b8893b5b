//! What is seldom, and must be right all the same: loops inside loops, growth for one who sends from outside,
//! nodes that are woken after their end, ends that are cancelled and asked again.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use leno_graph::{BuildError, EventLoop, Graph, Temperature};
use leno_kernel::{Budget, LocalSystem};

use crate::nodes::{in_all_modes, in_deterministic_modes, in_other_modes, range};

#[test]
fn p41_a_task_may_run_the_loop_itself() {
    let (events, seen) = (EventLoop::new(), Rc::new(RefCell::new(Vec::new())));
    let say = |n: i32| {
        let seen = seen.clone();
        move || seen.borrow_mut().push(n)
    };
    let (inner, own) = (events.clone(), say(2));
    events.task(move || {
        inner.run();
        own();
    });
    events.task(say(1));
    events.run();
    assert_eq!(*seen.borrow(), [1, 2]);
}

#[test]
fn p41_a_microtask_may_send_what_is_waited_for() {
    let mut graph = Graph::nondeterministic().sequential();
    let (tx, rx) = graph.channel(1);
    let (out, ready) = graph.channel(1);
    let events: Rc<RefCell<Option<EventLoop>>> = Rc::default();
    let own = events.clone();
    graph.free_node("lends", out, move |cx, out| {
        *own.borrow_mut() = Some(cx.events().clone());
        out.send(cx, ());
    });
    let run = graph.build().unwrap();
    let (tx, rx) = (run.inlet(tx), run.outlet(rx));
    run.outlet(ready).receive().unwrap();
    let events = events.take().unwrap();
    events.microtask(move || assert!(tx.send(5)));
    assert_eq!(rx.receive(), Some(5));
}

#[test]
fn p48_a_node_that_is_woken_twice_or_after_its_end_runs_no_more_for_it() {
    in_all_modes!(|graph| {
        let (tx, rx) = graph.channel(4);
        graph.stackless("hurries", tx, |cx, tx| async move {
            let mut polls = 0;
            poll_fn(|context| {
                polls += 1;
                context.waker().wake_by_ref();
                context.waker().wake_by_ref();
                if polls < 3 { Poll::Pending } else { Poll::Ready(()) }
            })
            .await;
            tx.send_async(&cx, polls).await;
        });
        let run = graph.build().unwrap();
        assert_eq!(run.outlet(rx).collect::<Vec<_>>(), [3]);
        run.finish().unwrap();
    });
}

#[test]
fn p36_an_end_that_was_cancelled_gives_nothing() {
    in_all_modes!(|graph| {
        let (a, left) = graph.channel::<i32>(1);
        let (b, right) = graph.channel::<i32>(1);
        let pairs = graph.join((left, right));
        let (out, last) = graph.channel(1);
        graph.node("stops", (pairs, out), |cx, (pairs, out)| {
            assert!(pairs.cancel() && !pairs.cancel());
            out.send(cx, pairs.receive(cx));
        });
        let run = graph.build().unwrap();
        let (a, _b) = (run.inlet(a), run.inlet(b));
        assert_eq!(run.outlet(last).receive(), Some(None));
        assert!(!a.send(1));
    });
}

#[test]
fn p20_a_join_of_many_is_closed_by_any_of_them() {
    in_other_modes!(|graph| {
        let (open, first) = graph.channel::<i32>(1);
        let (tx, second) = graph.channel(1);
        graph.node("one", tx, range(0, 1));
        let (tx, third) = graph.channel(1);
        graph.node("none", tx, range(0, 0));
        let all = graph.join(vec![first, second, third]);
        let run = graph.build().unwrap();
        let open = run.inlet(open);
        assert_eq!(run.outlet(all).receive(), None);
        assert!(!open.send(1), "it is cancelled");
    });
    // In order: the first one counts, whatever the others are.
    in_deterministic_modes!(|graph| {
        let (open, first) = graph.channel::<i32>(1);
        let (tx, second) = graph.channel(1);
        graph.node("none", tx, range(0, 0));
        let all = graph.join(vec![first, second]);
        let (out, last) = graph.channel(1);
        graph.stackless("waits", (all, out), |cx, (all, out)| async move {
            out.send_async(&cx, all.receive_async(&cx).await).await;
        });
        let run = graph.build().unwrap();
        let open = run.inlet(open);
        assert!(open.send(1));
        assert_eq!(run.outlet(last).receive(), Some(None));
    });
}

/// Sends each number twice one way and then once the other way, which needs room for two.
macro_rules! forks {
    ($graph:ident) => {{
        let (tx, numbers) = $graph.named("numbers", 1);
        let (a, left) = $graph.named("left", 1);
        let (b, right) = $graph.named("right", 1);
        let fork = $graph.node("fork", (numbers, a, b), |cx, (numbers, a, b)| {
            for n in numbers.iter(cx) {
                (0..4).for_each(|_| _ = a.send(cx, n));
                (0..4).for_each(|_| _ = b.send(cx, n));
            }
        });
        let both = $graph.join((right, left));
        $graph.node("sink", both, |cx, both| both.iter(cx).for_each(|(a, b)| assert_eq!(a, b)));
        (tx, fork)
    }};
}

#[test]
fn p59_channels_grow_for_one_who_sends_from_outside() {
    in_deterministic_modes!(|graph| {
        let mut graph = graph.growing();
        let (tx, _) = forks!(graph);
        let run = graph.build().unwrap();
        let tx = run.inlet(tx);
        (0..10).for_each(|n| assert!(tx.send(n)));
        drop(tx);
        run.finish().unwrap();
        assert!(run.counters().iter().any(|(_, counters)| counters.capacity > 1));
    });
}

#[test]
fn p57_one_who_sends_from_outside_is_told_of_a_deadlock() {
    in_deterministic_modes!(|graph| {
        let (tx, _) = forks!(graph);
        let run = graph.build().unwrap();
        let tx = run.inlet(tx);
        let deadlock = (0..10).find_map(|n| tx.checked_send(n).err()).unwrap().to_string();
        assert!(deadlock.contains("'fork' waits to send into channel 'left'"), "{deadlock}");
    });
}

#[test]
fn p59_channels_grow_until_everyone_has_ended() {
    in_deterministic_modes!(|graph| {
        let mut graph = graph.growing();
        let (tx, fork) = forks!(graph);
        graph.node("numbers", tx, |cx, tx| (0..3).for_each(|n| _ = tx.send(cx, n)));
        let run = graph.build().unwrap();
        // Nobody outside.
        assert!(!run.dot().contains("outside"));
        run.start(fork);
        run.finish().unwrap();
        assert_eq!(run.temperature(fork), Temperature::Ended);
    });
}

#[test]
fn p59_a_certain_deadlock_names_only_those_who_are_in_it() {
    let mut graph = Graph::deterministic().sequential();
    let (a, ra) = graph.named::<i32>("a", 1);
    let (b, rb) = graph.named::<i32>("b", 1);
    let (into, rinto) = graph.named::<i32>("into", 1);
    let (beside, rbeside) = graph.named::<i32>("beside", 1);
    let first = graph.node("first", (into, beside), |_, _| {});
    let second = graph.node("second", rbeside, |_, _| {});
    let one = graph.node("one", (rb, rinto, a), |_, _| {});
    let two = graph.node("two", (ra, b), |_, _| {});
    graph.rates(first, &[], &[1, 1]);
    graph.rates(second, &[1], &[]);
    graph.rates(one, &[1, 1], &[1]);
    graph.rates(two, &[1], &[1]);
    let error = graph.build().err().unwrap();
    let BuildError::CertainDeadlock { nodes, channels } = error else { panic!("{error}") };
    assert_eq!((nodes, channels), (vec!["one".into(), "two".into()], vec!["a".into(), "b".into()]));
}

#[test]
fn p67_an_iterator_that_is_started_early_fills_its_channel() {
    let mut graph = Graph::deterministic().sequential();
    let (tx, rx) = graph.channel(8);
    let all = graph.iterate("all", tx, 0..3);
    let run = graph.build().unwrap();
    run.start(all);
    assert_eq!(run.temperature(all), Temperature::Ended);
    assert_eq!(run.counters()[0].1.waiting, 3);
    assert_eq!(run.outlet(rx).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn p13_a_quantum_needs_a_system() {
    let mut graph = Graph::deterministic().parallel_here().quantum(Budget::units(1));
    let (tx, rx) = graph.channel(1);
    graph.node("one", tx, range(0, 1));
    let error = graph.build().err().unwrap();
    assert!(matches!(error, BuildError::Cores(_)), "{error}");
    drop(rx);
}

#[test]
fn who_is_to_exit_stops_waiting_for_the_end_of_a_graph() {
    let is_after = Rc::new(Cell::new(false));
    let own = is_after.clone();
    let system = LocalSystem::new();
    let waits = system.spawn(move || {
        let mut graph = Graph::nondeterministic().parallel_here();
        let (tx, rx) = graph.channel::<i32>(1);
        let node = graph.free_node("sleeps", tx, |cx, _tx| {
            cx.sleep(std::time::Duration::from_secs(3600));
        });
        let run = graph.build().unwrap();
        run.start(node);
        let _ = run.finish();
        own.set(true);
        drop(rx);
    });
    let co = waits.co().unwrap();
    drop(system.spawn(move || {
        leno_kernel::yield_now();
        leno_kernel::yield_now();
        leno_kernel::cancel(co);
    }));
    system.run().unwrap();
    assert!(waits.join().is_err() && !is_after.get());
}
