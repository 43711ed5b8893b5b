//! Random programs, as plain async code and as resumable functions: they must do the same, also when they
//! are stored and restored at every suspension.
//!
//! Programs are generated as source, so each batch is a package of its own that is compiled and run. A
//! program that the compiler refuses as plain code is left out; one that it accepts as plain code and not as
//! a resumable function is refused by this crate, which is allowed but counted. `LENO_FRAME_PROGRAMS` is how
//! many are made (8 by default), `LENO_FRAME_SECONDS` for how long further batches are, `LENO_SEED` where
//! they start. `LENO_FRAME_SANITIZER=address` lets that sanitizer watch them.
//!
//! Not in `suite`: the leg of frames builds it with optimisations.
#![forbid(unsafe_code)]

mod programs;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use programs::program;

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// The machine that compiles, as the compiler calls it.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let said = String::from_utf8(output.stdout).expect("text");
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("it says where it runs").to_owned()
}

/// A package whose tests are the given programs.
struct Batch {
    place: PathBuf,
    /// The first line of each program, and its seed.
    starts: Vec<(usize, u64)>,
}

impl Batch {
    fn new() -> Self {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("frame_programs");
        fs::create_dir_all(place.join("src")).unwrap();
        let own = env!("CARGO_MANIFEST_DIR");
        let manifest = format!(
            "[package]\nname = \"frame_programs\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n\
             [dependencies]\nleno-frame = {{ path = {own:?} }}\n\
             serde = {{ version = \"1\", features = [\"derive\"] }}\n"
        );
        fs::write(place.join("Cargo.toml"), manifest).unwrap();
        fs::copy(Path::new(own).join("../../Cargo.lock"), place.join("Cargo.lock")).unwrap();
        fs::copy(Path::new(own).join("tests/suite/plain.rs"), place.join("src/plain.rs")).unwrap();
        Batch { place, starts: Vec::new() }
    }

    /// Writes the programs, all of each or its plain form only.
    fn write(&mut self, seeds: &BTreeSet<u64>, macro_name: &str) {
        let mut source = String::from("#![allow(warnings)]\n#[macro_use]\nmod plain;\n");
        source += &format!("{macro_name}! {{\n");
        self.starts.clear();
        for seed in seeds {
            self.starts.push((source.lines().count() + 1, *seed));
            source += &program(*seed);
        }
        source += "}\n";
        fs::write(self.place.join("src/lib.rs"), source).unwrap();
    }

    fn cargo(&self, command: &str) -> Output {
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .current_dir(&self.place)
            .args([command, "--quiet", "--offline", "--color=never", "--lib"])
            .env("CARGO_TARGET_DIR", self.place.join("target"))
            .env("RUST_BACKTRACE", "0")
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS");
        if let Ok(sanitizer) = std::env::var("LENO_FRAME_SANITIZER") {
            // With a target, so that macros, which the compiler itself loads, are left alone.
            cargo
                .args(["--target", &host()])
                .env("CARGO_TARGET_DIR", self.place.join(&sanitizer))
                .env("RUSTC_BOOTSTRAP", "1")
                .env("RUSTFLAGS", format!("-Zsanitizer={sanitizer}"));
        }
        cargo.output().expect("cargo runs")
    }

    /// The programs that an answer of the compiler names.
    fn blamed(&self, answer: &str) -> BTreeSet<u64> {
        let mut blamed = BTreeSet::new();
        for line in answer.lines() {
            let named = line.split("src/lib.rs:").nth(1).and_then(|rest| rest.split(':').next());
            let shown = line.split('|').next().filter(|_| line.contains('|'));
            let number = named.or(shown).and_then(|number| number.trim().parse::<usize>().ok());
            let before = |number| self.starts.iter().rev().find(|(start, _)| *start <= number);
            blamed.extend(number.and_then(before).map(|(_, seed)| *seed));
        }
        blamed
    }

    /// Runs cargo, leaving out what the compiler blames, until the rest compiles.
    fn settle(&mut self, seeds: &mut BTreeSet<u64>, form: &str, command: &str) -> Output {
        loop {
            self.write(seeds, form);
            let output = self.cargo(command);
            let answer = String::from_utf8_lossy(&output.stderr).into_owned();
            if output.status.success()
                || String::from_utf8_lossy(&output.stdout).contains("running")
            {
                return output;
            }
            let blamed = self.blamed(&answer);
            assert!(!blamed.is_empty(), "the compiler blames no program:\n{answer}");
            seeds.retain(|seed| !blamed.contains(seed));
            assert!(!seeds.is_empty(), "no program of the batch compiles:\n{answer}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "runs cargo")]
fn random_programs_do_the_same_when_they_are_stored() {
    let count = from_environment("LENO_FRAME_PROGRAMS", 8);
    let seconds = Duration::from_secs(from_environment("LENO_FRAME_SECONDS", 0));
    let (start, mut first) = (Instant::now(), from_environment("LENO_SEED", 1));
    let (mut ran, mut refused) = (0, Vec::new());
    let mut batch = Batch::new();
    loop {
        let mut seeds: BTreeSet<u64> = (first..first + count).collect();
        batch.settle(&mut seeds, "plain_only", "check");
        let valid = seeds.clone();
        let output = batch.settle(&mut seeds, "both", "test");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "programs differ when they are stored:\n{said}");
        refused.extend(valid.difference(&seeds).copied());
        ran += seeds.len();
        first += count;
        if start.elapsed() >= seconds {
            break;
        }
    }
    println!("{ran} programs did the same, {} were refused: {refused:?}", refused.len());
    assert!(refused.len() * 10 <= ran, "too many programs are refused");
}
