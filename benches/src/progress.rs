//! One line on standard error that says what is being measured. Only on a terminal.

use std::io::{self, IsTerminal, Write};

use crate::number;

/// The progress line; silent when standard error is not a terminal.
pub struct Progress {
    active: bool,
    benches: usize,
    bench: usize,
}

impl Progress {
    pub fn new(benches: usize) -> Self {
        Self { active: io::stderr().is_terminal(), benches, bench: 0 }
    }

    pub fn next_bench(&mut self) {
        self.bench += 1;
    }

    pub fn show(&mut self, bench: &str, parameter: Option<u64>, contender: &str, step: &str) {
        if !self.active {
            return;
        }
        let parameter = parameter.map(|p| format!(" {}", number::short(p))).unwrap_or_default();
        let text = format!(
            "\r\x1b[K[{}/{}] {bench}{parameter}: {contender}, {step}",
            self.bench, self.benches
        );
        // A terminal that went away is no reason to stop measuring.
        let _ = io::stderr().write_all(text.as_bytes());
    }

    pub fn clear(&mut self) {
        if self.active {
            let _ = io::stderr().write_all(b"\r\x1b[K");
        }
    }
}
