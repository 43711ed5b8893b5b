//! The process that starts children, watches them, and shrinks what makes them fail.

use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::child;
use crate::program::Program;

/// How many programs a child runs.
const BATCH: u64 = 100;

/// What leno says when it ends the process as its documentation announces: of a coroutine that refuses to end
/// while it borrows, and of one that suspends while its own stack unwinds. Nothing else is allowed.
const ALLOWED: [&str; 2] = ["times and went on", "tried to suspend while its own stack unwinds"];

/// How a child has ended, if not well.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The program that ran.
    pub spec: String,
    /// A signal, an abort, a hang.
    pub kind: String,
    /// What it said last.
    pub words: String,
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

/// Runs a child until it ends, or until nothing is heard of it for long: `patience` is for one of its steps.
pub fn run(what: &str, patience: Duration) -> Ended {
    run_telling(what, patience, false)
}

/// As [`run`]; the child may tell of each operation and panic.
fn run_telling(what: &str, patience: Duration, tells: bool) -> Ended {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    if tells {
        command.env(child::VERBOSE, "1");
    }
    let mut child = command
        .env(child::VARIABLE, what)
        .env(child::PATIENCE, patience.as_secs().to_string())
        .env("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=0:abort_on_error=1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this program starts once more");
    let out = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut err = child.stderr.take().expect("it is piped");
    let (tx, lines) = channel();
    std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|l| tx.send(l)));
    let words = std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = err.read_to_end(&mut text);
        let skipped = text.len().saturating_sub(20_000);
        String::from_utf8_lossy(&text[skipped..]).into_owned()
    });
    let (mut spec, mut done) = (what.to_owned(), (0, 0));
    let hung = follow(&lines, 10 * patience + Duration::from_secs(60), &mut spec, &mut done);
    if hung {
        let _ = child.kill();
    }
    let status = child.wait().expect("a child of this process");
    let words = words.join().unwrap_or_default();
    if status.success() && !hung {
        return Ended { failure: None, done, gave_up: false };
    }
    if ALLOWED.iter().any(|allowed| {
        words.lines().rfind(|l| l.contains("leno:")).is_some_and(|l| l.contains(allowed))
    }) && !hung
    {
        return Ended { failure: None, done, gave_up: true };
    }
    let kind =
        if hung || words.contains(child::HANG) { "hang".to_owned() } else { status.to_string() };
    Ended { failure: Some(Failure { spec, kind, words }), done, gave_up: false }
}

/// Reads what a child says; returns whether it fell silent.
fn follow(
    lines: &Receiver<String>,
    patience: Duration,
    spec: &mut String,
    done: &mut (u64, u64),
) -> bool {
    loop {
        match lines.recv_timeout(patience) {
            Ok(line) if line == "end" => return false,
            Ok(line) => {
                if let Some(begun) = line.strip_prefix("b ") {
                    *spec = begun.to_owned();
                } else if let Some(count) = line.strip_prefix("e ") {
                    *done = (count.parse().unwrap_or(0), done.1 + 1);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => return true,
        }
    }
}

/// Removes operations of a failing program as long as it fails in the same way.
pub fn shrink(failure: &Failure, patience: Duration, limit: Duration) -> Failure {
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
            match run(&smaller.spec(), patience).failure {
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

/// Runs programs for a while; returns whether none failed. See the README for the variables that it reads.
pub fn main() -> bool {
    let seconds = number("LENO_HOSTILE_SECONDS", 0);
    if seconds == 0 {
        println!("hostile: skipped: LENO_HOSTILE_SECONDS says how long to run");
        return true;
    }
    let base = number("LENO_HOSTILE_SEED", 1_000_000);
    let patience = Duration::from_secs(number(child::PATIENCE, 20));
    let survey = std::env::var_os("LENO_HOSTILE_SURVEY").is_some();
    let begun = Instant::now();
    let (mut seed, mut done, mut gave_up) = (base, (0, 0), 0);
    let mut found: Vec<String> = Vec::new();
    while begun.elapsed().as_secs() < seconds {
        let ended = run(&format!("{seed}..{}", seed + BATCH), patience);
        done = (done.0 + ended.done.0, done.1 + ended.done.1);
        seed += ended.done.1 + u64::from(ended.failure.is_some() || ended.gave_up);
        gave_up += u64::from(ended.gave_up);
        let Some(failure) = ended.failure else { continue };
        if found.contains(&failure.signature()) {
            continue;
        }
        found.push(failure.signature());
        println!("after {} s, {} operations:", begun.elapsed().as_secs(), done.0);
        report(failure, patience, survey);
        if !survey {
            break;
        }
    }
    println!(
        "hostile: {} programs, {} operations, {gave_up} announced aborts, {} failures in {:.0?} from seed {base}",
        done.1,
        done.0,
        found.len(),
        begun.elapsed(),
    );
    found.is_empty()
}

fn report(mut failure: Failure, patience: Duration, survey: bool) {
    let shrunk_patience = patience.min(Duration::from_secs(6));
    let again = (0..3).find_map(|_| run(&failure.spec, shrunk_patience).failure);
    match again {
        Some(again) => {
            let limit =
                Duration::from_secs(number("LENO_HOSTILE_SHRINK", if survey { 20 } else { 120 }));
            failure = shrink(&again, shrunk_patience, limit);
        }
        None => println!("(not seen when run alone: it needs the programs before it, or luck)"),
    }
    if let Some(told) = run_telling(&failure.spec, shrunk_patience, true).failure {
        failure = told;
    }
    print!("{failure}");
    if let Some(program) = Program::parse(&failure.spec) {
        print!("{program}");
    }
    println!(
        "again: LENO_HOSTILE_REPLAY={} cargo test -p leno-hostile --test hostile",
        failure.spec
    );
}
