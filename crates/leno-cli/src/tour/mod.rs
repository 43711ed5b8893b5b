//! `leno tour`: stops that show one thing each, live, and check their own result.

mod machine;
mod meet;
mod stops;

use std::io::{IsTerminal, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// One stop of the tour.
struct Stop {
    name: &'static str,
    /// What it shows, in at most two lines.
    shows: &'static str,
    /// Shows it; what is worth remembering, or what went wrong.
    run: fn() -> Result<String, String>,
    /// Where to read on.
    read: &'static str,
}

/// Takes the tour.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let mut only = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.as_slice().first()) {
            ("--list", _) => return list(),
            ("--help" | "-h", _) => {
                print!("{}", crate::HELP);
                return ExitCode::SUCCESS;
            }
            ("--only", Some(name)) => {
                only.push(name.clone());
                arguments.next();
            }
            _ => {
                eprintln!("leno tour: '{argument}' is not an option; try --list or --only NAME");
                return ExitCode::from(2);
            }
        }
    }
    if let Some(unknown) = only.iter().find(|name| stops::ALL.iter().all(|s| s.name != **name)) {
        eprintln!("leno tour: there is no stop '{unknown}'; leno tour --list names them");
        return ExitCode::from(2);
    }
    let wanted = |stop: &&Stop| only.is_empty() || only.iter().any(|name| name == stop.name);
    let outcomes: Vec<Outcome> = stops::ALL.iter().filter(wanted).map(visit).collect();
    table(&outcomes);
    if outcomes.iter().all(|outcome| outcome.result.is_ok()) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn list() -> ExitCode {
    for stop in stops::ALL {
        println!("{:<12} {}", stop.name, stop.shows.replace('\n', " "));
    }
    ExitCode::SUCCESS
}

struct Outcome {
    stop: &'static Stop,
    took: Duration,
    result: Result<String, String>,
}

fn visit(stop: &'static Stop) -> Outcome {
    println!("\n{}", paint("1", &format!("== {} ==", stop.name)));
    println!("{}\n", stop.shows);
    let start = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(stop.run)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| text.to_string()));
        Err(format!("panicked: {}", text.unwrap_or_default()))
    });
    Outcome { stop, took: start.elapsed(), result }
}

fn table(outcomes: &[Outcome]) {
    println!("\n{}", paint("1", "== what ran =="));
    for Outcome { stop, took, result } in outcomes {
        let (mark, text) = match result {
            Ok(text) => (paint("32", "ok    "), text),
            Err(text) => (paint("31", "FAILED"), text),
        };
        println!("{mark} {:<12} {:>6} ms  {text}", stop.name, took.as_millis());
    }
    println!("\nread on:");
    for Outcome { stop, .. } in outcomes {
        println!("  {:<12} {}", stop.name, stop.read);
    }
}

/// Colours text, on a terminal only.
fn paint(code: &str, text: &str) -> String {
    if std::io::stdout().is_terminal() {
        format!("\x1b[{code}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

/// Shows progress on a long step, on a terminal only.
fn progress(text: &str) {
    if std::io::stdout().is_terminal() {
        print!("\r{text}\x1b[K");
        let _ = std::io::stdout().flush();
    }
}

/// `Ok` if `found` is what was expected, else an error that shows both.
fn expect<T: PartialEq + std::fmt::Debug>(found: &T, expected: &T) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("expected {expected:?}, found {found:?}"))
}
