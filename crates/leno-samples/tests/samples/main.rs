//! Every sample on loopback, with clients that behave and clients that do not. After each test the system
//! has no coroutines, and the process as many descriptors as before.

mod chat;
mod download;
mod echo;
mod explored;
mod http;
mod http_abuse;
mod http_end;
mod programs;
mod proxy;
#[path = "../support/mod.rs"]
mod support;
