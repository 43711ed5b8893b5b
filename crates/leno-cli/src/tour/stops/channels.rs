//! Where coroutines, threads and futures meet.

use std::rc::Rc;

use leno::channel::Mutex;
use leno::channel::shared::{bounded, channel};
use leno::kernel::{LocalSystem, Options, System};

use crate::tour::{Stop, expect, say};

pub(super) const STOP: Stop = Stop {
    name: "channels",
    shows: "Coroutines, threads and futures meet at channels, each in its own way of waiting.\n\
            Who waits for whom in a circle is said by name.",
    run: channels,
    read: "leno::channel, leno::kernel::dump",
};

fn channels() -> Result<String, String> {
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
    say!("a thread counts, a coroutine squares, a future adds: {sum}");
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
    say!("{deadlock}");
    expect(&deadlock.report.cycles().len(), &1)?;
    Ok("1,000 messages between a thread, a coroutine and a future".to_owned())
}
