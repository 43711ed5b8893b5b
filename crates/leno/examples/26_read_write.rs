//! Readers and writers: many read at once or one writes, and who goes first is decided at run time. A
//! writer is inside; a reader comes, then a writer, then another reader. What do the readers find?

use leno::flexible::System;
use leno::flexible::synchroniser::{Preference, ReadWrite};

/// Waits until so many wait for the page: the system knows who waits for whom.
fn until_waiting(system: &System, count: usize) {
    while system.snapshot().blocked().len() < count {
        std::thread::yield_now();
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = System::new();
    let page = ReadWrite::new(&system, "page", "blank");
    for preference in [Preference::Arrival, Preference::Writers, Preference::Readers] {
        let mut first = page.write()?;
        *first = "draft";
        let (rita, rosa) = std::thread::scope(|s| {
            let rita = s.spawn(|| *page.read().unwrap());
            until_waiting(&system, 1);
            s.spawn(|| *page.write().unwrap() = "final");
            until_waiting(&system, 2);
            let rosa = s.spawn(|| *page.read().unwrap());
            until_waiting(&system, 3);
            // Those who wait already are subject to it, too.
            page.set_preference(preference);
            drop(first);
            (rita.join().unwrap(), rosa.join().unwrap())
        });
        println!("{preference:?}: the first reader finds the {rita}, the second the {rosa} page");
    }

    // Nobody waits longer than it likes, and whoever gives up leaves nothing behind.
    let reads = page.read()?;
    let late = page.write_timeout(std::time::Duration::from_millis(10));
    println!("a writer gave up: {}", late.is_err());
    drop(reads);
    println!("{:?}", page.try_write());
    Ok(())
}
