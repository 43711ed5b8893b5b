//! Turns in a process of their own.
//!
//! Some measurements would disturb each other in one process: memory in use, stacks that must not
//! have been used before, contenders that end the process when they run out of mappings. For these
//! the program executes itself with the hidden argument `--child`; the child finds the same bench,
//! case and contender in the same registry, runs one turn, and prints one line:
//!
//! ```text
//! turn <value> <note, may be empty>
//! skipped <why>      failed <why>
//! ```

use std::env;
use std::process::{Command, ExitStatus};

use crate::bench::{self, Bench, Scale};
use crate::contender::{Failure, Result, Turn};
use crate::harness;
use crate::process;

/// The hidden argument that makes this program a child.
pub const ARGUMENT: &str = "--child";

/// The command that runs one turn in a child.
pub fn command(
    bench: &str,
    parameter: Option<u64>,
    contender: &str,
    operations: u64,
    scale: Scale,
) -> std::result::Result<Command, Failure> {
    let program = env::current_exe().map_err(Failure::failed)?;
    let mut command = Command::new(program);
    command.args([ARGUMENT, bench, &parameter_text(parameter), contender]);
    command.args([operations.to_string(), scale.name().to_owned()]);
    Ok(command)
}

/// Runs one turn in a child and waits for it.
pub fn turn(
    bench: &Bench,
    parameter: Option<u64>,
    contender: &str,
    operations: u64,
    scale: Scale,
) -> Result {
    let mut command = command(bench.name, parameter, contender, operations, scale)?;
    let output = process::output(&mut command)?;
    let text = String::from_utf8_lossy(&output.stdout);
    parse(text.lines().last().unwrap_or_default()).unwrap_or_else(|| {
        let errors = String::from_utf8_lossy(&output.stderr);
        let why = errors.lines().last().unwrap_or_default();
        Err(Failure::Failed(format!("{}: {why}", ending(output.status))))
    })
}

/// The child's side: `args` are what follows the hidden argument.
pub fn main(args: &[String]) {
    println!("{}", line(&requested_turn(args)));
    // The turn may have left a million coroutines behind: exit without taking them down.
    std::process::exit(0);
}

fn requested_turn(args: &[String]) -> Result {
    let [bench, parameter, contender, operations, scale] = args else {
        return Err(Failure::failed("malformed request"));
    };
    let unknown = || Failure::failed("unknown bench, case, contender or scale");
    let scale = Scale::named(scale).ok_or_else(unknown)?;
    let bench = bench::all().iter().find(|b| b.name == bench).ok_or_else(unknown)?;
    let case = (bench.cases)(scale).into_iter().find(|c| parameter_text(c.parameter) == *parameter);
    let mut contenders = case.ok_or_else(unknown)?.contenders.into_iter();
    let mut contender = contenders.find(|c| c.name == contender).ok_or_else(unknown)?;
    let operations = operations.parse().map_err(Failure::failed)?;
    harness::guarded(|| contender.turn(operations))
}

fn parameter_text(parameter: Option<u64>) -> String {
    parameter.map_or("-".into(), |p| p.to_string())
}

fn line(result: &Result) -> String {
    match result {
        Ok(turn) => format!("turn {} {}", turn.value, turn.note.as_deref().unwrap_or_default()),
        Err(Failure::Skipped(why)) => format!("skipped {why}"),
        Err(Failure::Failed(why)) => format!("failed {why}"),
    }
}

/// `None` when the line is not one a child prints.
fn parse(line: &str) -> Option<Result> {
    let (kind, rest) = line.split_once(' ')?;
    Some(match kind {
        "turn" => {
            let (value, note) = rest.split_once(' ')?;
            let turn = Turn::of(value.parse().ok()?);
            Ok(if note.is_empty() { turn } else { turn.with_note(note) })
        }
        "skipped" => Err(Failure::Skipped(rest.to_owned())),
        "failed" => Err(Failure::Failed(rest.to_owned())),
        _ => return None,
    })
}

fn ending(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match status.signal() {
        Some(signal) => format!("ended by signal {signal}"),
        None => format!("ended without a result ({status})"),
    }
}

#[cfg(test)]
mod tests {
    use super::{line, parse};
    use crate::contender::{Failure, Turn};

    #[test]
    fn what_a_child_prints_is_understood() {
        for result in [
            Ok(Turn::of(12.5)),
            Ok(Turn::of(0.0).with_note("1,000 threads only")),
            Err(Failure::Skipped("no tool".into())),
            Err(Failure::Failed("stopped at 32,749: Cannot allocate memory".into())),
        ] {
            assert_eq!(parse(&line(&result)), Some(result));
        }
    }

    #[test]
    fn anything_else_is_not_a_result() {
        assert_eq!(parse(""), None);
        assert_eq!(parse("memory allocation of 64 bytes failed"), None);
    }
}
