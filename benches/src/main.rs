//! `leno-bench`: measures leno beside its peers, interleaved, in one run.
//!
//! Reading order: [`bench`] (what is measured), [`contender`] (by whom), [`harness`] (how),
//! [`outcome`] (what came out), [`report`], [`json`], [`rows`], [`plot`], [`page`] (how it is shown). leno's own side
//! is in `subject`; without the feature `leno` only the peers are measured.

mod bench;
mod child;
#[cfg(test)]
mod compare;
mod contender;
mod external;
mod harness;
mod json;
mod lap;
mod machine;
mod number;
mod options;
mod outcome;
#[path = "../../crates/leno-cli/src/output.rs"]
mod output;
mod page;
mod peers;
mod plot;
mod process;
mod progress;
mod relay;
mod report;
mod rows;
mod serve;
mod stats;
#[cfg_attr(not(feature = "leno"), path = "subject/absent.rs")]
mod subject;
mod toolchain;
mod versions;

use std::process::ExitCode;

use machine::Machine;
use options::{Options, Request};
use output::tell;
use progress::Progress;
use report::Report;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == child::ARGUMENT) {
        child::main(&args[1..]);
    }
    if args.first().is_some_and(|arg| arg == serve::apart::ARGUMENT) {
        serve::apart::main(&args[1..]);
    }
    if args.first().is_some_and(|arg| arg == bench::sessions::crew::ARGUMENT) {
        bench::sessions::crew::main(&args[1..]);
    }
    match options::parse(&args) {
        Ok(Request::Help) => {
            output::write(format_args!("{}", options::HELP));
            ExitCode::SUCCESS
        }
        Ok(Request::List) => {
            Report::new().list(bench::all());
            ExitCode::SUCCESS
        }
        Ok(Request::Measure(options)) => measure(&options),
        Err(mistake) => wrong(&mistake),
    }
}

fn wrong(mistake: &str) -> ExitCode {
    eprintln!("leno-bench: {mistake}\ntry `leno-bench --help`");
    ExitCode::from(2)
}

fn measure(options: &Options) -> ExitCode {
    let benches = match options.benches() {
        Ok(benches) => benches,
        Err(mistake) => return wrong(&mistake),
    };
    let machine = Machine::this();
    tell!("{}", machine.line());
    if let Some(warning) = machine.warning() {
        tell!("{warning}");
    }
    if cfg!(debug_assertions) {
        tell!("built without optimization: these figures mean nothing");
    }
    let report = Report::new();
    let mut progress = Progress::new(benches.len());
    let mut outcomes = Vec::new();
    for bench in benches {
        progress.next_bench();
        let outcome = harness::measure(bench, options.scale, &options.peers, &mut progress);
        report.bench(&outcome);
        outcomes.push(outcome);
    }
    let json = options
        .json
        .iter()
        .map(|path| (path, json::write(path, &machine, options.scale, &outcomes)));
    let svg = options.svg.iter().map(|path| (path, plot::write(path, &machine, &outcomes)));
    let html = options
        .html
        .iter()
        .map(|path| (path, page::write(path, &machine, options.scale, &outcomes)));
    let rows = options.rows.iter().map(|path| (path, rows::write(path, &machine, &outcomes)));
    let failed: Vec<_> =
        json.chain(svg).chain(html).chain(rows).filter_map(|(p, r)| Some((p, r.err()?))).collect();
    for (path, error) in &failed {
        eprintln!("leno-bench: cannot write {}: {error}", path.display());
    }
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
