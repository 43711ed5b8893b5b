//! The rules for where the five works contradict one another, as far as they are about several layers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::mpsc;
use std::sync::{Arc, Barrier};

use leno::fibre::channel;
use leno::flexible::{self, CallError, Me};
use leno::graph::Graph;
use leno::kernel::policy::{Fifo, Lifo, Policy, SeededRandom};
use leno::kernel::{LocalSystem, yield_now};
use leno::process::{self, ReplyError, process};

/// What a graph gives whose nodes are coroutines of a system with this policy.
fn sums(policy: impl Policy + 'static) -> Vec<u32> {
    let system = LocalSystem::builder().policy(policy).build();
    let sums = system.spawn(|| {
        let mut graph = Graph::deterministic().parallel_here();
        let (tx, up) = graph.channel(2);
        graph.node("up", tx, |cx, tx| (0..30).for_each(|n| _ = tx.send(cx, n)));
        let (tx, down) = graph.channel(1);
        graph.node("down", tx, |cx, tx| (0..30).rev().for_each(|n| _ = tx.send(cx, n * n)));
        let pairs = graph.join((up, down));
        let (tx, sums) = graph.channel(3);
        graph.node("sums", (pairs, tx), |cx, (pairs, tx)| {
            for (up, down) in pairs.iter(cx) {
                tx.send(cx, up + down);
            }
        });
        graph.build().unwrap().outlet(sums).collect::<Vec<u32>>()
    });
    system.run().unwrap();
    sums.join().unwrap()
}

#[test]
fn c1_a_deterministic_graph_rests_on_no_answer_of_the_policy() {
    let expected: Vec<u32> = (0..30).map(|n| n + (29 - n) * (29 - n)).collect();
    assert_eq!(sums(Fifo::new()), expected);
    assert_eq!(sums(Lifo::new()), expected);
    for seed in 0..30 {
        assert_eq!(sums(SeededRandom::new(seed)), expected, "seed {seed}");
    }
}

#[test]
fn c2_a_deterministic_graph_needs_room_for_one() {
    let mut graph = Graph::deterministic().sequential();
    let (tx, rx) = graph.named::<u32>("tight", 0);
    graph.node("one", tx, |cx, tx| _ = tx.send(cx, 1));
    let refused = graph.build().err().unwrap().to_string();
    assert!(refused.contains("tight"), "{refused}");
    drop(rx);
}

#[test]
fn c4_two_flexible_systems_run_in_parallel_each_with_one_active() {
    let both = Arc::new(Barrier::new(2));
    let systems = [flexible::System::new(), flexible::System::new()];
    let meet = systems.each_ref().map(|system| {
        let both = both.clone();
        system.create("meets", move |me: &mut Me<(), bool>| {
            // Blocks its system's core until the other one is here, too.
            let is_last = both.wait().is_leader();
            me.detach(is_last);
        })
    });
    let calls = meet.map(|own| std::thread::spawn(move || own.call(()).unwrap()));
    let leaders = calls.map(|call| call.join().unwrap());
    assert_ne!(leaders[0], leaders[1]);
}

struct Fragile;

#[process]
impl Fragile {
    #[entry]
    fn divide(&mut self, by: u32) -> u32 {
        84 / by
    }
}

#[test]
fn c13_a_failure_reaches_the_caller_or_the_hook_in_every_layer() {
    // Flexible: attached to the caller; kicked, to the hook.
    let (tell, told) = mpsc::channel();
    let system = flexible::System::builder()
        .on_failure(move |failure| drop(tell.send(failure.coroutine().to_owned())))
        .build();
    let fails = |me: &mut Me<u32, u32>| {
        let by = me.parameter().unwrap_or(0);
        me.detach(84 / by);
    };
    let (called, kicked) = (system.create("called", fails), system.create("kicked", fails));
    assert!(matches!(called.call(0), Err(CallError::Failed(_))));
    kicked.kick().unwrap();
    assert_eq!(told.recv().unwrap(), "kicked");
    assert_eq!(system.create("next", fails).call(2).unwrap(), 42, "the system survives");

    // Fibres: to who joins; else into the report. Others go on.
    let ran = leno::run(|cx| {
        let failed = cx.spawn(|_| assert_eq!(1, 2)).join(cx).is_err();
        cx.spawn(|_| panic!("nobody joins"));
        failed
    });
    assert_eq!((ran.report().panicked, ran.report().failures.len()), (2, 1));
    assert_eq!(ran.result(), Some(true));

    // Graphs: to who receives.
    let mut graph = Graph::deterministic().sequential();
    let (tx, rx) = graph.channel::<u32>(1);
    graph.node("fails", tx, |_, _| panic!("a node"));
    let run = graph.build().unwrap();
    let rx = run.outlet(rx);
    assert!(catch_unwind(AssertUnwindSafe(|| rx.receive())).is_err());

    // Processes: to who waits for the reply, and to whoever ends the system.
    let system = process::System::new(1).unwrap();
    let fragile = system.start(Fragile);
    let (well, ill) = (fragile.divide(2).unwrap(), fragile.divide(0).unwrap());
    assert_eq!(well.wait(), Ok(42));
    assert!(matches!(ill.wait(), Err(ReplyError::Failed(_))));
    drop(fragile);
    assert_eq!(system.run().unwrap().failures.len(), 1);
}

#[test]
fn c17_one_core_and_sequential_graphs_take_values_that_are_not_send() {
    let shared = Rc::new(5);
    let mut graph = Graph::deterministic().sequential();
    let (tx, rx) = graph.channel(1);
    let own = shared.clone();
    graph.node("gives", tx, move |cx, tx| _ = tx.send(cx, own));
    let given = graph.build().unwrap().outlet(rx).receive();
    assert!(given.is_some_and(|given| Rc::ptr_eq(&given, &shared)));
    let own = shared.clone();
    let ran = leno::run(move |cx| {
        let (out, inp) = channel();
        cx.spawn(move |cx| out.write(cx, own));
        inp.read(cx)
    });
    assert!(ran.result().is_some_and(|read| Rc::ptr_eq(&read, &shared)));
    let system = LocalSystem::new();
    let own = shared.clone();
    let joined = system.spawn(move || own);
    system.run().unwrap();
    assert!(Rc::ptr_eq(&joined.join().unwrap(), &shared));
}

#[test]
fn c20_the_handle_of_a_fibre_is_no_knowledge_of_its_channel() {
    let ran = leno::run(|cx| {
        let (out, inp) = channel::<u32>();
        // It is hungry, and its handle is kept: that does not feed it.
        let starves = cx.spawn_bound(inp, |cx, inp| inp.read(cx));
        drop(out);
        // The handle of this one is dropped: it goes on.
        drop(cx.spawn(|_| yield_now()));
        starves.join(cx).is_err()
    });
    assert_eq!((ran.report().removed, ran.zombies().len()), (1, 0));
    assert_eq!(ran.report().returned, 2);
    assert_eq!(ran.result(), Some(true));
}
