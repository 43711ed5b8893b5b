//! The `leno` command: a tour of what leno does, run live and checked, pictures of what
//! happens in a system, schedules run again, sessions, and the benches.
#![forbid(unsafe_code)]

mod bench;
mod completions;
mod help;
mod output;
mod replay;
mod sessions;
mod tour;
mod trace;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((first, rest)) = arguments.split_first() else { return tour::run(&[]) };
    if help::of(first).is_some() && help::given(first, rest) {
        return ExitCode::SUCCESS;
    }
    match first.as_str() {
        "tour" => tour::run(rest),
        "trace" => trace::run(rest),
        "bench" => bench::run(rest),
        "replay" => replay::run(rest),
        "sessions" => sessions::run(rest),
        "completions" => completions::run(rest),
        // For the tour alone: one step of its stop of that name.
        "dialogue" => tour::dialogue_step(rest),
        "help" => help::run(rest),
        "--help" | "-h" => help::run(&[]),
        "--version" | "-V" => {
            output::tell!("leno {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        option if option.starts_with("--") => tour::run(&arguments),
        other => {
            eprintln!("leno: there is no command '{other}'; leno help names them");
            ExitCode::from(2)
        }
    }
}
