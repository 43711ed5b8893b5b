//! The process in which programs run.

use std::io::Write;
use std::panic;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::canary::violation;
use crate::program::Program;
use crate::world::{self, Cx};

/// Names what a child is to run: `seed..seed`, or what [`Program::parse`] reads.
pub const VARIABLE: &str = "LENO_HOSTILE_CHILD";

/// Set, each operation and panic is told on stderr.
pub const VERBOSE: &str = "LENO_HOSTILE_VERBOSE";

/// How long a step of the driver may take, in seconds.
pub const PATIENCE: &str = "LENO_HOSTILE_PATIENCE";

/// What a child says before it ends because a step takes too long.
pub const HANG: &str = "hostile: hang";

/// What leno's own code never raises, whatever user code does.
const INTERNAL: [&str; 9] = [
    "bug of leno's",
    "unreachable code",
    "already borrowed",
    "already mutably borrowed",
    "`Option::unwrap()`",
    "`Result::unwrap()`",
    "with overflow",
    "index out of bounds",
    "PoisonError",
];

/// Runs the programs that [`VARIABLE`] names, and says of each when it begins and ends.
pub fn main(what: &str) {
    let verbose = std::env::var_os(VERBOSE).is_some();
    world::TELLS.store(verbose, SeqCst);
    panic::set_hook(Box::new(move |info| {
        let text = info.payload_as_str().unwrap_or("a value");
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let is_leno = place.contains("crates/leno-") && !place.contains("leno-hostile");
        if verbose {
            eprintln!("  panic at {place}: {text}");
        }
        if is_leno && INTERNAL.iter().any(|words| text.contains(words)) {
            violation(&format!("an internal panic at {place}: {text}"));
        }
        if text.contains("panic in a destructor") || text.contains("unsafe precondition") {
            eprintln!("hostile: {text} at {place}");
        }
    }));
    let patience = Duration::from_secs(crate::parent::number(PATIENCE, 20));
    std::thread::spawn(move || watch(patience));
    let programs: Vec<String> = match what.split_once("..") {
        Some((from, to)) => {
            let (from, to): (u64, u64) = (from.parse().unwrap_or(0), to.parse().unwrap_or(0));
            (from..to).map(|seed| seed.to_string()).collect()
        }
        None => vec![what.to_owned()],
    };
    for spec in programs {
        say(&format!("b {spec}"));
        if let Some(program) = Program::parse(&spec) {
            one(program);
        }
        say(&format!("e {}", world::DONE.load(SeqCst)));
    }
    say("end");
    std::process::exit(0);
}

static STEPS: AtomicU64 = AtomicU64::new(0);
static STEP: Mutex<String> = Mutex::new(String::new());

/// Says what the driver does next, for the watchdog.
fn step(what: String) {
    *STEP.lock().unwrap_or_else(PoisonError::into_inner) = what;
    STEPS.fetch_add(1, SeqCst);
}

/// Returns the processor time that this process has used, and whether a thread but this one runs or could.
///
/// On a machine with too much to do, time that passes says nothing.
fn busy() -> (Duration, bool) {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    // What follows the name, which is in brackets: state, and times at 11 and 12, in hundredths of a second.
    let fields = |text: String| -> Vec<String> {
        let rest = text.rsplit_once(')').map(|(_, rest)| rest.to_owned()).unwrap_or_default();
        rest.split_whitespace().map(str::to_owned).collect()
    };
    let own = fields(read("/proc/self/stat"));
    let time = |at: usize| own.get(at).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    let used = Duration::from_millis(10 * (time(11) + time(12)));
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let running = tasks.filter(|task| {
        let state = fields(read(&task.path().join("stat").to_string_lossy()));
        state.first().is_some_and(|state| state == "R" || state == "D")
    });
    // This thread runs, too.
    (used, running.count() > 1)
}

/// Ends the process, and says where, once all of it has slept in one step of the driver for too long, or has
/// used too much time of the processor in it.
fn watch(patience: Duration) {
    let (mut last, mut idle, mut before) = ((0, 0), Duration::ZERO, busy().0);
    loop {
        let pause = Duration::from_millis(100);
        std::thread::sleep(pause);
        let now = (STEPS.load(SeqCst), world::DONE.load(SeqCst));
        let (used, is_busy) = busy();
        idle = if is_busy || now != last { Duration::ZERO } else { idle + pause };
        if now.0 != last.0 {
            before = used;
        }
        last = now;
        if idle > patience || used.saturating_sub(before) > patience {
            let how = if idle > patience { "asleep" } else { "at work" };
            let step = STEP.lock().unwrap_or_else(PoisonError::into_inner);
            eprintln!("{HANG} {how} in {step}");
            if std::env::var_os("LENO_HOSTILE_GDB").is_some() {
                let pid = std::process::id().to_string();
                let _ = std::process::Command::new("gdb")
                    .args(["-batch", "-p", &pid, "-ex", "thread apply all bt 30"])
                    .status();
            }
            std::process::abort();
        }
    }
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
