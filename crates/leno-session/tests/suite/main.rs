//! Tests of sessions through the public interface, in one binary, which is built and linked once.
//!
//! They run at the same time. In binaries of their own are `chaos`, `postgres` and `transfer`, which are also built with
//! optimisations, and each have a worker of their own.
#![forbid(unsafe_code)]

mod damage;
mod engine;
mod examples;
mod exits;
mod hostile;
mod large_effects;
mod laws;
mod nested;
mod outage;
mod pauses;
mod support;
