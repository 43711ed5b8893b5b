//! A bounded buffer by a monitor with two conditions. Producers and consumers are preempted in the middle
//! of anything, on two cores, and the buffer stays right.

use std::sync::Arc;

use leno::kernel::Options;
use leno::process::{Budget, Condition, Core, Monitor, Sink, safepoint};

struct Buffer {
    list: Monitor<Vec<u32>>,
    room: usize,
    not_full: Condition,
    not_empty: Condition,
}

impl Buffer {
    fn put(&self, item: u32) {
        let put = self.list.enter(|list| {
            list.wait_while(&self.not_full, |list| list.len() == self.room)?;
            safepoint!(30);
            list.push(item);
            self.not_empty.signal();
            Ok(())
        });
        put.and_then(|put| put).expect("nobody unwinds");
    }

    fn get(&self) -> u32 {
        let got = self.list.enter(|list| {
            list.wait_while(&self.not_empty, |list| list.is_empty())?;
            safepoint!(30);
            self.not_full.signal();
            Ok(list.remove(0))
        });
        got.and_then(|got| got).expect("nobody unwinds")
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let buffer = Arc::new(Buffer {
        list: Monitor::new(Vec::new()).named("buffer"),
        room: 3,
        not_full: Condition::new().named("not full"),
        not_empty: Condition::new().named("not empty"),
    });
    let cores = [Core::fork("producers")?, Core::fork("consumers")?];
    let own = buffer.clone();
    let producers = cores[0].attach(move || {
        in_slices((0..4).map(|who| {
            let buffer = own.clone();
            move || {
                (who * 100..who * 100 + 100).for_each(|item| buffer.put(item));
                0
            }
        }))
    });
    let consumers = cores[1].attach(move || {
        in_slices((0..4).map(|_| {
            let buffer = buffer.clone();
            move || (0..100).map(|_| buffer.get()).sum()
        }))
    });
    producers.join()?;
    println!("four consumers got {} in all", consumers.join()?);
    println!("four producers put {}", (0..400).sum::<u32>());
    Ok(())
}

/// Runs all of them on this core, 20 units at a time; what they come to.
fn in_slices<F: FnOnce() -> u32 + 'static>(bodies: impl Iterator<Item = F>) -> u32 {
    let sink = Sink::new();
    let results: Vec<_> =
        bodies.map(|body| sink.spawn(&Options::new(), body).expect("there is room")).collect();
    while let Some(process) = sink.next() {
        process.attach(Budget::units(20)).expect("it is ready");
    }
    results.into_iter().map(|result| result.join().expect("none panics")).sum()
}
