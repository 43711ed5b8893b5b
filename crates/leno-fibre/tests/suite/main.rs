//! Tests of fibres through the public interface, in one binary, which is built and linked once.

mod chips;
mod choices;
mod circles;
mod control;
mod fusion;
mod lexer;
mod pipelines;
mod reader_first;
mod removal;
mod states;
mod structure;
mod support;
mod unbroken;
