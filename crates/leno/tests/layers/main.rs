//! The layers together: the ten cases in which what one layer makes is used by another, each a test
//! `i01_..` to `i10_..`, and what follows from putting two of them side by side.
#![forbid(unsafe_code)]

mod explored;
mod flexible;
mod fused;
mod parts;
mod preempted;
mod rules;
mod select;
mod stored;
mod told;
