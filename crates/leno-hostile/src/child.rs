//! The process in which programs run.

use std::io::Write;
use std::panic;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::canary::violation;
use crate::program::Program;
use crate::world::{self, Cx};

/// Names what a child is to run: `seed..seed`, or what [`Program::parse`] reads.
pub const VARIABLE: &str = "LENO_HOSTILE_CHILD";

/// Set, each operation and panic is told on stderr.
pub const VERBOSE: &str = "LENO_HOSTILE_VERBOSE";

/// How long a step of the driver may take, in seconds.
pub const PATIENCE: &str = "LENO_HOSTILE_PATIENCE";

/// For how many milliseconds a child begins programs.
pub const LIMIT: &str = "LENO_HOSTILE_LIMIT";

/// What a child says before it ends because a step takes too long.
pub const HANG: &str = "hostile: hang";

/// What leno's own code never raises, whatever user code does.
const INTERNAL: [&str; 7] = [
    "bug of leno's",
    "unreachable code",
    "`Option::unwrap()`",
    "`Result::unwrap()`",
    "with overflow",
    "index out of bounds",
    "PoisonError",
];

/// What a `RefCell` raises.
const BORROWED: [&str; 2] = ["already borrowed", "already mutably borrowed"];

/// Runs the programs that [`VARIABLE`] names, and says of each when it begins and ends.
pub fn main(what: &str) {
    let verbose = std::env::var_os(VERBOSE).is_some();
    world::TELLS.store(verbose, SeqCst);
    panic::set_hook(Box::new(move |info| {
        let text = info.payload_as_str().unwrap_or("a value");
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let is_leno = place.contains("crates/leno-") && !place.contains("leno-hostile");
        if verbose {
            note(&format!("  panic at {place}: {text}"));
        }
        // Of a function that tracks its caller, the place is the caller's, and nobody here borrows what is borrowed.
        let is_borrow = BORROWED.iter().any(|words| text.contains(words));
        if is_borrow || is_leno && INTERNAL.iter().any(|words| text.contains(words)) {
            violation(&format!("an internal panic at {place}: {text}"));
        }
        let mut panics = PANICS.lock().unwrap_or_else(PoisonError::into_inner);
        if text.contains("panic in a destructor") || text.contains("unsafe precondition") {
            tell(&format!("hostile: {text} at {place}, after {panics:?}"));
        }
        panics.rotate_left(1);
        panics[2] = format!("{text} at {place}");
        drop(panics);
        crate::area::hooks::fire();
    }));
    let patience = Duration::from_secs(crate::parent::number(PATIENCE, 20));
    // An interpreter takes its time.
    if !cfg!(miri) {
        std::thread::spawn(move || watch(patience));
    }
    let programs: Vec<String> = match what.split_once("..") {
        Some((from, to)) => {
            let (from, to): (u64, u64) = (from.parse().unwrap_or(0), to.parse().unwrap_or(0));
            (from..to).map(|seed| seed.to_string()).collect()
        }
        None => vec![what.to_owned()],
    };
    let (begun, limit) = (Instant::now(), crate::parent::number(LIMIT, u64::MAX));
    for spec in programs {
        if begun.elapsed().as_millis() >= u128::from(limit) {
            break;
        }
        say(&format!("b {spec}"));
        if let Some(program) = Program::parse(&spec) {
            one(program);
        }
        say(&format!("e {}", world::DONE.load(SeqCst)));
    }
    say("end");
    std::process::exit(0);
}

/// The last panics, for those that end the process.
static PANICS: Mutex<[String; 3]> = Mutex::new([String::new(), String::new(), String::new()]);
static STEPS: AtomicU64 = AtomicU64::new(0);
static STEP: Mutex<String> = Mutex::new(String::new());

/// Says what the driver does next, for the watchdog.
fn step(what: String) {
    *STEP.lock().unwrap_or_else(PoisonError::into_inner) = what;
    STEPS.fetch_add(1, SeqCst);
}

