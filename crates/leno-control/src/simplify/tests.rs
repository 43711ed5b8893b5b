//! How much work it takes to write a type.

use super::{MOST, expr};
use crate::control_type::ControlType;
use crate::error::TooLarge;
use crate::work::Work;

/// Whether a type has an expression, and how many steps it took to find out.
fn written(text: &str) -> (bool, usize) {
    let made: ControlType = text.parse().unwrap();
    let work = Work::new();
    let is_written = expr(made.automaton(), &work).is_some();
    (is_written, TooLarge::MOST_STEPS - work.left())
}

/// A state with `wide` ways out of it, after each of which there are `long` events.
fn fan(wide: usize, long: usize) -> String {
    let ways: Vec<String> = (0..wide).map(|n| format!("W{n}")).collect();
    format!("<a> = ({}){}", ways.join("|"), "R".repeat(long))
}

#[test]
fn alternatives_that_are_too_long_together_are_not_compared() {
    // Each of 1,700 branches has 291 events, and two of them are too many already.
    let (is_written, steps) = written(&fan(1_700, 290));
    assert!(!is_written);
    let chain = 290 * MOST;
    assert!(steps < 3 * chain, "{steps} steps");
    let (is_written, steps) = written(&fan(10, 29));
    assert!(is_written);
    assert!(steps < MOST * MOST, "{steps} steps");
}
