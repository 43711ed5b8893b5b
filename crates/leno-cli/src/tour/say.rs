//! What a stop says, and where that goes: to the terminal as it happens, or into the JSON at the end.
//!
//! A stop may say something from any of its threads and coroutines; so this is one for the process.

use core::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What was said since it was last taken, if it is to be kept.
static KEPT: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// Whether anybody reads what is shown.
static IS_HEARD: AtomicBool = AtomicBool::new(true);

/// Whether anybody still reads what is said.
pub(super) fn is_heard() -> bool {
    IS_HEARD.load(Relaxed)
}

/// Says a line, as `println!` does.
macro_rules! say {
    ($($text:tt)*) => { $crate::tour::say::line(format_args!($($text)*)) };
}
pub(super) use say;

/// From now on, what is said is kept instead of shown.
pub(super) fn keep() {
    *kept() = Some(Vec::new());
}

/// What was said since the last time, line by line.
pub(super) fn take() -> Vec<String> {
    kept().as_mut().map(std::mem::take).unwrap_or_default()
}

pub(super) fn line(text: fmt::Arguments<'_>) {
    // Before the lock: what is shown may be anything.
    let text = text.to_string();
    if let Some(lines) = kept().as_mut() {
        return lines.extend(text.lines().map(str::to_owned));
    }
    // A reader that closes the pipe ends the tour behind this stop.
    IS_HEARD.store(writeln!(io::stdout(), "{text}").is_ok(), Relaxed);
}

fn kept() -> std::sync::MutexGuard<'static, Option<Vec<String>>> {
    KEPT.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The words of a text in lines of at most so many characters.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                *line += " ";
                *line += word;
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Colours text, on a terminal only.
pub(super) fn paint(code: &str, text: &str) -> String {
    let wanted = std::env::var_os("NO_COLOR").is_none();
    if wanted && io::stdout().is_terminal() && kept().is_none() {
        format!("\x1b[{code}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

/// Shows how far a long step has come, on a terminal only; it is gone when all is done.
pub(super) fn progress(what: &str, done: usize, of: usize) {
    const WIDTH: usize = 30;
    if !io::stderr().is_terminal() {
        return;
    }
    let text = if done >= of {
        "\r\x1b[K".to_owned()
    } else {
        let full = WIDTH * done / of;
        format!("\r\x1b[K[{}{}] {what}", "#".repeat(full), " ".repeat(WIDTH - full))
    };
    // A terminal that went away is no reason to stop.
    let _ = io::stderr().write_all(text.as_bytes());
}
