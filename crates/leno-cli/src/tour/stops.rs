//! The stops.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use leno::kernel::{self, LocalSystem, System};
use leno::{Builder, Coroutine, Guards, Step, Suspender, list, ring, scope, stack_figures};

use super::{Stop, expect, machine, meet, progress};

/// All stops, in the order of the tour.
pub(super) const ALL: &[Stop] = &[
    Stop {
        name: "generator",
        shows: "A coroutine keeps its place and its locals between resumes.\n\
                This one never ends; its consumer takes what it wants.",
        run: generator,
        read: "leno::Coroutine, example 02_counter",
    },
    Stop {
        name: "tree",
        shows: "It suspends from however deep in calls: a recursive walk as an iterator,\n\
                two of them side by side to compare the leaves of two trees.",
        run: tree,
        read: "leno::scope, example 03_tree_walk",
    },
    Stop {
        name: "ring",
        shows: "Symmetric coroutines pass control among themselves:\n\
                a moulding machine's controllers take one step each per cycle.",
        run: ring_of_controllers,
        read: "leno::ring, example 05_moulding_machine",
    },
    Stop {
        name: "failure",
        shows: "A panic in a body reaches whoever resumed it; a dropped coroutine unwinds,\n\
                so destructors run. Nothing is lost, nothing else is harmed.",
        run: failure,
        read: "SAFETY.md, leno::Coroutine",
    },
    Stop {
        name: "who",
        shows: "Who is alive on this thread, where each was made, what it is doing,\n\
                and how a suspended one came to where it is.",
        run: who,
        read: "leno::list, leno::trace",
    },
    Stop {
        name: "system",
        shows: "A system decides who runs. On two cores, work that has not started is shared out;\n\
                in virtual time, on one core, a night's sleep takes no time at all.",
        run: system,
        read: "leno::kernel, example 08_own_scheduler",
    },
    Stop {
        name: "channels",
        shows: "Coroutines, threads and futures meet at channels, each in its own way of waiting.\n\
                Who waits for whom in a circle is said by name.",
        run: meet::channels,
        read: "leno::channel, leno::kernel::dump",
    },
    Stop {
        name: "explore",
        shows: "A mistake that shows once in many runs is found by running every schedule, on the\n\
                kernel of production, then shrunk, told in words, and run again from its token.",
        run: meet::explore,
        read: "docs/testing.md, example 10_explore",
    },
    Stop {
        name: "million",
        shows: "As many coroutines as the machine has room for, each with its own guarded stack,\n\
                all alive at once, hopping round a ring.",
        run: million,
        read: "docs/performance.md, leno bench",
    },
];

fn generator() -> Result<String, String> {
    let fib = Coroutine::new(|co, ()| {
        let (mut a, mut b) = (0, 1);
        loop {
            co.suspend(a);
            (a, b) = (b, a + b);
        }
    });
    let first: Vec<u64> = fib.iter().take(12).collect();
    println!("fibonacci: {first:?}");
    expect(&first, &vec![0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89])?;
    Ok("12 of endlessly many numbers".to_owned())
}

enum Tree {
    Leaf(u32),
    Node(Box<Tree>, Box<Tree>),
}

fn walk(tree: &Tree, co: &Suspender<(), u32>) {
    match tree {
        Tree::Leaf(value) => co.suspend(*value),
        Tree::Node(left, right) => {
            walk(left, co);
            walk(right, co);
        }
    }
}

fn node(left: Tree, right: Tree) -> Tree {
    Tree::Node(Box::new(left), Box::new(right))
}

fn tree() -> Result<String, String> {
    use Tree::Leaf;
    let left = node(node(Leaf(1), Leaf(2)), node(Leaf(3), Leaf(4)));
    let right = node(Leaf(1), node(Leaf(2), node(Leaf(3), Leaf(4))));
    let (same, leaves) = scope(|s| {
        let first = s.coroutine(|co, ()| walk(&left, co));
        let second = s.coroutine(|co, ()| walk(&right, co));
        let pairs: Vec<_> = first.iter().zip(second.iter()).collect();
        (pairs.iter().all(|(a, b)| a == b), pairs.len())
    });
    println!("two trees of different shape, the same {leaves} leaves: {same}");
    expect(&(same, leaves), &(true, 4))?;
    Ok("a recursive walk suspended at every leaf".to_owned())
}

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
    println!("cycle:event  {}", log.borrow().join("  "));
    // From 60 degrees, one down before the heater is on, then two up per cycle: 71 in cycle 7,
    // 81 in cycle 12; ten cycles after 7 the part is out.
    expect(&log.borrow().join(" "), &"1:on 7:inject 12:off 17:eject".to_owned())?;
    Ok(format!("{} cycles, two controllers, no thread", cycle.get()))
}

fn failure() -> Result<String, String> {
    struct Tell<'a>(&'a Cell<u32>);
    impl Drop for Tell<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    let dropped = Cell::new(0);
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let message = scope(|s| {
        let suspended = s.coroutine(|co, ()| {
            let _tell = Tell(&dropped);
            co.suspend(());
        });
        suspended.resume(());
        let fails = s.coroutine(|_: &Suspender<(), ()>, ()| {
            let _tell = Tell(&dropped);
            panic!("the valve is stuck");
        });
        let caught = catch_unwind(AssertUnwindSafe(|| fails.resume(())));
        let payload = caught.err().ok_or("the panic was lost".to_owned())?;
        let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
        text.ok_or("the panic's text was lost".to_owned())
    });
    std::panic::set_hook(quiet);
    let message = message?;
    println!("the resumer caught: {message:?}; destructors run: {}", dropped.get());
    expect(&message, &"the valve is stuck".to_owned())?;
    expect(&dropped.get(), &2)?;
    Ok("a panic delivered, two stacks unwound".to_owned())
}

