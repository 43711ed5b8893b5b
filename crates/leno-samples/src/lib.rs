//! Small programs to start from. Each is a module to read and to copy from, a program in `src/bin` to run,
//! and a test in `tests` that also mistreats it:
//!
//! | program | module | what it shows |
//! | --- | --- | --- |
//! | `echo` | [`echo`] | a coroutine per connection, plain `Read` and `Write` |
//! | `http` | [`http`] | HTTP/1.1: keep-alive, chunked bodies, limits, a graceful end |
//! | `download` | [`download`] | a few at a time out of many, and a progress bar |
//! | `chat` | [`chat`] | a coroutine that owns the state, and channels to and from it |
//! | `proxy` | [`proxy`] | both directions at once, half-close, back-pressure |
//!
//! All servers share the loop in [`serve`]: so many connections at most, and an end in two steps.
//!
//! The tests also run other people's crates, unchanged, over leno's sockets: TLS, WebSocket, a client for
//! PostgreSQL. The project's `docs/io.md` has the list of what works.
//!
//! Deliberately not here: a framework. Nothing outside of this crate depends on it.
#![forbid(unsafe_code)]

pub mod chat;
pub mod download;
pub mod echo;
pub mod http;
pub mod proxy;
pub mod serve;

/// The project's page on I/O, so that its examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/io.md")]
struct Page;
