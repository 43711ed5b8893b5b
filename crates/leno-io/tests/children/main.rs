//! Tests that start processes. Not in `suite`: for a moment a new process keeps the sockets open that other tests
//! close.

mod exhaustion;
mod process;
mod signal;
#[path = "../suite/support.rs"]
mod support;
