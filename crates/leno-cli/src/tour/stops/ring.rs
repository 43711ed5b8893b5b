//! Symmetric coroutines: controllers of a machine.

use std::cell::{Cell, RefCell};

use leno::ring;

use crate::tour::{Stop, expect, say};

pub(super) const STOP: Stop = Stop {
    name: "ring",
    shows: "Symmetric coroutines pass control among themselves:\n\
            a moulding machine's controllers take one step each per cycle.",
    run: ring_of_controllers,
    read: "leno::ring, example 05_moulding_machine",
};

fn ring_of_controllers() -> Result<String, String> {
    let (temperature, heating) = (Cell::new(60), Cell::new(false));
    let log = RefCell::new(Vec::new());
    let cycle = Cell::new(0);
    let note = |what: &str| log.borrow_mut().push(format!("{}:{what}", cycle.get()));
    ring::scope(|s| {
        s.spawn(|| {
            loop {
                ring::wait_until(|| temperature.get() < 75);
                heating.set(true);
                note("on");
                ring::wait_until(|| temperature.get() >= 80);
                heating.set(false);
                note("off");
            }
        });
        let part = s.spawn(|| {
            ring::wait_until(|| temperature.get() >= 70);
            note("inject");
            (0..10).for_each(|_| ring::yield_now());
            note("eject");
        });
        while !part.is_finished() {
            cycle.set(cycle.get() + 1);
            temperature.set(temperature.get() + if heating.get() { 2 } else { -1 });
            ring::yield_now();
        }
    });
    say!("cycle:event  {}", log.borrow().join("  "));
    // From 60 degrees, one down before the heater is on, then two up per cycle: 71 in cycle 7,
    // 81 in cycle 12; ten cycles after 7 the part is out.
    expect(&log.borrow().join(" "), &"1:on 7:inject 12:off 17:eject".to_owned())?;
    Ok(format!("{} cycles, two controllers, no thread", cycle.get()))
}
