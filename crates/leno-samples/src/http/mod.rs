//! HTTP/1.1, as much as a small server and its client need: keep-alive, chunked bodies both ways,
//! `Expect: 100-continue`, limits on everything, and a graceful end. `httparse` reads the heads.
//!
//! A handler is a function that reads the request's [`Body`] and gives its [`Answer`], both as plain
//! `Read` and `Write`, in whatever order; that an answer is given once is a matter of types.
//!
//! ```
//! use leno_samples::http::{self, Answer, Limits, Request};
//! use leno_samples::serve::stop;
//! use leno::io::net::TcpListener;
//! use leno::kernel::LocalSystem;
//! use std::io::{self, Read};
//!
//! fn handle(request: &mut Request<'_>, answer: Answer<'_>) -> io::Result<()> {
//!     match request.head.target.as_str() {
//!         "/" => answer.send(200, "hello\n"),
//!         // As it comes, in whatever amount.
//!         "/echo" => {
//!             let mut out = answer.start(200)?;
//!             io::copy(&mut request.body, &mut out)?;
//!             out.finish()
//!         }
//!         _ => answer.send(404, "there is nothing\n"),
//!     }
//! }
//!
//! let system = LocalSystem::new();
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let address = listener.local_addr()?;
//! let (stop, stopped) = stop();
//! drop(system.spawn(move || http::serve(listener, &stopped, &Limits::default(), handle)));
//! let text = system.spawn(move || {
//!     let mut client = http::Client::connect(address)?;
//!     let mut text = String::new();
//!     client.get("/")?.body.read_to_string(&mut text)?;
//!     drop(stop);
//!     io::Result::Ok(text)
//! });
//! system.run()?;
//! assert_eq!(text.join()??, "hello\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - `head.rs` what a request begins with; `framing.rs` where its body ends; `body.rs` reading it.
//! - `answer.rs` giving an answer; `connection.rs` one connection; `server.rs` all of them, and the limits;
//!   `watch.rs` who sees to it that time limits and the order to stop are kept.
//! - `client.rs` the other side.
//!
//! Deliberately not here: routing, TLS (wrap the stream; see the project's `docs/io.md`), HTTP/2, upgrades,
//! trailers (skipped), pipelining beyond what falls out of buffering.

mod answer;
mod body;
mod client;
mod connection;
mod framing;
mod head;
mod input;
mod server;
mod watch;

pub use answer::{Answer, Out};
pub use body::Body;
pub use client::{Client, Received};
pub use connection::Request;
pub use head::{Head, Headers};
pub use server::{Limits, serve};
