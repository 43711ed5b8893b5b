//! The temperature system (Madsen 2021), live: three sensors measure in real time, each at its own pace, on two
//! cores; the display shows the last reading of each in one line, which on a terminal changes in place.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use leno::kernel::sleep;
use leno::process::{Budget, Plan, System, process};

const READINGS: usize = 8;

#[derive(Default)]
struct Display {
    last: BTreeMap<String, i32>,
    shown: usize,
}

#[process]
impl Display {
    #[entry]
    fn show(&mut self, sensor: String, degrees: i32) {
        self.last.insert(sensor, degrees);
        self.shown += 1;
        if stdout().is_terminal() {
            let line: String =
                self.last.iter().map(|(of, now)| format!("  {of} {now:>3} °C")).collect();
            print!("\r{line}");
            let _ = stdout().flush();
        }
    }

    #[entry]
    fn readings(&mut self) -> (usize, Vec<(String, i32)>) {
        (self.shown, self.last.clone().into_iter().collect())
    }
}

/// Counts how often it was switched on.
struct Plant(usize);

#[process]
impl Plant {
    #[entry]
    fn turn(&mut self) -> usize {
        self.0 += 1;
        self.0
    }
}

struct Controller {
    display: DisplayRef,
    heater: PlantRef,
    cooler: PlantRef,
}

#[process]
impl Controller {
    #[entry]
    fn send(&mut self, sensor: String, degrees: i32) {
        self.display.show(sensor, degrees).expect("the display is there");
        if !(18..=24).contains(&degrees) {
            let plant = if degrees < 18 { &self.heater } else { &self.cooler };
            drop(plant.turn().expect("the plant is there"));
        }
    }
}

struct Sensor(&'static str, i32, Duration, ControllerRef);

#[process]
impl Sensor {
    #[body]
    fn measure(&mut self) {
        for n in 0..READINGS as i32 {
            // It comes nearer to 20 degrees each time.
            let degrees = 20 + (self.1 - 20) * (READINGS as i32 - n) / READINGS as i32;
            self.3.send(self.0.to_owned(), degrees).expect("the controller is there");
            sleep(self.2);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = System::builder().cores(2).quantum(Budget::units(100)).build()?;
    let display = system.start_with(Plan::new().name("display"), Display::default());
    let (heater, cooler) = (system.start(Plant(0)), system.start(Plant(0)));
    let controller = system.start_on(
        0,
        Plan::new().name("controller"),
        Controller { display: display.clone(), heater: heater.clone(), cooler: cooler.clone() },
    );
    for (name, degrees, pace) in [("t1", 8, 10), ("t2", 21, 15), ("t3", 34, 20)] {
        system.start(Sensor(name, degrees, Duration::from_millis(pace), controller.clone()));
    }
    system.wait_idle()?;
    let (shown, last) = display.readings()?.wait()?;
    println!("\n{shown} readings were shown; the last ones: {last:?}");
    let (heated, cooled) = (heater.turn()?.wait()? - 1, cooler.turn()?.wait()? - 1);
    println!("heated {heated} times, cooled {cooled} times");
    let ended = system.run()?;
    println!("{} processes, {} failures", ended.started, ended.failures.len());
    Ok(())
}
