//! Whole systems: mixed with cooperative code, idle at the end, in slices, with sleep, input and output.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

use crate::savina::workloads::ring::{passes, ring};
use crate::support::{Seen, inside, round_robin, say};
use leno_coroutine::Coroutine;
use leno_explore::{Explorer, thread};
use leno_kernel::io::{Descriptor, Interest};
use leno_kernel::{LocalSystem, Options, sleep, yield_now};
use leno_process::{
    Attached, Back, Budget, Me, Plan, Sink, System, charge, preemptible, process, versioned,
};

#[test]
fn m50_two_are_attached_and_one_is_called() {
    let text = inside(|| {
        let seen: Seen = Rc::default();
        let sink = Sink::new();
        for name in ["a", "b"] {
            let seen = seen.clone();
            drop(sink.spawn(&Options::new(), move || {
                for n in 0..3 {
                    charge(10);
                    say(&seen, format!("{name}{n}"));
                }
            }));
        }
        // It gives control away by itself, and is never preempted.
        let inner = seen.clone();
        let cooperative = Coroutine::new(move |co, ()| {
            for n in 0.. {
                charge(50);
                say(&inner, format!("c{n}"));
                co.suspend(());
            }
        });
        while let Some(co) = sink.next() {
            co.attach(Budget::units(10)).unwrap();
            let _ = cooperative.resume(());
        }
        seen.take().join(" ")
    });
    assert_eq!(text, "c0 c1 a0 c2 b0 c3 a1 c4 b1 c5 a2 c6 b2 c7");
}

#[test]
fn m55_a_system_ends_when_all_are_idle_and_nobody_waits() {
    Explorer::new().random(55).runs(150).check(|| {
        let system = System::new(2).unwrap();
        let members = ring(&system, 2);
        members[0].pass(3).unwrap();
        // One that sleeps is not idle.
        members[0].nap(500).unwrap();
        system.wait_idle().unwrap();
        assert_eq!(passes(&members), 4 + 2);
        assert_eq!(system.run().unwrap().started, 2);
    });
}

#[test]
fn m55_and_not_before() {
    let system = System::builder().cores(2).quantum(Budget::units(50)).build().unwrap();
    let members = ring(&system, 10);
    members[0].pass(2000).unwrap();
    members[0].nap(20).unwrap();
    system.wait_idle().unwrap();
    assert_eq!(passes(&members), 2001 + 2);
    system.run().unwrap();
}

struct Squarer;

#[process]
impl Squarer {
    #[entry]
    fn square(&mut self, n: u64) -> u64 {
        yield_now();
        n * n
    }
}

#[test]
fn m56_fork_join() {
    let program = |workers: u64| {
        let system = System::new(2).unwrap();
        let replies: Vec<_> =
            (0..workers).map(|n| system.start(Squarer).square(n).unwrap()).collect();
        let sum: u64 = replies.into_iter().map(|reply| reply.wait().unwrap()).sum();
        system.run().unwrap();
        sum
    };
    Explorer::new().random(56).runs(100).check(move || assert_eq!(program(3), 5));
    assert_eq!(program(200), (0..200).map(|n| n * n).sum());
}

#[test]
fn m57_a_body_runs_in_slices_until_a_condition_holds() {
    #[preemptible]
    fn search(found: &Cell<u64>) {
        loop {
            found.set(found.get() + 1);
        }
    }
    let slices = inside(|| {
        let found = Rc::new(Cell::new(0));
        let inner = found.clone();
        let sink = Sink::new();
        let body = sink.spawn(&Options::new(), move || search(&inner)).unwrap();
        let mut slices = 0;
        // Repeat until.
        loop {
            let Attached { back, .. } = sink.next().unwrap().attach(Budget::units(64)).unwrap();
            assert_eq!(back, Back::Preempted);
            slices += 1;
            if found.get() > 1000 {
                break;
            }
        }
        body.cancel();
        assert!(body.join().is_err());
        slices
    });
    assert_eq!(slices, 16);
}

#[test]
fn m58_readers_see_whole_versions() {
    Explorer::new().random(58).runs(300).check(|| {
        let (mut writer, reader) = versioned([1, 2]);
        let writes = thread::spawn("writes", move || {
            writer.write([10, 20]);
            writer.write([100, 200]);
        });
        let [a, b] = reader.read();
        assert_eq!(b, 2 * a, "two versions at once");
        writes.join().unwrap();
        assert_eq!((reader.read(), reader.version()), ([100, 200], 2));
    });
    // And for real.
    let (mut writer, reader) = versioned([0, 0, 0]);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let reader = reader.clone();
            scope.spawn(move || {
                let mut last = 0;
                while last < 20_000 {
                    let [a, b, c] = reader.read();
                    assert!(b == a + 1 && c == a + 2 || [a, b, c] == [0, 0, 0]);
                    assert!(a >= last, "versions go forward");
                    last = a;
                }
            });
        }
        (1..=20_000).for_each(|n| writer.write([n, n + 1, n + 2]));
    });
}

/// The keys that were pressed.
#[derive(Default)]
struct Editor {
    text: String,
}

#[process]
impl Editor {
    #[entry]
    fn key(&mut self, key: char) {
        self.text.push(key);
    }

    #[entry]
    fn text(&mut self) -> String {
        self.text.clone()
    }
}

/// Reads keys, and never blocks its core.
struct Keyboard {
    line: Descriptor<UnixStream>,
    editor: EditorRef,
}

const INTERRUPT: u8 = 3;