/// Returns the processor time that this process's threads have used, and for how long they waited for a
/// processor.
///
/// On a machine with too much to do, time that passes says nothing.
fn demand() -> (Duration, Duration) {
    let mut sums = [0; 2];
    for task in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let text = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        for (sum, nanoseconds) in sums.iter_mut().zip(text.split_whitespace()) {
            *sum += nanoseconds.parse::<u64>().unwrap_or(0);
        }
    }
    (Duration::from_nanos(sums[0]), Duration::from_nanos(sums[1]))
}

/// Ends the process, and says where, once all of it has slept since the last operation began for too long, or has
/// used too much time of the processor.
fn watch(patience: Duration) {
    let (mut last, mut idle, mut then) = ((0, 0), Duration::ZERO, Instant::now());
    let (mut used, mut waited) = demand();
    let mut before = used;
    loop {
        std::thread::sleep(Duration::from_millis(100));
        let now = (STEPS.load(SeqCst), world::DONE.load(SeqCst));
        let (passed, (uses, waits)) = (then.elapsed(), demand());
        let wanted = uses.saturating_sub(used) + waits.saturating_sub(waited);
        idle = if now != last || wanted > passed / 3 { Duration::ZERO } else { idle + passed };
        (then, used, waited) = (Instant::now(), uses, waits);
        if now != last {
            before = used;
        }
        last = now;
        if idle > patience || used.saturating_sub(before) > patience {
            let how = if idle > patience { "asleep" } else { "at work" };
            let step = STEP.lock().unwrap_or_else(PoisonError::into_inner);
            tell(&format!("{HANG} {how} in {step}"));
            if std::env::var_os(VERBOSE).is_some() {
                note(&leno::kernel::dump_all(leno::kernel::dump::Depth::Frames).to_string());
            }
            if std::env::var_os("LENO_HOSTILE_GDB").is_some() {
                let pid = std::process::id().to_string();
                let _ = std::process::Command::new("gdb")
                    .args(["-batch", "-p", &pid, "-ex", "thread apply all bt 120"])
                    .status();
            }
            std::process::abort();
        }
    }
}

/// Writes a line on stderr, which may be full.
pub fn note(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Tells what has gone wrong: on stderr, and the parent, in case stderr is full.
pub fn tell(line: &str) {
    note(line);
    say(&format!("v {line}"));
}

/// Tells the parent. It is one line; a parent that is gone does not matter.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

/// Runs one program on a thread of its own, so that its thread-locals end with it.
fn one(program: Program) {
    let thread = std::thread::Builder::new().stack_size(8 << 20).spawn(move || {
        let program = world::begin(program);
        for (_, op) in &program.main {
            step(format!("{op:?}"));
            world::quietly(|| world::act(&Cx::default(), op));
        }
        world::calm();
        step("the question to a core".to_owned());
        crate::area::system::probe();
        step("the question to a system without threads".to_owned());
        crate::area::flexible::probe();
        step("the end of objects".to_owned());
        world::clear();
        world::quietly(leno::ring::drain);
    });
    let _ = thread.expect("there are threads").join().map_err(std::mem::forget);
    step("the end of objects".to_owned());
    world::clear();
    probe();
}

/// Asks leno's own threads for something: they outlive whatever was done to them.
fn probe() {
    step("a sleep outside of systems".to_owned());
    let slept = std::thread::spawn(|| {
        leno::block_on(leno::io::time::sleep_async(Duration::from_micros(200)));
    });
    if slept.join().is_err() {
        violation("a sleep outside of systems panicked");
    }
    step("the question to a helper".to_owned());
    let system = leno::kernel::LocalSystem::new();
    let handle = system.spawn(|| leno::kernel::blocking(|| 5));
    match world::quietly(|| system.run().map(drop)) {
        Some(Ok(())) => {}
        _ => violation("a system of the calling thread does not run any more"),
    }
    if handle.try_join().and_then(Result::ok) != Some(5) {
        violation("a helper did not answer");
    }
}
