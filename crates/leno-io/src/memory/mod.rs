//! A network in memory, to test servers and clients on: connections with latency that break and come
//! back, partitions, datagrams that get lost, all of it in the hands of the policy, and so replayed.
//!
//! - [`Network`]: hosts by name, partitions.
//! - [`Host`]: [`listen`](Host::listen), [`connect`](Host::connect), [`socket`](Host::socket).
//! - [`Stream`], [`Listener`], [`Socket`]: as those of `std::net`, for coroutines, threads and futures.
//! - [`Link`]: what the way between two hosts is like, and what may go wrong on it.
//!
//! Code that uses [`net`](crate::net) runs on it unchanged, where it was entered ([`Host::enter`]) and in
//! every explored program.
//!
//! Under exploration every choice is a choice of its strategy; in a system with a policy, of the
//! policy; else the first, with which nothing goes wrong.
//!
//! Deliberately not here: Unix sockets. Files name them, and what a file is, who may open it and what is left
//! when its listener has gone, a network does not know; an explored program is told so when it binds one. Code
//! under test takes a stream that is `Read` and `Write`, or its address from outside: then it is given a
//! [`TcpStream`](crate::net::TcpStream) of this network. Nor: packets, windows, routing. A connection is two pipes of bytes that keep their
//! order; a partition holds them up, and only datagrams are lost one by one. A connection that is never
//! healed is not given up by itself: use time-outs.

mod address;
pub(crate) mod ambient;
mod choices;
mod connect;
mod connection;
mod datagram;
mod error;
mod host;
mod lines;
mod link;
mod listener;
mod mail;
mod network;
mod pipe;
mod ready;
mod state;
mod stream;
mod wait;
mod watch;

pub use address::Address;
pub use datagram::Socket;
pub use host::Host;
pub use link::{Latency, Link};
pub(crate) use listener::BACKLOG;
pub use listener::Listener;
pub use network::Network;
pub use ready::Ready;
pub use stream::Stream;
pub(crate) use watch::{Alarms, Watch};
