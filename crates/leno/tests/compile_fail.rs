//! Programs that must not compile.
//!
//! Each file in `compile_fail/` is a program; lines of the form `//@ says: TEXT` at its top are
//! pieces of text that the compiler's answer must contain, and `//@ errors: N` is how many errors it
//! must have. Only what matters to a user is compared (which type, which rule), not the whole output,
//! so that later compilers pass too. A file in `compile_pass/` is a program that must compile: it
//! shows that the refused ones fail for the reason given, not by accident.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// A package whose binaries are the given programs, depending on leno.
fn package(kind: &str, programs: &[PathBuf]) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(kind);
    fs::create_dir_all(&place).unwrap();
    let mut manifest = format!(
        "[package]\nname = \"{kind}\"\nversion = \"0.0.0\"\nedition = \"2024\"\nautobins = false\n\
         [workspace]\n[dependencies]\nleno = {{ path = {:?} }}\n",
        env!("CARGO_MANIFEST_DIR")
    );
    for program in programs {
        let name = program.file_stem().unwrap().to_str().unwrap();
        manifest += &format!("[[bin]]\nname = \"{name}\"\npath = {program:?}\n");
    }
    let old = fs::read_to_string(place.join("Cargo.toml")).unwrap_or_default();
    if old != manifest {
        fs::write(place.join("Cargo.toml"), manifest).unwrap();
    }
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    fs::copy(lock, place.join("Cargo.lock")).unwrap();
    place
}

fn check(place: &Path, program: &Path) -> Output {
    let name = program.file_stem().unwrap();
    Command::new(env!("CARGO"))
        .current_dir(place)
        .args(["check", "--quiet", "--offline", "--color=never", "--bin"])
        .arg(name)
        // One for both packages, so that leno is checked once.
        .env("CARGO_TARGET_DIR", place.with_file_name("compiled"))
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .expect("cargo runs")
}

fn programs(kind: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder(kind)).unwrap().map(|entry| entry.unwrap().path());
    let mut programs: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "rs")).collect();
    programs.sort();
    assert!(!programs.is_empty());
    programs
}

#[test]
fn refused_programs_are_refused_for_the_reason_given() {
    let programs = programs("compile_fail");
    let place = package("compile_fail", &programs);
    let mut problems = Vec::new();
    for program in &programs {
        let source = fs::read_to_string(program).unwrap();
        let output = check(&place, program);
        let answer = String::from_utf8_lossy(&output.stderr);
        let expected: Vec<&str> =
            source.lines().filter_map(|line| line.strip_prefix("//@ says: ")).collect();
        if expected.is_empty() {
            problems.push(format!("{program:?} says nothing of the expected answer"));
        }
        if output.status.success() {
            problems.push(format!("{program:?} compiles"));
        }
        let wanted = source.lines().find_map(|line| line.strip_prefix("//@ errors: "));
        let given = answer.lines().filter(|line| line.starts_with("error[")).count();
        if wanted.is_some_and(|wanted| wanted != given.to_string()) {
            problems.push(format!("{program:?} has {given} errors:\n{answer}"));
        }
        for text in expected {
            if !answer.contains(text) {
                problems.push(format!("{program:?}: {text:?} is not in the answer:\n{answer}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn accepted_programs_are_accepted() {
    let programs = programs("compile_pass");
    let place = package("compile_pass", &programs);
    for program in &programs {
        let output = check(&place, program);
        let answer = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program:?}:\n{answer}");
    }
}
