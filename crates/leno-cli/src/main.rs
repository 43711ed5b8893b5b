//! The `leno` command.
#![forbid(unsafe_code)]

fn main() {}
