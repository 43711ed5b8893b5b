//! Tests of graphs, by topic.
#![forbid(unsafe_code)]

mod acceptance;
mod build;
mod ends;
mod joins;
mod modes;
mod nodes;
