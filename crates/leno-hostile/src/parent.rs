//! The process that starts children, watches them, and shrinks what makes them fail.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::area;
use crate::child;
use crate::program::Program;

/// How long programs run, in seconds, unless the environment says otherwise.
const SECONDS: u64 = 10;

/// The seed of the first program, unless the environment says otherwise.
const SEED: u64 = 1_000_000;

/// How often it is told how far a long run is.
const PROGRESS: Duration = Duration::from_secs(60);

/// How many programs a child runs.
const BATCH: u64 = 100;

/// One child in so many has a stderr that is full.
const FULL_ONE_IN: u64 = 8;

/// Runs the replayed program, or all programs, with a stderr that is full.
pub const FULL: &str = "LENO_HOSTILE_FULL";

/// What leno says when it ends the process as its documentation announces: of a coroutine that refuses to end
/// while it borrows, of one that suspends while its own stack unwinds, and of a scope of the kernel in a coroutine
/// that has caught its exit, below whose stack a child waits for it, or in one that is resumed or dropped by a child of
/// the scope, or dropped outside of its system. Nothing else is allowed.
const ALLOWED: [&str; 6] = [
    "times and went on",
    "tried to suspend while its own stack unwinds",
    "children of a scope of the kernel cannot be ended: the calling code cannot park",
    "children of a scope of the kernel cannot be ended: one of them resumes or drops the generator",
    "a scope of the kernel ends outside of its system, which does not run",
    "coroutines of a system cannot be ended: each waits in a scope",
];

/// How a child has ended, if not well.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The program that ran.
    pub spec: String,
    /// A signal, an abort, a hang.
    pub kind: String,
    /// What it said last.
    pub words: String,
    /// Where its last words went.
    pub stderr: Stderr,
}

/// What a child's stderr is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stderr {
    /// A pipe to the parent.
    Piped,
    /// A device on which every write fails; coroutines are traced on it, too.
    Full,
}

impl Failure {
    /// Returns what two failures of the same cause have in common.
    pub fn signature(&self) -> String {
        let line = self.words.lines().rfind(|l| {
            l.contains("leno:") || l.contains("hostile:") || l.contains("ERROR: AddressSanitizer")
        });
        let line: String =
            line.unwrap_or("").chars().filter(|c| !c.is_ascii_digit()).take(120).collect();
        format!("{} {line}", self.kind)
    }
}

impl Failure {
    /// Returns the command that runs its program again.
    fn command(&self) -> String {
        let variable = |name: &str| {
            std::env::var(name).map(|value| format!("{name}={value} ")).unwrap_or_default()
        };
        let (areas, without) = (variable(area::VARIABLE), variable(area::WITHOUT));
        let full = if self.stderr == Stderr::Full { format!("{FULL}=1 ") } else { String::new() };
        format!(
            "{areas}{without}{full}LENO_HOSTILE_REPLAY={} cargo test -p leno-hostile --test hostile",
            self.spec
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.kind, self.signature())?;
        let lines: Vec<&str> = self.words.lines().collect();
        for line in &lines[lines.len().saturating_sub(12)..] {
            writeln!(f, "  | {line}")?;
        }
        Ok(())
    }
}

/// What became of a child.
pub struct Ended {
    /// How it failed, if it did.
    pub failure: Option<Failure>,
    /// How many operations it did, and programs.
    pub done: (u64, u64),
    /// Whether it ended as leno announces that it does; the next program is to be run by another child.
    pub gave_up: bool,
}

/// How children are run.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// How long a step may take.
    pub patience: Duration,
    /// What their stderr is.
    pub stderr: Stderr,
    /// Whether they tell of each operation and panic.
    pub tells: bool,
    /// For how long they begin programs.
    pub limit: Duration,
}

impl How {
    /// Returns how the environment says that children are run.
    pub fn from_env() -> How {
        let patience = Duration::from_secs(number(child::PATIENCE, 20));
        let is_full = std::env::var_os(FULL).is_some();
        let stderr = if is_full { Stderr::Full } else { Stderr::Piped };
        How { patience, stderr, tells: false, limit: Duration::MAX }
    }
}

/// Runs a child until it ends, or until nothing is heard of it for long.
pub fn run(what: &str, how: How) -> Ended {
    let ended = run_once(what, how);
    let is_silent =
        |failure: &Failure| failure.kind != "hang" && !failure.words.contains("hostile:");
    match &ended.failure {
        // What an abort was about is not known.
        Some(failure) if how.stderr == Stderr::Full && is_silent(failure) => {
            let aloud = How { stderr: Stderr::Piped, ..how };
            let announced = (0..10).any(|_| run_once(&failure.spec, aloud).gave_up);
            if announced {
                return Ended { failure: None, gave_up: true, ..ended };
            }
            ended
        }
        _ => ended,
    }
}

