//! The stops where coroutines meet: channels, and what exploring finds.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use leno::channel::Mutex;
use leno::channel::shared::{bounded, channel};
use leno::explore::{Explorer, thread};
use leno::kernel::{LocalSystem, Options, System};

use super::expect;

pub(super) fn channels() -> Result<String, String> {
    let system = System::new(2).map_err(|error| error.to_string())?;
    let (numbers, from_thread) = bounded::<u64>(16);
    let (squares, from_coroutine) = channel();
    let (sums, from_future) = channel();
    let source = std::thread::spawn(move || (1..=1_000).all(|n| numbers.send(n).is_ok()));
    drop(system.spawn(move || from_thread.iter().all(|n| squares.send(n * n).is_ok())));
    drop(system.spawn_future(async move {
        let mut sum = 0;
        while let Ok(square) = from_coroutine.recv_async().await {
            sum += square;
        }
        sums.send_async(sum).await.is_ok()
    }));
    let sum = from_future.recv().map_err(|error| error.to_string())?;
    println!("a thread counts, a coroutine squares, a future adds: {sum}");
    expect(&sum, &333_833_500)?;
    expect(&source.join().ok(), &Some(true))?;

    let table = LocalSystem::new();
    let tools = Rc::new((Mutex::local("fork"), Mutex::local("spoon")));
    for (name, turned) in [("left", false), ("right", true)] {
        let tools = tools.clone();
        let dine = move || {
            let (first, second) = if turned { (&tools.1, &tools.0) } else { (&tools.0, &tools.1) };
            let _first = first.lock();
            leno::kernel::yield_now();
            let _second = second.lock();
        };
        drop(table.spawn_with(&Options::new().name(name), dine));
    }
    let Err(deadlock) = table.run() else { return Err("nobody had to wait".to_owned()) };
    println!("{deadlock}");
    expect(&deadlock.report.cycles().len(), &1)?;
    Ok("1,000 messages between a thread, a coroutine and a future".to_owned())
}

fn lossy() {
    let counter = Arc::new(AtomicU32::new(0));
    let adders = ["one", "two"].map(|name| {
        let counter = counter.clone();
        thread::spawn(name, move || {
            let before = counter.load(SeqCst);
            thread::yield_now();
            counter.store(before + 1, SeqCst);
        })
    });
    adders.into_iter().for_each(|adder| adder.join().expect("it does not panic"));
    assert_eq!(counter.load(SeqCst), 2, "an addition was lost");
}

fn right() {
    let (tx, rx) = channel();
    let adders = ["one", "two"].map(|name| {
        let tx = tx.clone();
        thread::spawn(name, move || tx.send(1).is_ok())
    });
    drop(tx);
    assert_eq!(rx.iter().sum::<u32>(), 2);
    adders.into_iter().for_each(|adder| assert_eq!(adder.join().ok(), Some(true)));
}

pub(super) fn explore() -> Result<String, String> {
    let Err(failure) = Explorer::new().exhaustive().run(lossy) else {
        return Err("the lost addition was not found".to_owned());
    };
    println!("two threads look at a counter, and then set it:\n{failure}");
    let again = Explorer::new().replay(failure.shortest().clone()).run(lossy);
    expect(&again.err().map(|again| again.trouble().clone()), &Some(failure.trouble().clone()))?;
    let explorer = Explorer::new().exhaustive().most_interruptions(3);
    let summary = explorer.run(right).map_err(|failure| failure.to_string())?;
    println!("the same over a channel is right under all schedules with three interruptions");
    Ok(format!("found in run {}, and {} runs without fault", failure.runs(), summary.runs()))
}
