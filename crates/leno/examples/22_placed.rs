//! Processes placed on cores (Madsen 2021): a critical sensor has a core for itself, all others share
//! another one. Which is which is a few lines of user code.

use std::sync::{Arc, Mutex};

use leno::kernel::Options;
use leno::process::{Budget, Core, Sink, preemptible};

type Readings = Arc<Mutex<Vec<(&'static str, String, u64)>>>;

/// Computes a reading from many samples.
#[preemptible]
fn measure(seed: u64) -> u64 {
    let mut value = seed;
    for _ in 0..5000 {
        value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    }
    15 + (value >> 60)
}

fn sensor(name: &'static str, seed: u64, readings: &Readings) {
    let core = std::thread::current().name().unwrap_or("none").to_owned();
    let reading = measure(seed);
    readings.lock().unwrap().push((name, core, reading));
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let readings = Readings::default();
    let (critical, others) = (Core::fork("critical")?, Core::fork("others")?);

    // Alone: nobody preempts it, so it needs no scheduler.
    let own = readings.clone();
    let first = critical.attach(move || sensor("temp1", 1, &own));

    // In turn.
    let own = readings.clone();
    let rest = others.attach(move || {
        let sink = Sink::new();
        for (name, seed) in [("temp2", 2), ("temp3", 3), ("temp4", 4)] {
            let own = own.clone();
            drop(sink.spawn(&Options::new().name(name), move || sensor(name, seed, &own)));
        }
        let mut slices = 0;
        while let Some(process) = sink.next() {
            process.attach(Budget::units(1000)).expect("it is ready");
            slices += 1;
        }
        slices
    });
    first.join()?;
    println!("three sensors in {} slices", rest.join()?);
    let mut readings = readings.lock().unwrap();
    readings.sort();
    for (name, core, reading) in readings.iter() {
        println!("{name} on {core}: {reading} degrees");
    }
    Ok(())
}
