//! Tests of graphs, by topic.
#![forbid(unsafe_code)]

mod acceptance;
mod build;
mod cases;
mod ends;
mod events;
mod joins;
mod modes;
mod nodes;
mod stackless;