fn start(what: &str, how: How) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    if how.tells {
        command.env(child::VERBOSE, "1");
    }
    let full = OpenOptions::new().write(true).open("/dev/full");
    match full {
        Ok(full) if how.stderr == Stderr::Full => command.stderr(full).env("LENO_TRACE", "1"),
        _ => command.stderr(Stdio::piped()),
    };
    command
        .env(child::VARIABLE, what)
        .env(child::PATIENCE, how.patience.as_secs().to_string())
        .env(child::LIMIT, how.limit.as_millis().to_string())
        .env("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=0:abort_on_error=1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program starts once more")
}

fn run_once(what: &str, how: How) -> Ended {
    let mut child = start(what, how);
    let out = BufReader::new(child.stdout.take().expect("it is piped"));
    let err = child.stderr.take();
    let (tx, lines) = channel();
    std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|l| tx.send(l)));
    let words = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = err.map(|mut err| err.read_to_end(&mut text));
        let skipped = text.len().saturating_sub(20_000);
        String::from_utf8_lossy(&text[skipped..]).into_owned()
    });
    let mut heard = Heard { spec: what.to_owned(), done: (0, 0), told: String::new() };
    let hung = follow(&lines, 10 * how.patience + Duration::from_secs(60), &mut heard);
    if hung {
        let _ = child.kill();
    }
    let status = child.wait().expect("a child of this process");
    let Heard { spec, done, told } = heard;
    let words = match words.join().unwrap_or_default() {
        words if words.is_empty() => told,
        words => words,
    };
    if status.success() && !hung {
        return Ended { failure: None, done, gave_up: false };
    }
    let last = words.lines().rfind(|line| line.contains("leno:")).unwrap_or_default();
    // AddressSanitizer makes frames several times as large: what fits a stack of 64 KiB otherwise may not.
    let is_overflow = cfg!(leno_asan) && last.contains("has overflowed its stack of");
    if (is_overflow || ALLOWED.iter().any(|allowed| last.contains(allowed))) && !hung {
        return Ended { failure: None, done, gave_up: true };
    }
    let kind =
        if hung || words.contains(child::HANG) { "hang".to_owned() } else { status.to_string() };
    Ended { failure: Some(Failure { spec, kind, words, stderr: how.stderr }), done, gave_up: false }
}

/// What a child has said on stdout.
struct Heard {
    /// The program that it runs.
    spec: String,
    /// How many operations it did, and programs.
    done: (u64, u64),
    /// What has gone wrong.
    told: String,
}

/// Reads what a child says; returns whether it fell silent.
fn follow(lines: &Receiver<String>, patience: Duration, heard: &mut Heard) -> bool {
    loop {
        match lines.recv_timeout(patience) {
            Ok(line) if line == "end" => return false,
            Ok(line) => {
                if let Some(begun) = line.strip_prefix("b ") {
                    begun.clone_into(&mut heard.spec);
                } else if let Some(count) = line.strip_prefix("e ") {
                    heard.done = (count.parse().unwrap_or(0), heard.done.1 + 1);
                } else if let Some(told) = line.strip_prefix("v ") {
                    heard.told += told;
                    heard.told += "\n";
                }
            }
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => return true,
        }
    }
}

/// Removes operations of a failing program as long as it fails in the same way.
pub fn shrink(failure: &Failure, how: How, limit: Duration) -> Failure {
    let begun = Instant::now();
    let mut best = failure.clone();
    let Some(mut program) = Program::parse(&best.spec) else { return best };
    let mut width = program.numbers().len().div_ceil(2).max(1);
    loop {
        let (mut at, mut progress) = (0, false);
        while at < program.numbers().len() {
            if begun.elapsed() > limit {
                return best;
            }
            let mut kept = program.numbers();
            kept.drain(at..(at + width).min(kept.len()));
            let smaller = program.clone().keep(&kept);
            match run(&smaller.spec(), how).failure {
                Some(found) if found.kind == best.kind => {
                    (program, best, progress) = (smaller, found, true);
                }
                _ => at += width,
            }
        }
        if width == 1 && !progress {
            return best;
        }
        width = if progress { width } else { width.div_ceil(2) };
    }
}

/// Returns a number from the environment.
pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// What all threads that run children have done.
struct Tally {
    /// The next program that nobody runs yet.
    seed: u64,
    /// How many operations were done, and programs.
    done: (u64, u64),
    gave_up: u64,
    children: u64,
    /// The signatures of what has failed.
    found: Vec<String>,
    /// A failure has ended the run.
    is_over: bool,
    /// When it was last told how far it is.
    told: Instant,
}

