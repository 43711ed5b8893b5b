//! The report as JSON: facts of the machine, every sample, medians and ratios, verdicts.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use crate::bench::Scale;
use crate::machine::Machine;
use crate::outcome::{CaseOutcome, Entry, Outcome, SUBJECT, Verdict};

pub fn write(path: &Path, machine: &Machine, scale: Scale, outcomes: &[Outcome]) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(&report(machine, scale, outcomes))?;
    text.push('\n');
    fs::write(path, text)
}

fn report(machine: &Machine, scale: Scale, outcomes: &[Outcome]) -> Value {
    let Machine { cpu, cores, memory_kib, kernel, max_maps, rustc, busy, date } = machine;
    json!({
        "machine": {
            "cpu": cpu, "cores": cores, "memory_kib": memory_kib, "kernel": kernel,
            "max_map_count": max_maps, "rustc": rustc, "busy": busy, "date": date,
        },
        "scale": scale.name(),
        "benches": outcomes.iter().map(bench).collect::<Vec<_>>(),
    })
}

fn bench(outcome: &Outcome) -> Value {
    let bench = outcome.bench;
    json!({
        "name": bench.name,
        "unit": bench.unit,
        "about": bench.about,
        "parameter": bench.parameter,
        "cases": outcome.cases.iter().map(case).collect::<Vec<_>>(),
        "targets": (bench.judge)(outcome).iter().map(verdict).collect::<Vec<_>>(),
    })
}

fn case(case: &CaseOutcome) -> Value {
    let contenders: Vec<Value> = case.entries.iter().map(|entry| contender(case, entry)).collect();
    json!({ "parameter": case.parameter, "contenders": contenders })
}

fn contender(case: &CaseOutcome, entry: &Entry) -> Value {
    let spread = entry.spread();
    let ratio = case.ratio(SUBJECT, entry.name).filter(|_| entry.name != SUBJECT);
    let samples: Vec<f64> = entry.samples.iter().map(|s| s.1).collect();
    json!({
        "name": entry.name,
        "version": entry.version,
        "median": spread.map(|s| s.median),
        "quartiles": spread.map(|s| [s.lower, s.upper]),
        "range": spread.map(|s| [s.min, s.max]),
        "leno_over_this": ratio,
        "samples": samples,
        "note": entry.note,
        "failure": entry.failure.as_ref().map(|f| f.text()),
    })
}

fn verdict(verdict: &Verdict) -> Value {
    let Verdict { text, measured, met } = verdict;
    json!({ "text": text, "measured": measured, "met": met })
}
