//! Tests of graphs, by topic.
#![forbid(unsafe_code)]
#![allow(clippy::type_complexity, reason = "ends of nodes that are written for all modes")]

mod acceptance;
mod analysis;
mod awaits;
mod build;
mod cases;
mod certain;
mod corners;
mod ends;
mod events;
mod explored;
mod iterate;
mod joins;
mod modes;
mod nodes;
mod panics;
mod preempted;
mod seldom;
mod several;
mod stackless;
mod walks;
