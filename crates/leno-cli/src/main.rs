//! The `leno` command: a tour of what leno does, run live and checked, pictures of what
//! happens in a system, and the benches.
#![forbid(unsafe_code)]

mod bench;
mod tour;
mod trace;

use std::process::ExitCode;

const HELP: &str = "\
leno: coroutines for Rust

usage: leno [tour] [OPTIONS]                a guided, checked run through what leno does
       leno bench [OPTIONS]                 leno beside its peers (leno bench --help)
       leno trace [OPTIONS]                 pictures of what happened (leno trace --help)
       leno help                            this text

examples:
  leno                          the whole tour
  leno tour --list              what there is to see
  leno tour --only million      one stop of it
  leno tour --json              the tour for programs; its exit status tells if all went well
  leno trace --html run.html    a timeline of a small pipeline, to open in a browser
  leno bench --quick            all benches, roughly: half a minute once built
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        None => tour::run(&[]),
        Some((first, rest)) => match first.as_str() {
            "tour" => tour::run(rest),
            "trace" => trace::run(rest),
            "bench" => bench::run(rest),
            "help" | "--help" | "-h" => {
                print!("{HELP}");
                ExitCode::SUCCESS
            }
            option if option.starts_with("--") => tour::run(&arguments),
            other => {
                eprintln!("leno: there is no command '{other}'\n\n{HELP}");
                ExitCode::from(2)
            }
        },
    }
}
