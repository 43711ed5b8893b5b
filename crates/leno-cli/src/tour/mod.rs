//! `leno tour`: stops that show one thing each, live, and check their own result.
//!
//! `stops/` has a file for each; `say.rs` is how they speak, `json.rs` what programs are told.
//! Deliberately not here: anything that takes long, or needs more than the machine it runs on.

mod json;
mod machine;
mod say;
mod stops;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use say::{paint, progress, say, wrapped};

use crate::output;

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

/// What has come of a stop.
struct Outcome {
    stop: &'static Stop,
    took: Duration,
    /// What it said, if that was kept.
    said: Vec<String>,
    result: Result<String, String>,
}

/// What was asked for.
#[derive(Default)]
struct Options {
    only: Vec<String>,
    is_list: bool,
    is_json: bool,
}

impl Options {
    /// `Err` with what to do instead.
    fn read(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--list" => options.is_list = true,
                "--json" => options.is_json = true,
                "--only" => match arguments.next() {
                    Some(name) if stops::ALL.iter().any(|stop| stop.name == *name) => {
                        options.only.push(name.clone());
                    }
                    Some(name) => {
                        return Err(format!(
                            "there is no stop '{name}'; leno tour --list names them"
                        ));
                    }
                    None => return Err("--only needs the name of a stop; try --list".to_owned()),
                },
                other => {
                    return Err(format!(
                        "'{other}' is not an option; try --list, --only NAME or --json"
                    ));
                }
            }
        }
        Ok(options)
    }

    fn stops(&self) -> Vec<&'static Stop> {
        let wanted =
            |stop: &&Stop| self.only.is_empty() || self.only.iter().any(|name| name == stop.name);
        stops::ALL.iter().filter(wanted).collect()
    }
}

/// One step of the stop `dialogue`, in a process of its own.
pub(crate) fn dialogue_step(arguments: &[String]) -> ExitCode {
    stops::dialogue::step(arguments)
}

/// The program of the stop `explore`, which loses an addition under some schedules.
pub(crate) use stops::explore::lossy;

/// Takes the tour.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let options = match Options::read(arguments) {
        Ok(options) => options,
        Err(text) => {
            eprintln!("leno tour: {text}");
            return ExitCode::from(2);
        }
    };
    let stops = options.stops();
    if options.is_list {
        for stop in stops {
            let mut name = stop.name;
            for line in wrapped(stop.shows, 80 - 13) {
                say!("{name:<12} {line}");
                name = "";
            }
        }
        return status(true);
    }
    if options.is_json {
        say::keep();
    }
    let count = stops.len();
    let outcomes: Vec<Outcome> = stops
        .into_iter()
        .enumerate()
        .take_while(|_| say::is_heard())
        .map(|(n, stop)| visit(n + 1, count, stop))
        .collect();
    if options.is_json {
        output::tell!("{}", json::report(&outcomes));
    } else {
        table(&outcomes);
    }
    status(outcomes.iter().all(|outcome| outcome.result.is_ok()))
}

fn status(is_right: bool) -> ExitCode {
    match is_right {
        _ if !say::is_heard() => ExitCode::from(output::NOBODY_READS),
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn visit(number: usize, of: usize, stop: &'static Stop) -> Outcome {
    say!("\n{}", paint("1", &format!("== {number} of {of}: {} ==", stop.name)));
    say!("{}\n", stop.shows);
    // What is said so far is known from the stop itself.
    say::take();
    let start = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(stop.run)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| text.to_string()));
        Err(format!("panicked: {}", text.unwrap_or_default()))
    });
    let took = start.elapsed();
    if let Err(text) = &result {
        say!("{} {text}", paint("31", "failed:"));
    }
    Outcome { stop, took, said: say::take(), result }
}

fn table(outcomes: &[Outcome]) {
    say!("\n{}", paint("1", "== what ran =="));
    for Outcome { stop, took, result, .. } in outcomes {
        let (mark, text) = match result {
            Ok(text) => (paint("32", "ok    "), text),
            Err(text) => (paint("31", "FAILED"), text),
        };
        say!("{mark} {:<12} {:>6} ms  {text}", stop.name, took.as_millis());
    }
    let all: Duration = outcomes.iter().map(|outcome| outcome.took).sum();
    say!("{:<19} {:>6} ms", "       in all", all.as_millis());
    say!("\n{}", paint("1", "== read on =="));
    for Outcome { stop, .. } in outcomes {
        say!("{:<12} {}", stop.name, stop.read);
    }
    say!("The code of each stop is a file in crates/leno-cli/src/tour/stops.");
}

/// `Ok` if `found` is what was expected, else an error that shows both.
fn expect<T: PartialEq + std::fmt::Debug>(found: &T, expected: &T) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("expected {expected:?}, found {found:?}"))
}
