//! What asks the operating system for nothing: read in the sources, and run on a machine that is played.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use leno_kernel::io::Reactor;
use leno_kernel::layer::bell::Bell;
use leno_kernel::{LocalSystem, Options, Platform, Time, now, sleep};
use leno_process::{Budget, Plan, Sink, preemptible, process};

/// Files and folders of the kernel and of this crate that would run on a bare machine as they are.
const BARE: &[&str] = &[
    "leno-kernel/src/core",
    "leno-kernel/src/policy",
    "leno-kernel/src/timers",
    "leno-kernel/src/layer/ledger",
    "leno-kernel/src/log",
    "leno-kernel/src/attach.rs",
    "leno-kernel/src/budget.rs",
    "leno-kernel/src/co.rs",
    "leno-kernel/src/join.rs",
    "leno-kernel/src/report.rs",
    "leno-kernel/src/state.rs",
    "leno-process/src/process",
    "leno-process/src/laps.rs",
    "leno-process/src/lock.rs",
    "leno-process/src/monitor.rs",
    "leno-process/src/rendezvous.rs",
    "leno-process/src/semaphore.rs",
    "leno-process/src/slices.rs",
    "leno-process/src/system.rs",
    "leno-process/src/versioned.rs",
];

/// What belongs to an operating system.
const HOSTED: &[&str] = &[
    "libc::",
    "std::fs",
    "std::io",
    "std::net",
    "std::os",
    "std::process",
    "std::thread::Builder",
    "std::thread::park",
    "std::thread::sleep",
    "std::thread::spawn",
];

/// The sources at or below a path, without tests.
fn sources(path: &Path) -> Vec<PathBuf> {
    if path.is_dir() {
        let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        return entries.flat_map(|path| sources(&path)).collect();
    }
    let is_source = path.extension().is_some_and(|end| end == "rs");
    let is_test = path.file_stem().is_some_and(|name| name == "tests");
    if is_source && !is_test { vec![path.to_owned()] } else { vec![] }
}

#[test]
#[cfg_attr(miri, ignore = "reads the tree")]
fn m52_cores_policies_budgets_and_processes_ask_no_operating_system() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut looked = 0;
    for path in BARE.iter().flat_map(|part| sources(&crates.join(part))) {
        let text = fs::read_to_string(&path).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code.take_while(|line| !line.contains("mod tests {")) {
            let hosted = HOSTED.iter().find(|word| line.contains(**word));
            assert_eq!(hosted, None, "{} is bare: {line}", path.display());
        }
        looked += 1;
    }
    assert!(looked >= BARE.len(), "{looked} files");
}

/// A machine without an operating system. Its clock counts the ticks of a timer, a millisecond each; idle, it
/// halts until the next one.
#[derive(Default)]
struct Machine {
    ticks: Rc<Cell<u64>>,
}

impl Platform for Machine {
    fn now(&self) -> Time {
        Time::START + Duration::from_millis(self.ticks.get())
    }

    fn idle(&self, _nobody_rings: &Bell, _deadline: Option<Time>) {
        self.ticks.set(self.ticks.get() + 1);
    }

    fn reactor(&self) -> io::Result<Reactor> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this machine has no descriptors"))
    }
}

#[derive(Default)]
struct Lamp(Vec<u64>);

#[process]
impl Lamp {
    #[entry]
    fn blink(&mut self, at: u64) {
        self.0.push(at);
    }

    #[entry]
    fn blinks(&mut self) -> Vec<u64> {
        self.0.clone()
    }
}

#[preemptible]
fn compute(laps: u64) -> u64 {
    let mut sum = 0;
    for lap in 0..laps {
        sum += lap;
    }
    sum
}

#[test]
fn m52_processes_and_budgets_run_on_a_machine_of_ones_own() {
    let ticks = Rc::new(Cell::new(0));
    let machine = Machine { ticks: ticks.clone() };
    let system = LocalSystem::builder().preemptive().platform(machine).build();
    let done = system.spawn(|| {
        let sink = Sink::new();
        let (lamp, body) = Plan::new().prepare(Lamp::default());
        drop(sink.spawn(&Options::new(), move || body.run()).unwrap());
        let sum = sink.spawn(&Options::new(), || compute(10_000)).unwrap();
        let blinks = sink.spawn(&Options::new(), move || {
            for _ in 0..3 {
                sleep(Duration::from_millis(5));
                lamp.blink(now().as_nanos() / 1_000_000).unwrap();
            }
            lamp.blinks().unwrap().wait().unwrap()
        });
        let mut preempted = 0;
        while let Some(co) = sink.next() {
            preempted += u32::from(co.attach(Budget::units(1000)).unwrap().is_preempted());
        }
        (preempted, sum.join().unwrap(), blinks.unwrap().join().unwrap())
    });
    system.run().unwrap();
    assert_eq!(done.join().unwrap(), (10, 49_995_000, vec![5, 10, 15]));
    assert_eq!(ticks.get(), 15, "idle only while somebody sleeps");
}
