//! One line on standard error that says how far it is and what is being measured. Only on a terminal.

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
        let bar = bar(self.bench.saturating_sub(1), self.benches);
        let text = format!(
            "\r\x1b[K[{bar}] {}/{} {bench}{parameter}: {contender}, {step}",
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

/// So much of a bar as is done.
fn bar(done: usize, of: usize) -> String {
    const WIDTH: usize = 20;
    let full = WIDTH * done.min(of) / of.max(1);
    format!("{}{}", "#".repeat(full), " ".repeat(WIDTH - full))
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn a_bar_is_as_full_as_what_is_done() {
        assert_eq!(bar(0, 3), " ".repeat(20));
        assert_eq!(bar(3, 6), format!("{}{}", "#".repeat(10), " ".repeat(10)));
        assert_eq!(bar(9, 3), "#".repeat(20));
        assert_eq!(bar(0, 0), " ".repeat(20));
    }
}
