//! What asks the operating system for nothing: read in the sources.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};

/// Files and folders of the kernel and of this crate that would run on a bare machine as they are.
const BARE: &[&str] = &[
    "leno-kernel/src/core",
    "leno-kernel/src/policy",
    "leno-kernel/src/timers",
    "leno-kernel/src/ledger",
    "leno-kernel/src/log",
    "leno-kernel/src/attach.rs",
    "leno-kernel/src/budget.rs",
    "leno-kernel/src/co.rs",
    "leno-kernel/src/join.rs",
    "leno-kernel/src/report.rs",
    "leno-kernel/src/state.rs",
    "leno-process/src/process",
    "leno-process/src/laps.rs",
    "leno-process/src/lock.rs",
    "leno-process/src/monitor.rs",
    "leno-process/src/rendezvous.rs",
    "leno-process/src/semaphore.rs",
    "leno-process/src/slices.rs",
    "leno-process/src/system.rs",
    "leno-process/src/versioned.rs",
];

/// What belongs to an operating system.
const HOSTED: &[&str] = &[
    "libc::",
    "std::fs",
    "std::io",
    "std::net",
    "std::os",
    "std::process",
    "std::thread::Builder",
    "std::thread::park",
    "std::thread::sleep",
    "std::thread::spawn",
];

/// The sources at or below a path, without tests.
fn sources(path: &Path) -> Vec<PathBuf> {
    if path.is_dir() {
        let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        return entries.flat_map(|path| sources(&path)).collect();
    }
    let is_source = path.extension().is_some_and(|end| end == "rs");
    let is_test = path.file_stem().is_some_and(|name| name == "tests");
    if is_source && !is_test { vec![path.to_owned()] } else { vec![] }
}

#[test]
#[cfg_attr(miri, ignore = "reads the tree")]
fn m52_cores_policies_budgets_and_processes_ask_no_operating_system() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut looked = 0;
    for path in BARE.iter().flat_map(|part| sources(&crates.join(part))) {
        let text = fs::read_to_string(&path).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code.take_while(|line| !line.contains("mod tests {")) {
            let hosted = HOSTED.iter().find(|word| line.contains(**word));
            assert_eq!(hosted, None, "{} is bare: {line}", path.display());
        }
        looked += 1;
    }
    assert!(looked >= BARE.len(), "{looked} files");
}
