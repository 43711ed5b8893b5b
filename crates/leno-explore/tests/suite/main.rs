//! Tests of exploring through the public interface, in one binary, which is built and linked once.
//!
//! They run at the same time. In a binary of its own is `soak`, which is also built with optimisations.

mod beside;
mod channels;
mod environment;
mod hostile;
mod left_open;
mod listening;
mod meta;
mod movable;
mod rules;
mod slices;
mod sum;
mod told;
mod uncontrolled;