#[inline(never)]
fn wait_for_pressure(co: &Suspender<u32, ()>) {
    while co.suspend(()) < 3 {}
}

/// The frames of a backtrace that are in this file, innermost first.
fn frames_here(backtrace: &str) -> Vec<String> {
    let lines: Vec<&str> = backtrace.lines().map(str::trim).collect();
    let frame = |pair: &[&str]| {
        let (_, name) = pair[0].split_once(": ")?;
        let (_, line) = pair[1].strip_prefix("at ")?.split_once("tour/stops.rs:")?;
        Some(format!("{name} (tour/stops.rs:{line})"))
    };
    lines.windows(2).filter_map(frame).collect()
}

fn who() -> Result<String, String> {
    let pump = Builder::new().name("pump").coroutine(|co, _bar| {
        wait_for_pressure(co);
        "running"
    });
    let pump = pump.map_err(|error| error.to_string())?;
    let valve = Builder::new().name("valve").coroutine(|_: &Suspender<(), ()>, ()| ());
    let _valve = valve.map_err(|error| error.to_string())?;
    pump.resume(0);
    let all = list::coroutines();
    all.iter().for_each(|info| println!("{info}"));
    expect(&all.len(), &2)?;
    let backtrace = all[0].backtrace().ok_or("a suspended coroutine has no backtrace")?.to_string();
    // Two frames: the function that suspended and the body that called it. Below them is this one.
    println!("pump is suspended in");
    frames_here(&backtrace).iter().take(2).for_each(|frame| println!("    {frame}"));
    expect(&backtrace.contains("wait_for_pressure"), &true)?;
    expect(&pump.resume(3), &Step::Finished("running"))?;
    Ok("two coroutines listed, one with a backtrace".to_owned())
}

fn system() -> Result<String, String> {
    let cores = System::new(2).map_err(|error| error.to_string())?;
    let sum = cores.spawn(|| {
        let parts: Vec<_> = (0..10_000u64).map(|n| kernel::spawn(move || n * n)).collect();
        parts.into_iter().filter_map(|part| part.join().ok()).sum::<u64>()
    });
    let sum = sum.join().map_err(|error| error.to_string())?;
    println!("sum of 10,000 squares, a coroutine each, on two cores: {sum}");
    expect(&sum, &333_283_335_000)?;
    let report = cores.shutdown(Duration::from_secs(10)).map_err(|error| error.to_string())?;
    println!("{report}");

    let night = LocalSystem::builder().virtual_time().build();
    for (name, hours) in [("owl", 3), ("lark", 9)] {
        drop(night.spawn(move || {
            kernel::sleep(Duration::from_secs(hours * 3600));
            println!("{name} wakes at {}", kernel::now());
        }));
    }
    night.run().map_err(|error| error.to_string())?;
    Ok("10,001 on two cores, two asleep for hours".to_owned())
}

fn million() -> Result<String, String> {
    const STACK: usize = 16 * 1024;
    let guards = stack_figures().guards;
    let room = machine::available_bytes() / 2 / 4200;
    let wanted = if room >= 1_000_000 { 1_000_000 } else { room.clamp(1000, 100_000) };
    let count = wanted.min(machine::most_stacks(guards));
    match guards {
        _ if count == 1_000_000 => {}
        _ if count == wanted => println!("memory allows for {count} of a million here"),
        Guards::Protected => println!(
            "guards allow for {count} of a million here: they are made with mprotect, which takes \
             two of the\n{} mappings a process may have (vm.max_map_count); Linux 6.13 has lighter \
             ones",
            machine::max_map_count()
        ),
        _ => println!("{count} of a million here: each one is an OS thread (leno_baton)"),
    }
    let memory = || machine::process_bytes("VmRSS") + machine::process_bytes("VmPTE");
    let (hops, stop) = (Cell::new(0u64), Cell::new(false));
    let (bytes, nanoseconds) = ring::scope(|s| {
        let before = memory();
        for n in 0..count {
            if n % 10_000 == 0 {
                progress(&format!("{n} of {count}"));
            }
            let member = Builder::new().stack_size(STACK);
            let body = || {
                while !stop.get() {
                    hops.set(hops.get() + 1);
                    ring::yield_now();
                }
            };
            s.spawn_with(member, body).map_err(|error| error.to_string())?;
        }
        ring::yield_now();
        let bytes = memory().saturating_sub(before) / count;
        progress("hopping");
        let (start, before) = (Instant::now(), hops.get());
        for _ in 0..3 {
            ring::yield_now();
        }
        let taken = start.elapsed().as_nanos() as f64 / (hops.get() - before) as f64;
        progress("");
        expect(&hops.get(), &(4 * count as u64))?;
        stop.set(true);
        ring::yield_now();
        Ok::<_, String>((bytes, taken))
    })?;
    let figures = stack_figures();
    println!("{count} coroutines alive: {bytes} bytes each, {nanoseconds:.0} ns per hop");
    println!("afterwards: {} stacks in use, {} in the pool", figures.live, figures.pooled);
    Ok(format!("{count} coroutines, {bytes} bytes each, {nanoseconds:.0} ns per hop"))
}