/// What the environment asks for; see the README.
struct Wanted {
    seconds: u64,
    operations: u64,
    survey: bool,
    words: String,
    how: How,
    begun: Instant,
}

impl Wanted {
    fn is_done(&self, tally: &Tally) -> bool {
        tally.is_over
            || self.begun.elapsed().as_secs() >= self.seconds
            || tally.done.0 >= self.operations
    }

    /// Runs one batch of programs after the other, each in as many children as it takes.
    fn work(&self, tally: &Mutex<Tally>) {
        let lock = || tally.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let mut now = lock();
            if self.is_done(&now) {
                return;
            }
            let mut seed = now.seed;
            now.seed += BATCH;
            drop(now);
            let end = seed + BATCH;
            while seed < end {
                let mut now = lock();
                if self.is_done(&now) {
                    return;
                }
                now.children += 1;
                let is_full = now.children.is_multiple_of(FULL_ONE_IN);
                drop(now);
                let stderr = if is_full { Stderr::Full } else { self.how.stderr };
                let limit = Duration::from_secs(self.seconds).saturating_sub(self.begun.elapsed());
                let ended = run(&format!("{seed}..{end}"), How { stderr, limit, ..self.how });
                seed += ended.done.1 + u64::from(ended.failure.is_some() || ended.gave_up);
                self.count(&mut lock(), ended);
            }
        }
    }

    /// Counts what a child has done. A failure is reported while nothing else begins.
    fn count(&self, tally: &mut Tally, ended: Ended) {
        tally.done = (tally.done.0 + ended.done.0, tally.done.1 + ended.done.1);
        tally.gave_up += u64::from(ended.gave_up);
        if tally.told.elapsed() >= PROGRESS {
            tally.told = Instant::now();
            println!("{} s: {} operations", self.begun.elapsed().as_secs(), tally.done.0);
        }
        let Some(failure) = ended.failure else { return };
        let is_wanted = failure.words.contains(&self.words) || failure.kind.contains(&self.words);
        if tally.is_over || tally.found.contains(&failure.signature()) || !is_wanted {
            return;
        }
        tally.found.push(failure.signature());
        println!("after {} s, {} operations:", self.begun.elapsed().as_secs(), tally.done.0);
        report(failure, self.how, self.survey);
        tally.is_over = !self.survey;
    }
}

/// Runs programs for a while; returns whether none failed. See the README for the variables that it reads.
pub fn main() -> bool {
    let base = number("LENO_HOSTILE_SEED", SEED);
    let jobs = number("LENO_HOSTILE_JOBS", 2).max(1);
    let wanted = Wanted {
        seconds: number("LENO_HOSTILE_SECONDS", SECONDS),
        operations: number("LENO_HOSTILE_OPERATIONS", u64::MAX),
        survey: std::env::var_os("LENO_HOSTILE_SURVEY").is_some(),
        words: std::env::var("LENO_HOSTILE_WANTED").unwrap_or_default(),
        how: How::from_env(),
        begun: Instant::now(),
    };
    println!(
        "hostile: seed {base}, {} s, {jobs} children at a time, areas {}",
        wanted.seconds,
        area::names()
    );
    let tally = Tally {
        seed: base,
        done: (0, 0),
        gave_up: 0,
        children: 0,
        found: Vec::new(),
        is_over: false,
        told: wanted.begun,
    };
    let tally = Mutex::new(tally);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| wanted.work(&tally));
        }
    });
    let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    let passed = wanted.begun.elapsed();
    println!(
        "hostile: {} programs, {} operations ({:.0} a second), {} announced aborts, {} failures in {passed:.0?} \
         from seed {base}",
        tally.done.1,
        tally.done.0,
        tally.done.0 as f64 / passed.as_secs_f64(),
        tally.gave_up,
        tally.found.len(),
    );
    tally.found.is_empty()
}

fn report(mut failure: Failure, how: How, survey: bool) {
    let how =
        How { patience: how.patience.min(Duration::from_secs(6)), stderr: failure.stderr, ..how };
    let again = (0..3).find_map(|_| run(&failure.spec, how).failure);
    match again {
        Some(again) => {
            let limit =
                Duration::from_secs(number("LENO_HOSTILE_SHRINK", if survey { 20 } else { 120 }));
            failure = shrink(&again, how, limit);
        }
        None => println!("(not seen when run alone: it needs the programs before it, or luck)"),
    }
    if let Some(told) = run(&failure.spec, How { tells: true, ..how }).failure {
        failure = told;
    }
    print!("{failure}");
    if let Some(program) = Program::parse(&failure.spec) {
        print!("{program}");
    }
    println!("again: {}", failure.command());
}