#[process]
impl Keyboard {
    #[body]
    fn read_keys(&mut self, me: &Me<Self>) {
        let mut keys = [0; 8];
        loop {
            let seen = self.line.wait(Interest::READ).unwrap();
            let Ok(read) = self.line.get_ref().read(&mut keys) else {
                // There was nothing: waits for more.
                self.line.clear(seen, Interest::READ);
                continue;
            };
            for key in &keys[..read] {
                if *key == INTERRUPT {
                    return me.stop();
                }
                self.editor.key(char::from(*key)).unwrap();
            }
        }
    }
}

#[test]
fn m51_a_keyboard_process_reads_without_blocking_its_core() {
    let (near, mut far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    let system = System::builder().quantum(Budget::units(100)).build().unwrap();
    let editor = system.start(Editor::default());
    let line = Descriptor::new(near).unwrap();
    let keyboard = system.start(Keyboard { line, editor: editor.clone() });
    // The same core serves others while the keyboard waits.
    let squarer = system.start(Squarer);
    for key in b"leno" {
        far.write_all(&[*key]).unwrap();
        assert_eq!(squarer.square(7).unwrap().wait(), Ok(49));
    }
    far.write_all(&[INTERRUPT]).unwrap();
    system.wait_idle().unwrap();
    assert_eq!(keyboard.status(), leno_process::Status::Terminated);
    assert_eq!(editor.text().unwrap().wait(), Ok("leno".to_owned()));
    system.run().unwrap();
}

/// The temperature system of Madsen 2021.
mod temperature {
    use super::*;

    #[derive(Default)]
    pub(super) struct Display(pub(super) Vec<i32>);

    #[process(pub(super))]
    impl Display {
        #[entry]
        pub(super) fn show(&mut self, degrees: i32) {
            self.0.push(degrees);
        }

        #[entry]
        pub(super) fn shown(&mut self) -> Vec<i32> {
            self.0.clone()
        }
    }

    /// A heater, or a cooler.
    #[derive(Default)]
    pub(super) struct Plant(u32);

    #[process(pub(super))]
    impl Plant {
        #[entry]
        pub(super) fn turn(&mut self, _degrees: i32) {
            self.0 += 1;
        }

        #[entry]
        pub(super) fn turns(&mut self) -> u32 {
            self.0
        }
    }

    pub(super) struct Controller {
        pub(super) display: DisplayRef,
        pub(super) heater: PlantRef,
        pub(super) cooler: PlantRef,
    }

    #[process(pub(super))]
    impl Controller {
        #[entry]
        pub(super) fn send(&mut self, degrees: i32) {
            self.display.show(degrees).unwrap();
            if degrees < 18 {
                self.heater.turn(degrees).unwrap();
            } else if degrees > 24 {
                self.cooler.turn(degrees).unwrap();
            }
        }
    }

    pub(super) struct Sensor {
        pub(super) readings: Vec<i32>,
        pub(super) controller: ControllerRef,
    }

    #[process(pub(super))]
    impl Sensor {
        #[body]
        fn measure(&mut self) {
            for degrees in self.readings.drain(..) {
                self.controller.send(degrees).unwrap();
                sleep(Duration::from_millis(500));
            }
        }
    }
}

fn temperatures(readings: [Vec<i32>; 3], system: System) -> (usize, u32, u32) {
    use temperature::{Controller, Display, Plant, Sensor};
    let display = system.start(Display::default());
    let (heater, cooler) = (system.start(Plant::default()), system.start(Plant::default()));
    let controller = system.start(Controller {
        display: display.clone(),
        heater: heater.clone(),
        cooler: cooler.clone(),
    });
    for readings in readings {
        system.start(Sensor { readings, controller: controller.clone() });
    }
    system.wait_idle().unwrap();
    let shown = display.shown().unwrap().wait().unwrap().len();
    let turns = [heater, cooler].map(|plant| plant.turns().unwrap().wait().unwrap());
    let ended = system.run().unwrap();
    assert_eq!((ended.started, ended.failures.len()), (7, 0));
    (shown, turns[0], turns[1])
}

#[test]
fn m47_the_temperature_system_shows_every_reading_and_heats_and_cools() {
    Explorer::new().random(47).runs(60).check(|| {
        let readings = [vec![17, 20], vec![25], vec![30, 15]];
        let system = System::builder().cores(2).quantum(Budget::units(5)).build().unwrap();
        assert_eq!(temperatures(readings, system), (5, 2, 2));
    });
}

#[test]
fn m48_processes_sleep_in_virtual_time() {
    use temperature::{Controller, Display, Plant, Sensor};
    let system = LocalSystem::builder().preemptive().virtual_time().build();
    let done = system.spawn(|| {
        let sink = Sink::new();
        let start = |body: leno_process::Prepared| {
            let options = body.options().clone();
            drop(sink.spawn(&options, move || body.run()).unwrap());
        };
        let (display, body) = Plan::new().prepare(Display::default());
        start(body);
        let (heater, body) = Plan::new().prepare(Plant::default());
        start(body);
        let (cooler, body) = Plan::new().prepare(Plant::default());
        start(body);
        let (controller, body) =
            Plan::new().prepare(Controller { display: display.clone(), heater, cooler });
        start(body);
        // A minute of readings, in no time.
        for _ in 0..3 {
            let readings = vec![20; 120];
            start(Plan::new().prepare(Sensor { readings, controller: controller.clone() }).1);
        }
        drop(controller);
        let shown = sink.spawn(&Options::new(), move || {
            sleep(Duration::from_secs(61));
            display.shown().unwrap().wait().unwrap().len()
        });
        round_robin(&sink, Budget::units(100));
        (shown.unwrap().join().unwrap(), leno_kernel::now())
    });
    system.run().unwrap();
    let (shown, now) = done.join().unwrap();
    assert_eq!((shown, now.since(leno_kernel::Time::START).as_secs()), (360, 61));
}
