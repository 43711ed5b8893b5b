//! `leno bench`: builds and starts the benches, which are a package of their own so that nobody
//! else has to build leno's peers.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// What the benches answer to `--help`, here so that asking does not build leno's peers.
const HELP: &str = include_str!("../../../benches/src/help.txt");

/// What they answer to `--help`.
pub(crate) fn help() -> String {
    HELP.replace("leno-bench", "leno bench")
}

/// Builds the benches and runs them with these arguments.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let Some(manifest) = manifest() else {
        eprintln!("leno: the benches are in leno's source tree: run this command there");
        return ExitCode::FAILURE;
    };
    eprintln!("building the benches (the first time this takes a minute or two) ...");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["run", "--release", "--quiet", "--manifest-path"])
        .arg(manifest)
        .arg("--")
        .args(arguments)
        .status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(status) => ExitCode::from(status.code().unwrap_or(1) as u8),
        Err(error) => {
            eprintln!("leno: cannot start cargo: {error}");
            ExitCode::FAILURE
        }
    }
}

fn manifest() -> Option<PathBuf> {
    let source = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/Cargo.toml"));
    let here = PathBuf::from("benches/Cargo.toml");
    [source, here].into_iter().find(|manifest| manifest.is_file())
}
