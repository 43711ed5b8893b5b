//! Peers in other languages: small programs in `peers/`, built when their tools are found.
//!
//! Each is called as `PROGRAM BENCH K N` (bench, ring size, operations) and prints one line
//! `BENCH NS VERSION`: nanoseconds per operation, measured by itself after its own warm-up, and
//! the version of what ran it. A missing tool is no error: the report names what installs it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::contender::{Contender, Failure, Result, Turn};
use crate::process;
use crate::toolchain;

/// A language with a program in `peers/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    Go,
    LuaJit,
    Boost,
    Java,
}

impl Tool {
    pub const ALL: [Self; 4] = [Self::Go, Self::LuaJit, Self::Boost, Self::Java];

    /// The name of the contender, and what `peers/install` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Go => "go",
            Self::LuaJit => "luajit",
            Self::Boost => "boost",
            Self::Java => "java",
        }
    }
}

/// A program ready to run: the words of its command line before bench, size and count.
pub type Prepared = std::result::Result<Vec<OsString>, Failure>;

/// A contender that runs a tool's program with `n` operations; turns are of that length whatever
/// the harness asks for, because a program has to warm up first.
pub fn contender(tool: Tool, bench: &'static str, k: u64, n: u64) -> Contender {
    Contender::external(tool.name(), move |_| {
        let output = process::output(&mut command(tool, bench, k, n)?)?;
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().find_map(|line| parse(line, bench)).unwrap_or_else(|| {
            let errors = String::from_utf8_lossy(&output.stderr);
            Err(Failure::failed(errors.lines().next().unwrap_or("it printed no result")))
        })
    })
}

/// What runs a tool's program.
pub fn command(tool: Tool, bench: &str, k: u64, n: u64) -> std::result::Result<Command, Failure> {
    let words = prepared(tool)?;
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args([bench, &k.to_string(), &n.to_string()]);
    Ok(command)
}

/// `None` when the line is not the result of this bench.
fn parse(line: &str, bench: &str) -> Option<Result> {
    let mut words = line.split_whitespace();
    if words.next() != Some(bench) {
        return None;
    }
    let value = words.next()?.parse().ok()?;
    let version = words.next().map(str::to_owned);
    Some(Ok(Turn { version, ..Turn::of(value) }))
}

/// Builds a tool's program once per run of this command.
fn prepared(tool: Tool) -> Prepared {
    static READY: LazyLock<Mutex<HashMap<Tool, Prepared>>> = LazyLock::new(Mutex::default);
    let mut ready = READY.lock().unwrap_or_else(PoisonError::into_inner);
    ready.entry(tool).or_insert_with(|| toolchain::prepare(tool)).clone()
}

/// Where the programs' sources are.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_result_is_a_line_of_three_words() {
        let turn = parse("hop 12.5 go1.23", "hop").unwrap().unwrap();
        assert_eq!((turn.value, turn.version.as_deref()), (12.5, Some("go1.23")));
        assert!(parse("create 12.5 go1.23", "hop").is_none());
        assert!(parse("hop many go1.23", "hop").is_none());
    }
}
