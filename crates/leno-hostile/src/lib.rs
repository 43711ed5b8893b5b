//! Random safe programs against leno whose values, closures, wakers, policies, payloads, serialisers and hooks
//! misbehave.
//!
//! - A [`program::Program`] is data: a list of operations and a few scripts (lists of operations, too), made
//!   from a seed. What is left of it after shrinking is the seed and the numbers of the operations kept.
//! - Operations are functions ([`area`]), one table for each area of the API. They act on objects in two
//!   arenas ([`world`]): one for each thread, and one of the process.
//! - Hostile code ([`bomb`]) runs a script wherever leno calls it: in `Drop`, `Clone`, `PartialEq`, `Display`,
//!   serialisers, wakers, futures, policies, bodies. Scripts act on the same objects, and so re-enter, resume,
//!   drop, forget and cancel them, or panic with a payload that is hostile itself.
//! - [`canary`] notices memory that is used after its end without a sanitizer's help.
//! - [`waits`] notices coroutines that are missing in the report of a deadlock.
//! - Programs run in child processes ([`child`]); the parent ([`parent`]) watches them, finds the program that
//!   was running when a child died or came to a halt, and shrinks it.
#![forbid(unsafe_code)]
#![allow(clippy::manual_is_multiple_of, reason = "`y % 4` in a chain of cases reads better")]

pub mod area;
pub mod bomb;
pub mod canary;
pub mod child;
pub mod parent;
pub mod program;
pub mod rng;
pub mod waits;
pub mod world;
