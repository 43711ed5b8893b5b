//! A contender: one way of doing the work of a bench, and what came of one turn of it.

use std::time::{Duration, Instant};

use crate::versions;

/// What one turn of a contender measured, in the unit of its bench.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    pub value: f64,
    /// What a reader must know to read the value right.
    pub note: Option<String>,
    /// Said by contenders whose version is known only once they run.
    pub version: Option<String>,
}

impl Turn {
    pub fn of(value: f64) -> Self {
        Self { value, ..Self::default() }
    }

    /// Nanoseconds per operation.
    pub fn ns(elapsed: Duration, operations: u64) -> Self {
        Self::of(elapsed.as_nanos() as f64 / operations.max(1) as f64)
    }

    pub fn with_note(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }
}

/// Why a contender has no figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// It was not tried: something it needs is not here.
    Skipped(String),
    /// It was tried and did not work.
    Failed(String),
}

impl Failure {
    pub fn failed(why: impl ToString) -> Self {
        Self::Failed(why.to_string())
    }

    /// It could not make as many coroutines as the bench asks for.
    pub fn stopped_at(made: usize, why: impl ToString) -> Self {
        Self::Failed(format!(
            "stopped at {}: {}",
            crate::number::grouped(made as u64),
            why.to_string()
        ))
    }

    pub fn text(&self) -> String {
        match self {
            Self::Skipped(why) => format!("skipped: {why}"),
            Self::Failed(why) => format!("failed: {why}"),
        }
    }
}

/// What a turn ends with.
pub type Result = std::result::Result<Turn, Failure>;

type Run = Box<dyn FnMut(u64) -> Result>;

/// One way of doing the work of a bench.
pub struct Contender {
    pub name: &'static str,
    pub version: String,
    /// A program of its own in another language, rather than part of this one.
    pub external: bool,
    run: Run,
}

impl Contender {
    /// `run(n)` does `n` operations and is timed as a whole; the unit is nanoseconds.
    pub fn timed(name: &'static str, mut run: impl FnMut(u64) + 'static) -> Self {
        Self::measured(name, move |n| {
            let start = Instant::now();
            run(n);
            Ok(Turn::ns(start.elapsed(), n))
        })
    }

    /// `run(n)` does `n` operations and says itself what it measured: its set-up does not count.
    pub fn measured(name: &'static str, run: impl FnMut(u64) -> Result + 'static) -> Self {
        Self { name, version: versions::of(name), external: false, run: Box::new(run) }
    }

    /// A program in another language. It is started anew for each turn, so it takes few turns.
    pub fn external(name: &'static str, run: impl FnMut(u64) -> Result + 'static) -> Self {
        Self { external: true, version: String::new(), ..Self::measured(name, run) }
    }

    /// Shows this contender's figures in another unit.
    pub fn in_unit(self, convert: impl Fn(f64) -> f64 + 'static) -> Self {
        let mut run = self.run;
        let run = move |n| run(n).map(|turn| Turn { value: convert(turn.value), ..turn });
        Self { run: Box::new(run), ..self }
    }

    /// Takes turns of this length, whatever the harness asks for.
    pub fn with_operations(self, operations: u64) -> Self {
        let mut run = self.run;
        Self { run: Box::new(move |_| run(operations)), ..self }
    }

    pub fn turn(&mut self, operations: u64) -> Result {
        (self.run)(operations)
    }
}
