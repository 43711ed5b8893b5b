//! The temperature system (Madsen 2021), live: three sensors measure in real time, each at its own pace, on two
//! cores; the display shows the last reading of each in one line, which on a terminal changes in place.
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use leno::kernel::sleep;
use leno::process::{Budget, System, process};

#[derive(Default)]
struct Display(BTreeMap<String, i32>, usize);

#[process]
impl Display {
    #[entry]
    fn show(&mut self, sensor: String, degrees: i32) {
        self.0.insert(sensor, degrees);
        self.1 += 1;
        if stdout().is_terminal() {
            self.0.iter().for_each(|(sensor, now)| print!("  {sensor} {now:>3} °C"));
            let _ = stdout().write_all(b"\r").and_then(|()| stdout().flush());
        }
    }

    #[entry]
    fn shown(&mut self) -> (usize, Vec<(String, i32)>) {
        (self.1, self.0.clone().into_iter().collect())
    }
}

/// Shows what it is told, and counts how often it heats and cools.
struct Controller(DisplayRef, [u32; 2]);

#[process]
impl Controller {
    #[entry]
    fn reading(&mut self, sensor: String, degrees: i32) {
        self.0.show(sensor, degrees).expect("the display is there");
        if !(18..=24).contains(&degrees) {
            self.1[usize::from(degrees > 24)] += 1;
        }
    }

    #[entry]
    fn turned(&mut self) -> [u32; 2] {
        self.1
    }
}

struct Sensor(&'static str, i32, Duration, ControllerRef);

#[process]
impl Sensor {
    #[body]
    fn measure(&mut self) {
        for left in (1..=8).rev() {
            // It comes nearer to 20 degrees each time.
            let degrees = 20 + (self.1 - 20) * left / 8;
            self.3.reading(self.0.into(), degrees).expect("the controller is there");
            sleep(self.2);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = System::builder().cores(2).quantum(Budget::units(100)).build()?;
    let display = system.start(Display::default());
    let controller = system.start(Controller(display.clone(), [0, 0]));
    for (name, degrees, pace) in [("t1", 8, 10), ("t2", 21, 15), ("t3", 34, 20)] {
        system.start(Sensor(name, degrees, Duration::from_millis(pace), controller.clone()));
    }
    system.wait_idle()?;
    let (shown, last) = display.shown()?.wait()?;
    println!("\n{shown} readings were shown; the last ones: {last:?}");
    let [heated, cooled] = controller.turned()?.wait()?;
    println!("heated {heated} times, cooled {cooled} times");
    println!("{} processes have ended", system.run()?.started);
    Ok(())
}
