//! Machine instructions of one switch, counted, not timed. Stadler (2011) needed 35 to 50 on the
//! fast path.
//!
//! The count is the difference of two runs of `resume-depth-0`, one twice as long as the other, so
//! that everything but the round trips cancels out. It is taken by `perf` where the processor's
//! counters can be read, and by valgrind elsewhere (virtual machines often hide the counters).

use std::process::Command;

use super::{Bench, Case, Chart, Load, Scale, resume};
use crate::child;
use crate::contender::{Contender, Failure, Turn};
use crate::outcome::{SUBJECT, Verdict};

pub const INSTRUCTIONS: Bench = Bench {
    name: "instructions",
    unit: "instr.",
    about: "machine instructions of one switch, half of a resume and its suspend",
    parameter: "",
    chart: Chart::Dots,
    cases: |_| {
        let names = [SUBJECT, "corosensei", "generator"].into_iter();
        let compiled = names.filter(|&name| name != SUBJECT || cfg!(feature = "leno"));
        vec![Case {
            parameter: None,
            load: Load::Fixed(100_000),
            isolated: false,
            rounds: Some(1),
            contenders: compiled.map(counted).collect(),
        }]
    },
    judge: |outcome| {
        let value = outcome.case(None).and_then(|c| c.median(SUBJECT));
        let verdict = value.map(|value| Verdict {
            text: "leno <= 50 instructions a switch".into(),
            measured: format!("{value:.1}"),
            met: Some(value <= 50.0),
        });
        verdict.into_iter().collect()
    },
};

fn counted(name: &'static str) -> Contender {
    Contender::measured(name, move |n| {
        let mut why = Vec::new();
        for counter in [Counter::Perf, Counter::Valgrind] {
            let once = counter.count(name, n);
            let both = once.and_then(|once| Ok((once, counter.count(name, 2 * n)?)));
            match both {
                Ok((once, twice)) => {
                    let switches = 2 * n;
                    let each = twice.saturating_sub(once) as f64 / switches as f64;
                    return Ok(Turn::of(each).with_note(format!("by {}", counter.name())));
                }
                Err(text) => why.push(text),
            }
        }
        Err(Failure::Skipped(why.join("; ")))
    })
}

#[derive(Clone, Copy)]
enum Counter {
    Perf,
    Valgrind,
}

impl Counter {
    fn name(self) -> &'static str {
        match self {
            Self::Perf => "perf",
            Self::Valgrind => "valgrind",
        }
    }

    /// Instructions of a child that makes `n` round trips.
    fn count(self, contender: &str, n: u64) -> Result<u64, String> {
        let bench = resume::DEPTH_0.name;
        let turn = child::command(bench, None, contender, n, Scale::Quick).map_err(|e| e.text())?;
        let mut command = match self {
            Self::Perf => command("perf", &["stat", "-x,", "-e", "instructions:u", "--"]),
            Self::Valgrind => command(
                "valgrind",
                &["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"],
            ),
        };
        let output =
            command.arg(turn.get_program()).args(turn.get_args()).output().map_err(|_| {
                format!("{0} not found: apt-get install {1}", self.name(), self.package())
            })?;
        let text = String::from_utf8_lossy(&output.stderr);
        self.read(&text).ok_or_else(|| format!("{} cannot count here", self.name()))
    }

    fn package(self) -> &'static str {
        match self {
            Self::Perf => "linux-perf",
            Self::Valgrind => "valgrind",
        }
    }

    /// Finds the count in what the tool wrote: `123,,instructions:u,..` or `I   refs: 1,234`.
    fn read(self, text: &str) -> Option<u64> {
        let digits = match self {
            Self::Perf => text.lines().find(|l| l.contains("instructions:u"))?.split(',').next()?,
            Self::Valgrind => text.lines().find_map(|l| l.split_once("refs:"))?.1,
        };
        digits.replace(',', "").trim().parse().ok()
    }
}

fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args);
    command
}

#[cfg(test)]
mod tests {
    use super::Counter;

    #[test]
    fn counts_are_found_in_what_the_tools_write() {
        assert_eq!(Counter::Perf.read("1234567,,instructions:u,99,100.00,,\n"), Some(1_234_567));
        assert_eq!(Counter::Perf.read("<not supported>,,instructions:u,0,100.00,,\n"), None);
        assert_eq!(
            Counter::Valgrind.read("==7== \n==7== I   refs:      1,234,567\n"),
            Some(1_234_567)
        );
        assert_eq!(Counter::Valgrind.read(""), None);
    }
}
