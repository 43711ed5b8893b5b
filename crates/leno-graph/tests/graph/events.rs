//! The event loop, and nodes that use it.

use std::cell::RefCell;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use leno_graph::{EventLoop, Graph};
use leno_kernel::LocalSystem;

type Log = Rc<RefCell<Vec<String>>>;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Runs a program in virtual time, and gives what it has logged.
fn in_virtual_time(program: impl FnOnce(Log) + 'static) -> Vec<String> {
    let log = Log::default();
    let system = LocalSystem::builder().virtual_time().build();
    let own = log.clone();
    let done = system.spawn(move || program(own));
    system.run().unwrap();
    done.join().unwrap();
    log.take()
}

#[test]
fn p40_there_are_four_queues() {
    let events = EventLoop::new();
    let log = Log::default();
    let say = |word: &str| {
        let (log, word) = (log.clone(), word.to_owned());
        move || log.borrow_mut().push(word)
    };
    events.delay(ms(1), say("delayed"));
    events.task(say("task"));
    events.microtask(say("microtask"));
    let (own, main) = (log.clone(), thread::current().id());
    events.io(
        || thread::current().id(),
        move |id| {
            assert_ne!(id, main);
            own.borrow_mut().push("i/o".to_owned());
        },
    );
    events.run();
    let mut seen = log.take();
    assert_eq!(seen[..2], ["microtask", "task"]);
    seen.sort_unstable();
    assert_eq!(seen, ["delayed", "i/o", "microtask", "task"]);
}

#[test]
fn p41_the_phases_have_their_order() {
    let seen = in_virtual_time(|log| {
        let events = EventLoop::new();
        let say = |word: &str| {
            let (log, word) = (log.clone(), word.to_owned());
            move || log.borrow_mut().push(word)
        };
        events.delay(ms(20), say("delayed 20"));
        events.delay(ms(10), say("delayed 10"));
        events.delay(ms(10), say("delayed 10, second"));
        let (own, adds) = (log.clone(), events.clone());
        events.task(move || {
            own.borrow_mut().push("task 1".to_owned());
            let log = own.clone();
            adds.task(move || log.borrow_mut().push("task of task 1".to_owned()));
            let (log, more) = (own.clone(), adds.clone());
            adds.microtask(move || {
                log.borrow_mut().push("microtask of task 1".to_owned());
                let log = log.clone();
                more.microtask(move || log.borrow_mut().push("microtask of microtask".to_owned()));
            });
            let log = own.clone();
            adds.delay(ms(0), move || log.borrow_mut().push("delayed 0".to_owned()));
        });
        events.task(say("task 2"));
        events.run();
        say(&format!("{} ms", leno_kernel::now().since(leno_kernel::Time::START).as_millis()))();
    });
    assert_eq!(
        seen,
        [
            "task 1",
            "microtask of task 1",
            "microtask of microtask",
            // Tasks that are added wait for the next round, in which what is due comes after them.
            "task 2",
            "task of task 1",
            "delayed 0",
            "delayed 10",
            "delayed 10, second",
            "delayed 20",
            "20 ms",
        ]
    );
}

#[test]
fn p42_the_loop_ends_when_nothing_is_left() {
    let events = EventLoop::new();
    events.run();
    let (count, own) = (Rc::new(RefCell::new(0)), events.clone());
    let add = count.clone();
    events.task(move || {
        let add = add.clone();
        own.io(|| 41, move |n| *add.borrow_mut() = n + 1);
    });
    events.run();
    assert_eq!(*count.borrow(), 42);
    events.run();
}

#[test]
fn p43_each_operation_has_a_thread_of_its_own() {
    let mut graph = Graph::nondeterministic().sequential();
    let (tx, rx) = graph.channel(1);
    let both = std::sync::Arc::new(std::sync::Barrier::new(2));
    for _ in 0..2 {
        let both = both.clone();
        graph.free_node("asks", tx.clone(), move |cx, tx| {
            // Neither ends before both have begun.
            let id = cx.io(move || {
                both.wait();
                thread::current().id()
            });
            tx.send(cx, id);
        });
    }
    drop(tx);
    let run = graph.build().unwrap();
    let ids: Vec<_> = run.outlet(rx).collect();
    assert_eq!(ids.len(), 2);
    assert!(ids[0] != ids[1] && !ids.contains(&thread::current().id()));
}

#[test]
fn p41_nodes_sleep_in_virtual_time() {
    let seen = in_virtual_time(|log| {
        let mut graph = Graph::nondeterministic().sequential();
        let (tx, rx) = graph.channel(1);
        for (name, time) in [("slow", 3_600_000), ("fast", 1_000)] {
            let log = log.clone();
            graph.free_node(name, tx.clone(), move |cx, tx| {
                let events = cx.events().clone();
                let own = log.clone();
                events.microtask(move || own.borrow_mut().push(format!("{name} sleeps")));
                cx.sleep(ms(time));
                tx.send(cx, name);
            });
        }
        drop(tx);
        let run = graph.build().unwrap();
        run.outlet(rx).for_each(|name| log.borrow_mut().push(format!("{name} woke")));
        let now = leno_kernel::now().since(leno_kernel::Time::START);
        log.borrow_mut().push(format!("{} s", now.as_secs()));
    });
    assert_eq!(seen, ["slow sleeps", "fast sleeps", "fast woke", "slow woke", "3600 s"]);
}

#[test]
fn a_panic_of_an_operation_reaches_its_node() {
    let mut graph = Graph::nondeterministic().sequential();
    let (tx, rx) = graph.channel::<i32>(1);
    graph.free_node("asks", tx, |cx, _tx| cx.io(|| panic!("on purpose")));
    let run = graph.build().unwrap();
    let rx = run.outlet(rx);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rx.receive())).is_err());
    let halt = rx.checked_receive().unwrap_err().to_string();
    assert_eq!(halt, "node 'asks' has panicked: on purpose");
}
