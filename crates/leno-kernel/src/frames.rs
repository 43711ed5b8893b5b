//! The frames of a parked coroutine as text, without the kernel's own at both ends.

use std::backtrace::Backtrace;

/// The base of every stack: below it are the frames of whoever runs the core.
const BASE: &str = "leno_kernel::raw::stack::main";
/// Frames of these are between a wait and its switch.
const ABOVE: [&str; 4] =
    ["std::backtrace", "leno_context::", "leno_kernel::", "leno_coroutine::raw"];
/// Frames of these are between a body and the base.
const BELOW: [&str; 9] = [
    "leno_kernel::",
    "leno_context::",
    "std::panic",
    "core::ops::function",
    "core::panic::unwind_safe",
    "alloc::boxed",
    "__rust_try",
    "__rust_begin_short_backtrace",
    "catch_unwind",
];

/// The frames of the coroutine's own code, the innermost first; each may have several lines.
pub(crate) fn trimmed(backtrace: &Backtrace) -> Vec<String> {
    trim(&backtrace.to_string())
}

fn trim(text: &str) -> Vec<String> {
    let mut frames: Vec<String> = Vec::new();
    for line in text.lines() {
        match (symbol(line), frames.last_mut()) {
            (Some(symbol), _) => frames.push(symbol.to_owned()),
            (None, Some(frame)) => frame.extend(["\n", line.trim()]),
            (None, None) => {}
        }
    }
    if let Some(base) = frames.iter().position(|frame| frame.contains(BASE)) {
        frames.truncate(base);
    }
    let is_in = |frame: &str, crates: &[&str]| {
        let path = frame.lines().next().unwrap_or_default().trim_start_matches(['<', '&']);
        crates.iter().any(|own| path.starts_with(own))
    };
    let end = frames.iter().rposition(|frame| !is_in(frame, &BELOW)).map_or(0, |last| last + 1);
    frames.truncate(end);
    let start = frames.iter().position(|frame| !is_in(frame, &ABOVE)).unwrap_or(frames.len());
    frames.split_off(start)
}

/// What is behind `12: ` at the beginning of a line.
fn symbol(line: &str) -> Option<&str> {
    let (number, symbol) = line.trim_start().split_once(": ")?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(symbol)
}

#[cfg(test)]
mod tests {
    use super::trim;

    #[test]
    fn the_kernels_own_frames_are_left_out_at_both_ends() {
        let text = "   0: std::backtrace::Backtrace::create
   1: leno_context::unwind::show
   2: leno_kernel::wait::park
             at kernel/wait.rs:1:2
   3: leno_channel::receiver::Receiver<T,F>::recv
             at channel/receiver.rs:3:4
   4: user::deep
   5: <leno_coroutine::Coroutine as Iterator>::next
   6: user::body::{{closure}}
   7: leno_kernel::raw::stack::with_locals
   8: <core::panic::unwind_safe::AssertUnwindSafe<F> as core::ops::function::FnOnce<()>>::call_once
   9: __rust_try
  10: leno_kernel::raw::stack::main
  11: leno_kernel::core::run::Core::run_until
  12: main
";
        let expected = [
            "leno_channel::receiver::Receiver<T,F>::recv\nat channel/receiver.rs:3:4",
            "user::deep",
            "<leno_coroutine::Coroutine as Iterator>::next",
            "user::body::{{closure}}",
        ];
        assert_eq!(trim(text), expected);
        assert!(trim("").is_empty() && trim("disabled backtrace").is_empty());
    }
}
