//! Machine control: each part of an injection moulding machine has a control program of its own,
//! written as plain sequential code. Every cycle each of them runs once, up to its next wait.
//! The machine itself is simulated with whole numbers.

use std::cell::Cell;

use leno::ring::{self, wait_until};

/// The simulated machine; one step per cycle.
#[derive(Default)]
struct Plant {
    cycle: Cell<u32>,
    temperature: Cell<i32>,
    heating: Cell<bool>,
    /// Of the mould: 0 is closed, 100 is open.
    position: Cell<i32>,
    target: Cell<i32>,
    /// Injected so far.
    volume: Cell<i32>,
    injecting: Cell<bool>,
}

impl Plant {
    fn step(&self) {
        self.cycle.set(self.cycle.get() + 1);
        self.temperature.set(self.temperature.get() + if self.heating.get() { 1 } else { -1 });
        let way = self.target.get() - self.position.get();
        self.position.set(self.position.get() + way.clamp(-10, 10));
        self.volume.set(self.volume.get() + if self.injecting.get() { 5 } else { 0 });
    }

    fn report(&self, event: &str) {
        println!("cycle {:3}, {:2} degrees: {event}", self.cycle.get(), self.temperature.get());
    }
}

fn heater_control(plant: &Plant) {
    loop {
        wait_until(|| plant.temperature.get() < 75);
        plant.heating.set(true);
        plant.report("heater on");
        wait_until(|| plant.temperature.get() >= 80);
        plant.heating.set(false);
        plant.report("heater off");
    }
}

fn injection_control(plant: &Plant) {
    let before = plant.volume.get();
    plant.target.set(0);
    wait_until(|| plant.position.get() == 0);
    plant.report("mould closed");
    wait_until(|| plant.temperature.get() >= 70);
    plant.injecting.set(true);
    plant.report("injection starts");
    wait_until(|| plant.volume.get() >= before + 100);
    plant.injecting.set(false);
    plant.report("injection stops after 100 units");
    (0..10).for_each(|_| ring::yield_now());
    plant.target.set(100);
    plant.report("mould opens");
    wait_until(|| plant.position.get() == 100);
    plant.report("part ejected");
}

fn main() {
    let plant = Plant { temperature: 20.into(), position: 100.into(), ..Plant::default() };
    ring::scope(|s| {
        let injection = s.spawn(|| injection_control(&plant));
        s.spawn(|| heater_control(&plant));
        while !injection.is_finished() {
            ring::yield_now();
            plant.step();
        }
    });
}
