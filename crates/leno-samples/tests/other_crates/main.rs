//! Crates that know nothing of leno, over its sockets, unchanged: whatever is generic over `Read` and
//! `Write` works in coroutines, whatever is generic over tokio's `AsyncRead` and `AsyncWrite` in futures,
//! which coroutines can await. The project's `docs/io.md` has the list.

mod postgres;
#[path = "../support/mod.rs"]
mod support;
mod websocket;
