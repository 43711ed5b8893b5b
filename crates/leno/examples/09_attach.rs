//! A scheduler is a coroutine: it collects its coroutines in a sink as they become ready, and runs
//! the one it likes. Here each has a budget of turns, and whoever has used it up goes last.

use leno::kernel::{Back, LocalSystem, Options, Sink, attach, yield_now};

/// Runs all of a sink's coroutines, up to three turns at a time.
fn in_threes(sink: &Sink) {
    while let Some(co) = sink.next() {
        for _ in 0..3 {
            if attach(co).expect("it is ready") != Back::Yielded {
                break;
            }
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = LocalSystem::new();
    drop(system.spawn(|| {
        let sink = Sink::new();
        for (name, turns) in [("anna", 5), ("bert", 2), ("cleo", 4)] {
            let body = move || {
                for turn in 1..=turns {
                    println!("{name}: turn {turn} of {turns}");
                    yield_now();
                }
            };
            drop(sink.spawn(&Options::new().name(name), body).expect("there is room"));
        }
        in_threes(&sink);
    }));
    println!("{}", system.run()?);
    Ok(())
}
