//! The temperature system (Madsen 2021): three sensors, a controller, a display, a heater and a cooler.
//! Processes share nothing; a scheduler of ours runs them. Time is virtual here; in real time it is the same.

use leno::kernel::{LocalSystem, Options, Time, now, sleep};
use leno::process::{Budget, Plan, Process, Sink, process};
use std::time::Duration;

struct Display;
#[process]
impl Display {
    #[entry]
    fn show(&mut self, sensor: String, degrees: i32) {
        println!("{:.1} s, {sensor}: {degrees}", now().since(Time::START).as_secs_f32());
    }
}

/// A heater, or a cooler.
struct Plant(&'static str);
#[process]
impl Plant {
    #[entry]
    fn turn(&mut self, degrees: i32) {
        println!("{} at {degrees}", self.0);
    }
}

struct Controller(DisplayRef, PlantRef, PlantRef);
#[process]
impl Controller {
    #[entry]
    fn send(&mut self, sensor: String, degrees: i32) {
        let Controller(display, heater, cooler) = self;
        display.show(sensor, degrees).expect("the display is there");
        if degrees < 18 {
            heater.turn(degrees).expect("the heater is there");
        } else if degrees > 24 {
            cooler.turn(degrees).expect("the cooler is there");
        }
    }
}

struct Sensor(&'static str, Vec<i32>, ControllerRef);
#[process]
impl Sensor {
    #[body]
    fn measure(&mut self) {
        for degrees in &self.1 {
            self.2.send(self.0.to_owned(), *degrees).expect("the controller is there");
            sleep(Duration::from_millis(500));
        }
    }
}

fn start<P: Process>(all: &Sink, process: P) -> P::Ref {
    let (address, body) = Plan::new().prepare(process);
    drop(all.spawn(&Options::new(), move || body.run()));
    address
}

fn run() {
    let all = Sink::new();
    let (heater, cooler) = (start(&all, Plant("heating")), start(&all, Plant("cooling")));
    let controller = start(&all, Controller(start(&all, Display), heater, cooler));
    for (name, degrees) in [("t1", [17, 18, 20]), ("t2", [21, 25, 24]), ("t3", [26, 24, 22])] {
        start(&all, Sensor(name, degrees.into(), controller.clone()));
    }
    drop(controller);
    while let Some(process) = all.next() {
        process.attach(Budget::units(100)).expect("it is ready");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = LocalSystem::builder().preemptive().virtual_time().build();
    drop(system.spawn(run));
    println!("{}", system.run()?);
    Ok(())
}
