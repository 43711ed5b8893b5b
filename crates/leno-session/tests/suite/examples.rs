//! Runs every example and compares what it prints with `examples/expected/NAME.txt`.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of this build's examples.
fn programs() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.parent().and_then(Path::parent).expect("a test is in a profile's deps").join("examples")
}

#[track_caller]
fn prints_what_is_expected(example: &str) {
    let program = programs().join(example);
    if !program.exists() {
        // This test was built alone.
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--package", "leno-session", "--example", example]);
        assert!(build.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success());
    }
    let output =
        Command::new(&program).output().unwrap_or_else(|error| panic!("{program:?}: {error}"));
    assert!(output.status.success(), "{output:?}");
    let expected =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/expected/{example}.txt"));
    let expected = std::fs::read_to_string(expected).unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

#[test]
fn session() {
    prints_what_is_expected("34_session");
}

#[test]
fn transfer() {
    prints_what_is_expected("35_transfer");
}

#[test]
fn reminder() {
    prints_what_is_expected("36_reminder");
}
