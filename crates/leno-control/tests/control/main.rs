//! What control types promise, from outside.
#![forbid(unsafe_code)]

mod devices;
mod generate;
mod grammars;
mod laws;
mod lots;
mod notation;
mod pipelines;
mod table;
mod work;
